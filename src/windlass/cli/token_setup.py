"""Leads a person to a token that the agent CLI makes: all that a box lacks, for many.

The CLI's own program runs in the person's terminal, and what it shows is pasted here, unseen. The
daemon keeps it; this face only hands it over. Nobody is asked without a terminal.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from windlass.cli import output
from windlass.cli.call import Call
from windlass.core.errors import UserError

_TOGETHER = 0.3
"""Seconds in which the rest of what was pasted comes: a long line may have been copied as two."""
_ABOUT = """\
Your agents could be boxed here, and are not: in a box there is nothing of your home, so nothing of
the login that you made by hand. In a box an agent reaches its own files and no others of yours: not
your keys, not your other projects, not other agents; its commands run without being asked about.
Without one, hooks advise it, and what it runs can do all that you can. (What a box does not have:
your memory, skills, commands and MCP servers.)

`{command}` makes a token for this, in your browser. Windlass keeps it in a file that only you can
read and gives it to {driver} alone; `wl doctor --forget-token` deletes it.
"""


def can_ask(call: Call) -> bool:
    """Whether there is a person to ask: at a terminal, for words and not for data."""
    tied = sys.stdin.isatty() and sys.stderr.isatty()
    return tied and not (call.json or call.quiet or os.environ.get("WINDLASS_SOCKET"))


def lead(call: Call, driver: str, command: Sequence[str], *, question: str) -> bool:
    """Explains, and if the person likes has a token made and kept; returns whether one is."""
    output.write_error(_ABOUT.format(command=" ".join(command), driver=command[0]))
    try:
        call.confirm(question)
    except UserError:
        return False
    return make(call, driver, command)


def make(call: Call, driver: str, command: Sequence[str]) -> bool:
    """Runs what makes a token, and takes it; returns whether one is kept now."""
    import subprocess  # noqa: PLC0415 - seldom wanted

    try:
        ended = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}", "wl doctor") from None
    if ended:
        raise UserError(
            f"`{' '.join(command)}` ended with {ended}",
            "nothing was kept; wl doctor --fix tries again",
        )
    token = read_unseen("Paste the token; it is not shown (or press Enter to leave it at that): ")
    output.write_error("\n")
    if not token:
        return False
    kept: dict[str, Any] = call.ask("login.keep", driver=driver, token=token)
    return kept["kept_at"] is not None


def read_unseen(prompt: str) -> str:
    """Asks for what a person pastes, and reads it without showing it, all of it in one piece."""
    typed = ""
    with _unseen():
        # Only now: what was typed before is forgotten, also by who saw the prompt and was quick.
        output.write_error(prompt)
        while not typed or select.select([sys.stdin], [], [], _TOGETHER)[0]:
            line = os.read(sys.stdin.fileno(), 1 << 16).decode("utf-8", "replace")
            typed += line
            if not line.strip():
                break
    return "".join(typed.split())


@contextmanager
def _unseen() -> Iterator[None]:
    """Has the terminal show nothing of what is typed, and forget what it had not read."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = [*before]
    silent[3] = before[3] & ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
