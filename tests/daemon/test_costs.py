"""Counting and budgets, with a real store, real files and real processes to pause."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.support.agents import an_agent
from tests.support.ground import until

from windlass.api.server import Caller
from windlass.core.crew import Agent, Limits
from windlass.core.errors import ConfigError, Denied, UserError
from windlass.core.ids import RepoId, Uid
from windlass.core.launch import Launch
from windlass.core.states import State
from windlass.daemon import budgets, costs, growing, lodging
from windlass.daemon.budgets import Budgets
from windlass.daemon.context import Context, Folders, SystemClock, session_name
from windlass.daemon.costs import Costs, Source
from windlass.daemon.failpoints import Failpoints
from windlass.daemon.intents import Intents
from windlass.daemon.steering import Steering
from windlass.sessions.session import Sessions
from windlass.sessions.tmux import Tmux
from windlass.store import rows, spending, tables
from windlass.store.rows import Session
from windlass.store.store import Event, Store, Writing

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
REPO = RepoId("deadbeef")
TENTH = 20_000
"""Input tokens of claude-opus-4-8 that cost a tenth of a dollar."""


class Turned(SystemClock):
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> float:
        """The time it was set to."""
        return self.time


class NoDoors:
    """Nobody comes in."""

    def open(self, uid: Uid) -> None:
        """Opens nothing."""

    def close(self, uid: Uid) -> None:
        """Closes nothing."""

    def look(self, uid: Uid) -> None:
        """Sees nothing."""


class Bench:
    """A store, folders, and agents whose conversations a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Turned()
        self.metered = True
        self.repo = folder / "shop"
        (self.repo / ".git").mkdir(parents=True)
        self.tmux = Tmux(folder / "tmux")
        self.context = self.opened()
        self.costs = Costs(self.context, self.find)
        self.store.write(self._add_repo)

    @property
    def store(self) -> Store:
        """The database in use."""
        return self.context.store

    def opened(self) -> Context:
        """A daemon's context on the folder, as it would be after a restart."""
        store = Store(self.folder / "windlass.db", clock=self.clock)
        store.open()
        return Context(
            store=store,
            folders=Folders(self.folder, self.folder / "rt"),
            sessions=Sessions(self.tmux),
            clock=self.clock,
            dice=random.Random(1),  # noqa: S311 - names, not secrets
            failpoints=Failpoints(None),
            env=dict(os.environ),
        )

    def restart(self) -> None:
        """What was only in memory is gone."""
        self.store.close()
        self.context = self.opened()
        self.costs = Costs(self.context, self.find)

    def find(self, _context: Context, agent: Agent, _session: Session) -> Source:
        """Where the test keeps conversations."""
        return Source(str(self.transcript(agent)), self.metered)

    def transcript(self, agent: Agent) -> Path:
        """An agent's conversation."""
        return self.folder / "projects" / f"{agent.uid}.jsonl"

    def _add_repo(self, writing: Writing) -> None:
        values = {
            "id": REPO,
            "root": str(self.repo),
            "git_dir": str(self.repo / ".git"),
            "added_at": 0.0,
        }
        writing.connection.execute(sa.insert(tables.repos).values(values))

    def agent(self, name: str, **more: Any) -> Agent:
        """A live agent with a running first session."""
        given = {
            "uid": Uid(f"uid{name}"),
            "repo": REPO,
            "workspace": str(self.repo),
            "state_at": NOON,
            "created_at": NOON - 3600,
        }
        agent = an_agent(name, **given | more)
        self.store.write(lambda w: rows.put_agent(w, agent))
        self.session(agent, 1)
        return agent

    def session(self, agent: Agent, number: int) -> Session:
        """A session of an agent, begun as the daemon does, and running."""
        if number > 1:
            lodging.begin_session(self.context, agent)
        else:
            first = Session(agent=agent.uid, number=1, marker=f"marker-{agent.uid}")
            self.store.write(lambda w: rows.put_session(w, first))

        def start(writing: Writing) -> Session:
            begun = rows.session(writing.connection, agent.uid, number)
            started = msgspec.structs.replace(begun, started_at=writing.now)
            rows.put_session(writing, started)
            return started

        return self.store.write(start)

    def newest(self, agent: Agent) -> Session:
        """Its session as it is now."""
        return self.store.read(lambda c: rows.sessions(c, agent.uid))[0]

    def say(self, agent: Agent, *lines: bytes, where: str = "") -> Path:
        """Appends to its conversation, or to that of a subagent."""
        path = self.transcript(agent)
        if where:
            path = path.with_suffix("") / "subagents" / f"agent-{where}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.writelines(lines)
        return path

    def count(self, agent: Agent) -> bool:
        """Counts what is new."""
        return self.costs.count(agent, self.newest(agent))

    def result(self, agent: Agent, result: dict[str, Any]) -> None:
        """Hands in a result line, as whoever reads the output does."""
        session = self.newest(agent)
        self.store.write(lambda w: self.costs.take_result(w, agent, session, result))

    def spent(self, agent: Agent) -> float:
        """What it owes, in cents, whole: floats do not add up."""
        found = self.store.read(lambda c: spending.total(c, agent=agent.uid, notional=False))
        return round(found * 100, 3)

    def view(self, **asked: Any) -> dict[str, Any]:
        """What `wl costs` gets."""
        asked.setdefault("all_repos", True)
        return self.costs.view(Caller(None), asked)  # type: ignore[arg-type]

    def events(self, kind: str) -> list[Event]:
        """What was told, of one kind."""
        return [one for one in self.store.read(rows.events) if one.kind == kind]


@pytest.fixture
def bench() -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    made = Bench(folder)
    yield made
    for agent in made.store.read(rows.agents):
        session = made.context.folders.session(agent.uid, 1)
        if session.exists():
            marker = f"marker-{agent.uid}"
            made.context.sessions.stop(folder=session, name=session_name(agent), marker=marker)
    made.store.close()
    if made.tmux.alive():
        made.tmux.shutdown()
    shutil.rmtree(folder)


def line(
    name: str, *, tokens: int = TENTH, model: str = "claude-opus-4-8", at: float = NOON - 60
) -> bytes:
    stamp = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    used = {"input_tokens": tokens, "output_tokens": 0}
    message = {"id": name, "model": model, "usage": used, "content": []}
    return (
        json.dumps({"type": "assistant", "timestamp": stamp, "message": message}).encode() + b"\n"
    )


def result(usd: float, tokens: int = 0, model: str = "claude-opus-4-8[1m]") -> dict[str, Any]:
    used = {"inputTokens": tokens, "outputTokens": 0, "costUSD": usd}
    return {"type": "result", "total_cost_usd": usd, "modelUsage": {model: used}}


def test_every_answer_counts_once_however_often_its_lines_turn_up(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m1"), b'{"type":"user"}\n', line("m2"), line("m1"))
    assert bench.count(fox)
    bench.say(fox, line("m2"), line("m1"), line("m3"))
    assert bench.count(fox)
    assert not bench.count(fox)
    assert bench.spent(fox) == 30


def test_subagents_count_and_their_answers_only_once_too(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"))
    bench.say(fox, line("s1"), line("s1"), line("m1"), where="one")
    bench.say(fox, line("s2"), where="two")
    bench.count(fox)
    bench.say(fox, line("s3"), where="one")
    bench.count(fox)
    assert bench.spent(fox) == 40


def test_half_a_line_waits_for_its_other_half(bench: Bench) -> None:
    fox = bench.agent("fox")
    whole = line("m2")
    bench.say(fox, line("m1"), whole[:30])
    bench.count(fox)
    assert bench.spent(fox) == 10
    bench.say(fox, whole[30:])
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_garbage_is_passed_over(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, b"\x00\xff\n", line("m0")[:50] + b"\n", b"{}\n\n", line("m1"))
    bench.count(fox)
    assert bench.spent(fox) == 10


def test_a_missing_conversation_counts_as_nothing(bench: Bench) -> None:
    fox = bench.agent("fox")
    assert not bench.count(fox)
    assert bench.spent(fox) == 0


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_read(bench: Bench, kind: str) -> None:
    fox = bench.agent("fox")
    path = bench.transcript(fox)
    path.parent.mkdir(parents=True)
    if kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert not bench.count(fox)


def test_a_shorter_file_in_its_place_is_read_anew_and_nothing_counts_twice(bench: Bench) -> None:
    fox = bench.agent("fox")
    path = bench.say(fox, line("m1"), line("m2"), line("m3"))
    bench.count(fox)
    path.write_bytes(line("m3") + line("m4"))
    bench.count(fox)
    assert bench.spent(fox) == 40


def test_a_longer_file_in_its_place_is_read_anew_and_nothing_counts_twice(bench: Bench) -> None:
    fox = bench.agent("fox")
    path = bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(line("m0") + line("m1") + line("m2") + line("m3"))
    fresh.replace(path)
    bench.count(fox)
    assert bench.spent(fox) == 40


def test_a_resumed_session_counts_only_what_is_new(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    bench.session(fox, 2)
    bench.count(fox)
    bench.say(fox, line("m2"), line("m3"))
    bench.count(fox)
    assert bench.spent(fox) == 30
    found = bench.store.read(lambda c: c.execute(sa.select(tables.usage)).all())
    assert sorted((row.session, row.input_tokens) for row in found) == [(1, 2 * TENTH), (2, TENTH)]


def test_a_daemon_that_comes_after_goes_on_where_the_other_was(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"))
    bench.count(fox)
    bench.restart()
    bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_what_cannot_be_kept_whole_is_not_kept_at_all(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m2"))
    forbid = "CREATE TRIGGER no BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END"
    bench.store.write(lambda w: w.connection.exec_driver_sql(forbid))
    with pytest.raises(sa.exc.IntegrityError):
        bench.count(fox)
    assert bench.spent(fox) == 0
    bench.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER no"))
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_many_who_count_at_once_count_once(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, *(line(f"m{number}") for number in range(50)))
    threads = [threading.Thread(target=bench.count, args=(fox,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bench.spent(fox) == 500


def test_more_than_is_read_at_once_is_read_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "_READ_AT_ONCE", 100)
    fox = bench.agent("fox")
    bench.say(fox, *(line(f"m{number}") for number in range(10)), line("s1"))
    bench.say(fox, line("s2"), where="one")
    bench.count(fox)
    assert bench.spent(fox) == 120


def test_other_marks_of_the_session_stay(bench: Bench) -> None:
    fox = bench.agent("fox")
    kept = msgspec.structs.replace(bench.newest(fox), marks={"output": 5}, events_offset=9)
    bench.store.write(lambda w: rows.put_session(w, kept))
    bench.say(fox, line("m1"))
    bench.count(fox)
    after = bench.newest(fox)
    assert (after.marks["output"], after.events_offset) == (5, 9)


def test_a_fork_does_not_pay_for_what_it_was_told(bench: Bench) -> None:
    fox = bench.agent("fox", fork_of="/somewhere/else.jsonl")
    bench.say(fox, line("old", at=NOON - 7200), line("new"))
    bench.count(fox)
    assert bench.spent(fox) == 10


def test_a_result_told_twice_counts_once_and_a_later_one_by_what_it_adds(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.count(fox)
    bench.result(fox, result(0.1, 5))
    bench.result(fox, result(0.1, 5))
    bench.clock.time += 86400
    bench.result(fox, result(0.4, 9))
    bench.result(fox, result(0.2, 1))
    assert bench.spent(fox) == 40
    days = bench.view(by="day")["rows"]
    assert [(row["usd"], row["input_tokens"]) for row in days] == [(0.1, 5), (0.3, 4)]


def test_results_of_a_resumed_session_begin_anew(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.count(fox)
    bench.result(fox, result(0.4))
    bench.session(fox, 2)
    bench.result(fox, result(0.1))
    assert bench.spent(fox) == 50


def test_the_same_spending_from_both_sources_counts_once(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    bench.result(fox, result(0.1, TENTH))
    assert bench.spent(fox) == 20
    bench.result(fox, result(0.25, 2 * TENTH))
    assert bench.spent(fox) == 25


def test_results_that_make_no_sense_are_passed_over(bench: Bench) -> None:
    fox = bench.agent("fox")
    for garbage in ({}, {"modelUsage": 3}, {"modelUsage": {"m": {"costUSD": -4}}}):
        bench.result(fox, garbage)
    assert bench.spent(fox) == 0


def test_a_day_is_the_day_on_which_it_was_spent(bench: Bench) -> None:
    fox = bench.agent("fox", created_at=NOON - 10 * 86400)
    bench.say(fox, line("m1", at=NOON - 86400), line("m2"), line("m3", at=NOON + 86400))
    bench.count(fox)
    found = {row["name"]: row["usd"] for row in bench.view(by="day")["rows"]}
    assert found == {costs.day_of(NOON - 86400): 0.1, costs.day_of(NOON): 0.2}
    since = bench.view(by="day", since=costs.day_of(NOON))
    assert since["total"]["usd"] == 0.2
    assert bench.view(since="2d")["total"]["usd"] == 0.3
    assert costs.spent_today(bench.context, REPO) == {"usd": 0.2, "notional_usd": 0.0}


def test_costs_are_grouped_as_asked_and_ended_agents_are_among_them(bench: Bench) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl", role="manager")
    bench.agent("idle")
    bench.agent("gone", ended_at=NOON)
    bench.say(fox, line("m1"), line("m2", model="claude-haiku-4-5"))
    bench.say(owl, line("m3"), line("m4"), line("m5"))
    bench.count(fox)
    bench.count(owl)
    bench.store.write(lambda w: rows.put_agent(w, msgspec.structs.replace(owl, ended_at=NOON)))
    agents = bench.view()["rows"]
    assert [(row["name"], row["usd"], row["ended"]) for row in agents] == [
        ("owl", 0.3, True),
        ("fox", 0.12, False),
        ("idle", 0.0, False),
    ]
    by = {
        kind: {row["name"]: row["usd"] for row in bench.view(by=kind)["rows"]}
        for kind in ("role", "task", "model")
    }
    assert by["role"] == {"manager": 0.3, "worker": 0.12}
    assert by["task"] == {"(no task)": 0.42}
    assert by["model"] == {"claude-opus-4-8": 0.4, "claude-haiku-4-5": 0.02}
    assert bench.view()["total"]["input_tokens"] == 5 * TENTH


def test_what_a_subscription_pays_is_told_apart(bench: Bench) -> None:
    bench.metered = False
    fox = bench.agent("fox")
    bench.say(fox, line("m1"))
    bench.count(fox)
    assert bench.view()["total"] | {"name": ""} == {
        "name": "",
        "input_tokens": TENTH,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "usd": 0,
        "notional_usd": 0.1,
    }


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "7x", "-1d"])
def test_a_since_that_is_no_day_is_refused(bench: Bench, text: str) -> None:
    with pytest.raises(UserError, match="no day and no duration"):
        bench.view(since=text)


def test_a_persons_own_prices_hold_and_a_wrong_file_is_told_but_stops_nothing(
    bench: Bench,
) -> None:
    own = bench.folder / costs.OWN_PRICES
    fox = bench.agent("fox")
    own.write_text('{"models": {"claude-opus-4-8": {"input": 10, "output": 1}}}')
    bench.say(fox, line("m1"))
    bench.count(fox)
    assert bench.spent(fox) == 20
    own.write_text('{"models": {"claude-opus-4-8": {"input": "dear"}}}')
    with pytest.raises(ConfigError, match=r"pricing.json: models.claude-opus-4-8: .*input"):
        bench.view()
    bench.say(fox, line("m2"))
    bench.count(fox)
    assert bench.spent(fox) == 30


def running(bench: Bench, agent: Agent) -> Budgets:
    """Gives the agent's session a real process, and judges with the real pause."""
    folder = bench.context.folders.session(agent.uid, agent.session)
    launch = Launch(
        argv=(sys.executable, "-c", "import time; time.sleep(600)"),
        cwd=str(bench.folder),
        env=dict(os.environ),
        mode="headless",
    )
    bench.context.sessions.start(
        folder=folder,
        name=session_name(agent),
        launch=launch,
        wake=None,
        marker=bench.newest(agent).marker,
    )
    return judging(bench)


def judging(bench: Bench) -> Budgets:
    steering = Steering(bench.context, NoDoors())
    return Budgets(bench.context, Intents(bench.context, steering.operations()))


def paused(bench: Bench, *agents: Agent) -> Callable[[], bool]:
    def done() -> bool:
        return all(bench.newest(agent).ended_at is not None for agent in agents)

    return done


def settled() -> bool:
    """Whether nobody is being paused any more."""
    return not any(thread.name == "budget" for thread in threading.enumerate())


def state(bench: Bench, agent: Agent) -> tuple[State, str]:
    found = bench.store.read(lambda c: rows.agent(c, agent.uid))
    assert found is not None
    said = bench.store.read(lambda c: rows.observations(c, agent.uid))
    return found.state, " ".join(one.evidence for one in said if one.value is State.PAUSED)


def spend(bench: Bench, agent: Agent, usd: float) -> None:
    bench.say(agent, line(f"{agent.id}-{time.monotonic_ns()}", tokens=int(usd * 10 * TENTH)))
    bench.count(agent)


def test_an_agent_over_its_budget_is_paused_and_says_so_once(bench: Bench) -> None:
    fox = bench.agent("fox")
    judge = running(bench, fox)
    spend(bench, fox, 9.99)
    judge.judge(fox, bench.newest(fox))
    assert settled()
    spend(bench, fox, 0.13)
    for _ in range(3):
        judge.judge(fox, bench.newest(fox))
    until(paused(bench, fox), what="the pause")
    until(settled, what="the end of the pause")
    judge.judge(fox, bench.newest(fox))
    assert settled()
    sentence = "agent fox has spent 10.12 of 10.00 USD (budget.agent)"
    assert state(bench, fox) == (State.PAUSED, f"paused: {sentence}")
    (told,) = bench.events("budget.exceeded")
    assert (told.agent, told.data["budget"], told.data["sentence"]) == (
        fox.uid,
        "budget.agent",
        sentence,
    )


def test_resuming_is_refused_until_the_limit_is_raised(bench: Bench) -> None:
    fox = bench.agent("fox")
    spend(bench, fox, 10.5)
    with pytest.raises(Denied, match=r"fox has spent 10.50 of 10.00") as caught:
        budgets.refuse_spent(bench.context, REPO, fox)
    assert caught.value.hint == "raise it: wl config set budget.agent 20"
    budgets.refuse_spent(bench.context, REPO)
    (bench.folder / "config.toml").write_text("[budget]\nagent = 20\n")
    budgets.refuse_spent(bench.context, REPO, fox)


def test_a_limit_of_its_own_binds_before_the_common_one(bench: Bench) -> None:
    fox = bench.agent("fox", limits=Limits(usd=1.0))
    judge = running(bench, fox)
    spend(bench, fox, 1.5)
    judge.judge(fox, bench.newest(fox))
    until(paused(bench, fox), what="the pause")
    until(settled, what="the end of the pause")
    assert "1.50 of 1.00 USD (--max-budget)" in state(bench, fox)[1]


def test_a_common_budget_stops_everybody_who_is_paid_for_and_new_ones(bench: Bench) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl")
    running(bench, fox)
    judge = running(bench, owl)
    bench.metered = False
    free = bench.agent("free")
    spend(bench, free, 1)
    bench.metered = True
    (bench.folder / "config.toml").write_text("[budget]\nday = 5\n")
    spend(bench, owl, 1)
    spend(bench, fox, 4)
    judge.judge(fox, bench.newest(fox))
    until(paused(bench, fox, owl), what="both pauses")
    until(settled, what="the end of the pauses")
    assert "today spent 5.00 of 5.00 USD (budget.day)" in state(bench, owl)[1]
    assert state(bench, free)[0] is State.RUNNING
    with pytest.raises(Denied, match=r"budget.day"):
        budgets.refuse_spent(bench.context, REPO)
    bench.clock.time += 86400
    budgets.refuse_spent(bench.context, REPO)


def test_a_repository_has_a_budget_where_it_was_given_one(bench: Bench) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl")
    spend(bench, fox, 3)
    spend(bench, owl, 3)
    budgets.refuse_spent(bench.context, REPO)
    config = bench.repo / ".windlass" / "config.toml"
    config.parent.mkdir()
    config.write_text("[budget]\nrepo = 6\n")
    with pytest.raises(Denied, match=r"all agents of shop have spent 6.00 of 6.00"):
        budgets.refuse_spent(bench.context, REPO)


def test_a_subscription_is_warned_of_once_a_day_and_goes_on(bench: Bench) -> None:
    bench.metered = False
    fox = bench.agent("fox")
    judge = judging(bench)
    spend(bench, fox, 11)
    for _ in range(3):
        judge.judge(fox, bench.newest(fox))
    assert [one.data["budget"] for one in bench.events("budget.warning")] == ["budget.agent"]
    bench.clock.time += 86400
    judge.judge(fox, bench.newest(fox))
    assert len(bench.events("budget.warning")) == 2
    assert bench.events("budget.exceeded") == []
    assert settled()
    budgets.refuse_spent(bench.context, REPO, fox)


def test_a_broken_configuration_does_not_lift_the_budget(bench: Bench) -> None:
    fox = bench.agent("fox")
    judge = running(bench, fox)
    (bench.folder / "config.toml").write_text("[budget\n")
    spend(bench, fox, 10)
    judge.judge(fox, bench.newest(fox))
    until(paused(bench, fox), what="the pause")
    until(settled, what="the end of the pause")


def failing(bench: Bench, judge: Budgets, agent: Agent, *, times: int) -> None:
    """Judges an agent while nothing can be written about its state."""
    forbid = "CREATE TRIGGER no BEFORE INSERT ON observations BEGIN SELECT RAISE(ABORT, 'no'); END"
    bench.store.write(lambda w: w.connection.exec_driver_sql(forbid))
    for _ in range(times):
        judge.judge(agent, bench.newest(agent))
        until(settled, what="the end of the try")
    bench.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER no"))


def test_a_pause_that_failed_is_tried_again(bench: Bench) -> None:
    fox = bench.agent("fox")
    spend(bench, fox, 10)
    judge = running(bench, fox)
    failing(bench, judge, fox, times=2)
    assert bench.newest(fox).ended_at is None
    judge.judge(fox, bench.newest(fox))
    until(paused(bench, fox), what="the pause")
    until(settled, what="the end of the pause")


def test_a_pause_that_always_fails_is_not_tried_for_ever(bench: Bench) -> None:
    fox = bench.agent("fox")
    spend(bench, fox, 10)
    judge = running(bench, fox)
    failing(bench, judge, fox, times=5)
    assert len(bench.events("intent.failed")) == 3
    assert len(bench.events("budget.exceeded")) == 1


def test_one_who_is_not_running_is_not_paused(bench: Bench) -> None:
    fox = bench.agent("fox")
    over = msgspec.structs.replace(bench.newest(fox), ended_at=NOON)
    spend(bench, fox, 10)
    bench.store.write(partial(rows.put_session, session=over))
    judging(bench).judge(fox, over)
    assert settled()
    assert bench.events("budget.exceeded") == []
