"""Programs that only make texts of texts: what `echo`, `printf`, `base64 -d` or `dirname` print.

So that a path which is put together or encoded in a line is known as what it is.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windlass.core.shell.loose import Shell
    from windlass.core.shell.said import Run

_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "", "b": "", "c": "", "v": "\v"}
_HELD = re.compile(r"%[-+ 0#]?[0-9]{0,3}(?:\.[0-9]{1,3})?([a-zA-Z%])")
_MANY = 12

Texts = tuple[str, ...]


def printed(run: Run, shell: Shell) -> Texts:
    """What a command prints as far as that is known; of most, what they are given."""
    said = [word.text for word in run.words[1:]]
    known = _PRINTING.get(run.name)
    if known is not None:
        return known(run, shell)
    if ".git" in said:
        return shell.known.get("#git", ())
    return run.given


def unescaped(text: str) -> str:
    """A text with its escapes as they are meant in `$'…'`, `printf` and most languages."""

    def meant(escape: re.Match[str]) -> str:
        number = escape[1] or escape[2]
        if number:
            return chr(int(number, 16))
        if escape[3]:
            return chr(int(escape[3], 8) & 0xFF)
        return _LETTERS.get(escape[4], escape[4])

    return _ESCAPE.sub(meant, text) if "\\" in text else text


def decoded(text: str) -> str:
    """A text that was written in base64 or as hexadecimal digits; empty where it is neither."""
    bare = "".join(text.split())
    try:
        if re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", bare):
            raw = bytes.fromhex(bare)
        else:
            raw = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    said = raw.decode(errors="replace")
    return said if all(sign.isprintable() or sign.isspace() for sign in said) else ""


def turned(text: str) -> tuple[str, str]:
    """A text from its end to its beginning, and with its letters moved by thirteen."""
    return text[::-1], codecs.encode(text, "rot13")


def formatted(said: list[str]) -> Texts:
    """What `printf` makes of its words."""
    rest = iter(said[1:])

    def filled(place: re.Match[str]) -> str:
        return "%" if place[1] == "%" else unescaped(next(rest, ""))

    return (_HELD.sub(filled, unescaped(said[0])),) if said else ()


def _echo(run: Run, _shell: Shell) -> Texts:
    texts = [""]
    for word in run.words[1:]:
        if word.text not in ("-n", "-e", "-ne", "-en"):
            texts = [f"{text} {more}" for text in texts for more in word.texts][:_MANY]
    return tuple(unescaped(text[1:]) for text in texts)


def _printf(run: Run, _shell: Shell) -> Texts:
    return formatted([word.text for word in run.words[1:]])


def _pwd(_run: Run, shell: Shell) -> Texts:
    return tuple(shell.folders)


def _decoder(run: Run, _shell: Shell) -> Texts:
    return tuple(filter(None, map(decoded, run.given)))


def _rev(run: Run, _shell: Shell) -> Texts:
    return tuple(text.strip()[::-1] for text in run.given)


def _tr(run: Run, _shell: Shell) -> Texts:
    said = [word.text for word in run.words[1:]]
    if len(said) < 2 or said[0].startswith("-"):
        return run.given
    before, after = map(_range, said[:2])
    after = after.ljust(len(before), after[-1:] or " ")
    table = str.maketrans(dict(zip(before, after, strict=False)))
    return tuple(text.translate(table) for text in run.given)


def _range(text: str) -> str:
    def written_out(ends: re.Match[str]) -> str:
        return "".join(map(chr, range(ord(ends[1]), min(ord(ends[2]), 0x7F) + 1)))

    return re.sub(r"(.)-(.)", written_out, text[:200])[:512]


def _last(change: Callable[[str], str]) -> Callable[[Run, Shell], Texts]:
    return lambda run, _: tuple(change(text) or "." for text in run.words[-1].texts)


def _real(run: Run, shell: Shell) -> Texts:
    return tuple(posixpath.join(f, t) for f in shell.folders for t in run.words[-1].texts)


def _git(run: Run, shell: Shell) -> Texts:
    said = [word.text for word in run.words[1:]]
    if "--show-toplevel" in said:
        return shell.known.get("#top", ())
    if said[:2] == ["worktree", "list"] or any(text.startswith("--git-") for text in said):
        return shell.known.get("#git", ())
    return run.given


def _wl(run: Run, shell: Shell) -> Texts:
    asked = [word.text for word in run.words[1:2]]
    return shell.known.get("#others", ()) if asked == ["path"] else ()


def _mktemp(_run: Run, shell: Shell) -> Texts:
    return shell.known.get("TMPDIR", ())


_PRINTING: dict[str, Callable[[Run, Shell], Texts]] = {
    **dict.fromkeys(("base64", "base32", "xxd", "openssl"), _decoder),
    **dict.fromkeys(("realpath", "readlink"), _real),
    **dict.fromkeys(("wl", "windlass"), _wl),
    "echo": _echo,
    "printf": _printf,
    "pwd": _pwd,
    "rev": _rev,
    "tr": _tr,
    "git": _git,
    "dirname": _last(posixpath.dirname),
    "basename": _last(posixpath.basename),
    "mktemp": _mktemp,
}
