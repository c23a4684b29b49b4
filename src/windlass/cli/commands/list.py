"""Lists the agents of this repository, children below their parents."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render, unfinished
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl list", "wl list --all", "wl ls --json", "wl list --manager api")


def arguments(parser: ArgumentParser) -> None:
    """Takes what to list."""
    parser.add_argument("--manager", metavar="AGENT", help="only what is below this agent")
    parser.add_argument(
        "--all", action="store_true", help="ended agents and other repositories too"
    )


def run(call: Call) -> int:
    """Prints the agents as a table."""
    everything = call.args.all
    listed = call.ask("agents", manager=call.args.manager, all_repos=everything, ended=everything)
    call.data(listed)
    if call.json:
        return 0
    if not listed:
        call.tell(_nobody(call))
        return 0
    several = len({agent["repo"] for agent in listed}) > 1
    roots = {repo["id"]: repo["root"] for repo in call.ask("repos")} if several else {}
    render.agents(call, listed, places=render.short_paths(roots))
    left = unfinished.attached(unfinished.listed(call))
    for agent in listed:
        if intent := left.get((agent["repo"], agent["id"])):
            call.tell(f"{agent['id']}: {unfinished.said(intent)}: wl retry {agent['id']}")
        elif agent["state"] == "paused" and agent["ended_at"] is None:
            call.tell(f"{agent['id']}: {printable_line(agent['evidence'])}")
        elif "stuck" in agent:
            call.tell(f"{agent['id']}: {printable_line(agent['stuck'])}")
    return 0


def _nobody(call: Call) -> str:
    if call.args.manager is not None:
        return f"{call.args.manager} manages nobody"
    kinds = [orphan["kind"] for orphan in unfinished.orphans(call)]
    left = kinds.count("workspace") + kinds.count("session")
    if left:
        return (
            f"no agents here, but {left} workspaces and sessions that no agent accounts for:"
            " wl doctor names them, wl repair takes them in"
        )
    return 'no agents; wl new "what to do" starts one'
