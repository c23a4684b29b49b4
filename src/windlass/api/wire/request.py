"""What every request says."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias, TypedDict

import msgspec

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""Every whole number of a request: one that the store can hold. JSON's have no end."""

_MOST = 1000
Words: TypeAlias = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=1024)]], msgspec.Meta(max_length=_MOST)
]
"""Every list of names, ids or lines of policy in a request: each costs a look at the store."""
Numbers: TypeAlias = Annotated[list[Whole], msgspec.Meta(max_length=_MOST)]
"""Every list of whole numbers in a request."""


class AnyRequest(TypedDict):
    """Part of every request: from which folder it is asked."""

    cwd: NotRequired[str]
    key: NotRequired[str]
    """Made by the client; the same request sent again under the same key happens once."""


class AgentRequest(AnyRequest):
    """Asks about one agent; without `agent` the caller itself."""

    agent: NotRequired[str]
