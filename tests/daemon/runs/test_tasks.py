"""One task: shown, given up, tried once more; and the whole board paused."""

from __future__ import annotations

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED

from windlass.core.errors import ConfigError, Conflict, NotFound


def test_a_task_is_shown_with_its_run_and_its_reports(board: RunGround) -> None:
    """By its id in any case; before and after somebody has worked on it."""
    shown = board.workshop.ask("task", task="api-1")
    assert (shown["task"], shown["marker"], shown["run"]) == ("API-1", " ", None)
    assert "Write more.py" in shown["document"]
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    shown = board.workshop.ask("task", task="API-1")
    assert (shown["marker"], shown["run"]["state"]) == ("x", "landed")
    assert [report["text"] for report in shown["reports"]] == ["It is there."]
    with pytest.raises(NotFound, match="no task NO-9"):
        board.workshop.ask("task", task="NO-9")


def test_a_task_that_is_dropped_is_stopped_and_not_begun_again(board: RunGround) -> None:
    """Its session ends, its branch stays, and what needs it is blocked."""
    board.run()
    agent = board.agent("api-1")
    board.workshop.ask("task.drop", task="api-1", why="not wanted")
    board.settle()
    assert board.markers()["API-1"] == "N"
    assert not board.workshop.session(agent).alive
    task = board.task("API-1")
    assert (task["state"], task["why"]) == ("dropped", "not wanted")
    assert board.workshop.ask("runs")["is_over"]


def test_the_change_of_a_task_that_is_dropped_does_not_land(board: RunGround) -> None:
    """It is out of the queue when the run is over."""
    board.pipeline([{"id": "execution", "agent": "worker"}])
    board.run()
    board.commit(board.agent("api-1"), {"AGENTS.md": "steers others\n"})
    board.speak("api-1", PASSED)
    assert board.change("c1")["state"] == "held"
    board.workshop.ask("task.drop", task="API-1")
    board.settle()
    assert board.change("c1")["state"] == "dropped"
    assert board.markers()["API-1"] == "N"


def test_a_task_that_failed_is_tried_once_more_with_a_branch_of_its_own(board: RunGround) -> None:
    """One that is at work is not, nor one that is done."""
    board.run()
    with pytest.raises(Conflict, match="at work already"):
        board.workshop.ask("task.retry", task="API-1")
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", "<result>FAIL</result>")
    assert board.markers()["API-1"] == "*"
    board.workshop.ask("task.retry", task="API-1")
    board.run(tasks=["API-1"])
    board.commit(board.agent("api-1-2"), {"more.py": "more = 1\n"})
    board.speak("api-1-2", PASSED)
    assert board.task("API-1")["state"] == "landed"
    with pytest.raises(Conflict, match="is done"):
        board.workshop.ask("task.retry", task="API-1")


def test_nothing_more_is_begun_while_the_board_is_paused(board: RunGround) -> None:
    """What is at work goes on to its end; then it is said once more, and goes on."""
    board.run()
    paused = board.workshop.ask("run.pause", paused=True)
    assert paused["running"] == 1
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert board.markers() == {"API-1": "x", "API-2": " "}
    assert not board.workshop.ask("runs")["is_over"]
    board.workshop.ask("run.pause", paused=False)
    board.settle()
    assert board.markers() == {"API-1": "x", "API-2": "="}


def test_without_a_board_at_work_nothing_is_paused(board: RunGround) -> None:
    """Said, with what begins it."""
    board.workshop.ask("task", task="API-1")
    with pytest.raises(Conflict, match="no board"):
        board.workshop.ask("run.pause", paused=True)


def test_nothing_begins_where_no_session_could_be_started(
    board: RunGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said at once, and not by every task that fails of it."""

    def lacks() -> None:
        raise ConfigError("tmux is not installed", "install it")

    monkeypatch.setattr(board.workshop.context.sessions.terminal, "require_version", lacks)
    with pytest.raises(ConfigError, match="tmux is not installed"):
        board.run()
    assert board.markers() == {"API-1": " ", "API-2": " "}
