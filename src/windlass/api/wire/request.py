"""What every request says."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias, TypedDict

import msgspec

from windlass.core import texts

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""Every whole number of a request: one that the store can hold. JSON's have no end."""
WITHOUT_NUL = r"\A[^\x00]*\Z"
"""No program can be given a name with a NUL, and no file has one: git would never be started."""
Word: TypeAlias = Annotated[str, msgspec.Meta(max_length=1_000, pattern=WITHOUT_NUL)]
"""A name, an id, a pattern: what agents may say has an end, or the store would keep it all."""
Place: TypeAlias = Annotated[str, msgspec.Meta(max_length=8_192, pattern=WITHOUT_NUL)]
"""A path: longer than any that a system takes."""
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=texts.LONGEST)]
"""What is said to somebody, and kept."""
File: TypeAlias = Annotated[str, msgspec.Meta(max_length=1_000_000)]
"""What stands in a file, such as a script."""
Patterns: TypeAlias = Annotated[list[Word], msgspec.Meta(max_length=200)]
"""What somebody may use, or may not."""
_MOST = 1000
Words: TypeAlias = Annotated[list[Word], msgspec.Meta(max_length=_MOST)]
"""Every list of names or ids in a request: each costs a look at the store."""
Numbers: TypeAlias = Annotated[list[Whole], msgspec.Meta(max_length=_MOST)]
"""Every list of whole numbers in a request."""


class AnyRequest(TypedDict):
    """Part of every request: from which folder it is asked."""

    cwd: NotRequired[Place]
    key: NotRequired[Word]
    """Made by the client; the same request sent again under the same key happens once."""


class AgentRequest(AnyRequest):
    """Asks about one agent; without `agent` the caller itself."""

    agent: NotRequired[Word]
