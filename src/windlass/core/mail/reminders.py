"""Reminders: when an agent that is idle and not done is due one, and in which words.

Pure. Whoever works, is limited, paused, asks or waits for somebody is never reminded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from windlass.core.crew import Agent
from windlass.core.printable import printable_line
from windlass.core.reasons import COMPLETE_PHRASE, WAITING_PHRASE, Reason, sentence
from windlass.core.states import State

TOPIC = "nudge"
"""The topic of every reminder; stored with each, so it stays as it is."""
What = Literal["reminder", "other", "over"]


class Moment(NamedTuple):
    """Something that set an agent going, or the end of our patience with it.

    What came after what is known by the numbers of events, whatever the clock said.
    """

    at: float
    what: What
    number: int = 0


class Rest(NamedTuple):
    """An idle agent's state, since when, and the reminders since it last acted by itself."""

    state: State
    reason: Reason
    since: float
    root: bool = False
    expects: bool = False
    """Whether mail is under way to it, an answer is owed to it, or agents below it work."""
    moments: Sequence[Moment] = ()


def is_idle(state: State, reason: Reason) -> bool:
    """Whether an agent rests though it is neither done nor said that it waits.

    One that was interrupted, or has something running in the background, rests for a reason.
    """
    return state is State.WAITING and (is_silent(reason) or reason.kind == "turn_failed")


def is_silent(reason: Reason) -> bool:
    """Whether an agent ended its turn without a word of how it stands, and with nothing running."""
    return reason.kind == "idle" and not reason.tasks


def streak(moments: Iterable[Moment]) -> list[Moment]:
    """The reminders since something else set an agent going."""
    since: list[Moment] = []
    for moment in sorted(moments, key=_order):
        since = [] if moment.what == "other" else [*since, moment]
    return since


def step(rest: Rest, *, now: float, first: float, most: int) -> Literal["reminder", "over"] | None:
    """What an idle agent is due: a reminder, the end of them, or nothing.

    Each comes after twice as long as the one before. When the last has changed nothing either,
    somebody else is told, after as long as it took to the first.
    """
    if rest.root or rest.expects or most == 0 or not is_idle(rest.state, rest.reason):
        return None
    tried = streak(rest.moments)
    if any(moment.what == "over" for moment in tried):
        return None
    # What seems to be yet to come was before the clock was set back.
    idle = now - max([rest.since, *(moment.at for moment in tried if moment.at <= now)])
    if len(tried) >= most:
        return "over" if idle >= first else None
    return "reminder" if idle >= first * 2 ** len(tried) else None


def reminder(reason: Reason) -> str:
    """The text of a reminder, which says why it comes."""
    why = (
        "You are idle and have not said that you are done."
        if is_silent(reason)
        else f"Your {printable_line(sentence(reason))}."
    )
    return (
        f"{why} Go on; or end your turn with a last line {WAITING_PHRASE} and, before it, what you"
        f" wait for; or with {COMPLETE_PHRASE} if the goal is reached."
    )


def unmoved(agent: Agent, count: int) -> str:
    """What is told of an agent that no reminder moved."""
    return (
        f"{agent.id} is idle and not done, and {count} reminder{'s' if count > 1 else ''} changed"
        f' nothing.\nNext: `wl look {agent.id}`; `wl send {agent.id} "..."` has it go on;'
        f" `wl merge {agent.id} --force` or `wl kill {agent.id} --force` ends it."
    )


def _order(moment: Moment) -> tuple[int, float, int]:
    """As they came; of what came at the same moment a reminder is the first: it caused the rest."""
    return moment.number, moment.at, get_args(What).index(moment.what)
