"""Serves a scripted model: the real Claude Code then does what a script says, without an account.

`serve` listens on 127.0.0.1 until Ctrl-C, and plays the script to every session that begins.
Without a script an agent notes its goal, commits the note and says that it is done.
docs/scripts.md describes scripts.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from windlass.cli.call import Call, bounded
from windlass.cli.output import write_json
from windlass.core.errors import UserError
from windlass.core.printable import printable_line

if TYPE_CHECKING:
    from windlass.core.script.format import Script
    from windlass.model.log import Request

EXAMPLES = (
    "wl dev model serve greet.json",
    "wl dev model serve greet.json --port 8790",
    "wl dev model serve --for '(?i)review=review.json' --for paint=paint.json",
)

_WIDTH = 60
_LAST_PORT = 65535


def arguments(parser: ArgumentParser) -> None:
    """Takes what to play, to whom, and where."""
    verbs = parser.add_subparsers(dest="verb", metavar="serve", required=True)
    serve = verbs.add_parser("serve", help="listen until Ctrl-C and play scripts")
    serve.add_argument("script", nargs="?", metavar="SCRIPT", help="what every session plays")
    serve.add_argument(
        "--port", type=_port, default=0, help="where to listen; 0 means any free port"
    )
    serve.add_argument(
        "--for",
        dest="prompts",
        action="append",
        default=[],
        metavar="REGEX=SCRIPT",
        help="a script for sessions whose first prompt matches; may be given again",
    )


def run(call: Call) -> int:
    """Serves until somebody has enough of it."""
    # What the daemon and most commands have no use for is imported by who serves.
    from queue import SimpleQueue  # noqa: PLC0415

    from windlass.model.server import Model  # noqa: PLC0415

    script = _read(call.args.script) if call.args.script else None
    prompts = [_given(words) for words in call.args.prompts]
    came: SimpleQueue[Request] = SimpleQueue()
    with Model(script, port=call.args.port, on_request=came.put) as model:
        for pattern, reply in reversed(prompts):
            model.for_prompt(pattern, reply)
        _line(call, {"url": model.url, "port": model.port})
        call.say(f"listening on {model.url}; Ctrl-C ends it. Where Claude Code starts:")
        call.say()
        call.say(f"export ANTHROPIC_BASE_URL={model.url} ANTHROPIC_AUTH_TOKEN=windlass")
        call.say("export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
        call.say()
        while True:
            _tell(call, came.get())


def _line(call: Call, value: dict[str, Any]) -> None:
    """One object a line, because what follows never ends."""
    if call.json:
        write_json(value)


def _tell(call: Call, request: Request) -> None:
    if call.json:
        import msgspec  # noqa: PLC0415 - the path to other commands does without

        _line(call, msgspec.to_builtins(request))
        return
    said = [*request.texts, *(f"result: {result.text}" for result in request.results)]
    words = printable_line(" | ".join(said))
    shown = words if len(words) <= _WIDTH else words[: _WIDTH - 1] + "…"
    answer = f"{request.status} {request.tool}".rstrip()
    again = " (again)" if request.again else ""
    session = request.session[:8] or "-"
    call.tell(f"{request.kind:<8} {session:<8} {answer}{again}  {shown}".rstrip())


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= _LAST_PORT:
        raise UserError(f"--port {text!r} is no port", f"0 to {_LAST_PORT}; 0 means any free one")
    return port


def _given(words: str) -> tuple[str, Script]:
    pattern, equals, path = words.rpartition("=")
    if not equals or not pattern or not path:
        raise UserError(f"--for {words}: expected REGEX=SCRIPT", "for example --for paint=p.json")
    return pattern, _read(path)


def _read(path: str) -> Script:
    from windlass.core.script.format import parse  # noqa: PLC0415 - with msgspec, too slow for help

    try:
        with open(path, "rb") as file:
            return parse(bounded(file, path), path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
