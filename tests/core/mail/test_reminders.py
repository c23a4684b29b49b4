"""When an idle agent is reminded, and who never is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.agents import an_agent

from windlass.core.mail import reminders
from windlass.core.mail.reminders import Moment, Rest
from windlass.core.reasons import Reason, words
from windlass.core.states import State

FIRST, MOST = 120.0, 4
IDLE = Reason(kind="idle")
FAILED = Reason(kind="turn_failed", text="529")


def idle(*moments: Moment, **more: Any) -> Rest:
    given_rest = {"state": State.WAITING, "reason": IDLE, "since": 0.0, "moments": moments}
    return Rest(**{**given_rest, **more})


def step(rest: Rest, now: float, most: int = MOST) -> str | None:
    return reminders.step(rest, now=now, first=FIRST, most=most)


def played(most: int, *, turn: float, until: float) -> list[tuple[float, str]]:
    """What an agent gets that answers each reminder with a turn and is idle again."""
    since, moments, got = 0.0, list[Moment](), list[tuple[float, str]]()
    now = 0.0
    while now < until:
        due = step(idle(*moments, since=since), now, most)
        if due is not None:
            got.append((now, due))
            moments.append(Moment(now, "reminder" if due == "reminder" else "over"))
            since = now + turn if due == "reminder" else since
        now += 5.0
    return got


def test_reminders_come_ever_later_and_end_with_somebody_else() -> None:
    assert played(4, turn=0.0, until=90_000) == [
        (120, "reminder"), (360, "reminder"), (840, "reminder"), (1800, "reminder"), (1920, "over"),
    ]  # fmt: skip
    assert [at for at, _ in played(4, turn=30.0, until=90_000)] == [120, 390, 900, 1890, 2040]
    assert [what for _, what in played(1, turn=0.0, until=9_000)] == ["reminder", "over"]
    assert played(0, turn=0.0, until=9_000) == []


def test_the_count_starts_anew_when_something_else_set_it_going() -> None:
    sent = [Moment(float(at), "reminder") for at in (120, 360, 840)]
    assert len(reminders.streak(sent)) == 3
    assert reminders.streak([*sent, Moment(900.0, "other")]) == []
    later = [*sent, Moment(500.0, "other")]
    assert reminders.streak(later) == [sent[2]]
    assert step(idle(*later, since=1000.0), 1239.0) is None
    assert step(idle(*later, since=1000.0), 1240.0) == "reminder"
    over = [*sent, Moment(900.0, "over")]
    assert step(idle(*over, since=950.0), 90_000.0) is None
    assert step(idle(*over, Moment(1000.0, "other"), since=1100.0), 1220.0) == "reminder"


@pytest.mark.parametrize(
    ("reason", "due"),
    [
        (IDLE, True), (FAILED, True), (Reason(kind="claimed_waiting"), False),
        (Reason(kind="idle", tasks=("make",)), False), (Reason(kind="interrupted"), False),
        (Reason(kind="status_idle"), False), (Reason(kind="claim_doubted"), False),
        (Reason(kind="session_taken_up", text="resume"), False),
        (words("idle"), False), (words("turn ended by an error: 529"), False),
    ],
)  # fmt: skip
def test_only_who_is_idle_for_no_reason_is_reminded(reason: Reason, *, due: bool) -> None:
    assert (step(idle(reason=reason), 1e6) == "reminder") is due


rests = st.builds(
    Rest,
    state=st.sampled_from(State),
    reason=st.sampled_from(
        [IDLE, FAILED, Reason(kind="claimed_waiting"), Reason(kind="prompt_taken")]
    ),
    since=st.floats(0, 1e6),
    root=st.booleans(),
    expects=st.booleans(),
    moments=st.lists(
        st.builds(
            Moment, at=st.floats(0, 1e6), what=st.sampled_from(["reminder", "over", "other"])
        ),
        max_size=8,
    ),
)


@given(rests, st.floats(0, 1e7), st.integers(0, 6))
def test_nobody_is_reminded_who_is_busy_or_expects_something_or_is_a_root(
    rest: Rest, now: float, most: int
) -> None:
    due = step(rest, now, most)
    if due is None:
        return
    assert rest.state is State.WAITING
    assert rest.reason in (IDLE, FAILED)
    assert not rest.root
    assert not rest.expects
    assert now - rest.since >= FIRST
    tried = reminders.streak(rest.moments)
    assert all(one.what == "reminder" for one in tried)
    assert len(tried) < most if due == "reminder" else len(tried) >= most > 0


def test_the_words_fit_the_reason() -> None:
    assert reminders.reminder(IDLE).startswith("You are idle and have not said that you are done.")
    assert reminders.reminder(FAILED).startswith("Your turn ended by an error: 529. Go on;")
    for word in ("WAITING", "I HAVE COMPLETED THE GOAL"):
        assert word in reminders.reminder(IDLE)
    told = reminders.unmoved(an_agent("fox"), 4)
    assert told.startswith("fox is idle and not done, and 4 reminders changed nothing.")
    assert "1 reminder changed" in reminders.unmoved(an_agent("fox"), 1)
