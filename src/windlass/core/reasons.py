"""Why an agent is thought to be in a state: what was seen, as data, and the sentence for it.

Every observation carries a reason. Whoever decides something looks at its kind; whoever tells
people makes the sentence here, and nowhere else, so that nothing is ever read out of prose.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.ages import age

COMPLETE_PHRASE = "I HAVE COMPLETED THE GOAL"
WAITING_PHRASE = "WAITING"
Kind = Literal[
    "words",
    "preparing",
    "session_begun",
    "restored",
    "paused",
    "pause_failed",
    "exited",
    "vanished",
    "unstartable",
    "session_started",
    "session_taken_up",
    "turn_taken_up",
    "prompt_taken",
    "tool_called",
    "tool_returned",
    "tool_running",
    "printed",
    "permission_asked",
    "dialog_opened",
    "compacting",
    "compacted",
    "compacted_by_hand",
    "model_answers",
    "model_refused",
    "turn_failed",
    "interrupted",
    "idle",
    "claimed_waiting",
    "claimed_complete",
    "claim_doubted",
    "status_idle",
    "status_busy",
    "status_waiting",
    "status_shell",
    "screen",
]
"""What can be seen; `words` is what an older Windlass kept, of which only the sentence is known."""
_ENDINGS: dict[Kind, str] = {
    "exited": "ended with exit code {code}",
    "vanished": "ended without a trace",
    "unstartable": "could not be started",
}
_SENTENCES: dict[Kind, str] = {
    "words": "{text}",
    "preparing": "its workspace is being prepared",
    "session_begun": "session {session} is being started",
    "restored": "restored from {text}",
    "paused": "{text}",
    "pause_failed": "could not be paused",
    **{kind: f"session {{session}} {how}" for kind, how in _ENDINGS.items()},
    "session_started": "session start ({text})",
    "session_taken_up": "idle: session start ({text})",
    "turn_taken_up": "session start, with a turn to go on with",
    "prompt_taken": "took a prompt",
    "tool_called": "called {tool}",
    "tool_returned": "{tool} returned",
    "tool_running": "its tool still runs",
    "printed": "printed something {age} ago",
    "permission_asked": "asks permission for {tool}",
    "dialog_opened": "{text}",
    "compacting": "compacting ({text})",
    "compacted": "compacted",
    "compacted_by_hand": "idle: compacted",
    "model_answers": "the model answers",
    "model_refused": "the model refused ({text}), trying again",
    "turn_failed": "turn ended by an error",
    "interrupted": "interrupted",
    "idle": "idle",
    "claimed_waiting": WAITING_PHRASE,
    "claimed_complete": COMPLETE_PHRASE,
    "claim_doubted": "says that it is done, but has not called a single tool ({claim})",
    "status_idle": "its status file says idle",
    "status_busy": "its status file says busy",
    "status_waiting": "its status file says waiting",
    "status_shell": "its status file says idle, with a shell in the background",
    "screen": "{rule}: {text}",
}
"""Where a sentence has no place for `text`, that follows behind a colon."""


_LONGEST_TEXT = 2000
"""Characters; a sentence of ours that names a file has room in it."""
_LONGEST_NAME = 120
_MOST_TASKS = 10


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was seen; a kind fills the fields that its sentence needs, and no other."""

    kind: Kind
    text: str = ""
    """Words that are not ours: of a program, an error, a dialog, or of who paused it."""
    tool: str = ""
    session: int = 0
    code: int | None = None
    """The exit code of a session."""
    seconds: float = 0.0
    """How long ago it was."""
    rule: str = ""
    """The rule that read a screen."""
    tasks: tuple[str, ...] = ()
    """What still runs in the background, of an agent that ended its turn."""


def in_short(reason: Reason) -> Reason:
    """A reason that every listing can show: its words may be an agent's, and of any length."""
    return msgspec.structs.replace(
        reason,
        text=_cut(reason.text, _LONGEST_TEXT),
        tool=_cut(reason.tool, _LONGEST_NAME),
        rule=_cut(reason.rule, _LONGEST_NAME),
        tasks=tuple(_cut(task, _LONGEST_NAME) for task in reason.tasks[:_MOST_TASKS]),
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def words(text: str) -> Reason:
    """A reason of which only the sentence is known."""
    return Reason(kind="words", text=text)


UNKNOWN = words("")
"""No reason is known."""


def sentence(reason: Reason) -> str:
    """A reason as a sentence for people."""
    return _filled(reason, _SENTENCES[reason.kind])


def how_it_ended(reason: Reason) -> str:
    """What people are told of a session that is over, without its number."""
    return _filled(reason, _ENDINGS[reason.kind])


def _filled(reason: Reason, form: str) -> str:
    text = form.format(
        text=reason.text,
        tool=reason.tool,
        session=reason.session,
        code=reason.code,
        age=age(reason.seconds),
        rule=reason.rule,
        claim=_with_tasks(COMPLETE_PHRASE, reason),
    )
    if reason.text and "{text}" not in form:
        text = f"{text}: {reason.text}"
    return text if "{claim}" in form else _with_tasks(text, reason)


def _with_tasks(text: str, reason: Reason) -> str:
    return f"{text}; in the background: {', '.join(reason.tasks)}" if reason.tasks else text
