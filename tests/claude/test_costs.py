"""What the real Claude Code spends: counted as it reckons, and stopped where it is enough."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
REST = {"text": "I rest.\n\nWAITING"}
HEADLESS = ["--print"]
MODES = [pytest.param([], id="live"), pytest.param(HEADLESS, id="headless")]
TENTH = {"usage": {"input_tokens": 20_000, "output_tokens": 100}}
"""A little more than a tenth of a dollar, with the default model."""


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


AGAIN = {"match": "Continue from where", "turns": [bash("true"), DONE]}
"""How work goes on. The script may have ended: when a session is stopped, its tool ends first, and
the model may be told of that and answer, which nobody hears."""


def costs(on: Scene, by: str = "agent") -> dict[str, dict[str, Any]]:
    """What was spent, by agent or model."""
    rows = on.wl("costs", "--by", by, "--json").ok().json()["rows"]
    return {row["name"]: row for row in rows}


def last_result(on: Scene, name: str) -> dict[str, Any]:
    """How the program itself sums a headless session up."""
    uid = on.wl("info", name, "--json").ok().json()["uid"]
    output = on.ground.state / "agents" / uid / "sessions" / "1" / "output"
    results = [json.loads(line) for line in output.read_bytes().splitlines()]
    found: dict[str, Any] = [one for one in results if one["type"] == "result"][-1]
    return found


def exceeded(on: Scene, name: str) -> list[str]:
    """The budgets that an agent is known to have exceeded."""
    events = on.ground.events(name)
    return [e["data"]["budget"] for e in events if e["kind"] == "budget.exceeded"]


def paused(on: Scene, name: str) -> None:
    """Waits until an agent is paused and its session has ended."""
    on.wait(name, "paused")
    until(lambda: "session.ended" in [e["kind"] for e in on.ground.events(name)])


def test_costs_are_to_the_cent_what_the_program_itself_reckons(on: Scene) -> None:
    fast = {"input_tokens": 3000, "output_tokens": 700, "cache_read_input_tokens": 50_000}
    dear = {"input_tokens": 10, "output_tokens": 4000, "cache_creation_input_tokens": 9000}
    for name, model in (("fox", "claude-opus-4-8"), ("owl", "claude-haiku-4-5")):
        on.new(
            name,
            {"usage": fast},
            bash("true"),
            {"usage": dear},
            DONE,
            on=[{"match": "^more$", "turns": [{"usage": fast}, REST]}],
            flags=[*HEADLESS, "--model", model],
        )
    on.wait("fox", "complete")
    on.wait("owl", "complete")
    for name in ("fox", "owl"):
        on.wl("send", name, "more").ok()
    until(lambda: all(turns(on, name) == 2 for name in ("fox", "owl")))
    results = {name: last_result(on, name) for name in ("fox", "owl")}
    by_agent, by_model = costs(on), costs(on, "model")
    for name, result in results.items():
        assert result["total_cost_usd"] > 0
        assert by_agent[name]["usd"] == pytest.approx(result["total_cost_usd"], abs=1e-6)
        assert by_agent[name]["output_tokens"] == 700 + 4000 + 700
    assert set(by_model) == {"claude-opus-4-8", "claude-haiku-4-5"}
    for result in results.values():
        ((model, used),) = result["modelUsage"].items()
        row = by_model[model.partition("[")[0]]
        assert row["usd"] == pytest.approx(used["costUSD"], abs=1e-6)
        assert row["cache_creation_input_tokens"] == used["cacheCreationInputTokens"]


def turns(on: Scene, name: str) -> int:
    """How many turns have ended."""
    return [e["kind"] for e in on.ground.events(name)].count("turn.ended")


@pytest.mark.parametrize("mode", MODES)
def test_a_fork_knows_the_conversation_and_pays_only_for_itself(on: Scene, mode: list[str]) -> None:
    on.new("fox", TENTH, bash("true"), DONE, flags=mode)
    on.wait("fox", "complete")
    on.await_texts("fox", DONE["text"])
    known = on.texts("fox")
    on.new("owl", TENTH, {"text": "I go on.\n\nWAITING"}, flags=[*mode, "--fork", "fox"])
    until(lambda: on.evidence("owl") == "WAITING", what="an answer")
    # On a busy machine a live session may be seen idle before it takes its first prompt.
    assert on.history("owl")[-2:] == [("running", "hook"), ("waiting", "hook")]
    said = [*known, "be owl", "I go on.\n\nWAITING"]
    # What a live session takes over is written when it will, not always first.
    until(lambda: sorted(on.texts("owl")) == sorted(said), what="the conversation")
    assert on.texts("fox") == known
    until(lambda: costs(on)["owl"]["usd"] > 0, what="the cost of the fork")
    assert costs(on)["fox"]["usd"] == costs(on)["owl"]["usd"] == pytest.approx(0.1025)
    on.wl("pause", "owl").ok()
    on.wl("resume", "owl").ok()
    on.wait("owl", "waiting")
    on.wl("send", "owl", "still there?").ok()
    said += ["still there?", "Noted.\n\nWAITING"]
    until(lambda: sorted(on.texts("owl")) == sorted(said), what="an answer")
    assert on.texts("fox") == known


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_spent_its_own_budget_is_paused_and_stays_so(
    on: Scene, mode: list[str]
) -> None:
    on.new("fox", TENTH, bash("true"), bash("sleep 60"), DONE, flags=[*mode, "--max-budget", "0.1"])
    paused(on, "fox")
    assert on.history("fox")[:2] == BEGUN
    assert on.history("fox")[-1] == ("paused", "windlass")
    assert on.evidence("fox") == "paused: agent fox has spent 0.10 of 0.10 USD (--max-budget)"
    assert exceeded(on, "fox") == ["limits.usd"]
    assert "has spent 0.10 of 0.10 USD" in on.wl("resume", "fox").failed(7).err


def test_a_common_budget_pauses_everybody_until_it_is_raised(on: Scene) -> None:
    on.wl("config", "set", "budget.day", "0.25", "--global").ok()
    nest = on.new("owl", TENTH, bash("touch begun; sleep 60"), DONE, on=[AGAIN], flags=HEADLESS)
    until((nest / "begun").exists)
    on.new("fox", TENTH, bash("true"), TENTH, bash("sleep 60"), DONE)
    paused(on, "fox")
    paused(on, "owl")
    for name in ("fox", "owl"):
        assert on.history(name) == [*BEGUN, ("paused", "windlass")]
        assert "all agents have today spent 0.31 of 0.25 USD (budget.day)" in on.evidence(name)
        until(lambda name=name: bool(exceeded(on, name)))  # type: ignore[misc]
        assert exceeded(on, name) == ["budget.day"]
    on.wl("resume", "owl").failed(7)
    on.wl("new", "--driver", "claude", "be new").failed(7)
    on.wl("config", "set", "budget.day", "1", "--global").ok()
    on.wl("resume", "owl").ok()
    on.wait("owl", "running,waiting,complete")


def test_a_subscription_is_only_warned(on: Scene) -> None:
    on.wl("daemon", "stop").ok()
    on.ground.env["CLAUDE_CODE_OAUTH_TOKEN"] = on.ground.env.pop("ANTHROPIC_AUTH_TOKEN")
    on.wl("config", "set", "budget.agent", "0.05", "--global").ok()
    on.new("fox", TENTH, bash("true"), TENTH, bash("true"), DONE, flags=HEADLESS)
    on.wait("fox", "complete")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    until(lambda: turns(on, "fox") == 1)
    owed = last_result(on, "fox")["total_cost_usd"]
    until(lambda: costs(on)["fox"]["notional_usd"] == pytest.approx(owed))
    assert owed > 0.05
    assert costs(on)["fox"]["usd"] == 0
    events = on.ground.events("fox")
    warned = [e["data"]["sentence"] for e in events if e["kind"] == "budget.warning"]
    assert len(warned) == 1
    assert "a subscription pays, so it goes on" in warned[0]
    assert exceeded(on, "fox") == []


def test_a_budget_of_the_configuration_can_be_raised_and_work_goes_on(on: Scene) -> None:
    on.wl("config", "set", "budget.agent", "0.15", "--global").ok()
    on.new("fox", TENTH, bash("true"), TENTH, bash("sleep 60"), DONE, on=[AGAIN], flags=HEADLESS)
    paused(on, "fox")
    assert on.history("fox") == [*BEGUN, ("paused", "windlass")]
    assert "budget.agent" in on.wl("resume", "fox").failed(7).err
    on.wl("config", "set", "budget.agent", "5", "--global").ok()
    on.wl("resume", "fox").ok()
    on.wl("send", "fox", "Continue from where you are").ok()
    on.wait("fox", "complete")
    assert on.history("fox")[2:4] == [("paused", "windlass"), ("creating", "windlass")]
