"""The process at the other end of a loopback connection, for scripts that let it crash."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import psutil

Address: TypeAlias = tuple[str, int]


def signal_peer(client: Address, server: Address, number: int) -> int | None:
    """Signals the process that holds the client's end; returns its pid, or None if none was found.

    Never this process itself, and never anybody but the owner of exactly this connection.
    """
    pid = _owner(client, server)
    if pid is None or pid == os.getpid():
        return None
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return None
    return pid


def _owner(client: Address, server: Address) -> int | None:
    try:
        everybody = psutil.net_connections("tcp")
    except psutil.AccessDenied:  # macOS shows a whole machine's connections only to root
        return _owner_among_ours(client, server)
    owners = (connection.pid for connection in everybody if _joins(connection, client, server))
    return next((pid for pid in owners if pid), None)


def _owner_among_ours(client: Address, server: Address) -> int | None:
    for process in psutil.process_iter():
        try:
            connections = process.net_connections("tcp")
            if any(_joins(connection, client, server) for connection in connections):
                return int(process.pid)
        except psutil.Error:
            continue
    return None


def _joins(connection: Any, client: Address, server: Address) -> bool:
    ends = (connection.laddr, connection.raddr)
    return all(ends) and tuple(_plain(end) for end in ends) == (client, server)


def _plain(address: tuple[str, int]) -> Address:
    """An IPv4 address that came through an IPv6 socket is the same address."""
    return address[0].removeprefix("::ffff:"), address[1]
