"""Budgets: who has spent too much money or time is paused, and stays so until the limit is raised.

Only what is owed stops anybody. Where a person pays by subscription, the same limits only warn.
Judging is in `core/pricing.py`, counting in `costs`; here is what follows.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from windlass.core import pricing
from windlass.core.config import BudgetSettings
from windlass.core.crew import Agent
from windlass.core.errors import ConfigError, Conflict, Denied, WindlassError
from windlass.core.events import BudgetExceeded, BudgetWarning
from windlass.core.ids import RepoId, Uid
from windlass.core.pricing import Exceeded, Figures
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import IntentDraft, Intents
from windlass.daemon.spend import costs
from windlass.store import rows, spending
from windlass.store.rows import Session
from windlass.store.store import Writing

log = logging.getLogger(__name__)

MARK = "budgets"
"""The mark that holds the day of the last warning, by budget."""
_TRIES = 3
"""A pause can fail, when a process would not end; it is tried again, but not for ever."""


class _Judged(NamedTuple):
    agent: Agent
    session: int
    metered: bool
    exceeded: list[Exceeded]


class Budgets:
    """Pauses agents whose budget is spent."""

    def __init__(self, context: Context, intents: Intents) -> None:
        self._context = context
        self._intents = intents
        self._pausing: set[Uid] = set()
        self._guard = threading.Lock()

    def judge(self, agent: Agent, session: Session) -> None:
        """Judges an agent after counting, and everybody else where the budget is a common one.

        Does not wait for pauses: whoever counts may hold a lock that they need.
        """
        del session  # what is true now is read again
        judged = self._judged(agent.uid)
        if judged is None or not judged.exceeded:
            return
        if not judged.metered:
            self._warn(judged)
            return
        chosen = [judged]
        spent = {one.budget for one in judged.exceeded}
        if spent & {"budget.day", "budget.repo"}:
            repo = None if "budget.day" in spent else agent.repo
            for other in self._context.store.read(lambda c: rows.agents(c, repo=repo)):
                also = self._judged(other.uid) if other.uid != agent.uid else None
                if also is not None and also.metered and also.exceeded:
                    chosen.append(also)
        for one in chosen:
            self._start_pausing(one)

    def judge_time(self, agent: Agent, session: Session) -> None:
        """Pauses an agent whose sessions have taken all the time that it has."""
        over = self._context.store.read(lambda c: _overtime(c, agent, self._context.clock.now()))
        if over:
            self._start_pausing(_Judged(agent, session.number, True, over))  # noqa: FBT003 - a row

    def _judged(self, uid: Uid) -> _Judged | None:
        """What an agent with a running session has exceeded; None for any other."""

        def running(connection: Any) -> tuple[Agent, int, bool | None] | None:
            found = rows.live_session(connection, uid)
            if found is None or not found[1].runs:
                return None
            agent, session = found
            metered = spending.mark(connection, uid, costs.MARK).get("metered")
            return agent, session.number, metered

        found = self._context.store.read(running)
        if found is None or found[2] is None:
            return None
        agent, number, metered = found
        try:
            exceeded = _exceeded(self._context, agent.repo, agent, notional=not metered)
        except ConfigError as error:
            # A broken file must not mean that anything may be spent.
            log.warning("judging %s by the default budgets: %s", agent.id, error.message)
            exceeded = _judge(
                self._context, agent.repo, agent, BudgetSettings(), notional=not metered
            )
        return _Judged(agent, number, bool(metered), exceeded)

    def _warn(self, judged: _Judged) -> None:
        now = self._context.clock.now()
        if self._context.store.read(lambda c: _unwarned(c, judged, now)):
            self._context.store.write(partial(_warn, judged=judged))

    def _start_pausing(self, judged: _Judged) -> None:
        with self._guard:
            if judged.agent.uid in self._pausing:
                return
            self._pausing.add(judged.agent.uid)
        self._context.pools.begin("budget", self._pause, judged)

    def _pause(self, judged: _Judged) -> None:
        try:
            self._perform(judged)
        except Exception:
            # Nobody waits for this thread; the next look tries again.
            log.exception("cannot pause %s", judged.agent.id)
        finally:
            with self._guard:
                self._pausing.discard(judged.agent.uid)

    def _perform(self, judged: _Judged) -> None:
        stem = f"{judged.exceeded[0].budget}-{judged.agent.uid}-{judged.session}"
        for number in range(1, _TRIES + 1):
            key = f"{stem}-{number}"
            known = self._context.store.read(partial(rows.intent, key=key))
            if known is not None and known.status == "failed":
                continue
            try:
                self._intents.perform("pause", key, partial(_begin, judged, told=number > 1))
            except Conflict:
                log.debug("%s needs no pause any more", judged.agent.id)
            except WindlassError as error:
                log.warning("cannot pause %s: %s", judged.agent.id, error.message)
            return


def refuse_spent(context: Context, repo: RepoId, agent: Agent | None = None) -> None:
    """Refuses to start or to resume where a budget is spent; without an agent, a new one."""
    exceeded = _exceeded(context, repo, agent, notional=False)
    if agent is not None:
        exceeded += context.store.read(lambda c: _overtime(c, agent, context.clock.now()))
    if exceeded:
        raise Denied(pricing.sentences(exceeded), "; ".join(one.hint for one in exceeded))


def _exceeded(
    context: Context, repo: RepoId, agent: Agent | None, *, notional: bool
) -> list[Exceeded]:
    root = repos.by_id(context, repo).root
    budget = settings.load(context.folders.home, root).budget
    return _judge(context, repo, agent, budget, notional=notional)


def _judge(
    context: Context, repo: RepoId, agent: Agent | None, budget: BudgetSettings, *, notional: bool
) -> list[Exceeded]:
    today = costs.day_of(context.clock.now())
    figures = context.store.read(
        lambda c: _figures(c, budget, repo, agent, day=today, notional=notional)
    )
    return pricing.judge(
        figures,
        budget,
        agent=agent.id if agent else None,
        own=agent.limits.usd if agent else None,
        repo=Path(repos.by_id(context, repo).root).name,
    )


def _figures(
    connection: Any,
    budget: BudgetSettings,
    repo: RepoId,
    agent: Agent | None,
    *,
    day: str,
    notional: bool,
) -> Figures:
    """Sums up what there is a limit for."""
    total = partial(spending.total, connection, notional=notional)
    return Figures(
        agent=total(agent=agent.uid) if agent else 0.0,
        repo=total(repo=repo) if budget.repo else 0.0,
        day=total(day=day) if budget.day else 0.0,
    )


def _overtime(connection: Any, agent: Agent, now: float) -> list[Exceeded]:
    """What there is to say when an agent's sessions took longer than it may take."""
    limit = agent.limits.seconds
    if limit is None:
        return []
    taken = sum(
        (one.ended_at or now) - one.started_at
        for one in rows.sessions(connection, agent.uid)
        if one.started_at is not None
    )
    if taken < limit:
        return []
    higher = limit
    while higher <= taken:
        higher *= 2
    hint = f"raise it: wl resume {agent.id} --time-limit {_duration(higher)}"
    sentence = f"its time limit of {_duration(limit)} is over"
    return [Exceeded(budget="limits.seconds", sentence=sentence, hint=hint)]


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def _begin(judged: _Judged, *, told: bool) -> IntentDraft:
    """How to set out to pause an agent; whoever tries again has told of it already."""
    agent = judged.agent

    def prepare(writing: Writing) -> dict[str, Any]:
        session = rows.newest_session(writing.connection, agent.uid)
        if session is None or session.number != judged.session or session.ended_at is not None:
            raise Conflict(f"session {judged.session} of {agent.id} is over", "nothing to pause")
        for one in [] if told else judged.exceeded:
            spent = BudgetExceeded(budget=one.budget, sentence=one.sentence, hint=one.hint)
            writing.emit(spent, repo=agent.repo, agent=agent.uid)
        return {
            "uid": agent.uid,
            "number": judged.session,
            "why": f"paused: {pricing.sentences(judged.exceeded)}",
        }

    return IntentDraft(agent.repo, None, prepare)


def _unwarned(connection: Any, judged: _Judged, now: float) -> list[Exceeded]:
    """What was not warned of today."""
    warned = spending.mark(connection, judged.agent.uid, MARK)
    return [one for one in judged.exceeded if warned.get(one.budget) != costs.day_of(now)]


def _warn(writing: Writing, *, judged: _Judged) -> None:
    """Tells of each budget once a day and agent."""
    agent = judged.agent
    fresh = _unwarned(writing.connection, judged, writing.now)
    for one in fresh:
        sentence = f"{one.sentence}; a subscription pays, so it goes on"
        spent = BudgetWarning(budget=one.budget, sentence=sentence)
        writing.emit(spent, repo=agent.repo, agent=agent.uid)
    if fresh:
        warned = spending.mark(writing.connection, agent.uid, MARK)
        told = {**warned, **{one.budget: costs.day_of(writing.now) for one in fresh}}
        spending.put_mark(writing, agent.uid, judged.session, MARK, told)
