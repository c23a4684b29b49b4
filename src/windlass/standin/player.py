"""Plays one turn: a message in, entries of the script out, until the model would stop."""

from __future__ import annotations

import os
import signal
from time import monotonic

from windlass.core.script import (
    ApiError,
    Await,
    Crash,
    Entry,
    Pause,
    Text,
    Thinking,
    Tool,
    Usage,
)
from windlass.standin import cursor as play
from windlass.standin.calling import Rejected, call_tool
from windlass.standin.conversation import Conversation
from windlass.standin.face import Interrupted, Message, Turn
from windlass.standin.transcript import SLIPPED_IN

BLOCK_CAP = 8
KINDS = {
    429: "rate_limit",
    401: "authentication_failed",
    400: "invalid_request",
    413: "invalid_request",
}


def play_turn(talk: Conversation, message: Message | None) -> Turn:
    """Plays until the turn ends; without a message it goes on with one that was cut off."""
    talk.turn = Turn(origin=message.origin if message else "prompt")
    talk.new_prompt()
    started = monotonic()
    try:
        if message is None or _accept(talk, message):
            _play(talk)
    except Interrupted as stopped:
        _interrupted(talk, stopped)
    talk.turn.duration_ms = int((monotonic() - started) * 1000)
    return talk.turn


def _accept(talk: Conversation, message: Message) -> bool:
    talk.face.begun(message)
    outcome = talk.fire("UserPromptSubmit", prompt=message.text)
    if outcome.blocked or outcome.ended:
        talk.face.noted(f"UserPromptSubmit operation blocked by hook: {outcome.reason}")
        return False
    react = talk.cursor.begun
    talk.hear(message.text)
    talk.add_contexts("UserPromptSubmit", outcome.contexts, react=react)
    return True


def _play(talk: Conversation) -> None:
    blocks = 0
    while True:
        talk.loop.glance()
        talk.cursor = play.settle(talk.script, talk.cursor)
        if talk.cursor.busy:
            entry = play.current(talk.script, talk.cursor)
            if isinstance(entry, ApiError):
                _fail(talk, entry)
                return
            if talk.exhausted(entry):
                talk.turn.subtype = talk.turn.terminal_reason = "error_max_turns"
                talk.turn.is_error = True
                talk.cursor = play.rest(talk.cursor)
                return
            _perform(talk, entry)
            continue
        if blocks >= BLOCK_CAP or not _blocked(talk, again=blocks > 0):
            return
        blocks += 1


def _blocked(talk: Conversation, *, again: bool) -> bool:
    """Ends the turn; returns True when a Stop hook wants it to go on."""
    talk.mark("turn_duration")
    outcome = talk.fire(
        "Stop",
        stop_hook_active=again,
        last_assistant_message=talk.turn.text,
        background_tasks=talk.shell.running(),
        session_crons=[],
    )
    if outcome.ended or not outcome.blocked:
        return False
    talk.face.noted("Stop hook feedback")
    talk.hear(f"Stop hook feedback:\n{outcome.reason}", meta=True)
    return True


def _perform(talk: Conversation, entry: Entry) -> None:
    match entry:
        case Tool():
            call_tool(talk, entry)
            _slip_in(talk)
        case Text(text=text):
            talk.cursor = play.advance(talk.cursor)
            talk.say({"type": "text", "text": talk.filled(text)})
        case Thinking(thinking=thinking):
            talk.cursor = play.advance(talk.cursor)
            block = {"type": "thinking", "thinking": talk.filled(thinking), "signature": ""}
            talk.say(block)
        case Pause(seconds=seconds):
            talk.loop.wait(lambda: False, seconds)
            talk.cursor = play.advance(talk.cursor)
        case Usage(tokens=tokens):
            talk.owe(tokens)
            talk.cursor = play.advance(talk.cursor)
        case Await():
            talk.cursor = play.await_message(talk.cursor)
        case Crash(signal=number):
            _crash(talk, number)


def _slip_in(talk: Conversation) -> None:
    """Takes what was said in the meantime, between two tool calls as the real program does."""
    while talk.inbox:
        message = talk.inbox.popleft()
        talk.face.slipped_in(message)
        talk.hear(message.text, words=SLIPPED_IN + message.text)


def _crash(talk: Conversation, number: int) -> None:
    """Dies by a signal; the entry counts as played, or a resumed session would die again."""
    talk.cursor = play.advance(talk.cursor)
    talk.mark("crash", signal=number)
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _fail(talk: Conversation, error: ApiError) -> None:
    if error.retry_after:
        talk.face.retrying(error)
        talk.loop.wait(lambda: False, error.retry_after)
    kind = KINDS.get(error.status, "server_error" if error.status >= 500 else "unknown")
    said = f"API Error: {error.message or _explained(error.status)}"
    talk.cursor = play.rest(play.advance(talk.cursor))
    talk.say({"type": "text", "text": said}, final=True, error=kind, isApiErrorMessage=True)
    talk.turn.is_error = True
    talk.turn.api_error_status = None if error.status == 529 else error.status
    talk.fire("StopFailure", error=kind, last_assistant_message=said)


def _explained(status: int) -> str:
    if status == 529:
        return (
            "Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. "
            "Try again in a moment."
        )
    if status == 429:
        return "Request rejected (429) · Rate limited"
    return f"{status} The request failed"


def _interrupted(talk: Conversation, stopped: Interrupted) -> None:
    """Stops where it is, without a Stop hook; the next message plays on."""
    talk.cursor = play.rest(talk.cursor)
    words = "[Request interrupted by user for tool use]"
    if not isinstance(stopped, Rejected):
        words = "[Request interrupted by user]"
    talk.turn.subtype = "error_during_execution"
    talk.turn.is_error = True
    talk.turn.terminal_reason = "interrupted"
    talk.transcript.add(
        "user", isMeta=True, message={"role": "user", "content": words}, promptId=talk.prompt_id
    )
    talk.mark("interrupted")
