"""Starts an agent on a goal, in a workspace and on a branch of its own.

The goal is given as an argument, with --prompt-file, or on stdin. An agent that calls this becomes
the new agent's parent. The branch agent/<name> begins at the parent's branch, else at the last
proven commit, else at HEAD; which one it was is printed.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.errors import UserError

EXAMPLES = (
    'wl new "add a --json flag to the export command"',
    'wl new --name api --manager "split the API work and see it through"',
    "wl new --driver standin --script plan.json 'play a script'",
    "git diff | wl new --prompt-file review.md",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes the goal and what the agent is to be."""
    parser.add_argument("goal", nargs="?", help="what to do (or on stdin, or --prompt-file)")
    parser.add_argument("--name", help="the agent's id; a friendly one is made up without it")
    parser.add_argument(
        "--manager",
        nargs="?",
        const="",
        metavar="PARENT",
        help="make it a manager, which may start agents; with PARENT, put it under that manager",
    )
    parser.add_argument("--worker", action="store_true", help="make it a worker (the default)")
    parser.add_argument("--model", help="the model to ask for")
    parser.add_argument("--driver", help="the agent CLI: claude, standin ...")
    parser.add_argument("--script", metavar="FILE", help="what a stand-in plays")
    parser.add_argument("--prompt-file", metavar="FILE", help="read the goal from a file")
    parser.add_argument(
        "--no-worktree", action="store_true", help="work in your own checkout, on your branch"
    )
    parser.add_argument("--print", action="store_true", help="headless: no terminal, JSON lines")
    parser.add_argument("--allow-tools", metavar="LIST", help="tool patterns, comma separated")
    parser.add_argument("--deny-tools", metavar="LIST", help="tool patterns, comma separated")
    parser.add_argument("--yolo", action="store_true", help="allow every tool")


def run(call: Call) -> int:
    """Starts it and prints its id."""
    args = call.args
    goal, parent, manager = _meant(call)
    if manager and args.worker:
        raise UserError("an agent is a manager or a worker, not both", "drop one of the two")
    call.progress("preparing a workspace ...")
    made = call.ask(
        "spawn",
        goal=goal,
        name=args.name,
        role="manager" if manager else "worker",
        parent=parent,
        model=args.model,
        driver=args.driver,
        script=args.script,
        worktree=not args.no_worktree,
        mode="headless" if args.print else "live",
        allow=_listed(args.allow_tools),
        deny=_listed(args.deny_tools),
        yolo=args.yolo,
    )
    call.data(made)
    if call.quiet:
        call.say(made["id"])
        return 0
    name = made["id"]
    call.say(f"{call.paint(name, 'bold')} started as a {made['role']}")
    if made["branch"]:
        call.say(f"  on {made['branch']}, from {made['base_from']} {made['base'][:10]}")
    else:
        call.say(f"  in your own checkout {made['workspace']}")
    call.say(f"  wl look {name}   wl send {name} '...'   wl attach {name}")
    return 0


def _meant(call: Call) -> tuple[str, str | None, bool]:
    """Goal, parent and whether it is a manager.

    `--manager` may stand alone or name a parent, so a goal that follows it is not mistaken for one.
    """
    args = call.args
    goal, parent, manager = args.goal, None, args.manager == ""
    if args.manager:
        if (
            goal is None
            and not args.prompt_file
            and (sys.stdin.isatty() or not _could_be_id(args.manager))
        ):
            goal, manager = args.manager, True
        else:
            parent = args.manager
    if args.prompt_file:
        if goal is not None:
            raise UserError("a goal and --prompt-file both say what to do", "drop one of the two")
        goal = _read(args.prompt_file)
    if goal is None and not sys.stdin.isatty():
        goal = sys.stdin.read()
    if not goal or not goal.strip():
        raise UserError("an agent needs a goal", 'wl new "what to do"')
    return goal, parent, manager


def _could_be_id(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum()


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "name a text file") from None
    except UnicodeDecodeError:
        raise UserError(f"{os.path.basename(path)} is not UTF-8 text", "name a text file") from None


def _listed(text: str | None) -> list[str] | None:
    """Splits at commas outside of parentheses: `Read,Bash(git log:*)`."""
    if text is None:
        return None
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]
