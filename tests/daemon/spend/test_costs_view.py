"""What `wl costs` is told of what was counted."""

from __future__ import annotations

import msgspec
import pytest
from tests.daemon.spend.cost_bench import NOON, TENTH, Bench, line
from tests.support import whole_rows

from windlass.core.errors import ConfigError, UserError
from windlass.core.events import UsageRefused
from windlass.core.ids import RepoId, Uid
from windlass.core.usage import Usage
from windlass.daemon.spend import costs
from windlass.store import spending
from windlass.store.store import Writing


def test_a_day_is_the_day_on_which_it_was_spent(bench: Bench) -> None:
    fox = bench.agent("fox", created_at=NOON - 10 * 86400)
    bench.say(fox, line("m1", at=NOON - 86400), line("m2"), line("m3", at=NOON + 86400))
    bench.count(fox)
    found = {row["name"]: row["usd"] for row in bench.view(by="day")["rows"]}
    assert found == {costs.day_of(NOON - 86400): 0.1, costs.day_of(NOON): 0.2}
    since = bench.view(by="day", since=costs.day_of(NOON))
    assert since["total"]["usd"] == 0.2
    assert bench.view(since="2d")["total"]["usd"] == 0.3


def test_costs_are_grouped_as_asked_and_ended_agents_are_among_them(bench: Bench) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl", role="manager")
    bench.agent("idle")
    bench.agent("gone", ended_at=NOON)
    bench.say(fox, line("m1"), line("m2", model="claude-haiku-4-5"))
    bench.say(owl, line("m3"), line("m4"), line("m5"))
    bench.count(fox)
    bench.count(owl)
    bench.store.write(
        lambda w: whole_rows.put_agent(w, msgspec.structs.replace(owl, ended_at=NOON))
    )
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


def test_of_many_ended_agents_the_dearest_have_rows_and_the_others_one_sum(bench: Bench) -> None:
    """A year of them is ten thousand lines, which nobody reads."""
    bench.agent("idle")
    ended = [bench.agent(f"old{number:02}", ended_at=NOON) for number in range(53)]

    def spend(writing: Writing) -> None:
        for number, agent in enumerate(ended):
            spending.add(
                writing,
                agent.uid,
                1,
                day=costs.day_of(NOON),
                model="m",
                source="transcript",
                used=Usage(input_tokens=number),
                cost=number,
                notional=number == 2,
            )

    bench.store.write(spend)
    view = bench.view()
    dearest = [f"old{number:02}" for number in range(52, 2, -1)]
    assert [row["name"] for row in view["rows"]] == [*dearest, "idle"]
    others = view["others"]
    assert (others["agents"], others["usd"], others["notional_usd"]) == (3, 1.0, 2.0)
    assert others["input_tokens"] == 3
    assert view["total"]["usd"] == sum(range(53)) - 2
    everybody = bench.view(all=True)
    assert len(everybody["rows"]) == 54
    assert "others" not in everybody
    assert everybody["total"] == view["total"]
    assert "others" not in bench.view(by="model")
    assert "others" not in bench.view(since="2026-03-11")


def test_what_was_refused_is_told_of_agents_of_the_repository(bench: Bench) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl", ended_at=NOON)

    def refuse(writing: Writing) -> None:
        for agent, reports in ((fox, 2), (owl, 1), (fox, 3)):
            event = UsageRefused(source="result", reports=reports, why="far too much")
            writing.emit(event, repo=agent.repo, agent=agent.uid)
        elsewhere = UsageRefused(source="result", reports=1, why="far too much")
        writing.emit(elsewhere, repo=RepoId("r9"), agent=Uid("gone"))

    bench.store.write(refuse)
    assert bench.view()["refused"] == {"fox": 5, "owl": 1}


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
