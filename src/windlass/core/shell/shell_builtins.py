"""Commands of a shell itself that change what it knows: `declare`, `set`, `read`, `popd`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from windlass.core.shell import text_programs
from windlass.core.shell.loose_words import NAME
from windlass.core.shell.said import Run
from windlass.core.shell.values import UNKNOWN

if TYPE_CHECKING:
    from windlass.core.shell.loose import Shell

_MANY = 12
DECLARING = frozenset(("export", "declare", "typeset", "local", "readonly", "alias"))


def _declare(shell: Shell, run: Run) -> None:
    named = any(word.text == "-n" for word in run.words)
    for word in run.words[1:]:
        for text in word.texts:
            name, equals, value = text.partition("=")
            if equals:
                shell.set(name, (value,))
                shell.set(name, tuple(t for t in shell.value(value) if named and t != UNKNOWN))


def _set(shell: Shell, run: Run) -> None:
    said = [word.text for word in run.words]
    for at, word in enumerate(run.words[said.index("--") + 1 :] if "--" in said else (), 1):
        for name in (str(at), "@", "*"):
            shell.set(name, word.texts)


def _read(shell: Shell, run: Run) -> None:
    lines = tuple(line for text in run.given for line in text.splitlines()[:_MANY])
    signs = "".join(run.settings.get("IFS", ()))
    between = re.compile(f"[\\s{re.escape(signs)}]")
    lines += tuple(part for line in lines for part in between.split(line)[:_MANY] if part != line)
    for word in run.words[1:]:
        if NAME.fullmatch(word.text):
            shell.set(word.text, lines or (UNKNOWN,))


def _printf(shell: Shell, run: Run) -> None:
    if len(run.words) > 3 and run.words[1].text == "-v":
        said = [word.text for word in run.words[3:]]
        shell.set(run.words[2].text, text_programs.formatted(said))


def _go(shell: Shell, run: Run) -> None:
    shell.go(run)


def _back(shell: Shell, _run: Run) -> None:
    shell.folders, shell.before = shell.before, shell.folders


BUILTINS: dict[str, Callable[[Shell, Run], None]] = {
    **dict.fromkeys(DECLARING - {"alias"}, _declare),
    **dict.fromkeys(("cd", "pushd"), _go),
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    "popd": _back,
    "set": _set,
    "printf": _printf,
}
"""What changes what a shell knows."""
