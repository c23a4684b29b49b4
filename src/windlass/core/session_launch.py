"""What it takes to start one session of an agent CLI: the hand-over from drivers to sessions."""

from __future__ import annotations

from typing import Literal

import msgspec

Mode = Literal["live", "headless"]
HOOK_PORT = "WINDLASS_HOOK_PORT"
"""Stands for the port of the session's hook receiver until its holder knows it."""
MODEL_PORT = "WINDLASS_MODEL_PORT"
"""Stands for the port of a box's loopback where its model is asked, until the box knows it."""

COLUMNS, LINES = 120, 40
"""The size of a terminal to which nobody is attached."""


class ReceiverSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The loopback listener that a session's holder runs for http hooks.

    The holder writes its port in place of HOOK_PORT in `files`, before the program starts. Only
    requests that carry `token` are heard; each becomes a line of `events`.
    """

    token: str
    events: str
    files: tuple[str, ...]


class ProxySpec(msgspec.Struct, frozen=True, kw_only=True):
    """The way out of a box without a network of its own: the holder runs `program` for it.

    It listens on the unix socket `socket` and reaches `domains` and `addresses` (see `BoxSpec`),
    and the session's hook receiver. What it refused becomes lines of `log`.
    """

    program: str
    socket: str
    domains: tuple[str, ...]
    addresses: tuple[str, ...]
    log: str


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """What a person should know of a session that begins: said `once` in a repository, or always.

    `fix` is the line that changes it, if one does.
    """

    text: str
    fix: str = ""
    once: bool = True


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A whole command to run; the environment is complete, nothing is inherited.

    `secrets` are variables whose values the holder reads from files of the person's own, so that no
    file of ours ever holds them. `stdin` is what a headless session finds in its input at first:
    the holder puts it there, once. One that is `relayed` asks its model through the daemon: its box
    writes a port of its own in place of MODEL_PORT in `env`. `remarks` are for the person who
    starts it.
    """

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    mode: Mode
    columns: int = COLUMNS
    lines: int = LINES
    receiver: ReceiverSpec | None = None
    proxy: ProxySpec | None = None
    secrets: dict[str, str] = {}
    stdin: str = ""
    relayed: bool = False
    remarks: tuple[Remark, ...] = ()
