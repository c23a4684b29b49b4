"""The fold of observations, and what hooks and last messages mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import states
from windlass.core.states import Observation, Source, State, fold

NOW = 1_000_000.0


def seen(source: Source, value: State, *, ago: float = 1.0, session: int = 1) -> Observation:
    return Observation(source=source, value=value, at=NOW - ago, evidence="seen", session=session)


ANY = st.builds(
    Observation,
    source=st.sampled_from(Source),
    value=st.sampled_from(State),
    at=st.floats(0, NOW),
    evidence=st.just("seen"),
    session=st.integers(0, 3),
)


def test_nothing_seen_is_unknown() -> None:
    assert fold([], now=NOW).state is State.UNKNOWN


@given(st.lists(ANY, min_size=1), st.randoms())
def test_the_order_of_observations_does_not_matter_to_the_state(
    observations: list[Observation], random: object
) -> None:
    shuffled = sorted(observations, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert fold(observations, now=NOW).state == fold(shuffled, now=NOW).state


@given(st.lists(ANY, min_size=1))
def test_every_state_names_its_winner_and_keeps_the_losers(observations: list[Observation]) -> None:
    verdict = fold(observations, now=NOW)
    assert verdict.winner in observations
    assert len(verdict.losers) == len(observations) - 1


@given(st.lists(ANY, min_size=1))
def test_only_the_newest_session_counts(observations: list[Observation]) -> None:
    winner = fold(observations, now=NOW).winner
    assert winner is not None
    assert winner.session == max(o.session for o in observations)


def test_a_dead_process_beats_a_hook_that_said_running_later() -> None:
    gone = seen(Source.PROCESS, State.STOPPED, ago=5)
    busy = seen(Source.HOOK, State.RUNNING, ago=1)
    assert fold([busy, gone], now=NOW).state is State.STOPPED


def test_paused_beats_stopped_because_we_stopped_it() -> None:
    gone = seen(Source.PROCESS, State.STOPPED, ago=1)
    paused = seen(Source.WINDLASS, State.PAUSED, ago=5)
    assert fold([gone, paused], now=NOW).state is State.PAUSED


def test_a_new_session_forgets_that_the_last_one_died() -> None:
    gone = seen(Source.PROCESS, State.STOPPED, session=1)
    fresh = seen(Source.WINDLASS, State.CREATING, session=2)
    assert fold([gone, fresh], now=NOW).state is State.CREATING


@pytest.mark.parametrize("value", [State.RUNNING, State.CREATING, State.COMPACTING])
def test_what_nobody_confirmed_for_long_fades_to_unknown(value: State) -> None:
    old = seen(Source.HOOK, value, ago=states.FADES_AFTER + 1)
    assert fold([old], now=NOW).state is State.UNKNOWN


@pytest.mark.parametrize("value", [State.WAITING, State.COMPLETE, State.ASKING])
def test_what_lasts_by_nature_does_not_fade(value: State) -> None:
    old = seen(Source.HOOK, value, ago=states.FADES_AFTER * 100)
    assert fold([old], now=NOW).state is value


@pytest.mark.parametrize(
    ("message", "state", "evidence"),
    [
        ("All done.\n\nI HAVE COMPLETED THE GOAL", State.COMPLETE, states.COMPLETE_PHRASE),
        ("Done. I HAVE COMPLETED THE GOAL", State.COMPLETE, states.COMPLETE_PHRASE),
        ("**I HAVE COMPLETED THE GOAL**", State.COMPLETE, states.COMPLETE_PHRASE),
        ("I HAVE COMPLETED THE GOAL.\n\n", State.COMPLETE, states.COMPLETE_PHRASE),
        ("I need an answer.\nWAITING", State.WAITING, states.WAITING_PHRASE),
        ("I am WAITING for the build", State.WAITING, "idle"),
        ("Say 'I HAVE COMPLETED THE GOAL' when done; I have not.", State.WAITING, "idle"),
        ("I HAVE COMPLETED THE GOAL\nwait, no: a test fails", State.WAITING, "idle"),
        ("", State.WAITING, "idle"),
    ],
)
def test_the_last_line_of_the_last_message_decides(
    message: str, state: State, evidence: str
) -> None:
    assert states.from_last_message(message) == (state, evidence)


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
    found = states.from_hook(event, at=NOW, session=1)
    assert (found.value if found else None) is state


def test_an_interrupted_turn_shows_in_a_newer_status_file() -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=5)
    idle = seen(Source.STATUS, State.WAITING, ago=2)
    assert fold([busy, idle], now=NOW).state is State.WAITING
    assert fold([busy, idle], now=NOW).winner == idle


def test_an_older_status_file_does_not_correct_a_hook() -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=2)
    idle = seen(Source.STATUS, State.WAITING, ago=5)
    assert fold([busy, idle], now=NOW).winner == busy


@pytest.mark.parametrize("source", [Source.STATUS, Source.SCREEN])
def test_being_idle_does_not_contradict_a_goal_that_a_hook_called_complete(source: Source) -> None:
    done = seen(Source.HOOK, State.COMPLETE, ago=5)
    idle = seen(source, State.WAITING, ago=1)
    assert fold([done, idle], now=NOW).state is State.COMPLETE


@pytest.mark.parametrize("value", [State.RATE_LIMITED, State.COMPACTING, State.ASKING])
def test_what_only_a_screen_shows_is_believed_over_an_older_hook(value: State) -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=5)
    status = seen(Source.STATUS, State.RUNNING, ago=5)
    shown = seen(Source.SCREEN, value, ago=1)
    assert fold([busy, status, shown], now=NOW).winner == shown
    later = seen(Source.HOOK, State.RUNNING, ago=0.5)
    assert fold([later, status, shown], now=NOW).winner == later


def test_a_screen_says_nothing_about_busy_and_idle_where_there_is_a_status_file() -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=5)
    status = seen(Source.STATUS, State.RUNNING, ago=5)
    shown = seen(Source.SCREEN, State.WAITING, ago=1)
    assert fold([busy, status, shown], now=NOW).winner == busy
    assert fold([busy, shown], now=NOW).winner == shown


def test_a_dialog_at_the_start_is_seen_at_once_and_an_idle_prompt_only_after_a_while() -> None:
    ours = seen(Source.WINDLASS, State.CREATING, ago=10)
    asks = seen(Source.SCREEN, State.ASKING, ago=1)
    assert fold([ours, asks], now=NOW).state is State.ASKING
    idle = seen(Source.SCREEN, State.WAITING, ago=1)
    assert fold([ours, idle], now=NOW).state is State.CREATING
    unheard = seen(Source.SCREEN, State.WAITING, ago=states.UNHEARD_AFTER + 1)
    assert fold([ours, unheard], now=NOW).state is State.WAITING


def test_a_sign_of_life_keeps_what_is_busy_from_fading() -> None:
    old = seen(Source.HOOK, State.RUNNING, ago=states.FADES_AFTER + 60)
    sign = seen(Source.PROCESS, State.RUNNING, ago=30)
    verdict = fold([old, sign], now=NOW)
    assert (verdict.state, verdict.winner) == (State.RUNNING, old)


def test_a_clock_that_jumped_back_makes_nothing_fade_or_fail() -> None:
    future = seen(Source.HOOK, State.RUNNING, ago=-3600)
    assert fold([future], now=NOW).state is State.RUNNING


@given(st.lists(ANY, min_size=1))
def test_unknown_or_a_picture_never_completes_a_goal(observations: list[Observation]) -> None:
    verdict = fold(observations, now=NOW)
    if verdict.state is State.COMPLETE:
        assert verdict.winner is not None
        assert verdict.winner.value is State.COMPLETE


def hook(name: str, **more: object) -> Observation | None:
    return states.from_hook({"hook_event_name": name, **more}, at=NOW, session=1)


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


def test_a_goal_completed_without_a_tool_call_is_doubted() -> None:
    done = hook("Stop", last_assistant_message="I HAVE COMPLETED THE GOAL")
    assert done is not None
    assert states.claimed(done, tools=1) == done
    doubted = states.claimed(done, tools=0)
    assert doubted.value is State.WAITING
    assert "not called a single tool" in doubted.evidence


@pytest.mark.parametrize(
    ("status", "state"),
    [("idle", State.WAITING), ("busy", State.RUNNING), ("shell", State.WAITING)],
)
def test_the_status_file_is_read_with_its_own_time(status: str, state: State) -> None:
    found = states.from_status({"status": status, "statusUpdatedAt": 1_500_000}, session=3)
    assert found is not None
    assert (found.value, found.at, found.session) == (state, 1500.0, 3)


def test_a_status_that_waits_says_for_what() -> None:
    told = {"status": "waiting", "waitingFor": "permission prompt", "statusUpdatedAt": 1}
    found = states.from_status(told, session=1)
    assert found is not None
    assert found.value is State.ASKING
    assert "permission prompt" in found.evidence


@pytest.mark.parametrize("told", [{}, {"status": "idle"}, {"status": "new", "statusUpdatedAt": 1}])
def test_a_status_file_of_another_shape_says_nothing(told: dict[str, object]) -> None:
    assert states.from_status(told, session=1) is None


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
    found = states.from_output(line, at=NOW, session=1)
    assert found is not None
    assert found.value is state


@pytest.mark.parametrize("line", [{"type": "system", "subtype": "init"}, {"type": "user"}, {}])
def test_other_output_says_nothing_about_the_state(line: dict[str, object]) -> None:
    assert states.from_output(line, at=NOW, session=1) is None


def test_a_resumed_session_whose_last_one_was_cut_off_is_not_idle_yet() -> None:
    started = hook("SessionStart", source="resume")
    assert started is not None
    second = Observation(
        source=Source.HOOK, value=started.value, at=NOW, evidence=started.evidence, session=2
    )
    cut_off = seen(Source.HOOK, State.RUNNING, ago=9)
    assert states.resumed(second, [cut_off]).value is State.CREATING
    interrupted = seen(Source.OUTPUT, State.WAITING, ago=5)
    assert states.resumed(second, [cut_off, interrupted]) == second
    assert states.resumed(second, [seen(Source.HOOK, State.COMPLETE)]) == second
    assert states.resumed(second, []) == second


def test_a_failed_turn_says_what_it_failed_with() -> None:
    failed = hook("StopFailure", error="invalid_request", last_assistant_message="too long")
    assert failed is not None
    assert failed.value is State.WAITING
    assert "invalid_request" in failed.evidence
    assert "too long" in failed.evidence
