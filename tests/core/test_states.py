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
