"""Steps that go round until they are done, and those who look at them meanwhile."""

from __future__ import annotations

import json
from subprocess import CalledProcessError
from typing import Any

import pytest
from tests.daemon.runs.run_ground import BOARD, RunGround
from tests.daemon.runs.test_runs import PASSED
from tests.support.workshop import git

from windlass.core.errors import UserError

LEFT = "<report>One half is there.</report>"


def told(board: RunGround) -> str:
    """What the session of the task that runs was told first."""
    return board.workshop.session(board.agent("api-1")).received.decode()


def looping(board: RunGround, **config: Any) -> None:
    """A pipeline of one step that goes round."""
    config = {"mode": "loop", "iterations": 3, **config}
    board.pipeline([{"id": "execution", "agent": "worker", "config": config}])


def test_each_iteration_has_a_conversation_of_its_own_and_knows_what_came_before(
    board: RunGround,
) -> None:
    """The summary is what the agent said itself; what it left lies in the folder of the visit."""
    board.board_file.write_text(BOARD.replace("Write more.py", "x\n  - Scope:\n    - write more"))
    looping(board)
    board.run(tasks=["API-1"])
    first = board.agent("api-1")
    assert "iteration 1 of at most 3" in told(board)
    board.speak("api-1", LEFT)
    second = board.agent("api-1")
    assert (second.uid, second.session) == (first.uid, 2)
    assert second.conversation != first.conversation
    assert "iteration 2 of at most 3" in told(board)
    assert "One half is there." in told(board)
    assert "- [ ] write more" in told(board)
    assert board.started_with("api-1")["WINDLASS_ITERATION"] == "2"
    board.commit(second, {"more.py": "more = 1\n"})
    board.speak("api-1", "- [x] write more")
    task = board.task("API-1")
    assert (task["state"], task["visits"][0]["iterations"]) == ("landed", 2)
    assert "execution.1/1.md" in board.files("API-1")


def test_a_supervisor_has_a_step_begin_anew_and_its_tree_with_it(board: RunGround) -> None:
    """What was done is in the trash; the feedback is all that is left, and STOP ends the loop."""
    looping(board, supervisor_interval=1)
    board.run(tasks=["API-1"])
    agent = board.agent("api-1")
    before = git(board.workspace("api-1"), "rev-parse", "HEAD")
    board.commit(agent, {"wrong.py": "wrong = 1\n"})
    (board.workspace("api-1") / "stray.txt").write_text("stray\n")
    board.speak("api-1", LEFT)
    assert (board.agent("api-1").role, board.agent("api-1").readonly) == ("loop-supervisor", True)
    assert board.started_with("api-1")["WINDLASS_STEP"] == "execution.supervisor"
    assert "CONTINUE|STOP|RESTART" in told(board)
    assert (board.task("API-1")["iteration"], board.task("API-1")["duty"]) == (1, "supervisor")
    assert "One half is there." in told(board)
    board.speak("api-1", "<report>No more wrong.py.</report><result>RESTART</result>")
    assert git(board.workspace("api-1"), "rev-parse", "HEAD") == before
    assert not (board.workspace("api-1") / "stray.txt").exists()
    kept = git(board.root, "for-each-ref", "refs/windlass/trash/api-1", "--format=%(refname)")
    assert kept.strip()
    assert (board.agent("api-1").role, board.agent("api-1").readonly) == ("worker", False)
    assert "No more wrong.py." in told(board)
    assert "One half is there." not in told(board)
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", LEFT)
    board.speak("api-1", "<report>It is enough.</report><result>STOP</result>")
    assert "The supervisor has ended this step" in told(board)
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    assert not (board.root / "wrong.py").exists()
    events = board.workshop.ask("runs", after=0)["events"]
    said = [(e["duty"], e.get("answer", "")) for e in events if e["kind"] == "step.iterated"]
    assert said == [
        ("work", ""),
        ("supervisor", "RESTART"),
        ("work", ""),
        ("supervisor", "STOP"),
    ]


def test_a_step_begins_anew_whatever_it_left_half_done(board: RunGround) -> None:
    """A rebase that conflicts on a detached HEAD, repositories inside; the setup's files stay."""
    with (board.workshop.context.folders.home / "config.toml").open("a") as file:
        file.write("[workspace]\nsetup = \"mkdir -p 'ge n' && echo s > 'ge n/made[1].txt'\"\n")
    looping(board, supervisor_interval=1)
    board.run(tasks=["API-1"])
    place = board.workspace("api-1")
    before = git(place, "rev-parse", "HEAD")
    board.write(place, {"calc.py": "mine = 1\n"})
    git(place, "commit", "-q", "-m", "mine", "calc.py")
    git(place, "checkout", "-q", "--detach", before.strip())
    board.write(place, {"calc.py": "other = 1\n", "ge n/stray.txt": "stray\n"})
    git(place, "commit", "-q", "-m", "other", "calc.py")
    with pytest.raises(CalledProcessError):
        git(place, "rebase", "-q", "agent/api-1")
    git(place, "init", "-q", "inside")
    board.write(place, {"inside/more.txt": "more\n"})
    git(place, "init", "-q", "empty")
    board.speak("api-1", LEFT)
    board.speak("api-1", "<report>Begin anew.</report><result>RESTART</result>")
    assert git(place, "status", "--porcelain=v2", "--branch").splitlines()[:2] == [
        f"# branch.oid {before.strip()}",
        "# branch.head agent/api-1",
    ]
    assert not (place / ".git" / "rebase-merge").exists()
    assert [path.name for path in (place / "ge n").iterdir()] == ["made[1].txt"]
    assert not (place / "inside").exists()
    assert not (place / "empty").exists()


def test_what_is_no_work_of_a_step_is_not_committed_with_it(board: RunGround) -> None:
    """What the setup left, and a repository inside, which no commit could hold."""
    with (board.workshop.context.folders.home / "config.toml").open("a") as file:
        file.write("[workspace]\nsetup = \"echo s > 'made *.txt'\"\n")
    board.pipeline([{"id": "execution", "agent": "worker", "commit_after": True}])
    board.run(tasks=["API-1"])
    place = board.workspace("api-1")
    git(place, "init", "-q", "inside")
    git(place, "init", "-q", "empty")
    board.write(place, {"made more.txt": "more\n", "inside/more.txt": "more\n"})
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    assert (board.root / "made more.txt").exists()
    assert not (board.root / "inside").exists()
    assert not (board.root / "made *.txt").exists()


def test_who_looks_at_a_step_leaves_its_work_as_it_was(board: RunGround) -> None:
    """What the step left is committed before; what the supervisor wrote is taken back."""
    looping(board, supervisor_interval=1)
    board.run(tasks=["API-1"])
    (board.workspace("api-1") / "more.py").write_text("more = 1\n")
    board.speak("api-1", LEFT)
    (board.workspace("api-1") / "more.py").write_text("more = 2\n")
    (board.workspace("api-1") / "stray.txt").write_text("stray\n")
    board.speak("api-1", "<report>Go on.</report><result>CONTINUE</result>")
    assert (board.workspace("api-1") / "more.py").read_text() == "more = 1\n"
    assert not (board.workspace("api-1") / "stray.txt").exists()
    board.speak("api-1", "DONE")
    assert board.task("API-1")["state"] == "landed"


def test_iterations_that_are_used_up_are_told_as_the_reason(board: RunGround) -> None:
    looping(board, iterations=1)
    board.run(tasks=["API-1"])
    board.speak("api-1", LEFT)
    board.speak("api-1", LEFT)
    task = board.task("API-1")
    assert (task["state"], task["visits"][0]["exhausted"]) == ("failed", True)
    assert "used up its 1 iterations" in task["why"]


def test_a_role_of_the_repository_sums_up_what_an_iteration_came_to(board: RunGround) -> None:
    """Where there is none, the agent's own words do; that costs no session."""
    roles = board.root / ".windlass" / "roles"
    roles.mkdir()
    (roles / "task-summarizer.md").write_text("---\nmodel: small\n---\nBe brief.\n")
    looping(board)
    board.run(tasks=["API-1"])
    board.speak("api-1", LEFT)
    agent = board.agent("api-1")
    assert (agent.role, agent.model) == ("task-summarizer", "small")
    assert "You sum up iteration 1" in told(board)
    board.speak("api-1", "<report>Half, in short.</report>")
    agent = board.agent("api-1")
    assert (agent.role, agent.model) == ("worker", None)
    assert "Half, in short." in told(board)


def test_the_environment_goes_before_the_configuration_and_that_before_the_pipeline(
    board: RunGround,
) -> None:
    looping(board, turns=5, iterations=5)
    with (board.workshop.context.folders.home / "config.toml").open("a") as file:
        file.write("[roles.worker]\nturns = 6\n")
    board.run(tasks=["API-1"], overrides=["WINDLASS_WORKER_MAX_ITERATIONS=2"])
    assert "at most 2" in told(board)
    session = board.workshop.session(board.agent("api-1"))
    argv = session.launch.argv
    assert argv[argv.index("--max-turns") + 1] == "6"
    with pytest.raises(UserError, match="WINDLASS_WORKER_MAX_ITERATIONS is '0'"):
        board.run(overrides=["WINDLASS_WORKER_MAX_ITERATIONS=0"])


def test_a_step_whose_role_is_live_can_be_joined_and_the_others_are_headless(
    board: RunGround,
) -> None:
    live = {"id": "look", "agent": "worker", "config": {"mode": "live"}}
    board.pipeline([{"id": "execution", "agent": "worker"}, live])
    board.run(tasks=["API-1"])
    assert board.agent("api-1").mode == "headless"
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert board.agent("api-1").mode == "live"
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"


def test_all_sessions_are_live_where_the_configuration_says_so(board: RunGround) -> None:
    with (board.workshop.context.folders.home / "config.toml").open("a") as file:
        file.write('[run]\nsessions = "live"\n')
    board.run(tasks=["API-1"])
    assert board.agent("api-1").mode == "live"


def test_what_a_pipeline_says_wrong_of_a_role_is_told_before_anything_begins(
    board: RunGround,
) -> None:
    looping(board, iterations="many")
    with pytest.raises(Exception, match="iterations is 'many'"):
        board.run(tasks=["API-1"])
    assert board.markers()["API-1"] == " "


def test_a_session_that_used_up_its_turns_ends_its_iteration(board: RunGround) -> None:
    """No hook tells of that, and the session is over with it."""
    looping(board, turns=2)
    board.run(tasks=["API-1"])
    session = board.workshop.session(board.agent("api-1"))
    session.hook("SessionStart", source="startup")
    session.hook("UserPromptSubmit", prompt="go on")
    result = {"type": "result", "subtype": "error_max_turns", "is_error": True}
    session.say(f"{json.dumps(result)}\n")
    session.end(1)
    board.workshop.state(board.agent("api-1"))
    board.settle()
    assert "iteration 2 of at most 3" in told(board)
    assert "used up the turns of its session" in told(board)


def calls_tools(board: RunGround, times: int) -> None:
    """Has the agent go on in its turn, with so many calls of tools."""
    session = board.workshop.session(board.agent("api-1"))
    for _ in range(times):
        session.hook("PreToolUse", tool_name="Bash", tool_input={"command": "true"})
        session.hook("PostToolUse", tool_name="Bash", tool_input={"command": "true"})
    board.workshop.state(board.agent("api-1"))
    board.settle()


def test_a_live_session_that_used_up_its_turns_ends_its_iteration_too(board: RunGround) -> None:
    """Each call of a tool counts as one of them: the third is one too many."""
    looping(board, turns=2)
    board.run(tasks=["API-1"], live=True)
    first = board.agent("api-1").session
    session = board.workshop.session(board.agent("api-1"))
    session.hook("SessionStart", source="startup")
    session.hook("UserPromptSubmit", prompt="go on")
    calls_tools(board, 2)
    assert board.agent("api-1").session == first
    calls_tools(board, 1)
    assert (board.agent("api-1").session, board.task("API-1")["iteration"]) == (first + 1, 2)


def test_a_live_session_has_its_turns_once_more_to_give_its_result(board: RunGround) -> None:
    board.pipeline([{"id": "execution", "agent": "worker", "config": {"turns": 2}}])
    board.run(tasks=["API-1"], live=True)
    session = board.workshop.session(board.agent("api-1"))
    session.hook("SessionStart", source="startup")
    session.hook("UserPromptSubmit", prompt="go on")
    calls_tools(board, 3)
    assert board.asked("api-1") == ["queued"]
    calls_tools(board, 1)
    assert board.task("API-1")["visits"] == []
    calls_tools(board, 1)
    assert [visit["result"] for visit in board.task("API-1")["visits"]] == ["UNKNOWN"]


def test_an_iteration_whose_agent_waits_for_an_answer_is_not_over(board: RunGround) -> None:
    """It has its answer in the same conversation."""
    looping(board)
    board.run(tasks=["API-1"])
    agent = board.agent("api-1")
    board.workshop.ask_as(agent, "ask", text="Which colour?")
    board.speak("api-1", "Which colour?\n\nWAITING")
    assert board.agent("api-1").session == agent.session
    assert board.task("API-1")["why"] == "asks you: Which colour?; wl answer api-1 '...'"
    board.speak("api-1", "<result>FAIL</result>")
    assert board.task("API-1")["visits"][0]["iterations"] == 1
