"""What Claude Code's hooks, output lines and status file say an agent does."""

from __future__ import annotations

import pytest

from windlass.core.claude import observations
from windlass.core.reasons import words
from windlass.core.states import Observation, Source, State

NOW = 1_000_000.0


def seen(source: Source, value: State, *, ago: float = 1.0) -> Observation:
    return Observation(source=source, value=value, at=NOW - ago, reason=words("seen"), session=1)


@pytest.mark.parametrize(
    ("event", "state"),
    [
        ({"hook_event_name": "SessionStart", "source": "startup"}, State.CREATING),
        ({"hook_event_name": "SessionStart", "source": "resume"}, State.WAITING),
        ({"hook_event_name": "UserPromptSubmit", "prompt": "x"}, State.RUNNING),
        ({"hook_event_name": "PreToolUse", "tool_name": "Bash"}, State.RUNNING),
        ({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash"}, State.RUNNING),
        ({"hook_event_name": "PermissionRequest", "tool_name": "Bash"}, State.ASKING),
        (
            {"hook_event_name": "Notification", "notification_type": "permission_prompt"},
            State.ASKING,
        ),
        ({"hook_event_name": "PreCompact", "trigger": "auto"}, State.COMPACTING),
        ({"hook_event_name": "StopFailure", "error": "rate_limit"}, State.RATE_LIMITED),
        ({"hook_event_name": "StopFailure", "error": "server_error"}, State.WAITING),
        ({"hook_event_name": "Stop", "last_assistant_message": "WAITING"}, State.WAITING),
        ({"hook_event_name": "Notification", "notification_type": "idle_prompt"}, None),
        ({"hook_event_name": "SessionEnd", "reason": "other"}, None),
        ({"hook_event_name": "Unheard"}, None),
        ({}, None),
    ],
)
def test_a_hook_event_means_a_state_or_nothing(event: dict[str, str], state: State | None) -> None:
    found = observations.from_hook(event, at=NOW, session=1)
    assert (found.value if found else None) is state


def hook(name: str, **more: object) -> Observation | None:
    return observations.from_hook({"hook_event_name": name, **more}, at=NOW, session=1)


def test_compacting_ends_idle_where_a_person_asked_and_goes_on_where_nobody_did() -> None:
    manual, alone = hook("PostCompact", trigger="manual"), hook("PostCompact", trigger="auto")
    assert manual is not None
    assert alone is not None
    assert (manual.value, alone.value) == (State.WAITING, State.RUNNING)
    assert hook("SessionStart", source="compact") is None


def test_what_still_runs_in_the_background_is_part_of_the_evidence() -> None:
    tasks = [{"id": "b1", "status": "running", "description": "make serve"}, "garbage"]
    stopped = hook("Stop", last_assistant_message="WAITING", background_tasks=tasks)
    assert stopped is not None
    assert stopped.value is State.WAITING
    assert "make serve" in stopped.evidence


@pytest.mark.parametrize(
    ("status", "state"),
    [("idle", State.WAITING), ("busy", State.RUNNING), ("shell", State.WAITING)],
)
def test_the_status_file_is_read_with_its_own_time(status: str, state: State) -> None:
    found = observations.from_status({"status": status, "statusUpdatedAt": 1_500_000}, session=3)
    assert found is not None
    assert (found.value, found.at, found.session) == (state, 1500.0, 3)


def test_a_status_that_waits_says_for_what() -> None:
    told = {"status": "waiting", "waitingFor": "permission prompt", "statusUpdatedAt": 1}
    found = observations.from_status(told, session=1)
    assert found is not None
    assert found.value is State.ASKING
    assert "permission prompt" in found.evidence


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"status": "idle"},
        {"status": "new", "statusUpdatedAt": 1},
        {"status": "idle", "statusUpdatedAt": 10**400},
        {"status": "idle", "statusUpdatedAt": -1},
    ],
)
def test_a_status_file_of_another_shape_says_nothing(told: dict[str, object]) -> None:
    assert observations.from_status(told, session=1) is None


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ({"type": "assistant"}, State.RUNNING),
        ({"type": "system", "subtype": "api_retry", "error_status": 429}, State.RATE_LIMITED),
        (
            {"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": "X"}},
            State.ASKING,
        ),
        (
            {"type": "result", "subtype": "success", "result": "I HAVE COMPLETED THE GOAL"},
            State.COMPLETE,
        ),
        (
            {"type": "result", "subtype": "success", "is_error": True, "result": "API Error"},
            State.WAITING,
        ),
        (
            {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429},
            State.RATE_LIMITED,
        ),
        ({"type": "result", "subtype": "error_max_turns", "is_error": True}, State.WAITING),
        (
            {"type": "result", "is_error": True, "terminal_reason": "aborted_tools"},
            State.WAITING,
        ),
    ],
)
def test_a_line_of_output_is_judged_by_is_error(line: dict[str, object], state: State) -> None:
    found = observations.from_output(line, at=NOW, session=1)
    assert found is not None
    assert found.value is state


@pytest.mark.parametrize("line", [{"type": "system", "subtype": "init"}, {"type": "user"}, {}])
def test_other_output_says_nothing_about_the_state(line: dict[str, object]) -> None:
    assert observations.from_output(line, at=NOW, session=1) is None


def test_a_resumed_session_whose_last_one_was_cut_off_is_not_idle_yet() -> None:
    started = hook("SessionStart", source="resume")
    assert started is not None
    second = Observation(
        source=Source.HOOK, value=started.value, at=NOW, reason=started.reason, session=2
    )
    cut_off = seen(Source.HOOK, State.RUNNING, ago=9)
    assert observations.resumed(second, [cut_off]).value is State.CREATING
    interrupted = seen(Source.OUTPUT, State.WAITING, ago=5)
    assert observations.resumed(second, [cut_off, interrupted]) == second
    assert observations.resumed(second, [seen(Source.HOOK, State.COMPLETE)]) == second
    assert observations.resumed(second, []) == second


def test_a_failed_turn_says_what_it_failed_with() -> None:
    failed = hook("StopFailure", error="invalid_request", last_assistant_message="too long")
    assert failed is not None
    assert failed.value is State.WAITING
    assert "invalid_request" in failed.evidence
    assert "too long" in failed.evidence
