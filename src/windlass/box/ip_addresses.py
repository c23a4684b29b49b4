"""Internet addresses as numbers: which are public, and which names are numbers in disguise.

Of the standard library's `ipaddress` only the little that the proxy needs, because that module
would double what a holder loads. Everything doubtful counts as not public.
"""

import _socket

_PRIVATE = (
    # What IANA lists as not globally reachable, multicast, and the future's.
    ("0.0.0.0", 8),  # noqa: S104 nobody binds it
    ("10.0.0.0", 8), ("100.64.0.0", 10), ("127.0.0.0", 8), ("169.254.0.0", 16),
    ("172.16.0.0", 12), ("192.0.0.0", 24), ("192.0.2.0", 24), ("192.88.99.0", 24),
    ("192.168.0.0", 16), ("198.18.0.0", 15), ("198.51.100.0", 24), ("203.0.113.0", 24),
    ("224.0.0.0", 3),
)  # fmt: skip
_GLOBAL = ("2000::", 3)
_PRIVATE_6 = (
    ("2001::", 23), ("2001:db8::", 32), ("2002::", 16), ("3fff::", 20), ("5f00::", 16),
)  # fmt: skip


def is_public(number: str) -> bool:
    """Whether an address, as the resolver gave it, is one of the open Internet."""
    if "%" in number:
        return False
    try:
        packed = _socket.inet_pton(_socket.AF_INET6 if ":" in number else _socket.AF_INET, number)
    except OSError:
        return False
    if len(packed) == 4:
        return not any(_in(packed, folder, bits, _socket.AF_INET) for folder, bits in _PRIVATE)
    # Only 2000::/3 is given out at all: v4 in v6, loopback, link-local, ULA and multicast are not.
    return _in(packed, *_GLOBAL, _socket.AF_INET6) and not any(
        _in(packed, folder, bits, _socket.AF_INET6) for folder, bits in _PRIVATE_6
    )


def looks_like_one(host: str) -> bool:
    """Whether a resolver might take the name for a number: 127.1, 0x7f000001, 017700000001."""
    if ":" in host:
        return True
    try:
        _socket.inet_aton(host)
    except OSError:
        # No top-level domain is a number, in any writing.
        last = host.rpartition(".")[2]
        return last.isdigit() or last.startswith("0x")
    return True


def _in(packed: bytes, network: str, bits: int, family: int) -> bool:
    base = int.from_bytes(_socket.inet_pton(family, network))
    shift = len(packed) * 8 - bits
    return int.from_bytes(packed) >> shift == base >> shift
