"""How far a conversation has come in its script. Pure: every step returns a new cursor.

The stand-in and the scripted model both play with it, so that they cannot differ. The stand-in
saves one with each line of its transcript: a session that was killed reads the last and goes on.
`frames` is a stack of lists being played, the current one last.
"""

from __future__ import annotations

import re

import msgspec

from windlass.core.mail import messages
from windlass.core.script.format import Entry, Script, default_answer

MAIN = -1
ANSWER = -2


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """A list of entries and the next one to play.

    `own_turn` says that the list was begun by a message of its own: when it is done, so is the
    turn. Otherwise it was slipped into a turn under way, which goes on below it.
    """

    rule: int
    next: int = 0
    own_turn: bool = True


class Cursor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole playing state; `spare` counts messages that came mid-turn and no rule took."""

    frames: tuple[Frame, ...] = ()
    fired: dict[int, int] = {}
    spare: int = 0
    begun: bool = False
    busy: bool = False


def hear(script: Script, cursor: Cursor, text: str) -> Cursor:
    """Takes a prompt; of mail, every message by itself."""
    for whole, body in messages.bodies(text) or [(text, text)]:
        cursor = receive(script, cursor, body, whole=whole)
    return cursor


def overhear(script: Script, cursor: Cursor, text: str) -> Cursor:
    """Takes what a hook added: mail counts as a message, anything else only if a rule says so."""
    return hear(script, cursor, text) if messages.bodies(text) else notice(script, cursor, text)


def message(text: str) -> str:
    """What a script calls the message: of mail the last one, without what is around it."""
    carried = messages.bodies(text)
    return carried[-1][1] if carried else text


def receive(script: Script, cursor: Cursor, message: str, *, whole: str = "") -> Cursor:
    """Takes a message: begins the script, starts a rule's turns, or plays on where it stopped."""
    if not cursor.begun:
        frame = Frame(MAIN) if script.turns else Frame(ANSWER)
        return msgspec.structs.replace(cursor, frames=(frame,), begun=True, busy=True)
    ruled = notice(script, cursor, message, whole=whole)
    if ruled is not cursor:
        return ruled
    if cursor.busy:
        return msgspec.structs.replace(cursor, spare=cursor.spare + 1)
    frames = _unfinished(script, cursor.frames) or (Frame(ANSWER),)
    return msgspec.structs.replace(cursor, frames=frames, busy=True)


def notice(script: Script, cursor: Cursor, text: str, *, whole: str = "") -> Cursor:
    """Starts the turns of the first rule that matches; returns the same cursor if none does."""
    for number, rule in enumerate(script.on):
        fired = cursor.fired.get(number, 0)
        if rule.times is not None and fired >= rule.times:
            continue
        if re.search(rule.match, text) or re.search(rule.match, whole or text):
            frame = Frame(number, 0, own_turn=not cursor.busy)
            return msgspec.structs.replace(
                cursor,
                frames=(*_unfinished(script, cursor.frames), frame),
                fired={**cursor.fired, number: fired + 1},
                busy=True,
            )
    return cursor


def settle(script: Script, cursor: Cursor) -> Cursor:
    """Leaves finished lists; afterwards either an entry is next or the turn is over."""
    if not cursor.busy:
        return cursor
    frames, spare = cursor.frames, cursor.spare
    while frames and frames[-1].next >= len(_turns(script, frames[-1])):
        if frames[-1].own_turn:
            left = _unfinished(script, frames)
            if not left or not spare:
                return msgspec.structs.replace(cursor, frames=left, spare=0, busy=False)
            frames, spare = left, spare - 1
        else:
            frames = frames[:-1]
    return msgspec.structs.replace(cursor, frames=frames, spare=spare, busy=bool(frames))


def current(script: Script, cursor: Cursor) -> Entry:
    """Returns the entry that is next; only for a settled, busy cursor."""
    frame = cursor.frames[-1]
    return _turns(script, frame)[frame.next]


def advance(cursor: Cursor) -> Cursor:
    """Steps over the current entry."""
    *below, frame = cursor.frames
    return msgspec.structs.replace(
        cursor, frames=(*below, msgspec.structs.replace(frame, next=frame.next + 1))
    )


def await_message(cursor: Cursor) -> Cursor:
    """Steps over an await: a spare message is what it waited for, otherwise the turn is over."""
    stepped = advance(cursor)
    if cursor.spare:
        return msgspec.structs.replace(stepped, spare=cursor.spare - 1)
    return rest(stepped)


def rest(cursor: Cursor) -> Cursor:
    """Ends the turn where it is; the next message that no rule takes plays on from here."""
    return msgspec.structs.replace(cursor, busy=False, spare=0)


def _unfinished(script: Script, frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    return tuple(frame for frame in frames if frame.next < len(_turns(script, frame)))


def _turns(script: Script, frame: Frame) -> tuple[Entry, ...]:
    if frame.rule == MAIN:
        return script.turns
    if frame.rule == ANSWER:
        return default_answer()
    return script.on[frame.rule].turns if frame.rule < len(script.on) else ()
