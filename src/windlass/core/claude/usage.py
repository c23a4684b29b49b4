"""What a session says that it used: lines of its conversation, and the results of its turns.

Pure and forgiving: these files belong to another program, so a line that makes no sense says
nothing, and a number that cannot be true counts as none and is said to be refused. What usage
costs is in `pricing`.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from windlass.core import agents_json
from windlass.core.usage import (
    MOST_OUTPUT,
    MOST_SEARCHES,
    MOST_TOKENS,
    MOST_TOKENS_EVER,
    UNKNOWN_MODEL,
    CountedMessage,
    Usage,
    UsageReport,
    by_model,
    known_as,
    total,
)

MOST_USD = 10**6
LONGEST_MODEL = 128
_LONGEST_ASKED = 1024
"""With who provides it and where: longer than any of those is no name."""
_SHOWN = 60
"""Characters of a number that is refused."""
_SYNTHETIC = "<synthetic>"
"""The model of what the CLI itself puts into a conversation; nobody was asked, nothing is owed."""


def from_transcript(line: bytes) -> list[CountedMessage]:
    """Reads a line of a conversation; nothing where it tells of no use of a model.

    An answer has one line for each of its parts, each with the usage of the whole; compacting
    repeats the latest of them further down. So whoever counts keeps the marks that it has seen.
    Where a model had another one advise it there is a message for each of the two.
    """
    if b'"usage"' not in line:
        return []
    record = _object(line)
    message = _mapping(record.get("message"))
    used = message.get("usage")
    if record.get("type") != "assistant" or not isinstance(used, Mapping):
        return []
    model = message.get("model")
    name = message.get("id") or record.get("uuid")
    if model == _SYNTHETIC or not isinstance(name, str):
        return []
    own = canonical(model)
    stated, flaw = from_answer(used, own)
    return [
        CountedMessage(
            mark=_mark(name if asked == own else f"{name} {asked}"),
            model=asked,
            at=_time(record),
            usage=usage,
            flaw=flaw if asked == own else "",
        )
        for asked, usage in stated.items()
    ]


def from_result(result: Mapping[str, Any]) -> list[UsageReport]:
    """Reads the last line of a turn: everything since the process began, by model.

    The CLI names a model as it was asked for (`…[1m]`), a conversation as it answered.
    """
    reports = by_model(
        _report(canonical(name), used)
        for name, used in _mapping(result.get("modelUsage")).items()
        if isinstance(used, Mapping) and name != _SYNTHETIC
    )
    numbers = _Numbers()
    cost = numbers.usd(result, "total_cost_usd")
    if not reports and (cost or numbers.flaw):
        return [
            UsageReport(model=UNKNOWN_MODEL, usage=Usage(), cost=cost or 0.0, flaw=numbers.flaw)
        ]
    return reports


def canonical(model: Any) -> str:
    """Names a model without its date, its window and who provides it.

    `us.anthropic.claude-opus-4-1-20250805-v1:0` and `claude-opus-4-1[1m]` are one model.
    """
    if not isinstance(model, str) or not model.strip():
        return UNKNOWN_MODEL
    # Cut before any pattern is held against it: an agent can write millions of brackets.
    name = model.strip()[:_LONGEST_ASKED].strip().lower()
    if name.endswith("]"):
        name = name.rpartition("[")[0] or name
    name = name[max(0, name.find("claude-")) :]
    name = re.sub(r"[-@](?:20\d{6}|latest)(?:-v\d+(?::\d+)?)?$", "", name)
    # The first of the fourth generation have no minor number where they have a date.
    return re.sub(r"^(claude-(?:opus|sonnet)-4)$", r"\1-0", name)[:LONGEST_MODEL]


def from_answer(used: Mapping[str, Any], model: str) -> tuple[dict[str, Usage], str]:
    """Reads the usage that an answer of a model states: by model, and what of it was refused.

    An answer may have been made in several goes, and each is paid for. Of the model's own the sums
    at the top have some and not others (compacting on the way is not in them, the input of the
    later goes may not be); another model's, which advised it, they have not at all.
    """
    numbers = _Numbers()
    top = _usage(used, numbers)
    goes: dict[str, list[Usage]] = {model: []}
    stated = used.get("iterations")
    for go in stated if isinstance(stated, list) else ():
        if isinstance(go, Mapping):
            whose = canonical(go["model"]) if go.get("model") else model
            goes.setdefault(known_as(whose, set(goes)), []).append(_usage(go, numbers))
    sums = {whose: _bounded(total(parts), numbers) for whose, parts in goes.items()}
    return {**sums, model: _greater(top, sums[model])}, numbers.flaw


class _Numbers:
    """Reads numbers that somebody may have made up; remembers the first that cannot be."""

    def __init__(self) -> None:
        self.flaw = ""

    def count(self, of: Mapping[str, Any], name: str, most: int) -> int:
        """A number of things; none where it cannot be."""
        value = of.get(name)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            self._refuse(name, value)
            return 0
        return int(value)

    def usd(self, of: Mapping[str, Any], name: str) -> float | None:
        """An amount of money; None where it cannot be."""
        value = of.get(name)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= MOST_USD:
            self._refuse(name, value)
            return None
        return float(value)

    def at_most(self, name: str, value: int, most: int) -> int:
        """A sum of numbers, each of which can be; what is beyond the bound of an answer is not."""
        if value > most:
            self._refuse(f"{name} of all iterations", value)
        return min(value, most)

    def _refuse(self, name: str, value: Any) -> None:
        said = repr(value)
        said = said if len(said) <= _SHOWN else said[:_SHOWN] + "…"
        self.flaw = self.flaw or f"{name} is {said}"


def _usage(used: Mapping[str, Any], numbers: _Numbers) -> Usage:
    created = numbers.count(used, "cache_creation_input_tokens", MOST_TOKENS)
    kept = _mapping(used.get("cache_creation"))
    tools = _mapping(used.get("server_tool_use"))
    return Usage(
        input_tokens=numbers.count(used, "input_tokens", MOST_TOKENS),
        output_tokens=numbers.count(used, "output_tokens", MOST_OUTPUT),
        cache_creation_input_tokens=created,
        cache_read_input_tokens=numbers.count(used, "cache_read_input_tokens", MOST_TOKENS),
        cache_1h_tokens=min(created, numbers.count(kept, "ephemeral_1h_input_tokens", MOST_TOKENS)),
        web_searches=numbers.count(tools, "web_search_requests", MOST_SEARCHES),
        fast=used.get("speed") == "fast",
    )


def _greater(one: Usage, other: Usage) -> Usage:
    """Of each kind what the one or the other has more of; how fast it was, the first says."""
    fields = [field for field in Usage.__struct_fields__ if field != "fast"]
    most = {field: max(getattr(one, field), getattr(other, field)) for field in fields}
    return Usage(**most, fast=one.fast)


def _bounded(used: Usage, numbers: _Numbers) -> Usage:
    """A sum of what each could be; no more of it than one answer can come to."""
    return Usage(
        input_tokens=numbers.at_most("input_tokens", used.input_tokens, MOST_TOKENS),
        output_tokens=numbers.at_most("output_tokens", used.output_tokens, MOST_OUTPUT),
        cache_creation_input_tokens=numbers.at_most(
            "cache_creation_input_tokens", used.cache_creation_input_tokens, MOST_TOKENS
        ),
        cache_read_input_tokens=numbers.at_most(
            "cache_read_input_tokens", used.cache_read_input_tokens, MOST_TOKENS
        ),
        cache_1h_tokens=min(used.cache_1h_tokens, MOST_TOKENS),
        web_searches=numbers.at_most("web_search_requests", used.web_searches, MOST_SEARCHES),
    )


def _report(model: str, used: Mapping[str, Any]) -> UsageReport:
    numbers = _Numbers()

    def count(name: str) -> int:
        return numbers.count(used, name, MOST_TOKENS_EVER)

    usage = Usage(
        input_tokens=count("inputTokens"),
        output_tokens=count("outputTokens"),
        cache_creation_input_tokens=count("cacheCreationInputTokens"),
        cache_read_input_tokens=count("cacheReadInputTokens"),
        web_searches=count("webSearchRequests"),
    )
    cost = numbers.usd(used, "costUSD")
    return UsageReport(model=model, usage=usage, cost=cost, flaw=numbers.flaw)


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        return _mapping(agents_json.decode(line))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _time(record: Mapping[str, Any]) -> float | None:
    said = record.get("timestamp")
    try:
        return datetime.fromisoformat(said).timestamp() if isinstance(said, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def _mark(name: str) -> str:
    """Eight letters for a message: marks are kept, and there may be thousands."""
    digest = hashlib.blake2b(name.encode(errors="replace"), digest_size=6).digest()
    return urlsafe_b64encode(digest).decode()
