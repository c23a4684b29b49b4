"""Money as people see it."""

from __future__ import annotations

from typing import Any


def usd(row: dict[str, Any]) -> str:
    """Money for people: what is owed, and what a subscription covers, marked as such."""
    owed, notional = row["usd"], row["notional_usd"]
    covered = f"~{_amount(notional)} (subscription)"
    if notional and owed:
        return f"{_amount(owed)} + {covered}"
    return covered if notional else _amount(owed)


def _amount(dollars: float) -> str:
    """Cents of one call are too small to be seen, and rows of zeros would not add up."""
    return f"${dollars:.4f}" if 0 < dollars < 1 else f"${dollars:.2f}"
