"""Runs that wait for money or for their model, and what is said of them meanwhile."""

from __future__ import annotations

from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED

from windlass.core.runs.backend import LONGEST
from windlass.store import rows

TASKS = "## TASKS\n\n" + "".join(
    f"- [ ] **[TT-{n}]** Do {n}\n  - Priority: LOW\n  - Dependencies: none\n" for n in range(1, 5)
)


def configure(board: RunGround, text: str) -> None:
    """Adds to the person's own configuration."""
    path = board.workshop.context.folders.home / "config.toml"
    path.write_text(path.read_text() + text)


def test_a_visit_that_spends_its_budget_ends_and_a_handled_one_goes_on(board: RunGround) -> None:
    """Its report says why; the next step has a budget of its own."""
    configure(board, "[budget]\nstep = 1\n")
    dear = {"id": "look", "agent": "worker", "on_result": {"UNKNOWN": {"jump": "next"}}}
    board.pipeline([dear, {"id": "execution", "agent": "worker"}])
    board.run()
    board.spend("api-1", 1.5)
    board.judge("api-1")
    task = board.task("API-1")
    assert [visit["result"] for visit in task["visits"]] == ["UNKNOWN"]
    assert (task["step"], task["state"]) == ("execution", "works")
    assert "budget.step" in board.workshop.ask("task", task="API-1")["reports"][0]["text"]
    board.judge("api-1")
    assert board.task("API-1")["state"] == "works"


def test_a_run_that_spends_its_budget_fails_and_says_so(board: RunGround) -> None:
    """Its branch is kept; nobody is paused, and a second try has a budget of its own."""
    configure(board, "[budget]\nrun = 2\n")
    board.run()
    board.spend("api-1", 2.5)
    board.judge("api-1")
    task = board.task("API-1")
    assert task["state"] == "failed"
    assert task["why"] == "the run of API-1 has cost 2.50 of 2.00 USD (budget.run)"
    assert board.markers()["API-1"] == "*"


def test_a_step_does_not_begin_while_everybodys_money_is_spent(board: RunGround) -> None:
    """It says why, and begins when there is some again."""
    board.pipeline([{"id": "one", "agent": "worker"}, {"id": "two", "agent": "worker"}])
    board.run()
    board.spend("api-1", 3.0)
    home = board.workshop.context.folders.home
    own = (home / "config.toml").read_text()
    configure(board, "[budget]\nrepo = 2\n")
    board.speak("api-1", PASSED)
    task = board.task("API-1")
    assert (task["step"], task["state"]) == ("two", "waits")
    assert "budget.repo" in task["why"]
    (home / "config.toml").write_text(own)
    board.later(301)
    assert board.task("API-1")["state"] == "works"


def test_runs_whose_model_is_down_wait_together_and_go_on_one_after_the_other(
    board: RunGround,
) -> None:
    """For longer than six tries of each would take; no further task is begun meanwhile."""
    board.board_file.write_text(TASKS)
    board.run(workers=3)
    for name in ("tt-1", "tt-2", "tt-3"):
        board.fail(name, "server_error")
    for number in range(1, 4):
        task = board.task(f"TT-{number}")
        assert (task["state"], "server_error" in task["why"]) == ("waits", True)
    tried = 0
    for _ in range(60):
        board.later(60)
        for name in ("tt-1", "tt-2", "tt-3"):
            if board.task(name.upper())["state"] == "works":
                tried += 1
                board.fail(name, "server_error")
    assert 8 < tried < 25
    events = board.workshop.context.store.read(rows.events)
    assert [event.kind for event in events].count("backend.down") == 1
    board.later(LONGEST * 1.5)
    first = next(n for n in range(1, 4) if board.task(f"TT-{n}")["state"] == "works")
    board.commit(board.agent(f"tt-{first}"), {f"f{first}.py": "x = 1\n"})
    board.speak(f"tt-{first}", PASSED)
    board.later(LONGEST * 1.5)
    board.later(60)
    states = [board.task(f"TT-{n}")["state"] for n in range(1, 4)]
    assert sorted(states) == ["landed", "works", "works"]


def test_a_run_whose_agent_is_paused_says_why(board: RunGround) -> None:
    """As its agent's own state does: for an agent's own budget, or by somebody's word."""
    board.run()
    board.workshop.ask("pause", agent="api-1")
    board.settle()
    task = board.task("API-1")
    assert (task["state"], "paused" in task["why"]) == ("waits", True)
