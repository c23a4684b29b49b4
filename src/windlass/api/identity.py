"""Which Windlass this is, as a client and the daemon tell each other.

Imported by every command, so it imports almost nothing.
"""

from __future__ import annotations

from windlass import __version__
from windlass.core.schema import SCHEMA

WIRE = "c1d14907"
"""A digest of every request and reply; a test says which one it has to be."""
IDENTITY = f"{__version__}+{SCHEMA}.{WIRE}"
"""Two that differ in it understand each other only if the daemon is the newer one."""


def version(text: str) -> tuple[int, ...]:
    """A version, or the one in an identity, in the order of versions."""
    release = text.partition("+")[0]
    return tuple(int(part) for part in release.split(".") if part.isdigit())


def schema(identity: str) -> str:
    """The schema in an identity."""
    return identity.partition("+")[2].partition(".")[0]


def understands(theirs: str, *, is_agent: bool) -> bool:
    """Whether this daemon serves such a client: one that is older and has the same schema.

    What only adds to requests and replies needs no other daemon. Agents start none, so theirs are
    served whatever their age: a session outlives an upgrade.
    """
    if theirs == IDENTITY:
        return True
    if schema(theirs) != str(SCHEMA):
        return False
    return is_agent or version(theirs) < version(__version__)
