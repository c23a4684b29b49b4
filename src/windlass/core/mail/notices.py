"""Notices: what wakes the person's own agent, and which change of a state is worth one.

Pure: who waits for them and where they are kept is told elsewhere.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from windlass.core import limit_reset
from windlass.core.crew import Agent
from windlass.core.errors import UserError
from windlass.core.mail.mentions import MENTION
from windlass.core.mail.messages import FRAME, Kind
from windlass.core.reasons import Reason, sentence
from windlass.core.states import State

Type = Literal["complete", "waiting", "question"]
TYPES: tuple[str, ...] = get_args(Type)
LONGEST = 32_768
"""Characters of a text: a notice says where to look, and is no place for what is there."""
_LONGEST_SENDER = 48
_TIME = "%Y-%m-%dT%H:%M:%S%z"
_UNSEEN = re.compile(r"[^\S ]|[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Left in a line of JSON these would break it, or reorder it on a terminal."""


BY_KIND: dict[Kind, Type] = {"question": "question", "complete": "complete", "alert": "waiting"}
"""Which messages to the person are worth a notice. An alert wants to be looked at, as who waits."""
_VERBS: dict[Kind, str] = {"question": "asks", "complete": "says", "alert": "warns"}


class News(NamedTuple):
    """What a change of state tells the person."""

    type: Type
    text: str


def line(*, at: datetime, sender: str, type: str, text: str) -> str:  # noqa: A002 - its own name
    """One notice as one line of JSON; `at` knows its time zone."""
    fields = {"ts": at.strftime(_TIME), "from": sender, "type": type, "msg": text}
    whole = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    # The same to whoever reads JSON; to a model it ends no frame that the line is shown in, and to
    # its CLI it names no file.
    whole = MENTION.sub(r"\\u0040", FRAME.sub(r"\\u003c", whole))
    return _UNSEEN.sub(lambda character: json.dumps(character[0])[1:-1], whole)


def of_message(sender: str, kind: Kind, body: str) -> str:
    """A message to the person as the text of a notice."""
    return f"Agent {sender} {_VERBS[kind]}: {body}"


def to_deaf(sender: str, body: str, *, manager: str, state: State) -> str:
    """A question to a manager that cannot hear it, as the text of a notice."""
    return f"Agent {sender} asks {manager}, which is {state} (wl resume {manager}): {body}"


def checked(*, sender: str, text: str) -> str:
    """The text of a notice that somebody writes, or what is wrong with it or with its sender."""
    if not 1 <= len(sender) <= _LONGEST_SENDER or not sender.isprintable():
        raise UserError(
            f"{sender[:60]!r} cannot be a sender", "give an agent's id, or a short name"
        )
    trimmed = text.strip()
    if not trimmed:
        raise UserError("nothing to say", 'wl notify "what happened"')
    if len(trimmed) > LONGEST:
        raise UserError(
            f"the text has {len(trimmed)} characters, and {LONGEST} are the most",
            "say in short what happened, and where to look",
        )
    return trimmed


def news(agent: Agent, *, reason: Reason, failed: bool, manager: str | None = None) -> News | None:
    """What the state that an agent has come to is worth telling; None for what passes by itself.

    `failed` says that its session ended by itself, and not well. A headless session's dialogs are
    answered by the daemon: nobody has to come for them.
    """
    who = f"{agent.role.capitalize() if agent.spawns else 'Agent'} {agent.id}"
    if manager is not None:
        who = f"{who} (worker of {manager})"
    match agent.state:
        case State.COMPLETE:
            return News("complete", f"{who} has completed its goal{_why(reason)}")
        case State.WAITING:
            return News("waiting", f"{who} is waiting for input{_why(reason)}")
        case State.ASKING if agent.mode == "live":
            return News(
                "waiting",
                f"{who} has a dialog open{_why(reason)}; answer it in its terminal:"
                f" wl attach {agent.id}",
            )
        case State.RATE_LIMITED if limit_reset.ends_turn(reason):
            return News(
                "waiting",
                f"{who} is at a limit{_why(reason)}; it goes on by itself when that is over:"
                f' wl why {agent.id}; to try now: wl send {agent.id} "go on"',
            )
        case State.STOPPED if failed:
            return News(
                "waiting",
                f"{who} has stopped{_why(reason)}; its work is kept: wl resume {agent.id}",
            )
    return None


def _why(reason: Reason) -> str:
    """What is beyond the usual: that it is idle without a word, or that an error ended its turn."""
    usual = reason.kind in ("claimed_complete", "claimed_waiting") and not reason.tasks
    words = "" if usual else sentence(reason)
    return f" ({words})" if words else ""
