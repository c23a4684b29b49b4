"""Adds, lists and removes the repositories that Windlass knows."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call

EXAMPLES = ("wl repo list", "wl repo add ~/src/project", "wl repo remove ~/src/project")


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with which."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|add|remove")
    verbs.add_parser("list", help="list them")
    verbs.add_parser("add", help="make one known").add_argument("repo", nargs="?", default=".")
    verbs.add_parser("remove", help="forget one; its files stay").add_argument("repo")


def run(call: Call) -> int:
    """Runs the verb that was given."""
    if call.args.verb in ("add", "remove"):
        done = call.ask(f"repo.{call.args.verb}", repo=call.args.repo)
        call.data(done)
        word = "known as" if call.args.verb == "add" else "forgotten, was"
        call.tell(f"{done['root']} is {word} {done['id']}")
        return 0
    repos = call.ask("repos")
    call.data(repos)
    lines = [(repo["id"], str(repo["agents"]), repo["root"]) for repo in repos]
    if lines and not call.json:
        render.table(call, ("REPO", "AGENTS", "FOLDER"), lines, grow=2)
    elif not lines:
        call.tell("no repositories; wl init makes one known")
    return 0
