"""Which Windlass this is, as a client and the daemon tell each other.

Imported by every command, so it imports almost nothing.
"""

from __future__ import annotations

from windlass import __version__
from windlass.core.schema import SCHEMA

WIRE = "2bdb2f8d"
"""A digest of every request and reply; a test says which one it has to be."""
IDENTITY = f"{__version__}+{SCHEMA}.{WIRE}"
"""Two that differ in it do not talk to each other: the daemon of the caller's takes over."""
