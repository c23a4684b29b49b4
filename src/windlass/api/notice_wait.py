"""Waiting for notices, whatever happens to the daemon meanwhile.

A daemon that was killed is started again, and asked again: what it was about to say is still in the
queue. One that ended in good order was stopped by somebody who meant it, so its return is awaited.
"""

from __future__ import annotations

import os
import time
from typing import Any

from windlass.api import client, daemon_start
from windlass.core.errors import Unavailable

_GRACE = 10.0
"""Seconds beyond the limit before a daemon that does not answer is given up."""
_FRUITLESS = 20


def wait(listener: str, seconds: float) -> dict[str, Any]:
    """Waits for the daemon's answer, at most so long; one that never comes is a time-out too."""
    request = {"cwd": os.getcwd(), "route": "listen", "listener": listener, "pid": os.getpid()}
    end = time.monotonic() + seconds
    fruitless = 0
    while fruitless < _FRUITLESS:
        began = time.monotonic()
        left = max(0.0, end - began)
        try:
            answer: dict[str, Any] = client.ask(
                "listen", {**request, "timeout": left}, timeout=left + _GRACE
            )
        except client.Stopped:
            if not _returns(end):
                return {"notices": [], "why": "timeout"}
        except client.Dead:
            daemon_start.start()
        except (client.Gone, Unavailable):
            pass  # it stops, or was just killed: the next try tells
        except client.VersionMismatch as mismatch:
            raise Unavailable(
                f"a daemon of another version ({mismatch.daemon}) has taken over",
                "start it again: wl listen",
            ) from None
        else:
            return answer
        fruitless = 0 if time.monotonic() - began > 1 else fruitless + 1
        time.sleep(0.05 * fruitless)
    raise Unavailable("the daemon breaks off every wait", "see `wl daemon logs`")


def _returns(end: float) -> bool:
    """Whether there is a socket again before the time is over."""
    while not os.path.exists(client.socket_path()):
        if time.monotonic() >= end:
            return False
        time.sleep(0.1)
    return True
