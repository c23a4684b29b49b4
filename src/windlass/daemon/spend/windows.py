"""Usage windows of subscriptions, and that no agent is started above a part of one.

What a CLI showed of a window is an event, the newest of which counts, until the window begins anew;
so does a limit that has stopped an agent, which is all of one. One account pays for all agents of a
driver, whatever their repository: what one of them was shown holds for all. An agent may have made
that up: so it holds for an hour, unless it is shown again, and whoever is refused is told who says
it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
import sqlalchemy as sa

from windlass.api.wire.agents import SpawnRequest
from windlass.core import events, limit_reset, states, usage_windows
from windlass.core.crew import Agent
from windlass.core.errors import Denied, Unavailable
from windlass.core.events import USAGE_WINDOW, UsageWindowSeen
from windlass.core.states import State
from windlass.core.usage_windows import UsageWindow
from windlass.daemon.kernel import clock
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.store import Writing

_BACK = 50
_HOLDS = 3600.0
"""Seconds for which what was shown counts; it is noted again before they are over."""


def note(writing: Writing, agent: Agent, window: UsageWindow) -> None:
    """Keeps what an agent's CLI showed of a window, unless that is known."""
    fresh = writing.now - _HOLDS / 2
    known = _seen(writing.connection, agent.driver, since=fresh).get(window.name)
    if known is not None and _shown(known) == _shown(window):
        return
    event = UsageWindowSeen(
        driver=agent.driver,
        window=window.name,
        percent=round(window.percent, 1),
        resets_at=window.resets_at,
        by=agent.id,
    )
    # Of no agent: it counts also when the one that told of it has ended.
    writing.emit(event, repo=agent.repo)


def refuse_full(
    context: Context, driver: str, request: SpawnRequest, *, most: int, by: Agent | None
) -> None:
    """Refuses to start an agent while a window is used above `most` percent; 0 is no limit."""
    anyway = request.get("anyway", False)
    if anyway and by is not None:
        raise Denied("only the person starts agents above a usage limit", "leave --anyway out")
    if anyway or not most:
        return
    now = context.clock.now()
    windows = context.store.read(lambda c: _known(c, driver, now))
    if full := usage_windows.too_full(windows, most=most, now=now):
        resets = datetime.fromtimestamp(full.resets_at).astimezone()
        lifted = f"start it then, or now: wl new --anyway ...; wl kill {full.by} if it made that up"
        raise Unavailable(
            f"no further agent is started above {most} % of a usage window (budget.window), and"
            f" {usage_windows.sentence(full, resets=resets)}",
            "start it then" if by is not None else lifted,
        )


def _known(connection: sa.Connection, driver: str, now: float) -> list[UsageWindow]:
    seen = _seen(connection, driver, since=now - _HOLDS)
    return [*seen.values(), *_hit(connection, driver, now)]


def _seen(connection: sa.Connection, driver: str, *, since: float) -> dict[str, UsageWindow]:
    """The newest of what was shown of each window since a moment."""
    shown = rows.events(connection, subject=USAGE_WINDOW, last=_BACK)
    known = [events.read(UsageWindowSeen, event) for event in shown if event.at >= since]
    return {
        one.window: UsageWindow(
            name=one.window, percent=one.percent, resets_at=one.resets_at, by=one.by
        )
        for one in known
        if one.driver == driver
    }


def _hit(connection: sa.Connection, driver: str, now: float) -> list[UsageWindow]:
    """The windows whose end agents of a driver are parked for."""
    parked = [
        agent
        for agent in rows.agents(connection)
        if agent.driver == driver and agent.state is State.RATE_LIMITED
    ]
    if not parked:
        return []
    said = rows.all_observations(connection)
    found = []
    for agent in parked:
        winner = states.fold(said.get(agent.uid, ()), now=now).winner
        if winner is not None and limit_reset.is_parked(winner):
            text = winner.reason.text
            window = usage_windows.from_words(text, seen_at=winner.at, zones=clock.zone)
            if window is not None:
                found.append(msgspec.structs.replace(window, by=agent.id))
    return found


def _shown(window: UsageWindow) -> tuple[int, int]:
    """What is news of a window: whole percents, and the minute of its end."""
    return round(window.percent), round(window.resets_at / 60)
