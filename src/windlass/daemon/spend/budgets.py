"""Budgets: who has spent too much money or time is paused, and stays so until the limit is raised.

Only what is owed stops anybody, and only while it works: who has ended its turn spends nothing, and
is left as it is until it takes up another. Where a person pays by subscription, the same limits
only warn. Judging is in `core/pricing.py`, counting in `costs`, pausing in `limit_pauses`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from windlass.core import pricing
from windlass.core.config import BudgetSettings
from windlass.core.crew import Agent
from windlass.core.errors import ConfigError, Denied, NotFound
from windlass.core.events import BudgetExceeded, BudgetWarning
from windlass.core.ids import RepoId, Uid
from windlass.core.pricing import Exceeded, Figures
from windlass.core.states import IDLE
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.spend import costs, run_budgets
from windlass.daemon.spend.limit_pauses import LimitPauses, Overrun
from windlass.store import rows, spending
from windlass.store.rows import Session
from windlass.store.spending import AgentTotal
from windlass.store.store import Writing

LimitIn = Callable[[RepoId], float]
"""Finds what an agent of a repository may spend, where it has no limit of its own."""
log = logging.getLogger(__name__)

_LATE = 60.0
"""Seconds in which what a turn cost may still be counted after it has ended."""

MARK = "budgets"
"""The mark that holds the day of the last warning, by budget."""


class _Judgement(NamedTuple):
    """An agent with a running session, and which budgets it has exceeded."""

    agent: Agent
    session: int
    metered: bool
    exceeded: list[Exceeded]


class _Spared(NamedTuple):
    """When an agent beyond a budget was seen at rest first, and what it had spent by then."""

    at: float
    usd: float


class Budgets:
    """Pauses agents whose budget is spent."""

    def __init__(self, context: Context, intents: Intents) -> None:
        self._context = context
        self._pauses = LimitPauses(context, intents)
        self._spared: dict[Uid, _Spared] = context.memory.per_agent()

    def is_spared(self, uid: Uid) -> bool:
        """Whether an agent is beyond a budget and only its rest keeps it from being paused."""
        return uid in self._spared

    def judge(self, agent: Agent, session: Session) -> None:
        """Judges an agent after counting, and everybody else where the budget is a common one.

        Does not wait for pauses: whoever counts may hold a lock that they need.
        """
        del session  # what is true now is read again
        judged = self._judgement(agent.uid)
        if judged is None or not judged.exceeded:
            self._spared.pop(agent.uid, None)
            return
        if not judged.metered:
            self._warn(judged)
            return
        judged = self._without_runs(judged)
        if not judged.exceeded:
            return
        chosen = [judged]
        spent = {limit.budget for limit in judged.exceeded}
        if spent & {"budget.day", "budget.repo"}:
            repo = None if "budget.day" in spent else agent.repo
            for other in self._context.store.read(lambda c: rows.agents(c, repo=repo)):
                also = self._judgement(other.uid) if other.uid != agent.uid else None
                also = also and self._without_runs(also)
                if also is not None and also.metered and also.exceeded:
                    chosen.append(also)
        for judgement in chosen:
            if not self._spares(judgement.agent):
                self._pauses.begin(_overrun(judgement))

    def _without_runs(self, judged: _Judgement) -> _Judgement:
        """What is left to be done once the run of an agent was told what is its own to end."""
        agent, now = judged.agent, self._context.clock.now()
        of_runs = [limit for limit in judged.exceeded if limit.budget in run_budgets.KINDS]
        if not of_runs:
            return judged
        self._context.store.write(lambda w: run_budgets.tell(w, agent, judged.session, of_runs))
        late = self._context.store.read(
            lambda c: run_budgets.overdue(c, agent, judged.session, of_runs, now=now)
        )
        others = [limit for limit in judged.exceeded if limit not in of_runs]
        return judged._replace(exceeded=[*others, *late])

    def _spares(self, agent: Agent) -> bool:
        """Whether an agent beyond a budget rests; saying so and spending on is no rest."""
        if agent.state not in IDLE:
            self._spared.pop(agent.uid, None)
            return False
        now = self._context.clock.now()
        usd = self._context.store.read(lambda c: spending.total(c, agent=agent.uid, notional=False))
        since = self._spared.setdefault(agent.uid, _Spared(now, usd))
        return usd <= since.usd or now - since.at < _LATE

    def judge_time(self, agent: Agent, session: Session) -> None:
        """Pauses an agent whose sessions have taken all the time that it has."""
        over = self._context.store.read(lambda c: _overtime(c, agent, self._context.clock.now()))
        if over:
            judged = _Judgement(agent, session.number, True, over)  # noqa: FBT003 - a row
            self._pauses.begin(_overrun(judged))

    def _judgement(self, uid: Uid) -> _Judgement | None:
        """What an agent with a running session has exceeded; None for any other."""

        def read(connection: Any) -> tuple[Agent, int, bool | None] | None:
            pair = rows.live_session(connection, uid)
            if pair is None or not pair[1].runs:
                return None
            agent, session = pair
            metered = spending.mark(connection, uid, costs.MARK).get("metered")
            return agent, session.number, metered

        running = self._context.store.read(read)
        if running is None or running[2] is None:
            return None
        agent, number, metered = running
        try:
            exceeded = _exceeded(self._context, agent.repo, agent, notional=not metered)
        except ConfigError as error:
            # A broken file must not mean that anything may be spent.
            log.warning("judging %s by the default budgets: %s", agent.id, error.message)
            exceeded = _judge(
                self._context, agent.repo, agent, BudgetSettings(), notional=not metered
            )
        return _Judgement(agent, number, bool(metered), exceeded)

    def _warn(self, judged: _Judgement) -> None:
        now = self._context.clock.now()
        if self._context.store.read(lambda c: _unwarned(c, judged, now)):
            self._context.store.write(partial(_warn, judged=judged))


def refuse_spent(context: Context, repo: RepoId, agent: Agent | None = None) -> None:
    """Refuses to start or to resume where a budget is spent; without an agent, a new one."""
    exceeded = _exceeded(context, repo, agent, notional=False)
    if agent is not None:
        exceeded += context.store.read(lambda c: _overtime(c, agent, context.clock.now()))
    if exceeded:
        raise Denied(pricing.sentences(exceeded), "; ".join(limit.hint for limit in exceeded))


def spent(context: Context, agent: Agent) -> list[Exceeded]:
    """The budgets that an agent has spent, of what somebody owes for it."""
    return _exceeded(context, agent.repo, agent, notional=False)


def room(context: Context, agent: Agent) -> tuple[float | None, list[Exceeded]]:
    """What an agent whose tokens are paid for may still spend, and which budgets it has exceeded.

    None is all that it likes. Where configuration is wrong the default budgets hold.
    """
    root = repos.by_id(context, agent.repo).root
    try:
        budget = settings.usable(context.folders.home, root).require("budget").budget
    except ConfigError:
        budget = BudgetSettings()
    figures = _figures(context, agent.repo, agent, budget, notional=False)
    left = pricing.room(figures, budget, own=agent.limits.usd)
    return left, _judge(context, agent.repo, agent, budget, notional=False)


def _exceeded(
    context: Context, repo: RepoId, agent: Agent | None, *, notional: bool
) -> list[Exceeded]:
    root = repos.by_id(context, repo).root
    budget = settings.usable(context.folders.home, root).require("budget").budget
    return _judge(context, repo, agent, budget, notional=notional)


def _judge(
    context: Context, repo: RepoId, agent: Agent | None, budget: BudgetSettings, *, notional: bool
) -> list[Exceeded]:
    return pricing.judge(
        _figures(context, repo, agent, budget, notional=notional),
        budget,
        agent=agent.id if agent else None,
        own=agent.limits.usd if agent else None,
        repo=Path(repos.by_id(context, repo).root).name,
    )


def _figures(
    context: Context, repo: RepoId, agent: Agent | None, budget: BudgetSettings, *, notional: bool
) -> Figures:
    today = costs.day_of(context.clock.now())
    spent = context.store.read(
        lambda c: _spent(c, budget, repo, agent, notional=notional, day=today)
    )
    limit_in = _limits_in(context, repo, budget)
    return Figures(
        agent=spent.own,
        repo=spent.repo,
        day=_common(spent.day, limit_in),
        step=spent.step,
        task=agent.task if agent is not None and agent.run else "",
    )


class _Spent(NamedTuple):
    """What was spent, as far as there is a limit for it: of a day agent by agent."""

    own: float
    repo: float
    day: list[AgentTotal]
    step: float


def _spent(
    connection: Any,
    budget: BudgetSettings,
    repo: RepoId,
    agent: Agent | None,
    *,
    day: str,
    notional: bool,
) -> _Spent:
    return _Spent(
        spending.total(connection, agent=agent.uid, notional=notional) if agent else 0.0,
        spending.common(connection, notional=notional, repo=repo, limit=budget.agent)
        if budget.repo
        else 0.0,
        spending.totals(connection, notional=notional, day=day) if budget.day else [],
        run_budgets.visit_cost(connection, agent, notional=notional)
        if agent is not None and agent.run and budget.step
        else 0.0,
    )


def _common(totals: list[AgentTotal], limit_in: LimitIn) -> float:
    """What all of them spent, of each no more than the limit of its own or of its repository."""
    return pricing.common(
        (total.cost, limit_in(total.repo) if total.limits.usd is None else total.limits.usd)
        for total in totals
    )


def _limits_in(context: Context, repo: RepoId, budget: BudgetSettings) -> LimitIn:
    """Finds the limit of each agent of a repository, reading the files of another one once."""
    known: dict[RepoId, float] = {repo: budget.agent}

    def limit(of: RepoId) -> float:
        if of not in known:
            with suppress(NotFound):  # one that was removed: what it had set is not known any more
                root = repos.by_id(context, of).root
                known[of] = settings.usable(context.folders.home, root).config.budget.agent
        return known.setdefault(of, budget.agent)

    return limit


def time_taken(connection: Any, agent: Agent, now: float) -> float:
    """How many seconds the sessions of an agent took so far, all together.

    One that seems to have ended before it began does not make up for others: the clock was set
    back.
    """
    return sum(
        max(0.0, (session.ended_at or now) - session.started_at)
        for session in rows.sessions(connection, agent.uid)
        if session.started_at is not None
    )


def _overtime(connection: Any, agent: Agent, now: float) -> list[Exceeded]:
    """What there is to say when an agent's sessions took longer than it may take."""
    limit = agent.limits.seconds
    if limit is None:
        return []
    taken = time_taken(connection, agent, now)
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


def _overrun(judged: _Judgement) -> Overrun:
    return Overrun(
        agent=judged.agent,
        session=judged.session,
        limit=judged.exceeded[0].budget,
        why=pricing.sentences(judged.exceeded),
        events=tuple(
            BudgetExceeded(budget=limit.budget, sentence=limit.sentence, hint=limit.hint)
            for limit in judged.exceeded
        ),
        hint="; ".join(limit.hint for limit in judged.exceeded),
    )


def _unwarned(connection: Any, judged: _Judgement, now: float) -> list[Exceeded]:
    """What was not warned of today."""
    warned = spending.mark(connection, judged.agent.uid, MARK)
    return [limit for limit in judged.exceeded if warned.get(limit.budget) != costs.day_of(now)]


def _warn(writing: Writing, *, judged: _Judgement) -> None:
    """Tells of each budget once a day and agent."""
    agent = judged.agent
    fresh = _unwarned(writing.connection, judged, writing.now)
    for limit in fresh:
        sentence = f"{limit.sentence}; a subscription pays, so it goes on"
        warning = BudgetWarning(budget=limit.budget, sentence=sentence)
        writing.emit(warning, repo=agent.repo, agent=agent.uid)
    if fresh:
        warned = spending.mark(writing.connection, agent.uid, MARK)
        today = {limit.budget: costs.day_of(writing.now) for limit in fresh}
        spending.put_mark(writing, agent.uid, judged.session, MARK, {**warned, **today})
