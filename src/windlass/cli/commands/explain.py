"""Says how something is judged: what the screen rules see in a captured screen."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.errors import NotFound, UserError

EXAMPLES = (
    "wl explain screen capture.txt",
    "wl look api | wl explain screen -",
    "tmux capture-pane -p | wl explain screen - --json",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes what to explain."""
    verbs = parser.add_subparsers(dest="verb", metavar="screen", required=True)
    screen = verbs.add_parser("screen", help="the state that a captured screen shows, and why")
    screen.add_argument("file", metavar="FILE", help="a captured screen, or - for stdin")


def run(call: Call) -> int:
    """Judges the screen here: no daemon is needed."""
    from windlass.core import screen  # noqa: PLC0415 - after the arguments are known to be right

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
            return sys.stdin.buffer.read().decode(errors="replace")
        with open(file, "rb") as opened:
            return opened.read().decode(errors="replace")
    except FileNotFoundError:
        raise NotFound(f"no file {file}", "name a captured screen, or - for stdin") from None
    except IsADirectoryError:
        raise UserError(f"{file} is a folder", "name a file that holds one screen") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {name}: {reason}", "name a captured screen") from None
