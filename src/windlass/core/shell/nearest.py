"""The nearest line to one that was refused: what somebody may have meant who typed it.

Only guesses: whoever names one to an agent has judged it like any other line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from windlass.core.shell.reach import Reach

_GIT = (
    (r"\bgit stash (?:drop|clear)\b(?: stash@\{\d+\})?", "git stash pop"),
    (r"\bgit stash pop (?P<which>stash@\{\d+\}|\d+)", r"git stash apply \g<which>"),
    (r"\bgit checkout -B (?P<name>[\w./-]+)", r"git checkout -b \g<name>-@"),
    (r"\bgit switch -C (?P<name>[\w./-]+)", r"git switch -c \g<name>-@"),
    (r"\bgit branch (?:-f|--force) (?P<name>[\w./-]+)", r"git branch \g<name>-@"),
    (r"\bgit tag (?:-f|--force) (?P<name>[\w./-]+)", r"git tag \g<name>-@"),
    (r"\bgit update-ref refs/heads/(?P<name>[\w./-]+)", r"git branch \g<name>-@"),
    (
        r"\bgit (?P<how>fetch|pull) (?P<from>[\w./-]+) \+?(?P<name>[\w./-]+):\S+",
        r"git \g<how> \g<from> \g<name>",
    ),
    (
        r"\bgit push(?: (?:-f|--force))? (?P<to>[\w-]+) \+?(?:HEAD)?:?[\w./-]+",
        r"git push \g<to> HEAD",
    ),
    (r"\bgit config --(?:local|global) ", "git config "),
)
_WHO = (
    (r"\b(?:export |declare \+?-?x )?WINDLASS_\w+=\S*\s*(?:;|&&)?\s*", ""),
    (r"\bunset(?: WINDLASS_\w+)+\s*(?:;|&&)\s*", ""),
    (r"\benv(?: -u ?\w+| --unset=\w+| -i| -)+ (?:[A-Z]\w*=\S+ )*", ""),
)


def guesses(line: str, path: str, reach: Reach, *, writes: bool) -> Iterator[str]:
    """Lines that may be meant; `path` is what was refused in this one, if it was a path."""
    if len(line) > 2000:
        return
    if path and path in line:
        yield from (line.replace(path, other) for other in _elsewhere(path, reach, writes=writes))
    own = posixpath.basename(reach.workspace)
    for rules in (_GIT, _WHO):
        for pattern, instead in rules:
            meant = re.sub(pattern, instead.replace("@", own), line)
            if meant != line:
                yield meant


def _elsewhere(path: str, reach: Reach, *, writes: bool) -> Iterator[str]:
    """The same file where the agent has it, or where it may put one."""
    whole = posixpath.normpath(posixpath.join(reach.workspace, path.replace("~", reach.home, 1)))
    siblings = posixpath.dirname(reach.workspace)
    for place in (reach.variables.get("WINDLASS_REPO"), siblings):
        if place and whole.startswith(f"{place}/"):
            rest = whole[len(place) + 1 :]
            rest = rest.partition("/")[2] if place == siblings else rest
            yield rest or "."
    if writes and reach.temp and not reach.closed(whole):
        yield posixpath.join(reach.temp, posixpath.basename(whole))
