"""Says which state a captured screen of Claude Code shows now, by which rule, on what evidence.

Pure. `RULES` is the order in which a screen is judged; the first rule that has something to say
decides. Structure comes first (dialog, live line, footer, last message), because words on a screen
may be quotes; windows of lines are only for screens whose structure is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windlass.core.claude import screen_dialogs, screen_ends, screen_turns, screen_windows
from windlass.core.claude.screen_layout import Block, Found, Layout, layout
from windlass.core.dialect import ScreenReading
from windlass.core.states import State

_SPINNER = re.compile(r"[·∙•*\u2217⋆✦✧\u2720-\u274b\u2800-\u28ff◐-◓◴-◷_\ufffd]")
_DOING = re.compile(r".{1,400}?(?:…|\.\.\.|[_?\ufffd](?= \())\s*(?:[(\[].*)?")
_CUT_SHORT = re.compile(r"(?:esc|ctrl\+c) to in\w*…?", re.IGNORECASE)
_RETRYING = re.compile(
    r"\b(?P<will>will )?retry(?:ing)? in (?P<time>\d[\w ]{0,30}?)(?=…|\.|,|\s*[·(]|\s*$)",
    re.IGNORECASE,
)
_WAITS_FOR_LIMIT = re.compile(
    r"\bwait (?:for|until) (?:the |your |usage )*limit (?:to )?resets?\b", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r'Press up to edit queued messages|Try "|Message @\S+')


TELLTALES = (b"Retrying", b"ompacting", b"Enter to", b"Esc to cancel", b"limit", b"429")
"""What is printed when a screen comes to show something that no hook tells of."""


def read(text: str) -> ScreenReading:
    """Judges a captured screen; never fails, whatever the text."""
    seen = layout(text)
    state, rule, evidence = next(judged for judge in RULES if (judged := judge(seen)) is not None)
    opened = screen_dialogs.find(seen) if rule in _DIALOG_RULES else None
    retry = _RETRYING.search(evidence) if rule in ("api-retrying", "api-stalled") else None
    return ScreenReading(
        state=state,
        rule=rule,
        evidence=" ".join(evidence.split())[:300],
        dialog=opened.kind if opened else None,
        draft=None if opened or state is State.STOPPED else _draft(seen),
        queued=_is_queued(seen),
        retry_after=_seconds(retry["time"]) if retry else None,
        window=screen_turns.usage_window(seen),
    )


def _dialog(seen: Layout) -> Found | None:
    """A dialog is open; one that offers to wait for a limit tells of the limit."""
    dialog = screen_dialogs.find(seen)
    if dialog is None:
        return None
    if any(_WAITS_FOR_LIMIT.search(option) for option in dialog.options):
        limit = screen_turns.last_limit(seen)
        evidence = f"{limit} / {dialog.evidence}" if limit else dialog.evidence
        return State.RATE_LIMITED, "usage-limit-dialog", evidence
    return State.ASKING, f"dialog-{dialog.kind.replace('_', '-')}", dialog.evidence


def _compacting(seen: Layout) -> Found | None:
    live = _live(seen)
    if live is None or not re.match(r"compacting\b", live.first, re.IGNORECASE):
        return None
    return State.COMPACTING, "compacting", live.first


def _retrying(seen: Layout) -> Found | None:
    """The program waits to ask again; whether for 429 or 529, no screen tells."""
    live = _live(seen)
    lines = [live.first] if live else []
    if live or _is_interruptible(seen):  # older versions write it as an outcome further up
        blocks = seen.blocks()[:2]
        lines += [line for block in blocks for line in block.lines if line.startswith("⎿")]
    for line in lines:
        retry = _RETRYING.search(line)
        if retry and retry["will"]:
            return State.RUNNING, "api-stalled", line
        if retry:
            return State.RATE_LIMITED, "api-retrying", line
    return None


def _interruptible(seen: Layout) -> Found | None:
    if not _is_interruptible(seen):
        return None
    live = _live(seen)
    evidence = f"{live.first} / {seen.footer}" if live else seen.footer
    return State.RUNNING, "interruptible", evidence


def _spinning(seen: Layout) -> Found | None:
    live = _live(seen)
    if live is None:
        return None
    parts = (part.strip() for part in screen_windows.SEGMENT.split(live.first))
    if _DOING.fullmatch(live.first) or any(screen_windows.INTERRUPTIBLE.match(p) for p in parts):
        return State.RUNNING, "spinner", live.first
    return None


def _tool_running(seen: Layout) -> Found | None:
    """The last tool has no outcome yet, and nothing says that the turn is over."""
    blocks = seen.blocks() if seen.settled else []
    outcomes = [line for line in blocks[0].lines if line.startswith("⎿")] if blocks else []
    if not outcomes or not blocks[0].is_tool:
        return None
    if not re.match(r"⎿\s+Running(?:…|\.\.\.)", outcomes[-1]):
        return None
    return State.RUNNING, "tool-running", outcomes[-1]


def _unknown(seen: Layout) -> Found:
    last = next((line for line in reversed(seen.lines) if line), "")
    return State.UNKNOWN, "unknown", last


RULES: tuple[Callable[[Layout], Found | None], ...] = (
    screen_ends.nothing_drawn,
    screen_ends.launching,
    _dialog,
    screen_ends.ended,
    _compacting,
    _retrying,
    _interruptible,
    _spinning,
    _tool_running,
    screen_turns.hidden,
    screen_turns.limited,
    screen_turns.failed,
    screen_turns.refused,
    screen_turns.broken_off,
    screen_turns.spoken,
    screen_windows.running,
    screen_windows.complete,
    screen_windows.waiting,
    screen_windows.weakly_running,
    screen_windows.footer,
    screen_ends.banner_only,
    _unknown,
)
"""What is asked of a screen, in this order."""

_DIALOG_RULES = frozenset({"usage-limit-dialog"}) | {
    f"dialog-{kind.replace('_', '-')}" for kind in screen_dialogs.KINDS
}


def _live(seen: Layout) -> Block | None:
    """The line that moves while a turn runs: the last block, when it is one."""
    block = next((candidate for candidate in seen.blocks() if not _is_aside(candidate)), None)
    if (
        block is None
        or not _SPINNER.fullmatch(block.mark)
        or screen_turns.FINISHED.fullmatch(block.first)
    ):
        return None
    return block


def _is_aside(block: Block) -> bool:
    """Whether a block is a notice that may stand below the live line."""
    return block.mark in ("▎", "※", "⚠", "✗")


def _is_interruptible(seen: Layout) -> bool:
    parts = [part.strip() for part in screen_windows.SEGMENT.split(seen.footer)]
    whole = any(screen_windows.INTERRUPTIBLE.match(part) for part in parts)
    return whole or any(_CUT_SHORT.fullmatch(part) for part in parts)


def _draft(seen: Layout) -> str | None:
    if seen.box is None:
        return None
    text = seen.box.text
    if text.startswith("/"):  # what the command takes is shown faintly behind it
        text = re.split(r"(?<!\s)\s{2,}+[<\[]", text, maxsplit=1)[0]
    return "" if seen.faint or _PLACEHOLDER.match(text) else text


def _is_queued(seen: Layout) -> bool:
    if seen.box is None:
        return False
    above = seen.above[-1] if seen.above else ""
    return seen.box.text.startswith("Press up to edit") or bool(re.match(r"\s+\u276f \S", above))


def _seconds(text: str) -> int:
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    parts = re.findall(r"(\d{1,6})\s*([dhms])?", text, re.IGNORECASE)
    return sum(int(number) * units.get(unit.lower(), 1) for number, unit in parts)
