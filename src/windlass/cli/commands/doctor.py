"""Checks what this machine has and lacks, and says which isolation it offers.

--matrix prints what stops which attack: with hooks alone, and in a box with each kind of network.
--fix takes the step to a box where a login is all that it lacks: it has the agent CLI make a token
in your terminal and takes it, unseen. Windlass keeps it in a file that only you can read, and gives
it to that CLI alone; --forget-token deletes it.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import render, token_setup, unfinished
from windlass.cli.call import Call
from windlass.core import ages
from windlass.core.errors import UserError
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl doctor",
    "wl doctor --json",
    "wl doctor --matrix",
    "wl doctor --fix",
    "wl doctor --forget-token",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes what to print."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--matrix", action="store_true", help="what stops which attack, per level")
    what.add_argument(
        "--fix", action="store_true", help="take the step to a box, where a login is all it lacks"
    )
    what.add_argument(
        "--forget-token", action="store_true", help="delete the token that Windlass keeps"
    )


def run(call: Call) -> int:
    """Prints it; ends 3 if something is missing that agents cannot do without."""
    if call.args.matrix:
        return _matrix(call)
    if call.args.forget_token:
        return _forget(call)
    if call.args.fix and not token_setup.can_ask(call):
        raise UserError("--fix asks you, and there is no terminal to ask on", "run it in one")
    with call.remarks_on_environment():
        report = call.ask("doctor", driver=os.environ.get("WINDLASS_DRIVER") or None)
    left = unfinished.listed(call)
    orphans = unfinished.orphans(call)
    call.data({**report, "set_aside": left, "orphans": orphans})
    for probe in report["needed"]:
        _print(call, probe)
    call.say(call.paint("agent CLIs", "bold"))
    for probe in report["drivers"]:
        note = " (default)" if probe["name"] == report["driver"] else ""
        _print(call, {**probe, "name": probe["name"] + note})
    _login(call, report.get("login"))
    isolation = report["isolation"]
    call.say(call.paint("isolation", "bold"))
    missing = {probe["detail"] for probe in isolation["probes"] if not probe["works"]}
    for agent in isolation["agents"]:
        _level(call, agent, missing)
    for probe in isolation["probes"]:
        _print(call, probe)
    for status in ("halted", "set aside"):
        _unfinished(call, status, [intent for intent in left if intent["status"] == status])
    _orphans(call, orphans)
    _disk(call, report["disk"])
    call.say(f"state in {report['home']}, sockets in {report['sockets']}")
    if call.args.fix:
        _fix_login(call, report.get("login"))
    return 0 if report["ok"] else 3


def _login(call: Call, login: dict[str, Any] | None) -> None:
    """That a token is kept, and since when."""
    if login is None or login["kept_at"] is None:
        return
    age = ages.age(time.time() - login["kept_at"])
    detail = f"kept for {login['driver']} {age} ago, in a file that only you can read"
    _print(call, {"name": "token", "works": True, "detail": detail, "fix": ""})


def _fix_login(call: Call, login: dict[str, Any] | None) -> None:
    """Has a token made, if that is all that a box lacks."""
    if login is None or not login["lacks"]:
        call.say("there is nothing that --fix can do: what is missing above says what helps")
        return
    kept = token_setup.lead(
        call, login["driver"], login["command"], question="Make such a token now?"
    )
    call.say("kept: new agents are boxed" if kept else "nothing was kept")


def _forget(call: Call) -> int:
    """Deletes the token that is kept."""
    driver = os.environ.get("WINDLASS_DRIVER") or None
    was_kept = (call.ask("doctor", driver=driver).get("login") or {}).get("kept_at") is not None
    call.data(call.ask("login.forget", driver=driver))
    running = "sessions that run have it until they end"
    call.tell(f"deleted; {running}" if was_kept else "no token was kept")
    return 0


def _disk(call: Call, kinds: list[dict[str, Any]]) -> None:
    """What is taken of the disk, kind by kind."""
    if not kinds:
        return  # an agent asks, which is not told
    call.say(call.paint("disk", "bold"))
    for kind in kinds:
        size = render.size(kind["bytes"])
        taken = size if kind["whole"] else f"more than {size}"
        call.say(f"  {kind['kind']:<21} {taken}")
    call.say("  what is over goes once a day, or now: wl gc")


def _unfinished(call: Call, status: str, intents: list[dict[str, Any]]) -> None:
    """What no daemon survived, and what helps."""
    if intents:
        call.say(call.paint(status, "bold"))
    for intent in intents:
        _print(call, {**intent, "name": intent["kind"], "works": False, "detail": intent["why"]})


def _orphans(call: Call, orphans: list[dict[str, Any]]) -> None:
    """What lives and no agent accounts for, and what helps."""
    if orphans:
        call.say(call.paint("orphans", "bold"))
    for orphan in orphans:
        fix = "wl repair" if orphan["action"] != "none" else ""
        detail = f"{orphan['subject']}: {orphan['evidence']}"
        _print(call, {"name": orphan["kind"], "works": False, "detail": detail, "fix": fix})


_LEVELS = {
    "box": "new agents are boxed",
    "hooks": "new agents have hooks alone: advice, nothing confines them",
}


def _level(call: Call, agent: dict[str, Any], missing: set[str]) -> None:
    """What confines the next agent of a driver, and the step to a box where that is none."""
    if agent["level"] == "none":
        return  # said above, with the step to a start
    call.say(f"  {agent['driver']:<8} {_LEVELS[agent['level']]}")
    if agent["level"] == "box" or not agent["fix"]:
        return
    if agent["why"] in missing:
        call.say("           for a box, mend bubblewrap: see below")
        return
    call.say(f"           {printable_line(agent['why'])}")
    call.say(f"           for a box, {agent['fix']}")


def _matrix(call: Call) -> int:
    """What was tried against each level, as the tests try it; no daemon is needed."""
    from windlass.core import redteam  # noqa: PLC0415 - seldom wanted

    rows = redteam.table()
    call.data([row._asdict() for row in rows])
    head = ("", "ATTACK", *(name.upper() for name in redteam.LEVELS))
    lines = [
        (str(row.number), row.attack, *(row.outcome[name] for name in redteam.LEVELS))
        for row in rows
    ]
    render.table(call, head=head, lines=lines, grow=1, spare=())
    for line in redteam.LEGEND:
        call.tell(line)
    return 0


def _print(call: Call, probe: dict[str, Any]) -> None:
    mark = call.paint("ok", "green") if probe["works"] else call.paint("no", "red")
    lead = f"  {mark}  {probe['name']:<17} "
    call.say(render.folded(call, lead, printable_line(probe["detail"]), indent=6))
    if probe["fix"]:
        _fix(call, probe["fix"])


def _fix(call: Call, fix: str) -> None:
    """What helps; on a narrow terminal a command has a line of its own, which can be copied."""
    said, colon, command = fix.partition(": wl ")
    if not colon or not call.terminal or render.width(fix) + 6 <= render.columns():
        call.say(render.folded(call, " " * 6, fix, indent=6))
        return
    call.say(render.folded(call, " " * 6, f"{said}:", indent=6))
    call.say(f"      wl {command}")
