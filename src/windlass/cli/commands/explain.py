"""Says how something is judged: a captured screen, or a call of a tool.

`tool` takes what an agent CLI gives its hooks (JSON with tool_name, tool_input and cwd). It is
judged as if an agent had made the call: --agent names one; without it, a worker with this
repository's policy whose workspace is the call's cwd. --level box asks what a boxed one may do.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from windlass.cli.call import Call, bounded
from windlass.core.errors import NotFound, UserError
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl dev explain screen capture.txt",
    "wl look api | wl dev explain screen -",
    "tmux capture-pane -p | wl dev explain screen - --json",
    "wl dev explain tool call.json --agent api",
    "wl dev explain tool - --level box <call.json",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes what to explain."""
    verbs = parser.add_subparsers(dest="verb", metavar="screen|tool", required=True)
    screen = verbs.add_parser("screen", help="the state that a captured screen shows, and why")
    screen.add_argument("file", metavar="FILE", help="a captured screen, or - for stdin")
    tool = verbs.add_parser("tool", help="what would be decided about a call of a tool, and why")
    tool.add_argument("file", metavar="FILE", help="a hook's input as JSON, or - for stdin")
    tool.add_argument("--agent", help="judge it as a call of this agent")
    tool.add_argument("--role", help="without --agent (worker)")
    tool.add_argument("--level", choices=("hooks", "box"), help="without --agent (hooks)")


def run(call: Call) -> int:
    """Explains a screen or a tool call."""
    return _tool(call) if call.args.verb == "tool" else _screen(call)


def _tool(call: Call) -> int:
    args = call.args
    if args.agent and (args.role or args.level):
        raise UserError(
            "--agent says the role and the level already", "leave --role and --level out"
        )
    said = _text(args.file)
    decision = call.ask(
        "explain.tool", input=said, agent=args.agent, role=args.role, level=args.level
    )
    call.data(decision)
    colour = "green" if decision["decision"] == "allow" else "red"
    call.say(f"{call.paint(decision['decision'], colour)}  {printable_line(decision['reason'])}")
    if decision["rule"] not in decision["reason"]:
        call.say(call.paint(f"  rule: {printable_line(decision['rule'])}", "dim"))
    return 0


def _screen(call: Call) -> int:
    """Judges the screen here: no daemon is needed."""
    from windlass.core.claude import screen  # noqa: PLC0415 - after the arguments are known to be right

    seen = screen.read(_text(call.args.file))
    call.data(
        {
            "state": seen.state.value,
            "rule": seen.rule,
            "evidence": seen.evidence,
            "dialog": seen.dialog,
            "draft": seen.draft,
            "queued": seen.queued,
            "retry_after": seen.retry_after,
        }
    )
    call.say(f"{call.paint(seen.state.value, 'bold')}  {seen.rule}  {seen.evidence}")
    return 0


def _text(file: str) -> str:
    """What a file or stdin holds; bytes that are no UTF-8 are replaced, as a terminal does."""
    name = "stdin" if file == "-" else file
    try:
        if file == "-":
            return bounded(sys.stdin.buffer, name).decode(errors="replace")
        with open(file, "rb") as opened:
            return bounded(opened, name).decode(errors="replace")
    except FileNotFoundError:
        raise NotFound(f"no file {file}", "name a file, or - for stdin") from None
    except IsADirectoryError:
        raise UserError(f"{file} is a folder", "name a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {name}: {reason}", "name a file, or - for stdin") from None
