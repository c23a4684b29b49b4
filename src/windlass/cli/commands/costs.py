"""Shows what agents spent, ended ones included."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import money, render
from windlass.cli.call import Call

EXAMPLES = (
    "wl costs",
    "wl costs --all --since 30d",
    "wl costs --by task",
    "wl costs --by day --since 7d",
    "wl costs --by model --all-repos --json",
)

_TOKENS = {
    "IN": "input_tokens",
    "OUT": "output_tokens",
    "CACHE WRITE": "cache_creation_input_tokens",
    "CACHE READ": "cache_read_input_tokens",
}


def arguments(parser: ArgumentParser) -> None:
    """Takes how to group, and how far back."""
    parser.add_argument(
        "--by",
        choices=("agent", "role", "task", "step", "mode", "credential", "day", "model"),
        default="agent",
        metavar="WHAT",
        help="group by agent, role, task, step, mode, credential, day or model (agent)",
    )
    parser.add_argument("--since", metavar="DATE|7d", help="from that day on")
    parser.add_argument("--all-repos", action="store_true", help="other repositories too")
    parser.add_argument(
        "--all", action="store_true", help="every ended agent by itself, not only the dearest 50"
    )


def run(call: Call) -> int:
    """Prints what was spent, as a table."""
    args = call.args
    costs = call.ask("costs", by=args.by, since=args.since, all_repos=args.all_repos, all=args.all)
    call.data(costs)
    if call.json:
        return 0
    for agent, reports in costs["refused"].items():
        said = render.counted(reports, "report")
        call.tell(f"{agent}: {said} not counted, as no agent CLI writes them: wl why {agent}")
    if not costs["rows"]:
        call.tell("nothing was spent" + (f" since {costs['since']}" if costs["since"] else ""))
        return 0
    _print(call, costs)
    return 0


def _print(call: Call, costs: dict[str, Any]) -> None:
    several = len({row.get("repo") for row in costs["rows"]}) > 1
    known = {repo["id"]: repo["root"] for repo in call.ask("repos")} if several else {}
    places = render.short_paths(known)
    repo_column = ("REPO",) if several else ()
    head = (costs["by"].upper(), *_TOKENS, "COST", *repo_column)
    others = [{**left, "name": _others(left)}] if (left := costs.get("others")) else []
    everything = (*costs["rows"], *others, costs["total"])
    largest = {field: max(row[field] for row in everything) for field in _TOKENS.values()}
    lines = [
        (
            row["name"] + (" (ended)" if row.get("ended") else ""),
            *(count(row[field], most) for field, most in largest.items()),
            money.usd(row),
            *((places.get(row.get("repo", ""), row.get("repo", "")),) if several else ()),
        )
        for row in everything
    ]
    wide = {
        column: max(len(line[column]) for line in (head, *lines))
        for column in range(1, 1 + len(_TOKENS))
    }
    aligned = [
        [cell.rjust(wide[column]) if column in wide else cell for column, cell in enumerate(line)]
        for line in (head, *lines)
    ]
    render.table(call, head=aligned[0], lines=aligned[1:], grow=0, spare=(3, 4, 1, 2))


def _others(left: dict[str, Any]) -> str:
    number = left["agents"]
    return f"{number:,} {'other' if number == 1 else 'others'} (ended)"


def count(tokens: int, largest: int) -> str:
    """A number of tokens for people, in the unit that suits the largest of its column."""
    if largest < 10_000 or tokens == 0:
        return str(tokens)
    if largest < 10_000_000:
        return f"{tokens / 1000:.0f}k" if tokens >= 500 else "<1k"
    return f"{tokens / 1_000_000:.1f}M" if tokens >= 50_000 else "<0.1M"
