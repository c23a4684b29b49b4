"""How spending looks to people."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from windlass.cli import money
from windlass.cli.call import Call
from windlass.cli.commands import costs


def row(name: str, usd: float = 0.0, notional: float = 0.0, **more: Any) -> dict[str, Any]:
    tokens = dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"), 0)
    used = {"input_tokens": 1_234_567, "output_tokens": 12_345, **tokens}
    return {"name": name, **used, "usd": usd, "notional_usd": notional, **more}


@pytest.mark.parametrize(
    ("owed", "notional", "said"),
    [
        (0.0, 0.0, "$0.00"),
        (1.2, 0.0, "$1.20"),
        (0.0, 1.2, "~$1.20 (subscription)"),
        (1.0, 1.2, "$1.00 + ~$1.20 (subscription)"),
        (0.0042, 0.25, "$0.0042 + ~$0.2500 (subscription)"),
    ],
)
def test_money_that_nobody_owes_is_marked(owed: float, notional: float, said: str) -> None:
    assert money.usd(row("x", owed, notional)) == said


@pytest.mark.parametrize(
    ("largest", "said"),
    [
        (9_999, ["0", "3", "9999"]),
        (12_345, ["0", "<1k", "10k"]),
        (9_999_999, ["0", "<1k", "10k"]),
        (10_000_000, ["0", "<0.1M", "<0.1M"]),
    ],
)
def test_tokens_of_a_column_share_a_unit(largest: int, said: list[str]) -> None:
    assert [costs.count(tokens, largest) for tokens in (0, 3, 9_999)] == said
    assert costs.count(1_234_567, 20_000_000) == "1.2M"


def test_small_amounts_add_up() -> None:
    """Two agents that took a third of a cent each have not spent nothing."""
    shown = [money.usd(row("x", amount)) for amount in (0.0033, 0.0034, 0.0067)]
    assert shown == ["$0.0033", "$0.0034", "$0.0067"]


def test_repositories_are_named_by_their_folders(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    rows = [row("fox", 1.5, repo="1f"), row("owl", repo="2e"), row("elk", repo="gone")]
    found = {"by": "agent", "since": None, "rows": rows, "total": row("total", 1.5), "refused": {}}
    known = [{"id": "1f", "root": "/home/ann/shop"}, {"id": "2e", "root": "/home/ann/bank"}]
    answers = {"costs": found, "repos": known}
    call = Call(Namespace(by="agent", since=None, all_repos=True, all=False))
    monkeypatch.setattr(call, "ask", lambda verb, **_: answers[verb])
    assert costs.run(call) == 0
    shown = [line.split()[-1] for line in capsysbinary.readouterr().out.decode().splitlines()]
    assert shown[:4] == ["REPO", "shop", "bank", "gone"]


def test_the_table_has_a_line_for_each_and_the_sum_last(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    found = {
        "by": "agent",
        "since": None,
        "rows": [row("fox", 1.5, repo="r"), row("owl", 0.0, 0.25, repo="r", ended=True)],
        "total": row("total", 1.5, 0.25),
        "refused": {"fox": 2},
    }
    call = Call(Namespace(by="agent", since=None, all_repos=False, all=False))
    monkeypatch.setattr(call, "ask", lambda *_, **__: found)
    assert costs.run(call) == 0
    refused, head, fox, owl, total = capsysbinary.readouterr().out.decode().splitlines()
    assert refused.startswith("fox: 2 reports not counted")
    assert head.split() == ["AGENT", "IN", "OUT", "CACHE", "WRITE", "CACHE", "READ", "COST"]
    assert fox.split() == ["fox", "1235k", "12k", "0", "0", "$1.50"]
    assert owl.startswith("owl (ended)")
    assert total.endswith("$1.50 + ~$0.2500 (subscription)")


@pytest.mark.parametrize(
    ("agents", "said"), [(1, "1 other (ended)"), (9_950, "9,950 others (ended)")]
)
def test_agents_that_are_not_shown_have_a_line_before_the_sum(
    agents: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    found = {
        "by": "agent",
        "since": None,
        "rows": [row("fox", 1.5, repo="r"), row("owl", 2.0, repo="r", ended=True)],
        "others": row("others", 0.5, agents=agents),
        "total": row("total", 4.0),
        "refused": {},
    }
    call = Call(Namespace(by="agent", since=None, all_repos=False, all=False))
    monkeypatch.setattr(call, "ask", lambda *_, **__: found)
    assert costs.run(call) == 0
    *_, others, total = capsysbinary.readouterr().out.decode().splitlines()
    assert others.startswith(f"{said} ")
    assert others.endswith("$0.5000")
    assert total.startswith("total ")
