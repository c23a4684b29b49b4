"""What a box is told: how strong, what it shows, what it may reach. Data only; `box` builds it."""

from __future__ import annotations

from typing import Literal

import msgspec

Level = Literal["box", "hooks"]
"""What an agent has: an OS sandbox around its session, or advice that a program can walk around."""
Isolation = Literal["auto", "required", "box", "hooks"]
"""What is asked for: the best there is, a box or nothing, a box, or hooks alone."""
Network = Literal["host", "proxy", "none"]
"""All of it; the model and the domains allowed, through a proxy; or nothing but the model."""

LEVELS: tuple[Level, ...] = ("hooks", "box")
NETWORKS: tuple[Network, ...] = ("none", "proxy", "host")
"""Both from the least to the most: nobody gives what was not given to them."""


PID_INSIDE = 2
"""What a program takes for its own number: it is the second process of its box."""


TREE, HOME = "/windlass/tree", "/windlass/home"
"""Where every box of a gate, and of an agent, shows the work tree and its home.

Installers write absolute paths: dependencies that were made for one tree work in another's box.
"""


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the machine one box may take; 0 is no limit. Sizes are bytes."""

    memory: int = 0
    processes: int = 0
    open_files: int = 0
    file_size: int = 0
    temp_size: int = 0


class BoxSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One box: what it shows, at the same paths as outside, and what it may reach.

    The system's own folders are always there, read-only; nothing else is. Of two places that lie in
    each other the deeper one wins. What does not exist is left out, except that `writable` folders
    must. `domains` are host names, `*.` in front for all below, with a port where it is not one of
    the web's; `addresses` are `host:port` pairs that are reached whatever they resolve to, the
    loopback of this machine included. `covers` are pairs of a file of ours and the file inside a
    writable folder in whose place it is seen, read-only; neither is the box's to exchange. All
    boxes that write to one folder have to cover the same names in it: see `daemon.launch.boxes`.
    `placed` are pairs of a folder outside and where it is seen inside, to write to: for what has to
    lie at the same path in every box.
    """

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    covers: tuple[tuple[str, str], ...] = ()
    placed: tuple[tuple[str, str], ...] = ()
    network: Network = "host"
    domains: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    quota: Quota = Quota()


class BoxView(msgspec.Struct, frozen=True, kw_only=True):
    """What a program in a box finds: the places that are `shown`, and the names that it reaches."""

    shown: tuple[str, ...] = ()
    network: Network = "host"
    domains: tuple[str, ...] = ()
