"""Joins an agent's terminal; C-b d leaves it, and the agent goes on.

Inside tmux it opens as a window there. Where C-b is your own prefix, C-b C-b d leaves.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import suppress

from windlass.cli.call import Call
from windlass.cli.output import flush
from windlass.core.errors import NotFound, UserError
from windlass.core.leaks import without_leaks
from windlass.core.mail import reports

EXAMPLES = ("wl attach api",)
_HEARD_WITHIN = 3.0
"""Seconds after the end of a session in which the daemon has surely heard of it."""


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent")


def run(call: Call) -> int:
    """Runs the tmux client, and says what is left uncommitted where the session has ended."""
    attachment = call.ask("attachment", agent=call.args.agent)
    call.data(attachment)
    if call.json:
        return 0
    if os.environ.get("TMUX"):
        argv: list[str] = attachment["window"]
        call.tell(f"{attachment['id']} is in a window of your tmux: {_way_out()} leaves it")
        flush()
        os.execvp(argv[0], argv)  # noqa: S606 - the person's own tmux
    if not sys.stdin.isatty():
        raise UserError("attach needs a terminal", f"wl look {attachment['id']} prints the screen")
    argv = attachment["attach"]
    _raise_limit()
    code = _join(argv)
    if _is_over(argv):
        _tell_what_is_left(call, attachment["id"])
    return code


def _way_out() -> str:
    """The keys that reach the session through the person's own tmux, which may take the first."""
    asked = ["tmux", "show-options", "-gqv", "prefix"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    return "C-b C-b d" if said.stdout.strip() == "C-b" else "C-b d"


def _raise_limit() -> None:
    """Lets the client send its terminal, however many files agents have on their way (kernel)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):  # macOS allows less than it says, and counts nothing
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _join(argv: list[str]) -> int:
    """Lends the terminal to a client, and stops with it when the person suspends it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    client = os.posix_spawnp(argv[0], argv, without_leaks(os.environ), setsigdef=[signal.SIGINT])
    try:
        while True:
            _, status = os.waitpid(client, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            os.kill(os.getpid(), signal.SIGSTOP)  # the shell goes on, and continues both
    finally:
        signal.signal(signal.SIGINT, before)


def _is_over(argv: list[str]) -> bool:
    """Whether the session is gone, rather than left alone."""
    asked = ["has-session" if word == "attach-session" else word for word in argv]
    return subprocess.run(asked, capture_output=True, check=False).returncode != 0


def _tell_what_is_left(call: Call, name: str) -> None:
    end = time.monotonic() + _HEARD_WITHIN
    try:
        while call.ask("why", agent=name)["state"] != "stopped":
            if time.monotonic() > end:
                return  # somebody paused it, or resumed it already
            time.sleep(0.05)
        work = call.ask("status", agent=name)["agents"][0]["work"]
    except NotFound:
        return  # it was ended, and its work is in the trash
    left = reports.uncommitted(work or {})
    if left.files:
        call.say(reports.left_in_session(name, left))
