"""What `wl costs` is told of what was counted."""

from __future__ import annotations

import msgspec
import pytest
from tests.daemon.spend.cost_bench import NOON, TENTH, Bench, line
from tests.support import whole_rows

from windlass.core.errors import ConfigError, UserError
from windlass.daemon.spend import costs


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
