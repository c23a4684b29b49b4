"""Claude Code's hooks: what they tell of, and how they are answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.claude.dialect import ClaudeDialect
from windlass.core.dialect import Dialect, HookAnswer, HookMoment
from windlass.core.events import HOOKS
from windlass.core.policy.tool_calls import Decision

DIALECT: Dialect = ClaudeDialect()
CALL = {"hook_event_name": "PreToolUse", "tool_use_id": "toolu_1"}
REQUEST = {"hook_event_name": "PermissionRequest"}
YES = Decision(verdict="allow", reason="listed", rule="allow")
NO = Decision(verdict="deny", reason="too far", rule="places")
OPEN = Decision(verdict="ask", reason="a person decides", rule="allow")
UUID = "0b8f2a52-98a4-4a55-9a8c-5ba8a6f8a1c0"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_every_moment_but_other_is_told_of_by_one_hook_that_sessions_are_given() -> None:
    names = DIALECT.hook_names
    assert set(names) == set(HookMoment) - {HookMoment.OTHER}
    assert set(names.values()) <= set(HOOKS)
    for moment, name in names.items():
        assert DIALECT.hook_moment({"hook_event_name": name}) is moment


@pytest.mark.parametrize("event", [{}, {"hook_event_name": "Notification"}, {"hook_event_name": 7}])
def test_what_is_none_of_these_moments_is_another(event: dict[str, Any]) -> None:
    assert DIALECT.hook_moment(event) is HookMoment.OTHER


def test_answers_have_the_form_of_their_event() -> None:
    assert DIALECT.decision_answer(CALL, NO)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "too far",
    }
    refused = DIALECT.decision_answer(REQUEST, NO)["hookSpecificOutput"]
    assert refused["decision"] == {"behavior": "deny", "message": "too far"}
    allowed = DIALECT.decision_answer(REQUEST, YES)["hookSpecificOutput"]
    assert allowed["decision"] == {"behavior": "allow"}


@pytest.mark.parametrize("event", [CALL, REQUEST])
def test_no_opinion_is_an_empty_answer(event: dict[str, Any]) -> None:
    assert DIALECT.decision_answer(event, OPEN) == {}


@pytest.mark.parametrize("decision", [YES, NO, OPEN])
def test_mail_goes_with_any_answer_and_leaves_the_decision_as_it_was(decision: Decision) -> None:
    answer = DIALECT.decision_answer(CALL, decision)
    output = DIALECT.answer_with_mail(answer, "hello")["hookSpecificOutput"]
    assert output.pop("additionalContext") == "hello"
    assert output.pop("hookEventName") == "PreToolUse"
    before = answer.get("hookSpecificOutput", {"hookEventName": "PreToolUse"})
    assert {"hookEventName": "PreToolUse", **output} == before


@pytest.mark.parametrize(
    "event",
    [
        {**CALL, "agent_id": "sub"},
        {**CALL, "hook_event_name": "PermissionRequest"},
        {**CALL, "tool_use_id": ""},
        {**CALL, "tool_use_id": 7},
        {"hook_event_name": "PreToolUse"},
    ],
)
def test_mail_goes_only_with_a_call_of_the_agent_itself(event: dict[str, Any]) -> None:
    assert DIALECT.call_with_mail(CALL) == "toolu_1"
    assert DIALECT.call_with_mail(event) is None


@pytest.mark.parametrize("said", [None, 7, "", "../../x", UUID.upper(), f"{UUID}\n"])
def test_a_conversation_has_an_id_of_its_form_or_none(said: Any) -> None:
    assert DIALECT.conversation({"session_id": UUID}) == UUID
    assert DIALECT.conversation({"session_id": said}) is None


def test_a_fork_is_not_resumed_but_starts() -> None:
    resumed = {"hook_event_name": "SessionStart", "source": "resume"}
    assert DIALECT.fork_started(resumed)["source"] == "startup"
    cleared = {"hook_event_name": "SessionStart", "source": "clear"}
    assert DIALECT.fork_started(cleared) == cleared


@pytest.mark.parametrize(("event", "hook"), [(CALL, "PreToolUse"), (REQUEST, "PermissionRequest")])
def test_what_was_answered_can_be_read_again(event: dict[str, Any], hook: str) -> None:
    assert DIALECT.read_answer(DIALECT.decision_answer(event, NO)) == HookAnswer(hook, "too far")


@given(ANYTHING | st.fixed_dictionaries({"hookSpecificOutput": ANYTHING}))
def test_an_answer_of_any_shape_is_read_without_a_crash(answer: Any) -> None:
    assert isinstance(DIALECT.read_answer(answer), HookAnswer)
