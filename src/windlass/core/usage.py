"""What agents use of models, as data: tokens of a request, of a message, of a whole process.

How a CLI writes it down is its dialect's matter; what it costs is in `pricing`.

An agent can write what its CLI would write. So there are bounds that no model passes, far above
what any was seen to do: what is beyond them is not counted, and told as refused.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

MOST_TOKENS = 20_000_000
"""Of one kind in one answer. A window has a million tokens; an answer in which a model searches by
itself counts them once for each time that it goes on."""
MOST_OUTPUT = 1_000_000
"""Tokens that a model says in one answer; the most that one can be asked for is an eighth of it."""
MOST_SEARCHES = 1_000
"""In one answer."""
MOST_TOKENS_EVER = 10**12
"""Of one kind, since a process began."""
MOST_MODELS = 32
"""That are told apart of one agent; what it says of more is kept under `UNKNOWN_MODEL`."""
UNKNOWN_MODEL = "unknown"
MOST_USD_A_MINUTE = 1_000.0
"""By one agent, its subagents included: a hundred of those at once, each with a full window."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request, or of several at one price.

    `cache_1h_tokens` are those of `cache_creation_input_tokens` that are kept for an hour.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_1h_tokens: int = 0
    web_searches: int = 0
    fast: bool = False


class CountedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer of a model used; `mark` is the same on every line about that answer."""

    mark: str
    model: str
    at: float | None
    usage: Usage
    flaw: str = ""
    """The number in it that was refused, as it was written."""


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one model was used for since a process began, as that process says."""

    model: str
    usage: Usage
    cost: float | None
    flaw: str = ""
    """The number in it that was refused, as it was written."""


def known_as(model: str, models: set[str]) -> str:
    """The name under which use of a model is kept; `models` are those so far, and have it then.

    An agent can make up as many as it likes, and whoever sums up reads all of them.
    """
    if model not in models and len(models) >= MOST_MODELS:
        return UNKNOWN_MODEL
    models.add(model)
    return model


def by_model(reports: Iterable[UsageReport]) -> list[UsageReport]:
    """One report for each model; what several say of the same one is added up."""
    known: dict[str, UsageReport] = {}
    for report in reports:
        before = known.get(report.model)
        known[report.model] = report if before is None else _sum(before, report)
    return list(known.values())


def _sum(first: UsageReport, other: UsageReport) -> UsageReport:
    unknown = first.cost is None or other.cost is None
    cost = None if unknown else (first.cost or 0.0) + (other.cost or 0.0)
    used = total([first.usage, other.usage])
    flaw = first.flaw or other.flaw
    return UsageReport(model=first.model, usage=used, cost=cost, flaw=flaw)


def most_usd(seconds: float) -> float:
    """What an agent can have spent at the most in so much time; the minute that began is whole."""
    return MOST_USD_A_MINUTE * (1 + max(0.0, seconds) / 60)


def total(parts: Iterable[Usage]) -> Usage:
    """Adds usage up; whether any was fast, which is a matter of price, is left out."""
    known = list(parts)
    fields = [field for field in Usage.__struct_fields__ if field != "fast"]
    return Usage(**{field: sum(getattr(usage, field) for usage in known) for field in fields})
