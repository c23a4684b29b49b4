"""Starts an agent on a goal, in a workspace and on a branch of its own.

The goal is given as an argument, with --prompt-file, or on stdin; what is piped to --prompt-file
follows the file's text after a blank line. An agent that calls this becomes the new agent's parent,
unless --parent names another. --manager alone makes a manager; `--manager PARENT` is the older way
to write `--parent PARENT`, and its word is the goal where there is no other. The branch
agent/<name> begins at the parent's branch, else at the last proven commit, else at HEAD; which one
it was is printed. WINDLASS_DRIVER names the driver where --driver does not.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from windlass.api import calls
from windlass.cli import limits, token_setup, untrusted_lines
from windlass.cli.call import Call, piped, read_text
from windlass.cli.render import counted
from windlass.core.errors import UserError
from windlass.core.ids import with_article
from windlass.core.printable import printable_line

EXAMPLES = (
    'wl new "add a --json flag to the export command"',
    'wl new --land "mend the failing date test"',
    'wl new --name api --manager "split the API work and see it through"',
    'wl new --manager --parent api "see to the client libraries"',
    'wl new --role reviewer "review agent/api"',
    'wl new --isolation required --network none "port the parser"',
    'wl new --with-changes "finish what I began"',
    'wl new --print --max-budget 2 --time-limit 1h "bring the changelog up to date"',
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
        help="make it a manager, which may start agents; with PARENT, a worker under that manager",
    )
    parser.add_argument("--parent", metavar="AGENT", help="put it under this manager")
    parser.add_argument("--worker", action="store_true", help="make it a worker (the default)")
    parser.add_argument("--role", help="what it is for: manager, worker, or a role of your own")
    parser.add_argument("--model", help="the model to ask for")
    parser.add_argument("--driver", help="the agent CLI: claude, standin ...")
    parser.add_argument("--script", metavar="FILE", help="what a stand-in plays")
    parser.add_argument("--prompt-file", metavar="FILE", help="read the goal from a file")
    parser.add_argument(
        "--no-worktree", action="store_true", help="work in your own checkout, on your branch"
    )
    parser.add_argument(
        "--with-changes",
        action="store_true",
        help="give it copies of your uncommitted files, uncommitted in its workspace too",
    )
    parser.add_argument(
        "--land",
        action="store_true",
        help="have its work proven and landed by itself when it is done (also `wl work`)",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="start it though a usage window is used above budget.window percent",
    )
    parser.add_argument("--print", action="store_true", help="headless: no terminal, JSON lines")
    parser.add_argument("--allow-tools", metavar="LIST", help="tool patterns, comma separated")
    parser.add_argument("--deny-tools", metavar="LIST", help="tool patterns, comma separated")
    parser.add_argument("--fork", metavar="AGENT", help="begin with this agent's conversation")
    parser.add_argument(
        "--max-turns", type=limits.turns, metavar="N", help="model calls per turn (--print)"
    )
    limits.take(parser)
    parser.add_argument(
        "--isolation",
        choices=("auto", "required", "box", "hooks"),
        help="what confines it: the best there is, a box or nothing, or hooks alone",
    )
    parser.add_argument(
        "--network",
        choices=("host", "proxy", "none"),
        help="what it reaches from its box: all, box.domains, or nothing but its model",
    )
    parser.add_argument(
        "--yolo",
        action="store_true",
        help="allow every tool on every path but what is denied by name; a box still confines it",
    )


def run(call: Call) -> int:
    """Starts it and prints its id."""
    args = call.args
    goal, parent, manager = _meant(call)
    role = _role(call, manager=manager)
    allow = _patterns("--allow-tools", args.allow_tools)
    deny = _patterns("--deny-tools", args.deny_tools)
    _offer_box(call, role)
    call.progress("preparing a workspace ...")
    with call.remarks_on_environment():
        made = call.ask(
            "spawn",
            goal=goal,
            name=args.name,
            role=role,
            parent=parent,
            model=args.model,
            driver=args.driver or os.environ.get("WINDLASS_DRIVER") or None,
            script=_script(args.script),
            script_text=read_text(args.script)
            if args.script and os.environ.get(calls.BOXED)
            else None,
            worktree=not args.no_worktree,
            mode="headless" if args.print else "live",
            allow=allow,
            deny=deny,
            yolo=args.yolo,
            isolation=args.isolation,
            network=args.network,
            fork=args.fork,
            max_turns=args.max_turns,
            max_usd=args.max_budget,
            max_seconds=args.time_limit,
            with_changes=args.with_changes,
            land=args.land,
            anyway=args.anyway,
        )
    call.data(made)
    if call.quiet:
        call.say(made["id"])
        return 0
    name = made["id"]
    call.say(f"{call.paint(name, 'bold')} started as {with_article(made['role'])}")
    if made["branch"]:
        call.say(f"  on {made['branch']}, from {made['base_from']} {made['base'][:10]}")
    else:
        call.say(f"  in your own checkout {made['workspace']}")
    for line in (
        *_confinement(made),
        *_out_of_box(made),
        *_overridden(call, made),
        *_withheld(made),
        *_included(made),
        *_changes(made),
        *_submodules(made),
        *_remarks(made),
        *_lacks(made),
        *untrusted_lines.lines(made["waiting"]),
    ):
        call.say(f"  {line}")
    # A headless agent has no terminal to join.
    more = f"wl log {name} --follow" if args.print else f"wl attach {name}"
    call.say(f"  wl look {name}   wl send {name} '...'   {more}")
    return 0


def _offer_box(call: Call, role: str) -> None:
    """Leads to a box, once, who would do without only because of how they are logged in."""
    args = call.args
    if args.isolation == "hooks" or args.no_worktree or not token_setup.can_ask(call):
        return
    driver = args.driver or os.environ.get("WINDLASS_DRIVER") or None
    offer = call.ask("login.offer", driver=driver, role=role, network=args.network)
    if not offer["offer"]:
        return
    question = "Make such a token now? (No: this agent starts without a box. You are asked once.)"
    token_setup.lead(call, offer["driver"], offer["command"], question=question)


def _role(call: Call, *, manager: bool) -> str:
    """The role that was asked for, once or in several ways that mean the same."""
    asked = [call.args.role, "manager" if manager else None, "worker" if call.args.worker else None]
    named = list(dict.fromkeys(role for role in asked if role is not None))
    if len(named) > 1:
        raise UserError(f"an agent is a {' or a '.join(named)}, not both", "drop one of the two")
    return named[0] if named else "worker"


def _withheld(made: dict[str, Any]) -> list[str]:
    """Says what the repository's file of the role asks for, and only the person can give."""
    return [
        f"its file asks for {trait}, which only you give:"
        f" wl config set --global roles.{made['role']}.{trait} {str(trait != 'readonly').lower()}"
        for trait in made["withheld"]
    ]


def _included(made: dict[str, Any]) -> list[str]:
    """Says how many files of the person's own the agent was given, and what it was not."""
    lines = []
    if made["included"]:
        lines.append(f"with {counted(made['included'], 'ignored file')} of your checkout")
    if left := made["left_out"]:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        names = ", ".join(map(printable_line, left[:3]))
        lines.append(f"without {names}{more}: links that lead elsewhere, or closed to you")
    return lines


def _changes(made: dict[str, Any]) -> list[str]:
    """Says which edits of the person's own the agent has, or has not."""
    changes = made["changes"]
    if changes is None or not (changes["files"] or changes["problem"]):
        return []
    if changes["problem"]:
        return [f"your uncommitted files could not be looked at: {changes['problem']}"]
    more = ", ..." if changes["files"] > len(changes["names"]) else ""
    files = counted(changes["files"], "uncommitted file")
    named = f"{files} ({', '.join(changes['names'])}{more})"
    if changes["carried"]:
        return [f"with copies of your {named}, uncommitted there too"]
    return [f"without your {named}: commit first, or start it --with-changes"]


def _submodules(made: dict[str, Any]) -> list[str]:
    """Says that folders of submodules are empty, and what fills them."""
    if not made["submodules"]:
        return []
    names = ", ".join(made["submodules"][:3]) + (", ..." if len(made["submodules"]) > 3 else "")
    lacking = f"without its {counted(len(made['submodules']), 'submodule')} ({names})"
    return [f"{lacking}, which your own clone has not: `git submodule update --init` there first"]


def _remarks(made: dict[str, Any]) -> list[str]:
    """Says what of the person's own configuration it has not, and what would bring it."""
    return [
        printable_line(one["text"]) + (f": {printable_line(one['fix'])}" if one["fix"] else "")
        for one in made["remarks"]
    ]


def _lacks(made: dict[str, Any]) -> list[str]:
    """Says that the agent cannot run the gate's checks, and why."""
    return [f"without what the gate's checks need: {made['lacks']}"] if made["lacks"] else []


def _confinement(made: dict[str, Any]) -> list[str]:
    """What confines the agent; where that is little though more was wanted, why."""
    if made["isolation"] == "box":
        reach = {"host": "", "proxy": ", allowed domains only", "none": ", no network"}
        return [f"in a box{reach[made['network']]}"]
    if not made["to_box"]:
        return ["not boxed: hooks advise it, nothing confines it"]
    return [f"not boxed, hooks only advise it: {made['unboxed']}", f"for a box, {made['to_box']}"]


def _out_of_box(made: dict[str, Any]) -> list[str]:
    """Warns that words from within a box are acted on without one."""
    source = made["out_of_box"]
    if not source:
        return []
    return [
        f"it begins with the conversation of {source}, which was written in a box:",
        "whatever that made its model believe or intend is done without a box now",
        f"to keep it in: wl kill {made['id']}, then again with --isolation required",
    ]


def _overridden(call: Call, made: dict[str, Any]) -> list[str]:
    """Says that a person's own word went before configuration that wants a box."""
    asked = call.args.isolation
    if asked is None or made["isolation"] == "box":
        return []
    known = call.ask("config")["settings"]
    usual_role = [] if made["role"] == "manager" else ["worker"]
    own = [f"roles.{role}.isolation" for role in (made["role"], *usual_role)]
    key = next((key for key in own if key in known and known[key]["value"]), "isolation")
    usual = known[key]["value"]
    if usual not in ("required", "box"):
        return []
    return [f"{key} is {usual} here: your --isolation {asked} went before it"]


def _meant(call: Call) -> tuple[str, str | None, bool]:
    """Goal, parent and whether it is a manager.

    `--manager` may stand alone or name a parent: the word after it is the goal if nothing else is.
    """
    args = call.args
    goal = _given(call)
    if goal is None and args.manager:
        return args.manager, args.parent, True
    if goal is None or not goal.strip():
        raise UserError("an agent needs a goal", 'wl new "what to do"')
    if args.manager and args.parent:
        raise UserError(
            f"{args.manager} and {args.parent} cannot both be the parent",
            "`--manager --parent AGENT GOAL` makes a manager under AGENT",
        )
    return goal, args.manager or args.parent, args.manager == ""


def _given(call: Call) -> str | None:
    """What is to be done, by argument, file or stdin; None if none of them says."""
    args = call.args
    if args.prompt_file:
        if args.goal is not None:
            raise UserError("a goal and --prompt-file both say what to do", "drop one of the two")
        return _with_piped(read_text(args.prompt_file))
    if args.goal is not None:
        return read_text("-") if args.goal == "-" else str(args.goal)
    if args.manager and not _could_be_id(args.manager):
        return None
    text = piped()
    return text if text.strip() else None


def _could_be_id(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum()


def _with_piped(text: str) -> str:
    more = piped()
    return f"{text.rstrip()}\n\n{more}" if more.strip() else text


def _script(path: str | None) -> str | None:
    """Where the daemon finds a script, which its stand-in reads anew whenever it is resumed."""
    if path is None:
        return None
    if not os.path.exists(path):
        raise UserError(f"no script {path}", "docs/scripts.md describes the format")
    if not os.path.isfile(path):
        raise UserError(
            f"script {path} is not a regular file",
            "write it to a file: a pipe or <(...) is gone when the agent reads it again",
        )
    return os.path.abspath(path)


def _patterns(option: str, text: str | None) -> list[str] | None:
    """Tool patterns that mean something."""
    listed = _listed(text)
    if listed:
        from windlass.core.config_lists import PATTERN  # noqa: PLC0415 - with msgspec, too slow

        for pattern in listed:
            if problem := PATTERN.problem(pattern):
                raise UserError(f"{option}: {pattern!r} {problem}", PATTERN.hint)
    return listed


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
