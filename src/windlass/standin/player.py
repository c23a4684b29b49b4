"""Plays one turn: a message in, entries of the script out, until the model would stop."""

from __future__ import annotations

import os
import signal
from time import monotonic

from windlass.core.script import cursor as play
from windlass.core.script.format import (
    ApiError,
    Await,
    Crash,
    Entry,
    Pause,
    Text,
    Thinking,
    Tool,
    UsageEntry,
)
from windlass.standin.compaction import is_command
from windlass.standin.conversation import Conversation
from windlass.standin.face import Interrupted, Limit, Turn, UserMessage
from windlass.standin.tool_calls import Rejected, call_tool
from windlass.standin.transcript import INTERRUPTED

BLOCK_CAP = 8
CONTINUE = "Continue from where you left off."
KINDS = {
    429: "rate_limit",
    401: "authentication_failed",
    403: "authentication_failed",
    400: "invalid_request",
    413: "invalid_request",
}
TOO_LONG = "Prompt is too long"
OVERLOADED = (
    "Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. "
    "Try again in a moment."
)


def play_turn(talk: Conversation, message: UserMessage | None) -> Turn:
    """Plays until the turn ends; without a message it goes on with one that was cut off."""
    talk.turn = Turn(origin=message.origin if message else "prompt")
    talk.new_prompt()
    started = monotonic()
    try:
        if _go_on(talk) if message is None else _accept(talk, message):
            talk.turn.begun = True
            talk.turn.terminal_reason = "completed"
            _play(talk)
    except Interrupted as stopped:
        _interrupted(talk, stopped)
    except Limit as limit:
        _limited(talk, limit)
    talk.turn.duration_ms = int((monotonic() - started) * 1000)
    return talk.turn


def _accept(talk: Conversation, message: UserMessage) -> bool:
    talk.face.begun(message)
    contexts = _submitted(talk, message.text)
    if contexts is None:
        return False
    react = talk.cursor.begun
    talk.hear(message)
    talk.add_contexts("UserPromptSubmit", contexts, react=react)
    return True


def _go_on(talk: Conversation) -> bool:
    """Takes up a turn that was cut off; on a screen the real program fires no hook for it."""
    if not talk.face.live and _submitted(talk, CONTINUE) is None:
        return False
    said = {"role": "user", "content": [{"type": "text", "text": CONTINUE}]}
    talk.transcript.add("user", promptId=talk.prompt_id, message=said, isMeta=True)
    return True


def _submitted(talk: Conversation, prompt: str) -> list[str] | None:
    """Returns what hooks add to a prompt, or None when one of them refused it."""
    outcome = talk.fire("UserPromptSubmit", prompt=prompt)
    if not outcome.blocked and not outcome.ended:
        return outcome.contexts
    words = f"UserPromptSubmit operation blocked by hook:\n{outcome.reason}"
    words += f"\n\nOriginal prompt: {prompt}"
    talk.mark("informational", content=words, level="warning", preventContinuation=True)
    talk.turn.text = words
    talk.face.noted(words)
    return None


def _play(talk: Conversation) -> None:
    blocks = 0
    while True:
        talk.loop.glance()
        talk.cursor = play.settle(talk.script, talk.cursor)
        if talk.cursor.busy:
            entry = play.current(talk.script, talk.cursor)
            if isinstance(entry, ApiError):
                if _recovers(talk, entry):
                    continue
                _fail(talk, entry)
                return
            talk.check_limits(entry)
            _perform(talk, entry)
            continue
        talk.check_budget()
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
    talk.hear(UserMessage(f"Stop hook feedback:\n{outcome.reason}"), meta=True)
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
        case UsageEntry(tokens=tokens):
            talk.owe(tokens)
            talk.cursor = play.advance(talk.cursor)
        case Await():
            talk.cursor = play.await_message(talk.cursor)
        case Crash(signal=number):
            _crash(talk, number)


def _slip_in(talk: Conversation) -> None:
    """Takes what was said in the meantime, between two tool calls as the real program does."""
    while talk.inbox and not is_command(talk.inbox[0]):
        message = talk.inbox.popleft()
        talk.face.slipped_in(message)
        talk.slip_in(message)


def _crash(talk: Conversation, number: int) -> None:
    """Dies by a signal; the entry counts as played, or a resumed session would die again."""
    talk.cursor = play.advance(talk.cursor)
    talk.mark("crash", signal=number)
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _recovers(talk: Conversation, error: ApiError) -> bool:
    """Retries; returns True when the call goes through in the end."""
    for attempt in range(1, (error.times or 1) + 1):
        if error.retry_after or error.times:
            talk.face.retrying(error, attempt)
            talk.loop.wait(lambda: False, error.retry_after or 0)
    if error.times:
        talk.cursor = play.advance(talk.cursor)
    return error.times is not None


def _fail(talk: Conversation, error: ApiError) -> None:
    kind, said = _explained(error)
    talk.cursor = play.rest(play.advance(talk.cursor))
    if said == TOO_LONG:
        # The real program tries to make room, fails at that too, and fires no PostCompact.
        talk.fire("PreCompact", trigger="auto", custom_instructions=None)
        talk.turn.terminal_reason = "prompt_too_long"
    talk.lament(said, kind)
    talk.turn.is_error = True
    talk.turn.api_error_status = None if error.status == 529 else error.status
    talk.fire("StopFailure", error=kind, last_assistant_message=said)


def _explained(error: ApiError) -> tuple[str, str]:
    """Returns the kind of an error and its words, as the real program gives them."""
    status, message = error.status, error.message or ""
    kind = KINDS.get(status, "server_error" if status >= 500 else "unknown")
    if status == 529:
        return kind, f"API Error: {message or OVERLOADED}"
    if status == 429:
        return kind, f"API Error: Request rejected (429) · {message or 'Rate limited'}"
    if "credit balance is too low" in message.lower():
        return "billing_error", "Credit balance is too low"
    if "prompt is too long" in message.lower():
        return kind, TOO_LONG
    said = f"API Error: {status} {message or 'The request failed'}"
    return kind, f"Failed to authenticate. {said}" if kind == "authentication_failed" else said


def _interrupted(talk: Conversation, stopped: Interrupted) -> None:
    """Stops where it is, without a Stop hook; the next message plays on."""
    talk.cursor = play.rest(talk.cursor)
    in_tool = isinstance(stopped, Rejected)
    talk.turn.interrupted = talk.turn.is_error = True
    talk.turn.subtype = "error_during_execution"
    talk.turn.terminal_reason = "aborted_tools" if in_tool else "aborted_streaming"
    talk.turn.errors = ["interrupted"]
    talk.interject(f"{INTERRUPTED}{' for tool use' if in_tool else ''}]")


def _limited(talk: Conversation, limit: Limit) -> None:
    """Stops before the model is asked once more, without a Stop hook."""
    talk.cursor = play.rest(talk.cursor)
    talk.turn.is_error = True
    talk.turn.subtype = f"error_{limit.subtype}"
    talk.turn.terminal_reason = limit.subtype if limit.subtype == "max_turns" else None
    talk.turn.errors = [limit.words]
