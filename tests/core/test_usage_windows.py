"""Usage windows as programs tell of them: which are believed, and which are too full."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.core import usage_windows
from windlass.core.claude import rate_limits, screen
from windlass.core.usage_windows import UsageWindow
from windlass.daemon.kernel import clock

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
RULE = "─" * 80


def line(**info: Any) -> dict[str, Any]:
    return {"type": "rate_limit_event", "rate_limit_info": info, "uuid": "u", "session_id": "s"}


@pytest.mark.parametrize("used", [0.85, 85])
@pytest.mark.parametrize("resets", [NOON + HOUR, (NOON + HOUR) * 1000])
def test_a_line_of_output_tells_how_much_is_used(used: float, resets: float) -> None:
    told = line(
        status="allowed_warning", rateLimitType="five_hour", utilization=used, resetsAt=resets
    )
    seen = rate_limits.from_output(told, at=NOON)
    assert seen == UsageWindow(name="five_hour", percent=85.0, resets_at=NOON + HOUR)


def test_a_window_that_rejects_is_used_up() -> None:
    told = line(status="rejected", rateLimitType="seven_day", resetsAt=NOON + 24 * HOUR)
    seen = rate_limits.from_output(told, at=NOON)
    assert seen is not None
    assert seen.percent == 100


@pytest.mark.parametrize(
    "told",
    [
        None,
        "text",
        {"type": "result"},
        line(),
        line(rateLimitType="five_hour", utilization=0.9),
        line(rateLimitType="five_hour", utilization=True, resetsAt=NOON + 1),
        line(rateLimitType="five_hour", utilization=0.9, resetsAt="soon"),
        line(rateLimitType="five_hour", utilization=-1, resetsAt=NOON + 1),
        line(rateLimitType="five_hour", utilization=0.9, resetsAt=NOON - 1),
        line(rateLimitType="five_hour", utilization=0.9, resetsAt=NOON + 7 * HOUR),
        line(rateLimitType="seven_day", utilization=0.9, resetsAt=NOON + 10 * 24 * HOUR),
        line(rateLimitType="x" * 41, utilization=0.9, resetsAt=NOON + HOUR),
        line(rateLimitType="a\x1b[2J", utilization=0.9, resetsAt=NOON + HOUR),
        line(rateLimitType="five_hour", utilization=10**400, resetsAt=NOON + HOUR),
    ],
)
def test_what_no_window_could_be_is_not_believed(told: Any) -> None:
    assert rate_limits.from_output(told, at=NOON) is None


@pytest.mark.parametrize(
    ("said", "name", "percent", "hours"),
    [
        ("You've used 85% of your session limit · resets 3pm (UTC)", "five_hour", 85, 3),
        ("You've used 91% of your weekly limit · resets Nov 20, 12pm (UTC)", "seven_day", 91, 48),
        ("You've hit your session limit · resets 3pm (UTC)", "five_hour", 100, 3),
        ("You've used 76% of your Opus limit · resets in 30h", "opus", 76, 30),
    ],
)
def test_words_for_people_tell_it_too(said: str, name: str, percent: float, hours: float) -> None:
    seen = usage_windows.from_words(said, seen_at=NOON, zones=clock.zone)
    assert seen == UsageWindow(name=name, percent=percent, resets_at=NOON + hours * HOUR)


def test_only_what_stands_below_the_prompt_is_read_from_a_screen() -> None:
    said = "You've used 85% of your session limit · resets 3pm (UTC)"
    below = f"● done\n\n{RULE}\n\u276f \n{RULE}\n  ? for shortcuts      {said}\n"
    assert screen.read(below).window == said
    quoted = f"● {said}\n\n{RULE}\n\u276f \n{RULE}\n  ? for shortcuts\n"
    assert screen.read(quoted).window == ""


def test_a_window_counts_above_the_limit_and_until_it_begins_anew() -> None:
    window = UsageWindow(name="five_hour", percent=81, resets_at=NOON + HOUR)
    week = UsageWindow(name="seven_day", percent=80, resets_at=NOON + 9 * HOUR)
    assert usage_windows.too_full([window, week], most=80, now=NOON) == window
    assert usage_windows.too_full([window, week], most=79, now=NOON) == week
    assert usage_windows.too_full([window], most=80, now=NOON + HOUR) is None
