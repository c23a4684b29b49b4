"""Asking the daemon, whatever happens to it meanwhile.

A daemon that is not there is started, one of another version replaced, and a request whose answer
was cut off is sent again under the same key, which makes it happen once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from windlass.api import client, starting
from windlass.core.errors import Unavailable

_TRIES = 6


def ask(verb: str, **request: Any) -> Any:
    """Asks, and answers with what the daemon said or raises what it raised."""
    whole = {"cwd": _cwd(), "key": os.urandom(12).hex()}
    whole |= {name: value for name, value in request.items() if value is not None}
    for _ in range(_TRIES):
        try:
            return client.ask(verb, whole)
        except client.Gone:
            _start()
        except client.VersionMismatch as mismatch:
            starting.replace(mismatch)
    raise Unavailable(
        "the daemon keeps going away", "see `wl daemon logs`; your request may have been done"
    )


def follow(after: int | None, *, agent: str | None = None) -> Iterator[dict[str, Any]]:
    """Yields events for ever, from after the one given; a daemon's restart goes unnoticed."""
    last = after
    while True:
        try:
            for event in client.stream(after=last, agent=agent):
                last = event["id"]
                yield event
        except client.Gone:
            pass
        _start()


def _start() -> None:
    starting.start()
    own = os.environ.get("WINDLASS_SOCKET")
    if own and not os.path.exists(own):
        raise Unavailable(
            "this session's socket is gone: its agent has ended",
            "unset WINDLASS_SOCKET to speak as yourself",
        )


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise Unavailable("the current folder was deleted", "cd somewhere that exists") from error
