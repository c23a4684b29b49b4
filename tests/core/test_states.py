"""The fold of observations, and what last messages mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import states
from windlass.core.reasons import Kind, Reason, words
from windlass.core.states import Observation, Source, State, fold

NOW = 1_000_000.0


def seen(source: Source, value: State, *, ago: float = 1.0, session: int = 1) -> Observation:
    return Observation(
        source=source, value=value, at=NOW - ago, reason=words("seen"), session=session
    )


ANY = st.builds(
    Observation,
    source=st.sampled_from(Source),
    value=st.sampled_from(State),
    at=st.floats(0, NOW),
    reason=st.just(words("seen")),
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


def test_what_outlived_our_attempt_to_end_it_is_unknown_until_it_says_something() -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=5)
    failed = seen(Source.WINDLASS, State.UNKNOWN, ago=3)
    assert fold([busy, failed], now=NOW).winner == failed
    again = seen(Source.HOOK, State.RUNNING, ago=1)
    assert fold([again, failed], now=NOW).winner == again
    shown = seen(Source.SCREEN, State.WAITING, ago=1)
    assert fold([busy, failed, shown], now=NOW).winner == shown
    gone = seen(Source.PROCESS, State.STOPPED, ago=1)
    assert fold([busy, failed, gone], now=NOW).winner == gone


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
    ("message", "state", "kind"),
    [
        ("All done.\n\nI HAVE COMPLETED THE GOAL", State.COMPLETE, "claimed_complete"),
        ("Done. I HAVE COMPLETED THE GOAL", State.COMPLETE, "claimed_complete"),
        ("**I HAVE COMPLETED THE GOAL**", State.COMPLETE, "claimed_complete"),
        ("I HAVE COMPLETED THE GOAL.\n\n", State.COMPLETE, "claimed_complete"),
        ("I need an answer.\nWAITING", State.WAITING, "claimed_waiting"),
        ("I am WAITING for the build", State.WAITING, "idle"),
        ("Say 'I HAVE COMPLETED THE GOAL' when done; I have not.", State.WAITING, "idle"),
        ("I HAVE COMPLETED THE GOAL\nwait, no: a test fails", State.WAITING, "idle"),
        ("", State.WAITING, "idle"),
    ],
)
def test_the_last_line_of_the_last_message_decides(message: str, state: State, kind: Kind) -> None:
    assert states.from_last_message(message) == (state, Reason(kind=kind))


def test_an_interrupted_turn_shows_in_a_newer_status_file() -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=5)
    idle = seen(Source.STATUS, State.WAITING, ago=2)
    assert fold([busy, idle], now=NOW).state is State.WAITING
    assert fold([busy, idle], now=NOW).winner == idle


@pytest.mark.parametrize("source", [Source.STATUS, Source.SCREEN])
def test_that_we_stopped_a_turn_is_told_until_the_agent_does_something_else(
    source: Source,
) -> None:
    busy = seen(Source.HOOK, State.RUNNING, ago=5)
    idle = seen(source, State.WAITING, ago=4)
    stopped = states.interrupted(fold([busy, idle], now=NOW), "`wl interrupt`")
    assert stopped is not None
    assert stopped.evidence == "interrupted: `wl interrupt`"
    assert fold([busy, idle, stopped], now=NOW).winner == stopped
    still = seen(source, State.WAITING, ago=2)
    assert fold([busy, still, stopped], now=NOW).winner == stopped
    for again in (seen(Source.HOOK, State.RUNNING, ago=3.9), seen(source, State.RUNNING, ago=1)):
        assert fold([idle, stopped, again], now=NOW).winner == again


def test_a_turn_that_goes_on_or_ended_by_itself_was_not_stopped_by_us() -> None:
    for said in (State.RUNNING, State.COMPLETE, State.WAITING):
        verdict = fold([seen(Source.HOOK, said)], now=NOW)
        assert states.interrupted(verdict, "`wl interrupt`") is None
    assert states.interrupted(fold([], now=NOW), "`wl interrupt`") is None


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


def test_a_goal_completed_without_a_tool_call_is_doubted() -> None:
    done = seen(Source.HOOK, State.COMPLETE)
    assert states.claimed(done, tools=1) == done
    doubted = states.claimed(done, tools=0)
    assert doubted.value is State.WAITING
    assert "not called a single tool" in doubted.evidence
