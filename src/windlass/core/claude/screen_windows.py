"""Screens whose structure is not recognised: old layouts without a box, or cut captures. Pure.

The order is that of people who read screens before us: what runs in the last five lines, then the
phrases in the last fifteen, then weaker signs of running. Prompts and tools' output do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windlass.core.claude import screen_turns
from windlass.core.claude.screen_layout import BULLETS, POINTERS, Found, Layout
from windlass.core.states import State, from_last_message

SEGMENT = re.compile(r"\s[·•|∙]\s|\s{3,}|[()]|,\s")
INTERRUPTIBLE = re.compile(
    r"(?:press )?(?:esc(?:ape)?|ctrl[+-]c) to (?:interrupt|stop)\b", re.IGNORECASE
)
_TOOL_RUNS = re.compile(r"\s*⎿\s+Running(?! in the background)")
_WEAK = re.compile(r"\(?ctrl\+b(?: ctrl\+b)?\b|(?:.{0,200}[·(] ?)?thinking\)", re.IGNORECASE)
_FOOTER = re.compile(r"\s*(?:\? for shortcuts|⏵⏵ |⏸ plan mode|paste again to expand)")


def running(seen: Layout) -> Found | None:
    """Something in the last five lines runs right now."""
    for line in _last(seen, 5):
        if line[:1] in BULLETS | POINTERS:
            continue
        parts = (part.strip() for part in SEGMENT.split(line))
        if _TOOL_RUNS.match(line) or any(INTERRUPTIBLE.match(part) for part in parts):
            return State.RUNNING, "window-running", line.strip()
    return None


def complete(seen: Layout) -> Found | None:
    """The phrase ends a line of the agent's in the last fifteen."""
    for said in _said(seen):
        if from_last_message(said)[0] is State.COMPLETE:
            return State.COMPLETE, "window-complete", said
    return None


def waiting(seen: Layout) -> Found | None:
    """A line of the agent's in the last fifteen says that it waits."""
    for said in _said(seen):
        if from_last_message(said)[1].kind == "claimed_waiting":
            return State.WAITING, "window-waiting", said
    return None


def weakly_running(seen: Layout) -> Found | None:
    """A hint that only a running tool or a thinking model has stands in the last fifteen lines."""
    for line in _last(seen, 15):
        if line[:1] not in BULLETS | POINTERS and _WEAK.match(line.strip()):
            return State.RUNNING, "window-running", line.strip()
    return None


def footer(seen: Layout) -> Found | None:
    """Of the prompt only its footer is left on a cut screen."""
    footer = next((line for line in _last(seen, 3) if _FOOTER.match(line)), None)
    return None if footer is None else (State.WAITING, "window-idle", f"idle: {footer.strip()}")


def _last(seen: Layout, count: int) -> list[str]:
    return [line for line in seen.lines if line][-count:]


def _said(seen: Layout) -> Iterator[str]:
    """Lines and last paragraphs of the agent's since the last prompt, from the bottom."""
    budget = 15
    for block in screen_turns.blocks_since_prompt(seen):
        words = [line for line in block.words if line.strip()]
        if screen_turns.is_message(block):
            yield " ".join(line.strip() for line in words[-2:])
            yield from (line.strip() for line in reversed(words[-budget:]))
        budget -= len(words)
        if budget <= 0:
            return
