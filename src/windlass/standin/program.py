"""The program: reads the command line and runs a session with the right face."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from windlass import __version__
from windlass.core.errors import UserError
from windlass.standin.children import Children
from windlass.standin.conversation import Conversation
from windlass.standin.face import Ended, no_tokens
from windlass.standin.flags import HELP, Flags, UsageError, parse_flags
from windlass.standin.headless import Headless
from windlass.standin.loop import Loop
from windlass.standin.settings import Settings, load_settings
from windlass.standin.startup import (
    NoConversation,
    check_system_prompt,
    config_folder,
    equip,
    find_script,
    make_rules,
    open_transcript,
    restore,
)
from windlass.standin.status import StatusFile

MODEL = "standin"


def main(argv: list[str]) -> int:
    """Runs a session and returns the exit code."""
    flags = Flags()
    try:
        flags = parse_flags(argv)
        if flags.help or flags.version:
            sys.stdout.write(f"{HELP if flags.help else __version__ + ' (Stand-in agent)'}\n")
            return 0
        return _run(flags)
    except UsageError as error:
        if isinstance(error, NoConversation) and flags.print and flags.output_format != "text":
            sys.stdout.write(_no_conversation(flags, str(error)))
        sys.stderr.write(f"{error}\n")
    except UserError as error:
        # In one line: the last one that a program wrote is told as why it ended.
        sys.stderr.write(f"Error: {error.message}" + f"; {error.hint}" * bool(error.hint) + "\n")
    return 1


def _run(flags: Flags) -> int:
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    flags.print = flags.print or not interactive
    settings = load_settings(flags.settings, flags.plugin_dirs)
    rules = make_rules(flags, settings)
    cwd = Path.cwd().resolve()
    script = find_script(flags.script, cwd, os.environ)
    check_system_prompt(flags)
    transcript, source = open_transcript(flags, cwd)
    loop = Loop()
    talk = Conversation(
        loop=loop,
        script=script,
        transcript=transcript,
        rules=rules,
        cwd=cwd,
        model=flags.model or MODEL,
        agent=os.environ.get("WINDLASS_AGENT") or "agent",
        inbox=deque(),
        max_turns=flags.max_turns,
        max_usd=flags.max_usd,
    )
    children = Children(loop)
    equip(talk, settings, children)
    restore(talk, flags)
    goes_on = bool(flags.resume) and _resumes_turns() and talk.cursor.busy
    if flags.print and flags.input_format == "text":
        _need_prompt(flags, goes_on=goes_on)
    with ExitStack() as stack:
        stack.callback(children.end_all)
        run = _face(talk, flags, settings, stack, goes_on=goes_on)
        return _converse(talk, source, run)


def _resumes_turns() -> bool:
    return os.environ.get("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "") not in {"", "0", "false"}


def _need_prompt(flags: Flags, *, goes_on: bool) -> None:
    if flags.prompt is None and not sys.stdin.isatty() and not goes_on:
        flags.prompt = sys.stdin.read().strip()
    if not flags.prompt and not goes_on:
        raise UsageError(
            "Error: Input must be provided either through stdin or as a prompt argument "
            "when using --print"
        )


def _face(
    talk: Conversation, flags: Flags, settings: Settings, stack: ExitStack, *, goes_on: bool
) -> Callable[[], int]:
    """Gives the conversation its face and returns what runs it."""
    if flags.print:
        face = Headless(talk, flags)
        talk.face = face
        prompt = flags.prompt if flags.input_format == "text" else None
        return lambda: face.run(prompt, goes_on=goes_on)
    from windlass.standin.live import Live  # noqa: PLC0415 - only a terminal pays for it

    status = StatusFile(config_folder(), session=talk.session, cwd=str(talk.cwd))
    screen = Live(talk, status, idle_notice=settings.idle_notice)
    talk.face = screen
    stack.enter_context(screen)
    return lambda: screen.run(flags.prompt, goes_on=goes_on)


def _converse(talk: Conversation, source: str, run: Callable[[], int]) -> int:
    """Runs the session between its first and its last hook."""
    reason = "other"
    talk.loop.on_signal(signal.SIGTERM, lambda: _end(143))
    talk.loop.on_signal(signal.SIGHUP, lambda: _end(129))
    try:
        outcome = talk.fire("SessionStart", source=source, model=talk.model)
        talk.add_contexts("SessionStart", outcome.contexts, react=False)
        code = run()
    except Ended as ended:
        code, reason = ended.code, ended.reason
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        talk.loop.on_signal(number, _nothing)
    talk.loop.forget(sys.stdin.fileno())
    talk.fire("SessionEnd", reason=reason)
    return code


def _no_conversation(flags: Flags, problem: str) -> str:
    result = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "num_turns": 0,
        "session_id": flags.resume,
        "total_cost_usd": 0,
        "usage": no_tokens(),
        "modelUsage": {},
        "permission_denials": [],
        "errors": [problem],
    }
    return msgspec.json.encode(result).decode() + "\n"


def _end(code: int) -> None:
    raise Ended(code)


def _nothing() -> None:
    """Takes no notice: the session is ending already."""
