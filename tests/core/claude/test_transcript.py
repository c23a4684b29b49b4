"""What a conversation tells of messages: only what the model was shown counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import agents_json
from windlass.core.claude import transcript
from windlass.core.dialect import TranscriptLine

ID = "msg-0123456789"
SAID = f"[sent by agent fox]: hello\n\n[message {ID}]"
NOTIFIED = (
    "<task-notification>\n<task-id>b1</task-id>\n</task-notification>\n<system-reminder>\n"
    f'Stop hook blocking error from command "Stop": {SAID}\n</system-reminder>'
)
TEXT = {"type": "text", "text": SAID}


def user(content: Any, **more: Any) -> dict[str, Any]:
    """A line of what was said to the model."""
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def attachment(**attached: Any) -> dict[str, Any]:
    """A line of something that was added."""
    return {"type": "attachment", "isSidechain": False, "attachment": attached}


def assistant(**more: Any) -> dict[str, Any]:
    """A line of the model's."""
    said = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": SAID}]}
    return {"type": "assistant", "message": {**said, **more.pop("message", {})}, **more}


def read(*lines: Any) -> list[TranscriptLine]:
    """What lines tell."""
    return transcript.read([json.dumps(line).encode() for line in lines], 0)


SHOWN = {
    "a prompt": user(SAID),
    "a prompt in blocks": user([TEXT]),
    "a wake-up": user(NOTIFIED),
    "what was typed meanwhile": attachment(type="queued_command", prompt=SAID),
    "the same in blocks": attachment(type="queued_command", prompt=[TEXT]),
    "a hook's context": attachment(type="hook_additional_context", content=[SAID]),
    "one text of context": attachment(type="hook_additional_context", content=SAID),
    "feedback to a stop": user(f"Stop hook feedback:\n{SAID}", isMeta=True),
    "next to a result": user([{"type": "tool_result", "tool_use_id": "t", "content": ""}, TEXT]),
}
NOT_SHOWN = {
    "put into a queue": {"type": "queue-operation", "operation": "enqueue", "content": SAID},
    "printed by a hook": attachment(type="hook_success", stdout=SAID, content=SAID),
    "an attachment that nobody knows": attachment(type="other", content=SAID, prompt=SAID),
    "printed by a tool": user([{"type": "tool_result", "tool_use_id": "t", "content": SAID}]),
    "printed by a tool in blocks": user(
        [{"type": "tool_result", "tool_use_id": "t", "content": [TEXT]}]
    ),
    "what a tool gave": user([], toolUseResult={"stdout": SAID}),
    "said by the model": assistant(),
    "said to a subagent": user(SAID, isSidechain=True),
    "added for a subagent": {
        **attachment(type="hook_additional_context", content=[SAID]),
        "isSidechain": True,
    },
    "a summary": {"type": "summary", "summary": SAID},
    "a mark": {"type": "system", "subtype": "informational", "content": SAID},
}


@pytest.mark.parametrize("line", SHOWN.values(), ids=SHOWN)
def test_what_the_model_is_shown_has_arrived(line: dict[str, Any]) -> None:
    assert [one.ids for one in read(line)] == [(ID,)]


@pytest.mark.parametrize("line", NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_what_the_model_is_not_shown_has_not_arrived(line: dict[str, Any]) -> None:
    assert [one.ids for one in read(line)] == [()]


def test_an_answer_is_what_the_model_says_itself() -> None:
    answers = [
        one.answers
        for one in read(
            assistant(),
            assistant(message={"model": "<synthetic>"}),
            assistant(isApiErrorMessage=True),
            assistant(isSidechain=True),
            user(SAID),
        )
    ]
    assert answers == [True, False, False, False, False]


def test_results_name_the_calls_that_they_are_of() -> None:
    results = [{"type": "tool_result", "tool_use_id": one, "content": ""} for one in ("a", "b")]
    (line,) = read(user(results))
    assert line.result_of == ("a", "b")
    assert not line.ids


def test_every_line_says_where_it_ends_the_broken_ones_too() -> None:
    lines = [json.dumps(user(SAID)).encode(), b'{"type": "user", "mess', b"", b"\xff\xfe"]
    ends = [one.end for one in transcript.read(lines, 100)]
    assert ends[0] == 100 + len(lines[0]) + 1
    assert ends[1:] == [ends[0] + 23, ends[0] + 24, ends[0] + 27]


def test_several_messages_in_one_line_have_all_arrived() -> None:
    other = SAID.replace(ID, "msg-aaaaaaaaaa")
    (line,) = read(user(f"{SAID}\n\n{other}"))
    assert line.ids == (ID, "msg-aaaaaaaaaa")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["user", "assistant", "attachment", "system", ""]),
)
def test_lines_of_any_shape_are_read(value: Any, kind: str) -> None:
    shapes = [
        value,
        {"type": kind, "message": value, "attachment": value},
        user(value),
        attachment(type="queued_command", prompt=value),
        attachment(type=value, content=value),
    ]
    assert len(read(*shapes)) == len(shapes)


def test_a_line_as_deep_as_it_is_long_is_passed_over() -> None:
    assert transcript.read([b"[" * 100_000], 0) == [TranscriptLine(100_001)]


def test_a_line_of_more_values_than_anybody_writes_says_nothing() -> None:
    """To make lists of it would keep everybody else waiting."""
    brackets = b'"more": [' + b"[]," * agents_json.MOST_VALUES + b"0], "
    line = json.dumps(assistant()).encode().replace(b'"', brackets + b'"', 1)
    assert json.loads(line)["type"] == "assistant"
    assert transcript.read([line], 0) == [TranscriptLine(len(line) + 1)]
    assert not transcript.is_message(line)
