"""When a limit is over: every form in which programs say it, in every zone, and what is guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import limit_reset
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State

SEEN = datetime(2026, 11, 18, 13, 20, tzinfo=UTC)
"""A Wednesday."""
HOME = timezone(timedelta(hours=2))
ZONES = {"": HOME, "UTC": UTC, "America/Santiago": timezone(timedelta(hours=-3))}


def zones(name: str) -> tzinfo:
    return ZONES[name]


def read(text: str, seen: datetime = SEEN) -> datetime | None:
    moment = limit_reset.reset_at(text, seen_at=seen.timestamp(), zones=zones)
    return None if moment is None else datetime.fromtimestamp(moment, UTC)


def utc(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("You've hit your session limit · resets 5pm (UTC)", utc(18, 17)),
        ("You've hit your limit · resets 5pm", utc(18, 15)),  # the machine's own zone
        ("You've hit your limit · resets 5pm and not sooner", utc(18, 15)),
        ("You've hit your limit · resets 5pm UTC", utc(18, 17)),
        ("5-hour limit reached ∙ resets 5:30pm", utc(18, 15, 30)),
        (
            "Claude usage limit reached. Your limit will reset at 5pm (America/Santiago).",
            utc(18, 20),
        ),
        ("Usage limit reached. Resets at 17:45 (UTC)", utc(18, 17, 45)),
        ("usage limit reached, reset at 12am (UTC)", utc(19, 0)),
        ("usage limit reached, resets 12pm (UTC)", utc(19, 12)),
        ("Limit reached · resets 1pm (UTC)", utc(18, 13)),  # has just passed
        ("Limit reached · resets 11am (UTC)", utc(19, 11)),
        ("Weekly limit reached ∙ resets Nov 21, 1pm (UTC)", utc(21, 13)),
        ("Weekly limit reached ∙ resets Nov 21 at 1:15pm (UTC)", utc(21, 13, 15)),
        ("You've hit your weekly limit · resets Dec 2 (UTC)", utc(2, 0, month=12)),
        ("Opus weekly limit reached ∙ resets Mon 3pm (UTC)", utc(23, 15)),
        ("Opus weekly limit reached ∙ resets Wednesday 3pm (UTC)", utc(18, 15)),
        ("limit reached, resets tomorrow at 9am (UTC)", utc(19, 9)),
        (f"Claude AI usage limit reached|{int(utc(18, 16).timestamp())}", utc(18, 16)),
        (f"Claude AI usage limit reached|{int(utc(18, 16).timestamp())}000", utc(18, 16)),
        ("Rate limit reached. Try again in 5 minutes", utc(18, 13, 25)),
        ("limit · resets in 2h 5m", utc(18, 15, 25)),
        ("limit · resets in 1 day and 2 hours", utc(19, 15, 20)),
        ("429 rate_limit_error, retry-after: 600", utc(18, 13, 30)),
        ("limit will reset at 2026-11-18T16:00:00Z", utc(18, 16)),
        ("limit will reset at 2026-11-18 16:00", utc(18, 14)),
    ],
)
def test_a_time_of_reset_is_read_in_every_form(text: str, over: datetime) -> None:
    assert read(text) == over


@pytest.mark.parametrize(
    "text",
    [
        "429 Too Many Requests",
        "You've hit your limit",
        "resets soon",
        "resets 3",
        "resets 13pm (UTC)",
        "resets 3pm (Nowhere/Atall)",
        "resets Feb 30, 3pm (UTC)",
        "resets Nov 18, 1999, 3pm",
        "limit reached|1749924000",  # long ago
        "limit will reset at 2031-11-18T16:00:00Z",
        '429 {"type":"error"}',
        "",
    ],
)
def test_what_is_no_time_is_not_taken_for_one(text: str) -> None:
    assert read(text) is None


def test_new_year_lies_between_a_limit_and_its_reset() -> None:
    seen = datetime(2026, 12, 30, 12, tzinfo=UTC)
    assert read("resets Jan 2, 3pm (UTC)", seen) == datetime(2027, 1, 2, 15, tzinfo=UTC)


@given(st.text(max_size=200), st.floats(0, 4e9))
def test_no_text_is_too_odd(text: str, seen_at: float) -> None:
    moment = limit_reset.reset_at(f"resets {text}", seen_at=seen_at, zones=zones)
    assert moment is None or moment > seen_at - 7200


def limited(text: str, **more: object) -> Observation:
    told = {"source": Source.HOOK, "at": SEEN.timestamp(), "session": 1, **more}
    reason = Reason(kind="turn_failed", text=text)
    return Observation(value=State.RATE_LIMITED, reason=reason, **told)  # type: ignore[arg-type]


def test_a_time_that_cannot_be_read_is_tried_after_five_minutes_and_ever_later() -> None:
    pauses = [limit_reset.back_off(tries) / 60 for tries in range(6)]
    assert pauses == [5, 10, 20, 40, 60, 60]
    seen = limited("rate_limit")
    assert (
        limit_reset.due(seen, [], pause=limit_reset.back_off(0), last_try=None, zones=zones)
        == seen.at + 300
    )
    assert (
        limit_reset.due(seen, [], pause=limit_reset.back_off(1), last_try=seen.at - 9, zones=zones)
        == seen.at + 600
    )


def test_nobody_is_due_before_the_limit_was_seen() -> None:
    seen = limited("Limit reached · resets 1pm (UTC)")
    assert (
        limit_reset.due(seen, [], pause=limit_reset.back_off(0), last_try=None, zones=zones)
        == seen.at
    )
    assert (
        limit_reset.due(
            seen, [], pause=limit_reset.back_off(1), last_try=seen.at - 3600, zones=zones
        )
        == seen.at
    )


def test_a_screen_may_tell_the_time_that_a_hook_leaves_out() -> None:
    reason = Reason(kind="screen", rule="usage-limit", text="limit · resets 5pm (UTC)")
    screen = Observation(
        source=Source.SCREEN,
        value=State.RATE_LIMITED,
        at=SEEN.timestamp(),
        reason=reason,
        session=1,
    )
    moment = limit_reset.due(
        limited("rate_limit"), [screen], pause=limit_reset.back_off(0), last_try=None, zones=zones
    )
    assert moment == utc(18, 17).timestamp()


def test_a_time_that_has_passed_is_not_tried_again_at_once() -> None:
    seen = limited("resets 1pm (UTC)")
    moment = limit_reset.due(
        seen, [], pause=limit_reset.back_off(1), last_try=seen.at + 10, zones=zones
    )
    assert moment == seen.at + 10 + 600


def test_who_asks_again_by_itself_is_not_parked() -> None:
    retrying = Reason(kind="screen", rule="api-retrying", text="Retrying in 18s")
    seen = Observation(
        source=Source.SCREEN, value=State.RATE_LIMITED, at=0.0, reason=retrying, session=1
    )
    assert not limit_reset.is_parked(seen)
    assert limit_reset.is_parked(limited("429"))
    assert not limit_reset.is_parked(None)
