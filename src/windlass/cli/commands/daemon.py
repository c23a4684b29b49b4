"""Starts, stops and inspects the daemon. Any command starts it; stopping it leaves agents alone.

One that dies is brought back by the sessions of its agents, as you started it last; one that you
stopped is not.
"""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser

from windlass import __version__
from windlass.api import daemon_record, daemon_service, daemon_start, places
from windlass.api.identity import IDENTITY
from windlass.cli import limits
from windlass.cli.call import Call
from windlass.core.errors import NotFound
from windlass.core.printable import printable_line

EXAMPLES = ("wl daemon status --json", "wl daemon logs -n 50", "wl daemon stop")


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do."""
    verbs = parser.add_subparsers(
        dest="verb", metavar="start|stop|status|logs|run|install|uninstall"
    )
    about = {
        "start": "start it, unless it runs",
        "stop": "stop it until you start it; agents go on",
        "status": "say whether it runs",
        "logs": "print its log",
        "run": "run it in the foreground",
        "install": "have systemd or launchd start it when you log in",
        "uninstall": "have them forget it",
    }
    for name, text in about.items():
        verb = verbs.add_parser(name, help=text)
        if name == "logs":
            verb.add_argument("--lines", "-n", type=limits.count, default=100)


def run(call: Call) -> int:
    """Runs the verb that was given."""
    match call.args.verb:
        case "start":
            daemon_start.start(call.remark)
            return _status(call)
        case "stop":
            return _stop(call)
        case "logs":
            return _logs(call)
        case "run":
            daemon_start.become()
        case "install":
            return _install(call)
        case "uninstall":
            return _uninstall(call)
        case _:
            return _status(call)


def _status(call: Call) -> int:
    held = daemon_start.running()
    up = held is not None
    call.data(
        {
            "running": up,
            "pid": held.get("pid") if held else None,
            "version": held.get("version") if held else None,
            "waits": held.get("waits") if held else None,
            "stopped": not up and daemon_record.is_stopped(),
            "socket": places.person_socket(),
            "home": places.home(),
        }
    )
    if held is None:
        why = "you stopped it" if daemon_record.is_stopped() else "no daemon runs"
        call.say(f"{why}; the next command starts one")
        if not daemon_record.is_stopped() and (failed := daemon_record.failed_return()):
            call.say(f"  the last try to bring it back failed: {printable_line(failed)}")
        return 0
    version = held.get("version")
    other = "" if version == __version__ else f" (this command is {__version__})"
    if not other and held.get("identity") != IDENTITY:
        other = " (another build than this command; the next one replaces it)"
    call.say(f"running, pid {held.get('pid')}, version {version}{other}")
    if held.get("waits"):
        call.say(f"  does not answer yet: waits for {printable_line(held['waits'])}")
    call.say(f"  socket {places.person_socket()}")
    call.say(f"  state  {places.home()}")
    return 0


def _stop(call: Call) -> int:
    held = daemon_start.stop()
    call.data({"stopped": held is not None, "pid": held.get("pid") if held else None})
    call.tell("stopped; agents go on without it" if held else "no daemon was running")
    return 0


def _install(call: Call) -> int:
    places.settle()
    daemon_record.keep_start()
    service = daemon_service.described()
    daemon_service.write(service)
    enabled = daemon_service.tell_supervisor(service.enable)
    call.data({"path": service.path, "enabled": enabled, "commands": _typed(service.enable)})
    call.tell(f"{service.path} is written, for the environment that this command has")
    _say_what_to_type(call, service.enable, done=enabled, so="the daemon starts when you log in")
    return 0


def _uninstall(call: Call) -> int:
    service = daemon_service.described()
    disabled = os.path.exists(service.path) and daemon_service.tell_supervisor(service.disable)
    removed = daemon_service.remove(service)
    call.data({"path": service.path, "removed": removed, "commands": _typed(service.disable)})
    if not removed:
        call.tell(f"there was no {service.path}")
        return 0
    call.tell(f"{service.path} is removed; a daemon that runs goes on")
    _say_what_to_type(call, service.disable, done=disabled, so="nothing starts it by itself now")
    return 0


def _say_what_to_type(
    call: Call, commands: tuple[tuple[str, ...], ...], *, done: bool, so: str
) -> None:
    if done:
        call.tell(so)
        return
    call.tell(f"{commands[0][0]} could not be told so here; where it can be, type")
    for line in _typed(commands):
        call.tell(f"  {line}")


def _typed(commands: tuple[tuple[str, ...], ...]) -> list[str]:
    return [shlex.join(words) for words in commands]


def _logs(call: Call) -> int:
    path = os.path.join(places.home(), "daemon.log")
    try:
        with open(path, errors="replace") as file:
            lines = file.readlines()[-max(1, call.args.lines) :]
    except FileNotFoundError:
        raise NotFound("there is no daemon log yet", "wl daemon start") from None
    call.data([line.rstrip("\n") for line in lines])
    call.say("".join(lines).rstrip("\n"))
    return 0
