"""What agents use of models, as data: tokens of a request, of a message, of a whole process.

How a CLI writes it down is its dialect's matter; what it costs is in `pricing`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


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


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one model was used for since a process began, as that process says."""

    model: str
    usage: Usage
    cost: float | None


def total(parts: Iterable[Usage]) -> Usage:
    """Adds usage up; whether any was fast, which is a matter of price, is left out."""
    known = list(parts)
    fields = [field for field in Usage.__struct_fields__ if field != "fast"]
    return Usage(**{field: sum(getattr(usage, field) for usage in known) for field in fields})
