"""Sums that the database makes are those of the plain definition, whoever told of what."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count, product
from typing import Any, NamedTuple, get_args

import pytest
import sqlalchemy as sa
from tests.support import whole_rows
from tests.support.agents import an_agent

from windlass.core import pricing
from windlass.core.crew import Agent, Limits
from windlass.core.ids import AgentId, RepoId, Uid
from windlass.core.runs.part import Part
from windlass.core.usage import Usage
from windlass.store import rows, spending, spending_groups
from windlass.store.counted_spending import Source
from windlass.store.rows import Session
from windlass.store.spending_groups import GroupedBy
from windlass.store.store import Store, Writing

DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
SOURCES: tuple[Source, ...] = ("transcript", "result", "relay")
REPOS = (None, RepoId("r1"), RepoId("r2"))
SINCE = (None, *DAYS, "2026-01-04")


class Row(NamedTuple):
    """A row of spending as it was told."""

    agent: Uid
    session: int
    day: str
    model: str
    source: Source
    tokens: int
    cost: float
    notional: bool


class Ground(NamedTuple):
    """What a store holds: some agents with their sessions, and what was told of them."""

    store: Store
    agents: dict[Uid, Agent]
    sessions: dict[tuple[Uid, int], Session]
    rows: list[Row]

    def counted(
        self, repo: RepoId | None = None, day: str | None = None, since: str | None = None
    ) -> list[Row]:
        """By the plain definition: of each session the source that comes to most, all of it."""
        costs: dict[tuple[Uid, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for row in self.rows:
            costs[row.agent, row.session][row.source] += row.cost
        best = {key: min(by, key=lambda name: (-by[name], name)) for key, by in costs.items()}
        return [
            row
            for row in self.rows
            if row.source == best[row.agent, row.session]
            and repo in (None, self.agents[row.agent].repo)
            and day in (None, row.day)
            and (since is None or row.day >= since)
        ]


@pytest.fixture(params=range(5))
def ground(store: Store, request: pytest.FixtureRequest) -> Ground:
    """Spending by chance; amounts are quarters, so that sums are exact in any order."""
    dice = random.Random(request.param)  # noqa: S311 - no secret
    agents = {uid: some_agent(uid, dice) for uid in map(Uid, "abcdefgh")}
    sessions = {
        (uid, number): some_session(uid, number, dice) for uid in agents for number in (1, 2)
    }
    keys = {
        (*dice.choice(list(sessions)), dice.choice(DAYS), dice.choice("mn"), dice.choice(SOURCES))
        for _ in range(dice.choice((5, 40, 100)) * (request.param > 0))
    }
    told = [
        Row(*key, dice.randint(0, 9), dice.randint(0, 8) / 4, dice.random() < 0.3)
        for key in sorted(keys)
    ]

    def write(writing: Writing) -> None:
        for repo in ("r1", "r2"):
            whole_rows.add_repo(writing, repo)
        for agent in agents.values():
            whole_rows.put_agent(writing, agent)
        for session in sessions.values():
            whole_rows.put_session(writing, session)
        for row in told:
            used = Usage(input_tokens=row.tokens)
            key = {"day": row.day, "model": row.model, "source": row.source}
            more = {"used": used, "cost": row.cost, "notional": row.notional}
            spending.add(writing, row.agent, row.session, **key, **more)  # type: ignore[arg-type]

    store.write(write)
    return Ground(store, agents, sessions, told)


def some_agent(uid: Uid, dice: random.Random) -> Agent:
    return an_agent(
        uid,
        id=AgentId(f"name-{uid}"),
        repo=RepoId(dice.choice(("r1", "r2"))),
        role=dice.choice(("worker", "manager")),
        task=dice.choice(("", "PB-1", "PB-2")),
        limits=Limits(usd=dice.choice((None, 0.0, 0.5, 1.0))),
        ended_at=dice.choice((None, 5.0)),
    )


def some_session(uid: Uid, number: int, dice: random.Random) -> Session:
    label = dice.choice("st")
    part = Part(run="x", step=label, label=label, visit=1, role="reviewer", conversation="c")
    return Session(
        agent=uid,
        number=number,
        marker=f"{uid}{number}",
        part=dice.choice((None, part)),
        mode=dice.choice(("", "live", "headless")),
        credential=dice.choice(("", "key")),
    )


def summed(rows: Iterable[Row]) -> tuple[int, float, float]:
    """Tokens, what is owed, and what a subscription covers."""
    rows = list(rows)
    owed = sum(row.cost for row in rows if not row.notional)
    return sum(row.tokens for row in rows), owed, sum(row.cost for row in rows if row.notional)


def by(rows: Iterable[Row], name: Callable[[Row], Any]) -> dict[Any, tuple[int, float, float]]:
    """The sums of rows that have the same name."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[name(row)].append(row)
    return {key: summed(group) for key, group in groups.items()}


def sums(found: spending_groups.Sum) -> tuple[int, float, float]:
    return found.input_tokens, found.usd, found.notional_usd


def test_totals_are_of_the_source_that_says_most_of_each_session(ground: Ground) -> None:
    for kind, repo, day in product((False, True), REPOS, (None, *DAYS)):
        rows = [row for row in ground.counted(repo, day) if row.notional == kind]
        asked: dict[str, Any] = {"notional": kind, "repo": repo, "day": day}
        total = ground.store.read(partial(spending.total, **asked))
        assert total == sum(row.cost for row in rows)
    for kind, day in product((False, True), DAYS):
        rows = [row for row in ground.counted(day=day) if row.notional == kind]
        each = ground.store.read(partial(spending.totals, notional=kind, day=day))
        assert {one.agent: one.cost for one in each} == costs(rows)
    for kind, uid in product((False, True), ground.agents):
        rows = [row for row in ground.counted() if (row.agent, row.notional) == (uid, kind)]
        total = ground.store.read(partial(spending.total, notional=kind, agent=uid))
        assert total == sum(row.cost for row in rows)


@pytest.mark.parametrize("limit", [0.0, 0.75, 2.0])
def test_of_an_agent_no_more_counts_for_all_than_its_limit(ground: Ground, limit: float) -> None:
    for kind, repo in product((False, True), REPOS[1:]):
        rows = [row for row in ground.counted(repo) if row.notional == kind]
        limits = {uid: agent.limits.usd for uid, agent in ground.agents.items()}
        known = pricing.common(
            (cost, limit if (own := limits[uid]) is None else own)
            for uid, cost in costs(rows).items()
        )
        asked = {"notional": kind, "repo": repo, "limit": limit}
        assert ground.store.read(partial(spending.common, **asked)) == known


def costs(rows: Iterable[Row]) -> dict[Uid, float]:
    """USD of either kind, by agent."""
    return {uid: owed + covered for uid, (_, owed, covered) in by_agent(rows).items()}


def by_agent(rows: Iterable[Row]) -> dict[Any, tuple[int, float, float]]:
    return by(rows, lambda row: row.agent)


def test_sessions_come_to_what_counts_of_them(ground: Ground) -> None:
    chosen = [Uid("a"), Uid("c")]
    found = ground.store.read(lambda c: spending.by_session(c, chosen))
    rows = [row for row in ground.counted() if row.agent in chosen]
    known = by(rows, lambda row: (row.agent, row.session))
    assert {(one.agent, one.session): (one.usd, one.notional_usd) for one in found} == {
        key: (owed, covered) for key, (_, owed, covered) in known.items()
    }


def test_agents_come_to_what_counts_of_them(ground: Ground) -> None:
    for repo, since in product(REPOS, SINCE):
        rows = ground.counted(repo, since=since)
        asked: dict[str, Any] = {"repo": repo, "since": since}
        live = ground.store.read(partial(spending_groups.of_live, **asked))
        ended, together = ground.store.read(partial(spending_groups.of_ended, **asked, most=None))
        known = by_agent(rows)
        there = {uid for uid, agent in ground.agents.items() if repo in (None, agent.repo)}
        at_work = {uid for uid in there if ground.agents[uid].ended_at is None}
        assert {one.uid: sums(one) for one in live} == {
            uid: known.get(uid, (0, 0.0, 0.0)) for uid in at_work
        }
        assert {one.uid: sums(one) for one in ended} == {
            uid: sum_ for uid, sum_ in known.items() if uid not in at_work
        }
        amounts = [one.usd + one.notional_usd for one in ended]
        assert amounts == sorted(amounts, reverse=True)
        of_ended = [row for row in rows if row.agent not in at_work]
        assert (sums(together), together.agents) == (summed(of_ended), len(ended))
        some = ground.store.read(partial(spending_groups.of_ended, **asked, most=2))
        assert some == (ended[:2], together)


def test_groups_come_to_what_counts_of_them(ground: Ground) -> None:
    def name(kind: GroupedBy, row: Row) -> tuple[str, str]:
        agent, session = ground.agents[row.agent], ground.sessions[row.agent, row.session]
        part = session.part
        names: dict[GroupedBy, str] = {
            "role": part.role if part else agent.role,
            "task": agent.task,
            "step": part.label if part else "",
            "mode": session.mode,
            "credential": session.credential,
            "day": row.day,
            "model": row.model,
        }
        return names[kind], agent.repo if kind == "task" and agent.task else ""

    for kind, repo, since in product(get_args(GroupedBy), REPOS, SINCE):
        found = ground.store.read(partial(spending_groups.grouped, by=kind, repo=repo, since=since))
        known = by(ground.counted(repo, since=since), partial(name, kind))
        assert {(one.name, one.repo): sums(one) for one in found} == known
        assert len(found) == len(known)


def test_twice_the_sessions_take_twice_the_work_whatever_told_of_them(store: Store) -> None:
    """A year of headless sessions, each told of twice, must not be compared each with each."""

    def people(writing: Writing) -> None:
        whole_rows.add_repo(writing, "r1")
        whole_rows.put_agent(writing, an_agent("fox", repo=RepoId("r1")))

    store.write(people)
    store.write(partial(tell_twice, numbers=range(150)))
    work = store.read(work_of_summing)
    store.write(partial(tell_twice, numbers=range(150, 300)))
    assert store.read(work_of_summing) < 2.5 * work


def tell_twice(writing: Writing, *, numbers: range) -> None:
    """Sessions of an agent, of each of which two sources tell the same."""
    sources: tuple[Source, ...] = ("transcript", "result")
    for number, source in product(numbers, sources):
        if source == sources[0]:
            rows.add_session(writing, Session(agent=Uid("fox"), number=number, marker=f"m{number}"))
        spending.add(
            writing,
            Uid("fox"),
            number,
            day=DAYS[0],
            model="m",
            source=source,
            used=Usage(),
            cost=1.0,
            notional=False,
        )


def work_of_summing(connection: sa.Connection) -> int:
    """How many steps, in hundreds of instructions, the database takes for the sum of all."""
    steps = count()
    raw = connection.connection.dbapi_connection
    assert raw is not None
    raw.set_progress_handler(lambda: next(steps) < 0, 100)
    spending.total(connection, notional=False)
    raw.set_progress_handler(None, 0)
    return next(steps)
