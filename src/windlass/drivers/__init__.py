"""One file per agent CLI; `get` finds the driver that a person named."""

from __future__ import annotations

from collections.abc import Callable

from windlass.core.errors import DriverError
from windlass.core.ports import Driver


def _claude() -> Driver:
    from windlass.drivers.claude import ClaudeDriver  # noqa: PLC0415 - pay only for what is used

    return ClaudeDriver()


def _standin() -> Driver:
    from windlass.drivers.standin import StandinDriver  # noqa: PLC0415 - as above

    return StandinDriver()


_DRIVERS: dict[str, Callable[[], Driver]] = {"claude": _claude, "standin": _standin}


def known() -> tuple[str, ...]:
    """Returns the names that `get` takes."""
    return tuple(sorted(_DRIVERS))


def get(name: str) -> Driver:
    """Returns the driver of that name."""
    make = _DRIVERS.get(name)
    if make is None:
        raise DriverError(
            f"no driver named {name!r}",
            f"known: {', '.join(known())}; wl new --driver {known()[0]} ...,"
            f" or wl config set driver {known()[0]} --global",
        )
    return make()
