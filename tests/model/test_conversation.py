"""What a conversation plays when replies do not get through; pure."""

from __future__ import annotations

import json

from tests.model.rig import text

from windlass.core.script.format import Pause, Text, parse
from windlass.model.conversation import ScriptedConversation
from windlass.model.request import Asked, read

TOOLS = [{"name": "Bash"}]


def asked(*said: str) -> Asked:
    messages = [{"role": "user", "content": words} for words in said]
    return read(json.dumps({"messages": messages, "tools": TOOLS}).encode(), {})


def conversation(*turns: object) -> ScriptedConversation:
    return ScriptedConversation(parse(json.dumps({"turns": turns})), begun=False, salt="")


def test_a_reply_that_broke_off_goes_on_there_with_the_next_message() -> None:
    talk = conversation(text("a"), {"pause": 9}, text("b"))
    talk.broke_off(talk.answer(asked("go")), 1)
    assert talk.answer(asked("go", "on")).steps == (Pause(9.0), Text("b"))


def test_a_reply_that_broke_off_is_whole_when_it_is_asked_for_again() -> None:
    talk = conversation(text("a"), {"pause": 9}, text("b"))
    first = talk.answer(asked("go"))
    talk.broke_off(first, 1)
    assert talk.answer(asked("go")).steps == first.steps


def test_a_break_that_is_noticed_late_changes_nothing() -> None:
    talk = conversation(text("a"), {"pause": 9}, text("b"), {"await": "message"}, text("c"))
    first = talk.answer(asked("go"))
    talk.answer(asked("go"))
    talk.broke_off(first, 1)
    assert talk.answer(asked("go", "on")).steps == (Text("c"),)
