"""Budgets, with sessions to pause."""

from __future__ import annotations

from functools import partial
from itertools import count

import msgspec
import pytest
from tests.daemon.spend.cost_bench import NOON, TENTH, Bench, line
from tests.support import whole_rows
from tests.support.contexts import REPO, NoSockets
from tests.support.ground import until

from windlass.core.crew import Agent, Limits
from windlass.core.errors import Denied
from windlass.core.session_launch import Launch
from windlass.core.states import State
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.kernel.context import session_name
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.spend import budgets
from windlass.daemon.spend.budgets import Budgets
from windlass.store import mailbox, rows

_ANSWERS = count()


def start(bench: Bench, agent: Agent) -> None:
    """Starts the agent's session."""
    folder = bench.context.folders.session(agent.uid, agent.session)
    launch = Launch(argv=("agent",), cwd=str(bench.folder), env={}, mode="headless")
    bench.context.sessions.start(
        folder=folder,
        name=session_name(agent),
        launch=launch,
        wake=None,
        marker=bench.newest(agent).marker,
    )


def running(bench: Bench, agent: Agent) -> Budgets:
    """Starts the agent's session, and judges with the real pause."""
    start(bench, agent)
    return judging(bench)


def judging(bench: Bench) -> Budgets:
    life = SessionLife(bench.context, NoSockets(), CommitFetcher(bench.context), lambda _: None)
    steering = PauseResume(bench.context, life)
    return Budgets(bench.context, Intents(bench.context, steering.operations()))


def settled(bench: Bench) -> bool:
    """Whether nobody is being paused any more."""
    return bench.context.pools.under_way("budget") == 0


def await_pause(bench: Bench, *agents: Agent) -> None:
    """Returns when the sessions of these have been ended, and all is told about that."""

    def paused() -> bool:
        return all(bench.newest(agent).ended_at is not None for agent in agents)

    until(paused, what="the pause")
    until(lambda: settled(bench), what="the end of the pause")


def state(bench: Bench, agent: Agent) -> tuple[State, str]:
    found = bench.store.read(lambda c: rows.agent(c, agent.uid))
    assert found is not None
    said = bench.store.read(lambda c: rows.observations(c, agent.uid))
    return found.state, " ".join(one.evidence for one in said if one.value is State.PAUSED)


def spend(bench: Bench, agent: Agent, usd: float) -> None:
    bench.say(agent, line(f"{agent.id}-{next(_ANSWERS)}", tokens=int(usd * 10 * TENTH)))
    bench.count(agent)


def test_an_agent_over_its_budget_is_paused_and_says_so_once(bench: Bench) -> None:
    fox = bench.agent("fox")
    judge = running(bench, fox)
    spend(bench, fox, 9.99)
    judge.judge(fox, bench.newest(fox))
    assert settled(bench)
    spend(bench, fox, 0.13)
    for _ in range(3):
        judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)
    judge.judge(fox, bench.newest(fox))
    assert settled(bench)
    sentence = "agent fox has spent 10.12 of 10.00 USD (budget.agent)"
    assert state(bench, fox) == (State.PAUSED, f"paused: {sentence}")
    (told,) = bench.events("budget.exceeded")
    assert (told.agent, told.data["budget"], told.data["sentence"]) == (
        fox.uid,
        "budget.agent",
        sentence,
    )


def test_the_person_and_the_manager_are_told_of_a_pause_and_what_lets_it_go_on(
    bench: Bench,
) -> None:
    lead = bench.agent("lead")
    fox = bench.agent("fox", parent=lead.uid)
    judge = running(bench, fox)
    spend(bench, fox, 10.12)
    judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)
    go_on = "raise it: wl config set budget.agent 20, then wl resume fox"
    (posted,) = bench.events("notice.posted")
    assert posted.data["text"].endswith(f"To go on: {go_on}")
    (message,) = bench.store.read(lambda c: mailbox.inbox(c, recipient=lead.uid))
    assert message.body == posted.data["text"]


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
    await_pause(bench, fox)
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
    await_pause(bench, fox, owl)
    assert "today spent 5.00 of 5.00 USD (budget.day)" in state(bench, owl)[1]
    assert state(bench, free)[0] is State.RUNNING
    with pytest.raises(Denied, match=r"budget.day"):
        budgets.refuse_spent(bench.context, REPO)
    bench.clock.time += 86400
    budgets.refuse_spent(bench.context, REPO)


@pytest.mark.parametrize("rest", [State.COMPLETE, State.WAITING])
def test_a_common_budget_leaves_who_rests_as_it_is_until_it_takes_up_a_turn(
    bench: Bench, rest: State
) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl", state=rest)
    running(bench, fox)
    judge = running(bench, owl)
    (bench.folder / "config.toml").write_text("[budget]\nday = 5\n")
    spend(bench, owl, 1)
    spend(bench, fox, 4)
    judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)
    assert state(bench, owl)[0] is rest
    assert judge.is_spared(owl.uid)
    judge.judge(owl, bench.newest(owl))
    assert settled(bench)
    at_work = msgspec.structs.replace(owl, state=State.RUNNING)
    bench.store.write(lambda w: whole_rows.put_agent(w, at_work))
    judge.judge(owl, bench.newest(owl))
    await_pause(bench, owl)
    assert "(budget.day)" in state(bench, owl)[1]
    assert not judge.is_spared(owl.uid)


def test_who_says_that_it_rests_and_goes_on_spending_is_paused(bench: Bench) -> None:
    fox = bench.agent("fox", state=State.COMPLETE)
    judge = running(bench, fox)
    for late in (0, 30):
        bench.clock.time += late
        spend(bench, fox, 11)
        judge.judge(fox, bench.newest(fox))
        assert settled(bench), "what its turn cost is counted a little later than that ends"
    bench.clock.time += 31
    judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)


def forge(bench: Bench, agent: Agent) -> None:
    """One line that says that 75 USD were spent."""
    bench.say(agent, line(f"{agent.id}-{next(_ANSWERS)}", tokens=15_000_000))
    bench.count(agent)


@pytest.mark.parametrize("budget", ["day", "repo"])
def test_what_an_agent_reports_spends_no_more_of_everybody_s_than_it_may_itself(
    bench: Bench, budget: str
) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl")
    limited = bench.agent("hen", limits=Limits(usd=2.0))
    limits = {"day": 0, budget: 15}
    written = "".join(f"{name} = {usd}\n" for name, usd in limits.items())
    (bench.folder / "config.toml").write_text(f"[budget]\n{written}")
    judge = running(bench, fox)
    running(bench, owl)
    spend(bench, owl, 1)
    forge(bench, fox)
    forge(bench, limited)
    judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)
    assert "75.00 of 10.00 USD (budget.agent)" in state(bench, fox)[1]
    assert state(bench, owl)[0] is State.RUNNING
    budgets.refuse_spent(bench.context, REPO)
    spend(bench, owl, 2)
    with pytest.raises(Denied, match=rf"15.00 of 15.00 USD \(budget.{budget}\)"):
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
    assert settled(bench)
    budgets.refuse_spent(bench.context, REPO, fox)


def test_a_broken_configuration_does_not_lift_the_budget(bench: Bench) -> None:
    fox = bench.agent("fox")
    judge = running(bench, fox)
    (bench.folder / "config.toml").write_text("[budget\n")
    spend(bench, fox, 10)
    judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)


def failing(bench: Bench, judge: Budgets, agent: Agent, *, times: int) -> None:
    """Judges an agent while nothing can be written about its state."""
    forbid = "CREATE TRIGGER no BEFORE INSERT ON observations BEGIN SELECT RAISE(ABORT, 'no'); END"
    bench.store.write(lambda w: w.connection.exec_driver_sql(forbid))
    for _ in range(times):
        judge.judge(agent, bench.newest(agent))
        until(lambda: settled(bench), what="the end of the try")
    bench.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER no"))


def test_a_pause_that_failed_is_tried_again(bench: Bench) -> None:
    fox = bench.agent("fox")
    spend(bench, fox, 10)
    judge = running(bench, fox)
    failing(bench, judge, fox, times=2)
    assert bench.newest(fox).ended_at is None
    judge.judge(fox, bench.newest(fox))
    await_pause(bench, fox)


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
    bench.store.write(partial(whole_rows.put_session, session=over))
    judging(bench).judge(fox, over)
    assert settled(bench)
    assert bench.events("budget.exceeded") == []
