"""What an agent is doing, and how we know: states folded from observations.

An observation is what one source said at one time. The fold picks the strongest that is still
fresh, so every state comes with its source, its evidence and its age. Reading hooks, processes and
screens is done elsewhere; here is only what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import partial

import msgspec

from windlass.core import reasons
from windlass.core.reasons import COMPLETE_PHRASE, WAITING_PHRASE, Reason


class State(StrEnum):
    """The ten states of an agent."""

    CREATING = "creating"
    RUNNING = "running"
    ASKING = "asking"
    WAITING = "waiting"
    COMPLETE = "complete"
    COMPACTING = "compacting"
    RATE_LIMITED = "rate_limited"
    PAUSED = "paused"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


IDLE = frozenset({State.WAITING, State.COMPLETE})
"""It has ended its turn, and hears what it is told."""
SETTLED = frozenset({State.COMPLETE, State.STOPPED, State.PAUSED})
"""It does nothing, and is waiting for nobody."""
RESTING = IDLE | SETTLED
"""It does nothing."""


class Source(StrEnum):
    """Who may say what an agent does, strongest first."""

    WINDLASS = "windlass"
    """What we did ourselves: created, interrupted, paused."""
    HOOK = "hook"
    OUTPUT = "output"
    """The structured output of a headless session, as good as a hook."""
    STATUS = "status"
    """The CLI's own status file."""
    PROCESS = "process"
    SCREEN = "screen"


LATEST = 32503680000.0
"""The year 3000: what is said to be later was written by no program, and no face could show it.

Whoever reads a moment compares before anything else: a number in JSON may be too large for a float.
"""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One source's word at one time, about one session of an agent."""

    source: Source
    value: State
    at: float
    reason: Reason
    session: int

    @property
    def evidence(self) -> str:
        """The reason, as people are told it."""
        return reasons.sentence(self.reason)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The state, the observation that decided it, and those that lost."""

    state: State
    winner: Observation | None
    losers: tuple[Observation, ...] = ()


FADES_AFTER = 15 * 60.0
"""A running agent that said nothing for so long is unknown, not running."""
UNHEARD_AFTER = 10.0
"""A session that shows what it does, but whose hooks were not heard for so long, has none."""

_MOMENT = 0.001
_BY_SIGNAL = 128
"""Exit codes from here on are of programs that a signal ended."""
_BUSY = frozenset({State.CREATING, State.RUNNING, State.COMPACTING, State.RATE_LIMITED})
_REPORTS = (Source.HOOK, Source.OUTPUT)
"""What the session itself says; everything else is seen from outside."""
_FADING = _BUSY - {State.RATE_LIMITED}
_SEEN_ONLY_ON_SCREEN = frozenset({State.RATE_LIMITED, State.COMPACTING, State.ASKING})
"""What no hook and no status file may tell of; only then is a mere picture believed over them."""


def fold(observations: Iterable[Observation], *, now: float) -> Verdict:
    """Decides the state from the latest observation of each source.

    Only the newest session counts. That we paused it settles it, then that its process is gone,
    unless it gave up at a limit, at which it still is;
    else what the session itself reports (hooks, output), unless something weaker is newer and says
    that it does another kind of thing: an interrupted turn fires no hook. What keeps busy fades to
    unknown when no source has called it busy for long.
    """
    seen = list(observations)
    if not seen:
        return Verdict(state=State.UNKNOWN, winner=None)
    newest = max(o.session for o in seen)
    current = sorted((o for o in seen if o.session == newest), key=partial(_order, now=now))
    winner = _settled(current) or _strongest(current, now=now)
    others = tuple(o for o in reversed(seen) if o is not winner)
    fresh = any(now - o.at <= FADES_AFTER for o in current if o.value in _FADING)
    faded = winner.value in _FADING and not fresh
    return Verdict(state=State.UNKNOWN if faded else winner.value, winner=winner, losers=others)


def _order(observation: Observation, *, now: float) -> tuple[float, State]:
    """By time; what seems to come from the future was said before the clock went back."""
    return (observation.at if observation.at <= now + 1 else 0.0), observation.value


def _settled(current: list[Observation]) -> Observation | None:
    for observation in current:
        if observation.value is State.PAUSED:
            return observation
    for observation in current:
        if observation.source is Source.PROCESS and observation.value is State.STOPPED:
            return _limit_that_ended_it(observation, current) or observation
    return None


def _limit_that_ended_it(gone: Observation, current: list[Observation]) -> Observation | None:
    """The limit because of which a session gave up by itself; None where it ended otherwise.

    One that was ended by a signal is stopped, whatever it said before.
    """
    if gone.reason.kind != "exited" or not 0 < (gone.reason.code or 0) < _BY_SIGNAL:
        return None
    reports = [o for o in current if o.source in _REPORTS]
    last = reports[-1] if reports else None
    if last is None or last.value is not State.RATE_LIMITED or last.reason.kind != "turn_failed":
        return None
    return last


def _strongest(current: list[Observation], *, now: float) -> Observation:
    """Goes from the strongest source to the weakest; each may correct those before it.

    `current` is in order of time, so the last of a source is its latest word.
    """
    latest = {o.source: o for o in current}
    reports = [o for o in current if o.source in _REPORTS or _did(o)]
    winner = reports[-1] if reports else None
    for source in (Source.STATUS, Source.SCREEN):
        weaker = latest.get(source)
        if weaker is None or weaker.value is State.UNKNOWN:
            continue
        starting = winner is None or winner.value is State.CREATING
        if starting and weaker.value not in _SEEN_ONLY_ON_SCREEN:
            # It shows its prompt before it takes one up, on a busy machine for seconds.
            if now - weaker.at > UNHEARD_AFTER:
                winner = weaker
        elif winner is None or (
            _order(weaker, now=now) > _order(winner, now=now)
            and _corrects(weaker, winner, has_status=Source.STATUS in latest)
        ):
            winner = weaker
    return winner or latest.get(Source.WINDLASS) or latest.get(Source.PROCESS) or current[-1]


def _did(observation: Observation) -> bool:
    """Whether we stopped its turn, or could not end it: what it said before counts no more."""
    if observation.source is not Source.WINDLASS:
        return False
    return observation.value is State.UNKNOWN or observation.reason.kind == "interrupted"


def _corrects(weaker: Observation, winner: Observation, *, has_status: bool) -> bool:
    if weaker.source is Source.SCREEN and weaker.value in _SEEN_ONLY_ON_SCREEN:
        return weaker.value is not winner.value
    if weaker.source is Source.SCREEN and has_status:
        return False
    if winner.value is State.RATE_LIMITED and winner.source in _REPORTS:
        return weaker.value is State.RUNNING  # a turn that a limit ended is idle, and says why
    return _kind(weaker.value) != _kind(winner.value)


def _kind(state: State) -> State:
    """States of one kind do not contradict each other: a file that says idle knows of no goal."""
    if state in _BUSY:
        return State.RUNNING
    return State.WAITING if state in IDLE else state


def claimed(seen: Observation, *, tools: int) -> Observation:
    """Doubts a goal that was completed without a single tool call: it waits, and says why."""
    if seen.value is not State.COMPLETE or tools > 0:
        return seen
    doubt = msgspec.structs.replace(seen.reason, kind="claim_doubted")
    return msgspec.structs.replace(seen, value=State.WAITING, reason=doubt)


def from_last_message(text: str) -> tuple[State, Reason]:
    """Reads the last line of an agent's last message: done, waiting, or merely idle."""
    lines = [line.strip().strip("*_`#>").strip() for line in text.splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    bare = last.rstrip(".!* ")
    before = bare.removesuffix(COMPLETE_PHRASE).rstrip(" *_`")
    if before != bare and not before[-1:].isalnum():  # not "I cannot yet say I HAVE COMPLETED ..."
        return State.COMPLETE, Reason(kind="claimed_complete")
    if bare == WAITING_PHRASE:
        return State.WAITING, Reason(kind="claimed_waiting")
    return State.WAITING, Reason(kind="idle")


def interrupted(verdict: Verdict, how: str) -> Observation | None:
    """That a turn was stopped by us, told in place of a mere look at an agent that is idle now.

    As of when it was seen idle: what it does since then is newer. None where its turn ended by
    itself, or goes on.
    """
    idle = verdict.winner
    if idle is None or verdict.state not in IDLE:
        return None
    if idle.source not in (Source.STATUS, Source.SCREEN) and idle.reason.kind != "interrupted":
        return None
    return Observation(
        source=Source.WINDLASS,
        value=State.WAITING,
        at=idle.at + _MOMENT,
        reason=Reason(kind="interrupted", text=how),
        session=idle.session,
    )


def last_report(observations: Iterable[Observation], *, before: int) -> Observation | None:
    """The last that the sessions before this one said of themselves."""
    reports = [o for o in observations if o.source in _REPORTS and o.session < before]
    return max(reports, key=lambda o: o.at, default=None)
