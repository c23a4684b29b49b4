"""Claude Code's dialect where no other test reads it: kinds of lines, and what is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from windlass.core.claude.dialect import ClaudeDialect
from windlass.core.dialect import Dialect, LineKind
from windlass.core.policy.tool_calls import Decision

DIALECT: Dialect = ClaudeDialect()
YES = Decision(verdict="allow", reason="listed", rule="allow")
NO = Decision(verdict="deny", reason="too far", rule="places")
OPEN = Decision(verdict="ask", reason="a person decides", rule="allow")
ASKED = {
    "type": "control_request",
    "request_id": "r1",
    "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}},
}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"type": "system", "subtype": "init"}, LineKind.BEGINNING),
        (ASKED, LineKind.REQUEST),
        ({"type": "control_request", "request": "garbage"}, LineKind.REQUEST),
        ({"type": "system", "subtype": "api_retry"}, LineKind.RETRY),
        ({"type": "result", "subtype": "success"}, LineKind.RESULT),
        ({"type": "assistant"}, LineKind.OTHER),
        ("not JSON", LineKind.OTHER),
        (None, LineKind.OTHER),
        ([], LineKind.OTHER),
    ],
)
def test_a_line_of_output_is_of_one_kind(line: Any, kind: LineKind) -> None:
    assert DIALECT.line_kind(line) is kind


@pytest.mark.parametrize(
    "line",
    [{"type": "assistant"}, {"type": "control_request", "request": {"subtype": "other"}}, "x", {}],
)
def test_only_a_request_for_a_tool_asks_permission(line: Any) -> None:
    assert DIALECT.permission_asked(line) is None
    assert DIALECT.permission_asked(ASKED) == {
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }


def test_an_answer_names_its_request_and_leaves_an_allowed_call_as_it_is() -> None:
    allowed = json.loads(DIALECT.permission_line(ASKED, YES))
    assert allowed["response"]["request_id"] == "r1"
    assert allowed["response"]["response"] == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
    }
    denied = json.loads(DIALECT.permission_line(ASKED, NO))
    assert denied["response"]["response"] == {"behavior": "deny", "message": "too far"}


def test_where_a_person_would_be_asked_a_headless_session_is_told_that_nobody_is_there() -> None:
    answer = json.loads(DIALECT.permission_line(ASKED, OPEN))["response"]["response"]
    assert (answer["behavior"], "nobody is there" in answer["message"]) == ("deny", True)


def test_what_is_written_to_a_session_is_one_line_each() -> None:
    for line in (DIALECT.user_line("two\nlines"), DIALECT.interrupt_line("i1")):
        assert line.count("\n") == 1
        assert line.endswith("\n")
    told = json.loads(DIALECT.user_line("two\nlines"))
    assert told["message"]["content"] == [{"type": "text", "text": "two\nlines"}]
    assert json.loads(DIALECT.interrupt_line("i1"))["request_id"] == "i1"


@pytest.mark.parametrize(
    ("text", "typed"), [("!ls", " !ls"), ("a\\", "a\\ "), ("plain", "plain"), ("", "")]
)
def test_a_text_is_typed_so_that_it_stays_a_text(text: str, typed: str) -> None:
    assert DIALECT.typed(text) == typed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"type": "user"}', True),
        (b'{"type": "assistant"}', True),
        (b'{"type": "summary"}', False),
        (b"\xff", False),
        (b"[" * 100_000, False),
    ],
)
def test_a_conversation_line_is_a_message_or_not(line: bytes, *, message: bool) -> None:
    assert DIALECT.is_message(line) is message
