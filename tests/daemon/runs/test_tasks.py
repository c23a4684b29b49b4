"""One task: shown, given up, tried once more; and the whole board paused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED
from tests.support.workshop import git

from windlass.core.errors import ConfigError, Conflict, NotFound, UserError
from windlass.store import jobs as rows


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


def test_a_task_says_which_others_it_waits_for_and_where_they_are(board: RunGround) -> None:
    """Before anything is begun, and after one of them has failed."""
    assert board.workshop.ask("task", task="API-1")["waits"] == ""
    assert board.workshop.ask("task", task="API-2")["waits"] == "for API-1 (pending)"
    board.run()
    board.speak("api-1", "<result>FAIL</result>")
    assert board.workshop.ask("task", task="API-2")["waits"] == "for API-1 (failed)"


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
    held = board.task("API-1")
    assert board.change("c1")["state"] == "held"
    assert (held["state"], held["why"][:10]) == ("waits to land", "c1 is held")
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


def test_what_a_failed_submission_had_proposed_does_not_land(board: RunGround) -> None:
    """The run has failed, so its change is taken out of the queue, and is named with it."""
    failpoints = board.workshop.context.failpoints

    def reached(name: str) -> None:
        if name == "run.submit.mark.before":
            raise UserError("nobody can mark it", "")

    board.run(tasks=["API-1"])
    failpoints.reached = reached  # type: ignore[method-assign]
    board.commit(board.agent("api-1"), {"AGENTS.md": "steers others\n"})
    board.speak("api-1", PASSED)
    task = board.task("API-1")
    assert (task["state"], task["why"]) == ("failed", "nobody can mark it")
    assert (task["change"], board.change("c1")["state"]) == ("c1", "dropped")
    assert board.markers()["API-1"] == "*"


def test_a_change_that_came_back_too_often_stays_as_it_came_back(board: RunGround) -> None:
    """The person may go on with it: nothing of it lands by itself."""
    config = board.workshop.context.folders.home / "config.toml"
    config.write_text(config.read_text() + "\n[landing]\nmax_attempts = 1\n")
    board.run(tasks=["API-1"])
    board.commit(board.agent("api-1"), {"calc.py": "def add(a, b):\n    return a - b\n"})
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "failed"
    assert board.change("c1")["state"] == "rejected"


@pytest.mark.parametrize("on_branch", [True, False])
def test_commits_beside_the_branch_are_said_with_the_end_of_the_run(
    board: RunGround, on_branch: bool
) -> None:
    """They do not land, and are in the trash once the agent has ended."""
    board.run(tasks=["API-1"])
    agent = board.agent("api-1")
    if on_branch:
        board.commit(agent, {"more.py": "more = 1\n"})
    git(Path(agent.workspace), "checkout", "-q", "--detach")
    beside = board.commit(agent, {"most.py": "most = 1\n"})
    board.speak("api-1", PASSED)
    task = board.task("API-1")
    assert task["state"] == ("landed" if on_branch else "failed")
    assert "on a detached HEAD, with commits that agent/api-1 lacks" in task["why"]
    assert not (board.root / "most.py").exists()
    kept = git(board.root, "for-each-ref", "--contains", beside, "--format=%(refname)")
    assert ("refs/windlass/trash/api-1/" in kept) == on_branch


def test_a_run_that_an_older_schedule_left_open_is_shown(board: RunGround) -> None:
    """Also once it has ended, and no other of that time."""
    board.run(tasks=["API-1"])
    context = board.workshop.context
    older = context.store.read(lambda c: rows.listed(c, status="open"))
    (schedule,) = (job for job in older if job.kind == "schedule")
    context.store.write(lambda w: board.workshop.services.jobs.cancel(w, schedule, "enough"))
    board.settle()
    board.later(60)
    board.run(tasks=["API-2"])
    assert board.task("API-1")["state"] == "works"
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
