"""Allows an agent that runs what it was denied: tools by name, commands, paths, hosts.

It holds at once, for this agent and no other, until it ends; the agent is told. `wl denials AGENT`
shows what it was denied, with numbers for `--allow`. For every agent of a role, started from then
on: `wl config add permissions.ROLE.allow PATTERN`.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl allow api 'Bash(docker compose:*)'",
    "wl allow api 'Bash(git branch -D:*)' 'WebFetch(domain:localhost)'",
    "wl denials api --allow 3",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and patterns."""
    parser.add_argument("agent", help="who")
    parser.add_argument("patterns", nargs="+", metavar="pattern", help="what, as in Bash(make:*)")


def run(call: Call) -> int:
    """Adds the patterns to what the agent may use."""
    return lift(call, call.args.agent, call.args.patterns)


def lift(call: Call, agent: str | None, patterns: list[str]) -> int:
    """Has an agent allowed some patterns, and says so."""
    done = call.ask("allow", agent=agent, patterns=patterns)
    call.data(done)
    for pattern in done["patterns"]:
        fresh = pattern in done["fresh"]
        said = "may use" if fresh else "could use already"
        call.tell(f"{done['agent']} {said} {printable_line(pattern)}")
    return 0
