"""Text of agents made safe to show: no escape sequence of theirs reaches a person's terminal.

Pure. `printable` shows what it neutralises, for evidence; `without_escapes` drops it, for
reading; `keep_colour` drops all but colours, for screens. `encodable` is for what keeps text: it
shows only what no UTF-8 can hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# In order: strings (OSC, DCS, SOS, PM, APC) to their end, or to the end of their line when cut;
# control sequences; character sets and other two- and three-byte escapes.
_ESCAPE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_RESET = "\x1b[0m"
_EXTENDED = ("38", "48", "58")
"""What begins a colour of more than one number."""

# Controls but for tab and line end, lone surrogates, and what reorders or breaks lines unseen.
# Joiners (200c, 200d) stay: scripts and emoji need them.
_UNSAFE = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_CONTROL = re.compile(f"[{_UNSAFE}]")
_LONE = re.compile("[\ud800-\udfff]")
_CONTROL_OR_BREAK = re.compile(f"[\t\n{_UNSAFE}]")


def printable(text: str) -> str:
    r"""Shows control characters as `\x1b`; keeps line ends and tabs."""
    return _CONTROL.sub(_visible, text)


def printable_line(text: str) -> str:
    r"""Shows control characters, line ends and tabs too, so that one line stays one."""
    return _CONTROL_OR_BREAK.sub(_visible, text)


def few(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, each a line of its own made safe to show, and how many are left."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(printable_line, names[:most])) + more


def encodable(text: str) -> str:
    r"""Shows each byte of a name that is no UTF-8 as `\udcff`; all else stays as it is."""
    return _LONE.sub(_visible, text)


def without_escapes(text: str) -> str:
    """Drops escape sequences and control characters; keeps text, line ends and tabs."""
    return _CONTROL.sub("", _ESCAPE.sub("", text))


def keep_colour(text: str) -> str:
    """Drops all but text and visible colours; a text that sets some ends by resetting them."""
    parts = []
    end = 0
    for sequence in _ESCAPE.finditer(text):
        parts.append(_CONTROL.sub("", text[end : sequence.start()]))
        if _COLOUR.fullmatch(sequence[0]):
            parts.append(visible_colours(sequence[0]))
        end = sequence.end()
    parts.append(_CONTROL.sub("", text[end:]))
    kept = "".join(parts)
    return f"{kept}{_RESET}" if "\x1b" in kept and not kept.endswith(_RESET) else kept


def visible_colours(sequence: str) -> str:
    """A sequence that sets colours without what conceals text; nothing if that was all of it."""
    words, kept = sequence[2:-1].split(";"), list[str]()
    while words:
        word = words.pop(0)
        number, colon, _ = word.partition(":")
        number = number.lstrip("0")
        if number == "8" or (colon and number not in (*_EXTENDED, "4")):
            continue
        if number in _EXTENDED and not colon:  # 38;5;8 is a colour: its numbers are no words
            taken = {"5": 2, "2": 4}.get(words[0].lstrip("0"), 0) if words else 0
            if not taken or len(words) < taken:
                break  # half a colour: terminals differ in what they make of the rest
            word = ";".join([word, *words[:taken]])
            del words[:taken]
        kept.append(word)
    return f"\x1b[{';'.join(kept)}m" if kept else ""


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    named = {9: "\\t", 10: "\\n", 13: "\\r"}
    if code in named:
        return named[code]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
