"""How the person started the daemon last, and whether they stopped it, for who brings it back.

`daemon.start` holds the person's environment at that moment and the program that brings the daemon
back with it; a session's holder reads the second, and only that program the first. `daemon.stopped`
is there from a person's `wl daemon stop` to the next start by a person, through reboots as well.
`daemon.return` is what was said at the last try of a holder's, and empty if that went well.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from windlass import whole_file
from windlass.api import places
from windlass.core.errors import NotFound
from windlass.core.leaks import without_leaks

_PROGRAM = (sys.executable, "-P", "-m", "windlass.api.daemon_return")
EMERGENCY = "estop"
"""The file whose time is that of the last `wl estop`."""
_ONCE = "WINDLASS_FAILPOINTS"
"""An order to die at some point is for one daemon, and not for those that come back."""


def keep_start() -> None:
    """Writes down with what the person starts the daemon now; there may be secrets in it."""
    env = without_leaks(os.environ) | {"WINDLASS_HOME": places.home()}
    env.pop(_ONCE, None)
    # ASCII, with escapes for what is no UTF-8 in a variable.
    text = json.dumps({"program": _PROGRAM, "env": env})
    try:
        whole_file.replace_durably(_path("daemon.start"), text.encode("ascii"))
    except OSError as error:
        from windlass import disk_room  # noqa: PLC0415 - on the start-up path of every command

        # On a full disk a daemon starts all the same; one that comes back has what was kept before.
        if not disk_room.is_lacking(error):
            raise places.unusable(error) from None


def take_on(home: str) -> None:
    """Makes this process one of the person's at the last start, as far as variables go."""
    os.environ["WINDLASS_HOME"] = home
    env = environment()
    os.environ.clear()
    os.environ.update(env)


def environment() -> dict[str, str]:
    """The variables with which the person started the daemon last."""
    try:
        with open(_path("daemon.start"), "rb") as file:
            kept: dict[str, Any] = json.loads(file.read())
        return {str(name): str(text) for name, text in kept["env"].items()}
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        raise NotFound("no start of the daemon was written down", "wl daemon start") from None


def mark_stopped() -> None:
    """Writes down that the person wants no daemon until they start one."""
    try:
        whole_file.replace_durably(_path("daemon.stopped"), b"")
    except OSError as error:
        raise places.unusable(error) from None


def mark_emergency() -> None:
    """Writes down that the person ended everything now; what was parked before stays so."""
    try:
        whole_file.replace_durably(_path(EMERGENCY), b"")
    except OSError as error:
        raise places.unusable(error) from None


def unmark_stopped() -> None:
    """Takes that back."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_path("daemon.stopped"))


def is_stopped() -> bool:
    """Whether the person wants none."""
    return os.path.exists(_path("daemon.stopped"))


def failed_return() -> str:
    """Why a holder's last try to bring the daemon back came to nothing; "" if it did not."""
    try:
        with open(_path("daemon.return"), errors="replace") as file:
            said = file.read(4096).strip().splitlines()
    except OSError:
        return ""
    return said[-1] if said else ""


def _path(name: str) -> str:
    return os.path.join(places.home(), name)
