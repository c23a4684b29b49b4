"""`wl drivers`: which agent CLIs there are, and the consent that some want before agents can work.

Such a CLI asks whether the folder is trusted that it is started in. So it is started once in the
folder that holds every workspace, and its dialog is answered if it is recognised, never blindly.
What `wl trust` accepts is something else: lines of a repository's configuration (`setup.trust`).
"""

from __future__ import annotations

import shutil
import threading
import uuid

import msgspec

from windlass import drivers
from windlass.api.wire.setup import DriverView, TrustReply
from windlass.core.config import Config
from windlass.core.driver_request import SessionRequest
from windlass.core.errors import ConfigError, DriverError, NotFound, Unavailable, WindlassError
from windlass.core.ports import Driver
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request

SESSION = "wl-trust"
PATIENCE = 30.0
_PAUSE = 0.1
_ONE_AT_A_TIME = threading.Lock()


def listed(chosen: str) -> list[DriverView]:
    """Every driver with its version and abilities, or with what is wrong with it."""
    return [_described(name, default=name == chosen) for name in drivers.known()]


def _described(name: str, *, default: bool) -> DriverView:
    view: DriverView = {
        "name": name,
        "version": None,
        "default": default,
        "abilities": {},
        "problem": None,
        "hint": None,
    }
    try:
        driver = drivers.get(name)
        view["abilities"] = msgspec.to_builtins(driver.abilities)
        view["version"] = driver.check()
    except WindlassError as error:
        return {**view, "problem": error.message, "hint": error.hint}
    return view


def trust(context: Context, name: str, config: Config) -> TrustReply:
    """Has the driver's CLI trust the folder of all workspaces; needs the person's consent."""
    with _ONE_AT_A_TIME:
        reply = trusted(context, name, config)
        if not reply["already"]:
            context.folders.workspaces.mkdir(mode=0o700, parents=True, exist_ok=True)
            _accept(context, drivers.get(name), _request(context, name, config))
        return reply


def trusted(context: Context, name: str, config: Config) -> TrustReply:
    """Whether the driver's CLI trusts that folder already; raises where it could not be asked."""
    driver = drivers.get(name)
    driver.check()
    request = _request(context, name, config)
    already = driver.trusts(request)
    if not already:
        driver.asks_for_trust(request)
    return {"driver": name, "root": request.workspace, "already": already}


def _request(context: Context, name: str, config: Config) -> SessionRequest:
    root = str(context.folders.workspaces)
    return session_request.draft(context, name, mode="live", root=root, config=config)


def _accept(context: Context, driver: Driver, request: SessionRequest) -> None:
    launch = driver.asks_for_trust(request)
    if launch is None:
        raise DriverError(f"{driver.name} asks for no trust", "nothing is needed")
    marker = str(uuid.uuid4())
    folder = context.folders.home / "trust" / marker
    context.sessions.start(folder=folder, name=SESSION, launch=launch, wake=None, marker=marker)
    try:
        _answer(context, driver, request)
    finally:
        context.sessions.stop(folder=folder, name=SESSION, marker=marker)
        shutil.rmtree(folder, ignore_errors=True)


def _answer(context: Context, driver: Driver, request: SessionRequest) -> None:
    terminal = context.sessions.terminal
    by_hand = f"cd {request.workspace} && {driver.name}"
    answered = False
    clock = context.clock.unscaled
    end = clock.monotonic() + PATIENCE
    while not driver.trusts(request):
        try:
            reading = driver.dialect.screen(terminal.capture(SESSION))
        except NotFound:
            raise Unavailable(
                f"{driver.name} ended before it asked whether {request.workspace} is trusted",
                f"run it there yourself and accept: {by_hand}",
            ) from None
        if reading.dialog == "trust" and not answered:
            # Its first answer, which it proposes, is yes.
            terminal.keys(SESSION, driver.dialect.keys.submit)
            answered = True
        elif reading.dialog not in (None, "trust") or clock.monotonic() > end:
            raise ConfigError(
                f"{driver.name} shows something else: {reading.evidence or 'nothing yet'}",
                f"answer it yourself: {by_hand}",
            )
        clock.sleep(_PAUSE)
