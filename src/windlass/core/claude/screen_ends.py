"""Screens on which the program is not there: not yet, or no more. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from windlass.core.claude.screen_layout import BULLETS, Found, Layout
from windlass.core.states import State

_GONE = re.compile(
    r"resume this session with:|exit=\d+$|\[?exited\]?(?: \d+)?$|pane is dead"
    r"|\[process (?:completed|exited)|logout$|error: session id .* is already in use"
    r"|no conversation found with session|.*cannot be used with root/sudo privileges"
    r"|\S+: (?:line \d+: )?\S*claude\S*: (?:command )?not found|env: .*claude.*: no such file",
    re.IGNORECASE,
)
_UNREACHED = re.compile(r"unable to connect to anthropic services", re.IGNORECASE)
_SHELL = re.compile(
    r"(?:\([\w.-]+\) )?(?:"
    r"(?:[~/][^\s$#%]*|bash-[\d.]+|sh-[\d.]+|\[[^\]]*\])?\s?[$#%]$"
    r"|[\w.-]+@[\w.-]+(?:[: ][^$#%]{0,200})?[$#%](?:\s|$)|➜\s)"
)
_LAUNCH = re.compile(r"(?!\s)[^$#%\u276f➜]{0,200}[$#%\u276f➜] (?:exec )?(?:\S*/)?claude(?: .*)?$")
LOGO = re.compile(r"claude code v\d|welcome to claude code", re.IGNORECASE)


def is_end(line: str) -> bool:
    """Whether a line can only stand below a program that has ended."""
    return bool(_GONE.match(line) or _SHELL.match(line))


def nothing_drawn(seen: Layout) -> Found | None:
    """The program has drawn nothing yet."""
    if any(seen.lines):
        return None
    return State.CREATING, "nothing-drawn", "the screen is empty"


def launching(seen: Layout) -> Found | None:
    """The command that starts the program is the last thing on the screen."""
    last = (seen.below if seen.settled else seen.lines)[-1:]
    if not last or not _LAUNCH.match(last[0]):
        return None
    return State.CREATING, "launching", last[0]


def ended(seen: Layout) -> Found | None:
    """A farewell, an error before the start or a shell's prompt stands below all that it drew."""
    if seen.transcript:
        return None
    rest = _since_logo([line for line in (seen.below if seen.box else seen.lines) if line][-12:])
    gone = next((line for line in rest if _GONE.match(line)), None)
    if gone is not None:
        return State.STOPPED, "session-ended", gone
    shell = next((line for line in reversed(rest) if _SHELL.match(line)), None)
    if shell is not None:
        return State.STOPPED, "shell-prompt", shell
    if seen.box is None and not any(line[:1] in BULLETS for line in seen.lines):
        lost = next((line for line in rest if _UNREACHED.match(line.strip())), None)
        if lost is not None:
            return State.STOPPED, "preflight-failed", lost
    return None


def banner_only(seen: Layout) -> Found | None:
    """The banner is drawn, the prompt is not."""
    logo = next((line for line in seen.lines if LOGO.search(line)), None)
    if logo is None or any(line[:1] in BULLETS for line in seen.lines):
        return None
    return State.CREATING, "banner-only", logo


def _since_logo(lines: Sequence[str]) -> Sequence[str]:
    """What came after the last start: an earlier session's end says nothing about this one."""
    starts = [number for number, line in enumerate(lines) if line[:1] in ("╭", "▐")]
    return lines[starts[-1] :] if starts else lines
