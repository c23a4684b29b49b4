"""Lists the agent CLIs that Windlass drives, with version and abilities.

`trust` is for an agent CLI that asks, once, whether you trust the folder where agents work. With
your consent Windlass starts it there and accepts, so that no agent ever stops at that question. The
CLI writes that down itself; no file of yours is edited.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call, take_yes

EXAMPLES = ("wl drivers", "wl drivers --json", "wl drivers trust claude")


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|trust")
    verbs.add_parser("list", help="list them (the default)")
    trusting = verbs.add_parser("trust", help="accept the folder of all workspaces, once")
    trusting.add_argument("driver", nargs="?", default="claude")
    take_yes(trusting)


def run(call: Call) -> int:
    """Runs the verb that was given."""
    return _trust(call) if call.args.verb == "trust" else _list(call)


def _list(call: Call) -> int:
    drivers = call.ask("drivers", driver=os.environ.get("WINDLASS_DRIVER") or None)
    call.data(drivers)
    if call.json:
        return 0
    lines = [
        (driver["name"], driver["version"] or "-", _can(driver), _problem(driver))
        for driver in drivers
    ]
    render.table(call, ("DRIVER", "VERSION", "CAN", ""), lines, grow=3, spare=(2,))
    return 0


def _can(driver: dict[str, Any]) -> str:
    return " ".join(name for name, able in driver["abilities"].items() if able)


def _problem(driver: dict[str, Any]) -> str:
    if driver["problem"] is None:
        return "the default here" if driver["default"] else ""
    return f"{driver['problem']}: {driver['hint']}"


def _trust(call: Call) -> int:
    name = call.args.driver
    trusted = call.ask("drivers.trusted", driver=name)
    root = trusted["root"]
    if trusted["already"]:
        call.data(trusted)
        call.tell(f"{name} asks for nothing: agents can start")
        return 0
    if not call.args.force:
        call.confirm(
            f"{name} will be started in {root} and told to trust it and everything below:\n"
            "all that agents check out of your repositories. Accept?"
        )
    call.progress(f"starting {name} ...")
    done = call.ask("drivers.trust", driver=name)
    call.data(done)
    call.tell(f"{name} trusts it now: {done['root']}")
    return 0
