"""Lists what waits for agents, gates, timers or people, in every repository.

Of each: what it is for, since when, what it has under way, and why it was set aside.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

EXAMPLES = ("wl dev jobs", "wl dev jobs --all --json", "wl dev jobs job-1f3a")


def arguments(parser: ArgumentParser) -> None:
    """Takes a job, or whether to show those that are over."""
    parser.add_argument("job", nargs="?", metavar="JOB", help="one, by the start of its id")
    parser.add_argument("--all", action="store_true", help="also those that are over")


def run(call: Call) -> int:
    """Prints jobs."""
    asked = {"job": call.args.job} if call.args.job else {"all": call.args.all}
    reply = call.ask("jobs", **asked)
    call.data(reply["jobs"])
    if not reply["jobs"]:
        call.say("nothing waits")
        return 0
    lines = [
        (
            job["id"],
            job["kind"],
            printable_line(job["subject"]),
            job["status"],
            age(time.time() - job["updated_at"]),
            printable_line(_doing(job)),
        )
        for job in reply["jobs"]
    ]
    head = ("JOB", "KIND", "ABOUT", "STATUS", "SINCE", "DOING")
    render.table(call, head, lines, grow=5, spare=())
    return 0


def _doing(job: dict[str, object]) -> str:
    error, effects = job["error"], job["effects"]
    if isinstance(error, dict):
        return str(error.get("message", ""))
    if isinstance(effects, list) and effects:
        return ", ".join(map(str, effects))
    return "waits" if job["status"] == "open" else ""
