"""`wl run` on a real daemon: a board of twelve tasks that stand-ins work off."""

from __future__ import annotations

import pytest
from tests.support.ground import Ground
from tests.support.story import FAILED, Story

pytestmark = pytest.mark.slow


def test_a_board_of_twelve_is_worked_off_to_its_end(ground: Ground) -> None:
    """Four at once: what needs another begins when that has landed, and every commit is green."""
    story = Story(ground)
    story.play()
    story.judge()
    assert [event for event in story.told if event["kind"] == "run.waits"]
    red = next(task for task in story.told[-1]["tasks"] if task["task"] == "RED-1")
    assert red["attempts"] == 1
    shown = ground.wl("show", "ui-1").ok().out
    assert "Do UI-1" in shown
    assert "audit: FIX" in shown
    assert "execution gave FAIL" in ground.wl("why", FAILED).ok().out


def test_people_see_what_happens_and_a_table_at_the_end(ground: Ground) -> None:
    Story(ground)
    done = ground.wl("run", "--driver", "standin", "--tasks", "API-1,BAD-1")
    assert done.code == 10, f"{done.out}\n{done.err}"
    assert "API-1     begins; its agent is api-1" in done.out
    assert "API-1     execution: PASS" in done.out
    table = done.out[done.out.index("task ") :]
    assert "landed" in table
    assert "execution gave FAIL" in table
    ground.wl("run", "--max-workers", "0").failed(2)
    ground.wl("run", "--pipeline", "-").failed(2)
    ground.wl("run", "--tasks", ",").failed(2)
    ground.wl("show", "NO-1").failed(8)
