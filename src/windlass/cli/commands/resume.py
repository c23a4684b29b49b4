"""Goes on with paused or stopped agents, in the conversation that they had.

--max-budget and --time-limit replace the limits that they were started with; both count from an
agent's beginning, with what it has spent and taken so far. --all goes on with every paused or
stopped agent, two seconds apart. `wl resume run` goes on with the work on the board.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import limits, run_asked, steered
from windlass.cli.call import Call

EXAMPLES = (
    "wl resume api",
    "wl resume api --max-budget 5 --time-limit 2h",
    "wl resume --all",
    "wl resume run",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes agents, or all."""
    steered.take_some_or_all(parser)
    limits.take(parser)


def run(call: Call) -> int:
    """Resumes each agent."""
    args = call.args
    if args.agents == [run_asked.BOARD]:
        return run_asked.pause(call, paused=False)
    limited = {"max_usd": args.max_budget, "max_seconds": args.time_limit}
    with call.remarks_on_environment():
        return steered.some_or_all(call, "resume", **limited)
