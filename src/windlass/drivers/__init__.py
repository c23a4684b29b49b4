"""One file per agent CLI; `get` finds the driver that a person named.

Others may bring their own: an installed package names a class that follows `core.ports.Driver` as
an entry point of the group `windlass.drivers`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from windlass.core.dialect import Dialect
from windlass.core.errors import DriverError
from windlass.core.ports import Driver

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "windlass.drivers"


def _claude() -> Driver:
    from windlass.drivers.claude import ClaudeDriver  # noqa: PLC0415 - pay only for what is used

    return ClaudeDriver()


def _standin() -> Driver:
    from windlass.drivers.standin import StandinDriver  # noqa: PLC0415 - as above

    return StandinDriver()


_DRIVERS: dict[str, Callable[[], Driver]] = {"claude": _claude, "standin": _standin}


def known() -> tuple[str, ...]:
    """Returns the names that `get` takes."""
    return tuple(sorted({*_DRIVERS, *brought()}))


def get(name: str) -> Driver:
    """Returns the driver of that name."""
    make = _DRIVERS.get(name) or brought().get(name)
    if make is None:
        raise DriverError(
            f"no driver named {name!r}",
            f"known: {', '.join(known())}; wl new --driver {known()[0]} ...,"
            f" or wl config set driver {known()[0]} --global",
        )
    return make()


def dialect(name: str) -> Dialect:
    """Returns how the CLI of that driver speaks."""
    return get(name).dialect


@cache
def brought() -> dict[str, Callable[[], Driver]]:
    """The drivers of other packages; one of ours is never replaced."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - as above

    return {entry.name: _loader(entry) for entry in entry_points(group=GROUP)}


def _loader(entry: EntryPoint) -> Callable[[], Driver]:
    def load() -> Driver:
        try:
            driver: Driver = entry.load()()
        except Exception as error:  # what others wrote may fail in any way
            raise DriverError(
                f"the driver {entry.name!r} of {entry.value} cannot be loaded: {error}",
                "reinstall or remove the package that brings it",
            ) from error
        return driver

    return load
