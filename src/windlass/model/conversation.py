"""One conversation with the model: finds what is new in a request and plays the next reply.

Pure. Requests carry the whole history, and the client may ask twice, drop what it did not finish,
or rewrite what came before (a compaction); the conversation remembers how far the script came.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import takewhile
from typing import Any, TypeAlias

import msgspec

from windlass.core.mail import messages
from windlass.core.script import cursor as play
from windlass.core.script.cursor import Cursor
from windlass.core.script.format import (
    ApiError,
    Await,
    Crash,
    Pause,
    Script,
    Text,
    Thinking,
    Tool,
    UsageEntry,
    fill,
)
from windlass.model.request import Asked, Item


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call with its id; its result goes on."""

    id: str
    name: str
    input: dict[str, Any]


Step: TypeAlias = Text | Thinking | ToolUse | Pause | Crash


class Reply(msgspec.Struct, frozen=True):
    """What to answer: steps one after another, or an error instead of them."""

    id: str
    steps: tuple[Step, ...] = ()
    tokens: dict[str, int] = {}
    error: ApiError | None = None
    attempt: int = 0
    again: bool = False


class ScriptPlace(msgspec.Struct, frozen=True):
    """Where a conversation is in its script, and what it still has to report and to fill in."""

    cursor: Cursor = Cursor()
    owed: dict[str, int] = {}
    goal: str = ""
    message: str = ""
    agent: str = "agent"


class ScriptedConversation:
    """Plays one script to one client, request by request."""

    def __init__(self, script: Script, *, begun: bool, salt: str) -> None:
        self.script = script
        self._salt = salt
        self._items: tuple[Item, ...] = ()
        self._before = ScriptPlace(Cursor(begun=begun))
        self._place = self._before
        self._call: tuple[str, Cursor] | None = None
        self._passed = 0
        self._attempt = 0
        self._trail: list[Cursor] = []

    def news(self, asked: Asked) -> tuple[Item, ...]:
        """Returns what a request adds; nothing when it is asked again."""
        items = asked.items
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(items, self._items)))  # noqa: B905 - of different lengths
        last = max((n for n, item in enumerate(items) if item.kind == "assistant"), default=-1)
        return items[max(same, last + 1) :]

    def answer(self, asked: Asked) -> Reply:
        """Takes a request and returns the reply; the same request again is the same reply again.

        What goes wrong on purpose counts when it happens: a call that failed as often as it should,
        or a crash, is behind us when the client asks again.
        """
        again = asked.items == self._items
        if not again:
            self._before = self._hear(self.news(asked), asked.agent)
            self._items = asked.items
            self._passed = 0
        self._attempt += 1
        return msgspec.structs.replace(self._play(self._before), again=again)

    def settle(self, asked: Asked) -> None:
        """Takes note of tool results in a request that is not answered from the script."""
        if self._call and any(item.id == self._call[0] for item in asked.items):
            place = msgspec.structs.replace(self._place, cursor=self._call[1])
            self._place, self._call = place, None

    def broke_off(self, reply: Reply, done: int) -> None:
        """Says that only `done` steps were delivered; the next message plays on there."""
        if reply.attempt == self._attempt and done < len(self._trail):
            cursor = play.rest(self._trail[done])
            self._place = msgspec.structs.replace(self._place, cursor=cursor)
            self._call = None

    def begin(self, script: Script) -> None:
        """Plays another script from its beginning, with the next message."""
        self.script = script
        self._place = ScriptPlace()
        self._call = None

    def _hear(self, news: tuple[Item, ...], agent: str) -> ScriptPlace:
        place, cursor = self._place, self._place.cursor
        begun = cursor.begun
        kinds = {item.kind for item in news}
        if self._call and (
            any(item.id == self._call[0] for item in news) or "message" not in kinds
        ):
            cursor = self._call[1]
        elif "message" in kinds and self._call:
            # The client came back without the result: the tool is called anew.
            cursor = play.rest(cursor)
        self._call = None
        goal, message = place.goal, place.message
        for item in news:
            if item.kind == "message":
                goal = goal or item.text
                message = play.message(item.text)
                cursor = play.hear(self.script, cursor, item.text)
            elif item.kind == "context" and begun:
                cursor = play.overhear(self.script, cursor, item.text)
                message = play.message(item.text) if messages.bodies(item.text) else message
            elif item.kind == "interrupt":
                cursor = play.rest(cursor)
        return ScriptPlace(cursor, place.owed, goal, message, agent or place.agent)

    def _play(self, place: ScriptPlace) -> Reply:
        """Plays up to and including the next tool call, or to the end of the turn."""
        playing = _Playing(place, self._passed, self._name)
        while playing.goes_on(self.script):
            pass
        self._passed += playing.tripped
        self._call = playing.call
        self._trail = playing.trail
        self._place = msgspec.structs.replace(place, cursor=playing.cursor, owed=playing.owed)
        return Reply(
            id="msg_" + self._name("reply"),
            steps=() if playing.error else tuple(playing.steps),
            tokens=playing.tokens,
            error=playing.error,
            attempt=self._attempt,
        )

    def _name(self, what: str) -> str:
        """Makes an id that is the same when the same request is asked again."""
        key = msgspec.json.encode((self._salt, self._items, self._passed, what))
        return sha256(key).hexdigest()[:24]


class _Playing:
    """A reply in the making. `trail` keeps where the script was before each step."""

    def __init__(self, place: ScriptPlace, passed: int, name: Any) -> None:
        self._place = place
        self._passed = passed
        self._name = name
        self.cursor = place.cursor
        self.owed = dict(place.owed)
        self.tokens: dict[str, int] = {}
        self.steps: list[Step] = []
        self.trail: list[Cursor] = []
        self.call: tuple[str, Cursor] | None = None
        self.error: ApiError | None = None
        self.tripped = 0

    def goes_on(self, script: Script) -> bool:
        """Plays one entry; returns False when the reply ends with it."""
        self.cursor = play.settle(script, self.cursor)
        if not self.cursor.busy:
            return False
        match play.current(script, self.cursor):
            case Text(text=text):
                self._say(Text(self._filled(text)))
            case Thinking(thinking=thinking):
                self._say(Thinking(self._filled(thinking)))
            case Tool(name=name, input=tool_input):
                call = "toolu_" + self._name("tool")
                self._say(ToolUse(call, name, self._filled(tool_input)), advance=False)
                self.call = (call, play.advance(self.cursor))
                return False
            case Pause() as pause:
                self._step(pause)
                self.cursor = play.advance(self.cursor)
            case UsageEntry(tokens=tokens):
                self._add(self.owed, tokens)
                self.cursor = play.advance(self.cursor)
            case Await():
                self.cursor = play.await_message(self.cursor)
            case ApiError() as error:
                return self._fail(error)
            case Crash() as crash:
                return self._die(crash)
        return True

    def _fail(self, error: ApiError) -> bool:
        stepped = play.advance(self.cursor)
        if error.times is not None and self._passed >= error.times:
            self._passed -= error.times
            self.cursor = stepped
            return True
        self.tripped = 1 if error.times is not None else 0
        self.error = msgspec.structs.replace(error, message=self._filled(error.message))
        self.cursor = play.rest(stepped)
        return False

    def _die(self, crash: Crash) -> bool:
        stepped = play.advance(self.cursor)
        if self._passed:
            self._passed -= 1
            self.cursor = stepped
            return True
        self.tripped = 1
        self._step(crash)
        self.cursor = play.rest(stepped)
        return False

    def _say(self, step: Step, *, advance: bool = True) -> None:
        self._add(self.tokens, self.owed)
        self.owed = {}
        self._step(step)
        if advance:
            self.cursor = play.advance(self.cursor)

    def _step(self, step: Step) -> None:
        self.trail.append(self.cursor)
        self.steps.append(step)

    def _filled(self, value: Any) -> Any:
        place = self._place
        names = {"MESSAGE": place.message, "AGENT": place.agent, "GOAL": place.goal}
        return fill(value, names)

    @staticmethod
    def _add(account: dict[str, int], tokens: dict[str, int]) -> None:
        for kind, count in tokens.items():
            account[kind] = account.get(kind, 0) + count
