"""Prices agree with what Claude Code reckons itself; budgets are judged by what was spent."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec
import pytest

from windlass.core import pricing
from windlass.core.config import BudgetSettings
from windlass.core.errors import ConfigError
from windlass.core.pricing import Exceeded, Figures, Table
from windlass.core.usage import Usage, UsageReport

BUNDLED = pricing.parse(
    (resources.files("windlass.data") / "pricing.json").read_bytes(), "the built-in prices"
)
HUNDRED_THOUSAND = {
    "input": Usage(input_tokens=100_000),
    "output": Usage(output_tokens=100_000),
    "write": Usage(cache_creation_input_tokens=100_000),
    "write_1h": Usage(cache_creation_input_tokens=100_000, cache_1h_tokens=100_000),
    "read": Usage(cache_read_input_tokens=100_000),
    "fast": Usage(input_tokens=100_000, fast=True),
}
MEASURED = {
    "claude-opus-4-8": (0.5, 2.5, 0.625, 1.0, 0.05, 1.0),
    "claude-opus-4-7": (0.5, 2.5, 0.625, 1.0, 0.05, 3.0),
    "claude-opus-4-6": (0.5, 2.5, 0.625, 1.0, 0.05, 3.0),
    "claude-opus-4-5": (0.5, 2.5, 0.625, 1.0, 0.05, 0.5),
    "us.anthropic.claude-opus-4-1-20250805-v1:0": (1.5, 7.5, 1.875, 3.0, 0.15, 1.5),
    "claude-sonnet-5": (0.3, 1.5, 0.375, 0.6, 0.03, 0.3),
    "claude-sonnet-4-6": (0.3, 1.5, 0.375, 0.6, 0.03, 0.3),
    "claude-sonnet-4-5[1m]": (0.3, 1.5, 0.375, 0.6, 0.03, 0.3),
    "claude-sonnet-4-20250514": (0.3, 1.5, 0.375, 0.6, 0.03, 0.3),
    "claude-haiku-4-5-20251001": (0.1, 0.5, 0.125, 0.2, 0.01, 0.1),
    "claude-mythos-5": (1.0, 5.0, 1.25, 2.0, 0.1, 1.0),
    "claude-3-7-sonnet-20250219": (0.3, 1.5, 0.375, 0.6, 0.03, 0.3),
    "claude-3-5-haiku-20241022": (0.08, 0.4, 0.1, 0.16, 0.008, 0.08),
    "some-model": (0.5, 2.5, 0.625, 1.0, 0.05, 0.5),
    "claude-opus-9": (0.5, 2.5, 0.625, 1.0, 0.05, 0.5),
}
"""What Claude Code 2.1.197 said that 100,000 tokens of each kind cost."""


@pytest.mark.parametrize("model", MEASURED)
def test_the_built_in_prices_are_what_claude_code_itself_says(model: str) -> None:
    ours = [BUNDLED.cost(model, used) for used in HUNDRED_THOUSAND.values()]
    assert ours == pytest.approx(MEASURED[model])


def test_a_whole_turn_costs_what_claude_code_says() -> None:
    used = Usage(
        input_tokens=2000,
        output_tokens=154,
        cache_creation_input_tokens=10,
        cache_read_input_tokens=14,
    )
    assert BUNDLED.cost("claude-opus-4-8", used) == pytest.approx(0.0139195)
    assert BUNDLED.cost("claude-opus-4-8", Usage(web_searches=10)) == pytest.approx(0.1)


def own(**models: Any) -> Table:
    data = msgspec.json.encode({"models": models})
    return BUNDLED.overlaid(pricing.parse(data, "own"))


MILLION = Usage(input_tokens=1_000_000)


def test_the_longest_name_that_fits_decides_and_ends_at_a_boundary() -> None:
    table = own(**{"gpt": {"input": 1, "output": 1}, "gpt-5-1": {"input": 2, "output": 2}})
    assert table.cost("gpt-5", MILLION) == 1
    assert table.cost("gpt-5-1-mini", MILLION) == 2
    assert table.cost("gpt-5-10", MILLION) == 1
    assert table.cost("gpt6", MILLION) == 5


def test_a_persons_own_price_replaces_that_model_and_no_other() -> None:
    table = own(**{"claude-opus-4-8": {"input": 1, "output": 2}})
    assert table.cost("claude-opus-4-8[1m]", MILLION) == 1
    assert table.cost("claude-opus-4-8", HUNDRED_THOUSAND["write"]) == pytest.approx(0.125)
    assert table.cost("claude-opus-4-7", MILLION) == 5


def test_a_persons_own_price_counts_for_what_a_session_reports_too() -> None:
    report = UsageReport(model="claude-opus-4-8", usage=MILLION, cost=7.0)
    assert BUNDLED.cost_reported(report) == 7.0
    assert own(**{"claude-opus-4-8": {"input": 1, "output": 2}}).cost_reported(report) == 1
    assert BUNDLED.cost_reported(msgspec.structs.replace(report, cost=None)) == 5


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"{", "mine is not valid JSON"),
        (b"[]", "mine: expected an object"),
        (b'{"prices": {}}', "mine: unknown key 'prices'"),
        (b'{"models": {"gpt": {"input": "x", "output": 1}}}', r"mine: models.gpt: .*input"),
        (b'{"models": {"gpt": {"input": -1, "output": 1}}}', r"mine: models.gpt: .*input"),
        (b'{"models": {"gpt": {"input": 1}}}', r"mine: models.gpt: .*output"),
        (b'{"models": {"gpt": {"input": 1, "output": 1, "inputs": 1}}}', "models.gpt: .*inputs"),
        (b'{"default": 3}', "mine: default: "),
        (b"\xff", "mine is not valid JSON"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_the_place(text: bytes, place: str) -> None:
    with pytest.raises(ConfigError, match=place) as caught:
        pricing.parse(text, "mine")
    assert "docs/costs.md" in caught.value.hint


def judge(
    budget: BudgetSettings, *, limit: float | None = None, name: str | None = "fox", **spent: Any
) -> list[Exceeded]:
    figures = Figures(**{"agent": 0.0, "repo": 0.0, "day": 0.0, **spent})
    return pricing.judge(figures, budget, agent=name, own=limit, repo="shop")


def test_budgets_of_runs_and_steps_are_for_agents_of_runs() -> None:
    budget = BudgetSettings(agent=0, run=2, step=1)
    assert judge(budget, agent=3.0, step=1.5) == []
    run, step = judge(budget, agent=3.0, step=1.5, task="A-1")
    assert run.sentence == "the run of A-1 has cost 3.00 of 2.00 USD (budget.run)"
    assert step.sentence == "this visit of a step of A-1 has cost 1.50 of 1.00 USD (budget.step)"
    assert step.hint == "raise it: wl config set budget.step 2"
    figures = Figures(agent=1.5, repo=0, day=0, step=0.25, task="A-1")
    assert pricing.room(figures, budget, own=None) == 0.5


def test_a_spent_budget_says_who_how_much_and_how_to_raise_it() -> None:
    (one,) = judge(BudgetSettings(), agent=10.12)
    assert one.sentence == "agent fox has spent 10.12 of 10.00 USD (budget.agent)"
    assert one.hint == "raise it: wl config set budget.agent 20"


def test_every_budget_that_is_spent_is_named_and_no_other() -> None:
    budget = BudgetSettings(agent=10, day=50, repo=100)
    assert judge(budget, agent=9.99, day=49.99, repo=99.99) == []
    found = judge(budget, agent=10, day=50, repo=100)
    assert [one.budget for one in found] == ["budget.agent", "budget.repo", "budget.day"]


def test_zero_and_unset_are_no_limit() -> None:
    assert judge(BudgetSettings(agent=0, day=0), agent=1e6, day=1e6, repo=1e6) == []


def test_a_limit_of_its_own_stands_instead_of_the_common_one() -> None:
    assert judge(BudgetSettings(), limit=20, agent=15) == []
    (one,) = judge(BudgetSettings(), limit=2, agent=3)
    assert one.sentence.endswith("3.00 of 2.00 USD (--max-budget)")
    assert "--max-budget" in one.hint


def test_without_an_agent_only_common_budgets_are_judged() -> None:
    assert judge(BudgetSettings(), name=None, agent=99) == []
    assert [one.budget for one in judge(BudgetSettings(), name=None, day=60)] == ["budget.day"]


def test_the_limit_that_is_advised_would_be_enough() -> None:
    (one,) = judge(BudgetSettings(agent=1), agent=9)
    assert one.hint.endswith("budget.agent 16")
