"""Shell lines against patterns: the one place that reads shell.

Only as far as plain lines go yet: `covers` and `mentions` are what a real parser replaces, and
nothing else looks into a command. Where they do not know, the first says no and the second yes.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

_PLAIN = re.compile(r"[A-Za-z0-9_./=: -]+")
_BETWEEN = re.compile(r"[;&|\n\r(){}`$<>!]+")
_WORD = re.compile(r"[^\s;&|(){}`$<>!=]+")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*")
_BEFORE = frozenset(
    (
        *("if", "then", "elif", "else", "while", "until", "do", "time", "command", "builtin"),
        *("exec", "eval", "env", "sudo", "doas", "nohup", "nice", "setsid", "timeout", "xargs"),
    )
)
"""Words that the command proper may follow, after options and settings of theirs."""


_STARTERS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "busybox", "find", "su", "watch"))
"""Programs that start what their arguments name."""


def covers(line: str, content: str) -> bool:
    """Whether a pattern allows a whole line: `prefix:*`, `prefix *` or the exact words."""
    words = line.split()
    return bool(words) and bool(_PLAIN.fullmatch(line)) and _fits(words, content)


def mentions(line: str, content: str) -> bool:
    """Whether a pattern denies any command that a line may run.

    In a line that is not plain, or that starts a program which starts others, it is enough that its
    words stand there in order, whatever is between them: that is how `bash -c 'git push'`, `git -C
    . push` and `$(echo git) push` are caught, and more than those.
    """
    bare = re.sub(r"[\"'\\]", "", line.replace("\\\n", " "))
    commands = [part.split() for part in (*_BETWEEN.split(bare), line)]
    if any(_fits(form, content) for words in commands for form in _forms(words)):
        return True
    wanted = content.removesuffix(":*").removesuffix("*").split()
    said = [word.rpartition("/")[2] or word for word in _WORD.findall(bare)]
    starts = said[0] if said else ""
    loose = not _PLAIN.fullmatch(line) or starts in (*_BEFORE, *_STARTERS, *wanted[:1])
    rest = iter(said)
    return bool(wanted) and loose and all(word in rest for word in wanted)


def suggestion(line: str) -> str:
    """The pattern that a person would add to have lines like this one allowed."""
    words = [word for word in line.split() if not _SETTING.fullmatch(word)]
    return f"Bash({words[0]}:*)" if words and _PLAIN.fullmatch(line) else "Bash"


def _forms(words: list[str]) -> list[list[str]]:
    """A command as it is, without what stands before it, and its program without its folder."""
    rest = list(words)
    behind = False
    while rest:
        if rest[0] in _BEFORE:
            behind = True
        elif not _SETTING.fullmatch(rest[0]) and not (behind and re.match(r"[-0-9]", rest[0])):
            break
        rest.pop(0)
    bare = [rest[0].rpartition("/")[2], *rest[1:]] if rest else []
    return [words, rest, bare]


def _fits(words: list[str], content: str) -> bool:
    wanted = content.split()
    if content.endswith(":*"):
        wanted = content.removesuffix(":*").split()
    elif wanted[-1:] == ["*"]:
        wanted.pop()
    else:
        line, exact = " ".join(words), " ".join(wanted)
        return line == exact or ("*" in exact and fnmatchcase(line, exact))
    return bool(wanted) and words[: len(wanted)] == wanted
