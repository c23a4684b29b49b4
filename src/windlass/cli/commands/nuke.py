"""Ends a whole tree of agents, or all of them. Their work goes to the trash."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import ended
from windlass.cli.call import Call, take_yes
from windlass.core.errors import UserError

EXAMPLES = ("wl nuke api", "wl nuke --force")


def arguments(parser: ArgumentParser) -> None:
    """Takes the top of a tree."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="without one, every agent here")
    take_yes(parser)


def run(call: Call) -> int:
    """Asks, then ends them."""
    agents = call.args.agents
    if not call.sure:
        agents = call.to_be_ended(agents)
        if not agents and call.ask("whoami")["repo"] is None:
            raise UserError("not in a repository that Windlass knows", "cd into one, or `wl init`")
        what = f"{', '.join(agents)} and everything below" if agents else "every agent here"
        call.confirm(f"end {what}? their work is kept in the trash")
    known = ended.proposed(call)
    done = call.ask("end", agents=agents, tree=True, force=call.args.force)
    call.data(done)
    code = ended.tell(call, done)
    ended.tell_changes(call, done, known)
    if not done["ended"] and not done["failed"]:
        call.tell("there was nobody to end")
    return code
