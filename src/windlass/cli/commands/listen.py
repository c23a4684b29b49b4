"""Waits for news of the crew, prints it as JSON lines, and ends.

For the agent that you talk to yourself: run in the background, its end wakes that agent. One
listener waits per repository. Each line is {"ts", "from", "type", "msg"}; types are complete,
waiting and question. A line that was not printed to its end is printed by the next listener.
"""

from __future__ import annotations

import os
import signal
from argparse import ArgumentParser
from typing import Any, NoReturn

from windlass.api import notice_wait
from windlass.cli.call import Call
from windlass.cli.output import write, write_error, write_json
from windlass.core import ages
from windlass.core.errors import UserError

EXAMPLES = ("wl listen", "wl listen --timeout 60", "wl listen | jq -r .msg")
_TIMEOUT = "570"
"""A little less than the ten minutes that background tasks are commonly given."""
_MOST = 30 * 86400.0


def arguments(parser: ArgumentParser) -> None:
    """Takes how long."""
    parser.add_argument(
        "--timeout", metavar="SECONDS", default=_TIMEOUT,
        help=f"how long to wait: 30, 30s, 5m ({_TIMEOUT})",
    )  # fmt: skip


def run(call: Call) -> int:
    """Waits; prints first and says that it has them then, so that none is lost in between."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    seconds = ages.seconds(call.args.timeout)
    if seconds > _MOST:
        raise UserError(f"{call.args.timeout} is too long to wait", "30d is the most")
    call.ask("whoami")  # starts the daemon, or one of this version in the place of another
    listener = f"{os.getpid()}-{os.urandom(6).hex()}"
    answer = notice_wait.wait(listener, seconds)
    notices = answer["notices"]
    if not notices:
        _say_why(call, answer, seconds)
        return 0
    write("".join(f"{notice['line']}\n" for notice in notices))
    numbers = [notice["number"] for notice in notices]
    call.ask("taken", numbers=numbers, listener=listener, route="listen")
    return 0


def _say_why(call: Call, answer: dict[str, Any], seconds: float) -> None:
    if call.json:
        write_json({"why": answer["why"], "pid": answer.get("pid")})
        return
    match answer["why"]:
        case "busy":
            who = f" (process {answer['pid']})" if answer.get("pid") else ""
            write_error(f"wl: somebody listens here already{who}; this one has ended\n")
        case "ended":
            write("Everybody here was ended, and so was this listener. When there is a crew again:"
                  " wl listen\n")  # fmt: skip
        case _:
            write(f"No messages received. Nothing happened for {seconds:g} s, and this listener"
                  " has ended. Start it again: wl listen\n")  # fmt: skip


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)
