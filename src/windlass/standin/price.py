"""What tokens would cost: one fixed price, that of a large model, so that budgets can be tried."""

from __future__ import annotations

from collections.abc import Mapping

DOLLARS_PER_TOKEN = {
    "input_tokens": 5e-6,
    "output_tokens": 25e-6,
    "cache_creation_input_tokens": 6.25e-6,
    "cache_read_input_tokens": 0.5e-6,
}


def cost(tokens: Mapping[str, int]) -> float:
    """Returns the price of tokens, in dollars."""
    return round(sum(DOLLARS_PER_TOKEN[kind] * count for kind, count in tokens.items()), 10)
