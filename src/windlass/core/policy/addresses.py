"""Addresses of the web as agents name them: which host one means, and whether that is an inner one.

Pure: no name is looked up. A name outside that leads to an inner address is not noticed here; a box
with a proxy looks at what names resolve to.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

_ADDRESS = re.compile(
    r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?(?:[/?#].*)?", re.DOTALL | re.IGNORECASE
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_INNER = frozenset(("localhost", "localdomain", "local", "internal"))
"""Last labels of names that mean this machine or the network around it."""
_OUTER_SIX = 0b001
"""The first bits of every IPv6 address in public use; mapped and translated ones have others."""


def host(url: object) -> str | None:
    """The host of an address that every parser reads alike, in small letters; None for others."""
    address = _ADDRESS.fullmatch(url) if isinstance(url, str) else None
    return address[1].lower().rstrip(".") if address else None


def inner(host: str) -> bool:
    """Whether a host is this machine or in a network around it.

    Numbers in other spellings than four plain ones (127.1, 0x7f.1, 2130706433) count as such: there
    is no other reason to write them.
    """
    last = host.rpartition(".")[2]
    try:
        if host.startswith("["):
            return _inner_six(IPv6Address(host.strip("[]")))
        if _NUMBER.fullmatch(last):
            address = IPv4Address(host)
            return not address.is_global or address.is_multicast
    except ValueError:
        return True
    return "." not in host or last in _INNER


def _inner_six(address: IPv6Address) -> bool:
    return (
        not address.is_global or int(address) >> 125 != _OUTER_SIX or address.sixtofour is not None
    )
