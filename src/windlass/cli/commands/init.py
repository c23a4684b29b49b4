"""Sets up this repository: makes it known, and writes .windlass/config.toml to start from.

Agents in a box may run any command; those without one only what is allowed. For the toolchains
whose files lie here the lines that allow their commands are proposed; --accept writes them.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import waiting
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl init", "wl init --accept")


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to accept what is proposed."""
    parser.add_argument("--accept", action="store_true", help="write the allow lines proposed")


def run(call: Call) -> int:
    """Sets the repository up and says what was written."""
    done = call.ask("init", accept=call.args.accept)
    call.data(done)
    call.tell(f"{done['root']} is known as {done['id']}")
    word = "written; commit it when it says what you want" if done["made"] else "kept as it is"
    call.tell(f"  {done['config']} {word}")
    if done["proposed"]:
        word = "agents without a box may now run" if done["accepted"] else "proposed to allow"
        call.tell(f"  {word}, for {printable_line(', '.join(done['toolchains']))}:")
        for pattern in done["proposed"]:
            call.tell(f"    {pattern}")
        if not done["accepted"]:
            call.tell("  wl init --accept writes them into permissions.*.allow")
    for line in waiting.lines(done["waiting"]):
        call.tell(f"  {line}")
    call.tell('  wl new "what to do" starts an agent')
    return 0
