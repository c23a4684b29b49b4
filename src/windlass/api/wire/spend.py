"""What agents spend."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Word

By = Literal["agent", "role", "task", "step", "mode", "credential", "day", "model"]
"""What spending is grouped by; mode and credential are those of sessions."""


class CostsRequest(AnyRequest):
    """Asks what was spent, grouped, from a day on.

    By agent it is of live ones and of the dearest ended ones, unless `all` are wanted.
    """

    by: NotRequired[By | None]
    since: NotRequired[Word | None]
    all_repos: NotRequired[bool]
    all: NotRequired[bool]


class CostRow(TypedDict):
    """Tokens, and what they cost: really, or as it would be by the price of tokens.

    Where it is what one agent spent, it also says who that is.
    """

    name: str
    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    usd: float
    notional_usd: float
    uid: NotRequired[str]
    repo: NotRequired[str]
    role: NotRequired[str]
    ended: NotRequired[bool]


class OtherCosts(CostRow):
    """What ended agents spent that are not shown one by one, and how many they are."""

    agents: int


class CostsReply(TypedDict):
    """What was spent, in groups, from a day on.

    `others` is there where not every agent that spent anything has a row; `total` is of everybody.
    `refused` says how many reports of an agent were not counted, as no agent CLI could write them.
    """

    by: str
    since: str | None
    repo: str | None
    rows: list[CostRow]
    others: NotRequired[OtherCosts]
    total: CostRow
    refused: dict[str, int]
