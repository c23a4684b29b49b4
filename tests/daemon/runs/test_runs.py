"""Tasks that are worked off: begun in their order, led through their steps, landed and marked."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from tests.daemon.runs.run_ground import BOARD, RunGround
from tests.support.workshop import git

from windlass.core.errors import ConfigError, Conflict, Denied, NotFound, WindlassError
from windlass.core.runs.run_state import RunState
from windlass.core.shapes import convert
from windlass.daemon.launch.session_request import first_words
from windlass.store import jobs as rows
from windlass.store import rows as agent_rows

PASSED = "<report>It is there.</report>\n<result>PASS</result>"


def test_a_board_is_worked_off_in_the_order_of_its_dependencies(board: RunGround) -> None:
    """The second task begins when the first has landed; only markers change on the board."""
    board.run()
    assert board.markers() == {"API-1": "=", "API-2": " "}
    assert board.task("API-1")["state"] == "works"
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert board.markers() == {"API-1": "x", "API-2": "="}
    first = board.task("API-1")
    assert (first["state"], first["commit"]) == ("landed", board.main())
    board.commit(board.agent("api-2"), {"most.py": "most = 1\n"})
    board.speak("api-2", PASSED)
    assert board.markers() == {"API-1": "x", "API-2": "x"}
    assert board.board_file.read_text() == BOARD.replace("[ ]", "[x]")
    shown = board.workshop.ask("runs")
    assert shown["is_over"]
    assert shown["blocked"] == []


def test_a_step_is_told_its_task_and_its_report_is_kept(board: RunGround) -> None:
    """The prompt has what the board says; each visit has a folder of its own."""
    board.run()
    agent = board.agent("api-1")
    told = board.workshop.session(agent).received.decode()
    assert "API-1: Add more" in told
    assert "Write more.py" in told
    env = board.started_with("api-1")
    assert (env["WINDLASS_TASK"], env["WINDLASS_STEP"]) == ("API-1", "execution")
    board.commit(agent, {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    kept = ["execution.1/prompt.md", "execution.1/report.md", "execution.1/result.json"]
    assert board.files("API-1") == kept


def test_a_step_without_a_result_is_asked_once_more_and_is_unknown_then(board: RunGround) -> None:
    """The same conversation is asked; a second miss is UNKNOWN, which nothing handles here."""
    board.run()
    board.speak("api-1", "I did a lot.")
    agent = board.agent("api-1")
    assert agent.session == 1
    asked = board.workshop.ask("inbox", agent="api-1")
    assert any("<result>" in message["text"] for message in asked)
    board.speak("api-1", "Still no word of it.")
    assert board.task("API-1")["visits"][0]["result"] == "UNKNOWN"
    assert board.markers()["API-1"] == "*"
    assert "UNKNOWN" in board.task("API-1")["why"]


def test_what_a_step_was_asked_and_never_heard_does_not_keep_the_next_step(
    board: RunGround,
) -> None:
    """It was for a session that is over: the next one is asked in its turn, and not waited for."""
    board.pipeline([{"id": "execution", "agent": "worker"}, {"id": "audit", "agent": "worker"}])
    board.run(tasks=["API-1"])
    board.speak("api-1", "I did a lot.")
    board.speak("api-1", PASSED)
    assert board.task("API-1")["step"] == "audit"
    assert board.asked("api-1") == ["expired"]
    board.speak("api-1", "I looked.")
    board.speak("api-1", "I looked again.")
    assert board.task("API-1")["visits"][1]["result"] == "UNKNOWN"
    assert board.asked("api-1") == ["expired", "expired"]


def test_what_a_result_is_called_is_said_by_the_pipeline_and_else_by_the_role(
    board: RunGround,
) -> None:
    """With it goes what to exit with where that result has ended the run."""
    roles = board.root / ".windlass" / "roles"
    roles.mkdir()
    front = "---\nresults: PASS, FAIL\nFAIL: refused 33 abort\n---\n"
    (roles / "careful.md").write_text(f"{front}Go.\n")
    step = {"id": "execution", "agent": "careful"}
    board.pipeline([step], result_mappings={"FAIL": {"status": "not wanted"}})
    board.run(tasks=["API-1"])
    board.speak("api-1", "<result>FAIL</result>")
    (visit,) = board.task("API-1")["visits"]
    assert (visit["result"], visit["status"], visit["exit_code"]) == ("FAIL", "not wanted", 33)


def test_an_inline_step_runs_and_its_parent_runs_again(board: RunGround) -> None:
    """Each visit is a session in a conversation of its own, all of one agent."""
    fix = {"id": "mend", "agent": "worker", "max": 2}
    board.pipeline(
        [
            {"id": "execution", "agent": "worker"},
            {"id": "audit", "agent": "worker", "on_result": {"FIX": fix}},
        ]
    )
    board.run()
    conversations = set()
    for said in ("PASS", "FIX", "PASS", "PASS"):
        conversations.add(board.agent("api-1").conversation)
        if said == "FIX":
            board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
        board.speak("api-1", f"<result>{said}</result>")
    visits = [(visit["step"], visit["result"]) for visit in board.task("API-1")["visits"]]
    assert visits == [
        ("execution", "PASS"),
        ("audit", "FIX"),
        ("audit:mend", "PASS"),
        ("audit", "PASS"),
    ]
    assert len(conversations) == 4
    assert board.markers()["API-1"] == "x"


def test_a_red_change_goes_back_into_the_run_with_its_ticket(board: RunGround) -> None:
    """The run mends it; the agent has no mail of it, and the person is not asked."""
    board.run()
    agent = board.agent("api-1")
    board.commit(agent, {"calc.py": "def add(a, b):\n    return a - b\n"})
    board.speak("api-1", PASSED)
    task = board.task("API-1")
    assert (task["step"], task["attempts"]) == ("execution:generic-fix", 1)
    told = board.workshop.session(board.agent("api-1")).received.decode()
    assert "test_adds" in told
    assert board.markers()["API-1"] == "P"
    board.commit(agent, {"calc.py": "def add(a, b):\n    return b + a\n"})
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    assert board.markers()["API-1"] == "x"


def test_a_step_that_fails_ends_its_run_and_what_needs_it_stays_blocked(board: RunGround) -> None:
    """The branch is kept, the board says failed, and the schedule is over."""
    board.run()
    agent = board.agent("api-1")
    head = board.commit(agent, {"more.py": "more = 1\n"})
    board.speak("api-1", "<result>FAIL</result>")
    assert board.markers() == {"API-1": "*", "API-2": " "}
    shown = board.workshop.ask("runs")
    assert (shown["is_over"], shown["blocked"]) == (True, ["API-2"])
    assert git(board.root, "rev-parse", "agent/api-1").strip() == head


def test_what_failed_before_is_told_by_every_later_run(board: RunGround) -> None:
    """Nothing of it is begun again; what other tasks are asked for does not hear of it."""
    board.run()
    board.speak("api-1", "<result>FAIL</result>")
    board.run()
    shown = board.workshop.ask("runs")
    assert (shown["is_over"], shown["tasks"], shown["failed"]) == (True, [], ["API-1"])
    board.run(tasks=["API-2"])
    assert board.workshop.ask("runs")["failed"] == []


def test_a_branch_below_the_name_of_an_agent_takes_that_name_up(board: RunGround) -> None:
    """Git keeps branches like files, so the task could never begin."""
    git(board.root, "branch", "agent/api-1/deep")
    board.run()
    assert board.task("API-1")["agent"] == "api-1-2"


def test_a_role_that_is_not_there_is_a_broken_pipeline_also_alone(board: RunGround) -> None:
    """It says which pipeline or task names it."""
    board.pipeline([{"id": "execution", "agent": "ghost"}])
    with pytest.raises(ConfigError, match="the pipeline own: no role 'ghost'"):
        board.run()
    board.pipeline([{"id": "execution", "agent": "worker"}])
    board.board_file.write_text(
        BOARD.replace("- Priority: LOW", "- Agent: ghost\n  - Priority: LOW")
    )
    with pytest.raises(ConfigError, match="API-2: no role 'ghost'"):
        board.run()


def test_steps_that_pass_and_change_nothing_are_no_success(board: RunGround) -> None:
    """Nothing can have landed, so nothing is called landed."""
    board.run()
    board.speak("api-1", PASSED)
    task = board.task("API-1")
    assert task["state"] == "failed"
    assert "has all of it" in task["why"]


def test_a_session_that_dies_goes_on_in_its_conversation(board: RunGround) -> None:
    """The visit counts once, with two sessions."""
    board.run()
    agent = board.agent("api-1")
    board.workshop.converse(agent, "begin")
    board.workshop.session(agent).end(137)
    place = board.workspace("api-1")
    lock = git(place, "rev-parse", "--path-format=absolute", "--git-path", "index.lock").strip()
    Path(lock).touch()
    board.workshop.state(agent)
    board.settle()
    assert board.task("API-1")["state"] == "begins"
    board.later(5)
    assert not Path(lock).exists(), "a git that was killed with it keeps the next one out"
    again = board.agent("api-1")
    assert (again.session, again.conversation) == (2, agent.conversation)
    board.commit(again, {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert board.task("API-1")["visits"][0]["sessions"] == 2
    assert board.task("API-1")["state"] == "landed"


def test_a_step_that_only_looks_leaves_tree_and_branch_as_they_were(board: RunGround) -> None:
    """What it wrote and committed is in the trash."""
    looks = {"id": "look", "agent": "worker", "readonly": True}
    board.pipeline([{"id": "execution", "agent": "worker"}, looks])
    board.run()
    head = board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    agent = board.agent("api-1")
    board.commit(agent, {"more.py": "more = 2\n"})
    (board.workspace("api-1") / "stray.txt").write_text("stray\n")
    board.speak("api-1", "<result>FIX</result>")
    place = Path(agent.workspace)
    assert git(place, "rev-parse", "HEAD").strip() == head
    assert not (place / "stray.txt").exists()
    kept = git(board.root, "for-each-ref", "refs/windlass/trash/api-1", "--format=%(refname)")
    assert kept.strip()


@pytest.mark.parametrize("leaves", ["checkout -q -b elsewhere", "checkout -q --detach", "rebase"])
def test_a_step_that_only_looks_cannot_hide_its_commits_on_another_branch(
    board: RunGround, leaves: str
) -> None:
    """Whatever it has checked out and left half-way, the branch is as it was."""
    looks = {"id": "look", "agent": "worker", "readonly": True}
    board.pipeline([{"id": "execution", "agent": "worker"}, looks])
    board.run()
    head = board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    agent = board.agent("api-1")
    place = Path(agent.workspace)
    board.commit(agent, {"evil.py": "evil = 1\n"})
    if leaves == "rebase":
        todo = ["-c", "sequence.editor=sed -i 1ibreak"]
        git(place, *todo, "rebase", "-q", "-i", "HEAD~1")
    else:
        git(place, *leaves.split())
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    assert git(board.root, "rev-parse", "main^2").strip() == head
    assert "evil.py" not in git(board.root, "ls-tree", "--name-only", "main")
    kept = git(board.root, "for-each-ref", "refs/windlass/trash/api-1", "--format=%(refname)")
    assert kept.strip()


def test_an_agent_of_a_run_proposes_nothing_before_its_pipeline_has_passed(
    board: RunGround,
) -> None:
    board.run()
    agent = board.agent("api-1")
    board.commit(agent, {"more.py": "more = 1\n"})
    with pytest.raises(Denied, match="its run proposes"):
        board.workshop.ask_as(agent, "submit", key="by itself")


def test_a_commit_of_what_a_step_left_holds_up_nobody_who_ends_its_agent(
    board: RunGround, tmp_path: Path
) -> None:
    """A filter of the agent's own may never end, and Windlass waits for it then."""
    board.pipeline([{"id": "execution", "agent": "worker", "commit_after": True}])
    board.run()
    place, begun = board.workspace("api-1"), tmp_path / "begun"
    os.mkfifo(begun)
    git(place, "config", "filter.f.clean", f"echo > {begun}; sleep 600")
    (place / ".gitattributes").write_text("more.py filter=f\n")
    (place / "more.py").write_text("more = 1\n")
    with ThreadPoolExecutor(1) as pool:
        speaking = pool.submit(board.speak, "api-1", PASSED)
        begun.read_text()
        git(place, "config", "--unset", "filter.f.clean")
        board.workshop.ask("end", agents=["api-1"], key="end")
        speaking.result()
    board.settle()
    assert board.task("API-1")["state"] == "failed"


def test_what_a_step_leaves_is_committed_where_the_pipeline_says_so(board: RunGround) -> None:
    """With the step's name; also where a git was killed there that had locked everything."""
    board.pipeline([{"id": "execution", "agent": "worker", "commit_after": True}])
    board.run()
    place = board.workspace("api-1")
    (place / "more.py").write_text("more = 1\n")
    for name in ("index.lock", "HEAD.lock", "refs/heads/agent/api-1.lock"):
        lock = git(place, "rev-parse", "--path-format=absolute", "--git-path", name)
        Path(lock.strip()).touch()
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    assert "API-1: execution" in git(board.root, "log", "--format=%s", "main")


def test_a_task_is_claimed_once(board: RunGround) -> None:
    """Who asks again joins, with more workers; no second run of a task is begun."""
    first = board.run()
    again = board.run(workers=3)
    assert (again["job"], again["joined"]) == (first["job"], True)
    assert board.open_jobs("run") == 1
    assert board.workshop.ask("runs")["workers"] == 3


def test_a_board_that_is_broken_begins_nothing(board: RunGround) -> None:
    """Said before anything has begun, with the line."""
    board.board_file.write_text(BOARD.replace("Priority: HIGH", "Priority: SOON"))
    with pytest.raises(ConfigError, match="line 9"):
        board.run()
    board.board_file.write_text(BOARD)
    with pytest.raises(NotFound, match="no task NO-1"):
        board.run(tasks=["NO-1"])


def test_a_board_that_is_gone_holds_no_run_up(board: RunGround) -> None:
    """What could not be marked is told; the change lands."""
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.board_file.unlink()
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    told = [event["kind"] for event in board.workshop.ask("runs", after=0)["events"]]
    assert "task.unmarked" in told


def test_an_agent_that_somebody_ends_ends_its_run(board: RunGround) -> None:
    """Nobody works on, and the reason is kept."""
    board.run()
    board.workshop.ask("end", agents=["api-1"], force=True)
    board.settle()
    assert board.task("API-1")["state"] == "failed"
    assert "was ended" in board.task("API-1")["why"]


def test_a_second_try_of_a_task_has_a_branch_of_its_own(board: RunGround) -> None:
    """The first one's is kept."""
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", "<result>FAIL</result>")
    board.board_file.write_text(BOARD)
    board.run()
    assert board.agent("api-1-2").branch == "agent/api-1-2"


def test_what_a_run_left_goes_with_its_row_when_it_is_old(board: RunGround) -> None:
    """Not before; an open one is never old."""
    board.run(tasks=["API-1"])
    board.speak("api-1", "<result>FAIL</result>")
    files = board.workshop.context.folders.run(board.task("API-1")["run"])
    assert files.is_dir()
    board.workshop.ask("gc")
    assert files.is_dir()
    board.later(40 * 86400.0)
    board.workshop.ask("gc")
    assert not files.exists()


def test_a_visit_that_takes_too_long_is_ended(board: RunGround) -> None:
    """Its role says how long; who was paused meanwhile is given more time."""
    board.run()
    agent = board.agent("api-1")
    board.workshop.ask("pause", agent="api-1")
    board.settle()
    board.later(4000)
    assert board.task("API-1")["state"] == "waits"
    board.workshop.converse(agent, "begin")
    board.workshop.ask("resume", agent="api-1")
    board.later(400)
    task = board.task("API-1")
    assert task["visits"][0]["result"] == "UNKNOWN"
    assert board.markers()["API-1"] == "*"


def test_who_waits_to_land_holds_no_worker_up(board: RunGround) -> None:
    """The next task begins; too many that wait begin no more."""
    lines = [f"- [ ] **[T-{n}]** Do {n}\n" for n in range(1, 6)]
    text = "## TASKS\n\n" + "".join(
        f"{line}  - Priority: LOW\n  - Dependencies: none\n" for line in lines
    )
    board.board_file.write_text(text.replace("T-", "TT-"))
    board.run()
    for number in (1, 2):
        board.commit(board.agent(f"tt-{number}"), {"AGENTS.md": f"steers {number}\n"})
        board.speak(f"tt-{number}", PASSED)
    assert list(board.markers().values()) == ["P", "P", " ", " ", " "]


def test_all_that_is_in_the_way_is_told_at_once_before_any_agent_starts(board: RunGround) -> None:
    """A role that nobody knows, a pipeline that is none: each a line, and nothing has begun."""
    board.pipeline([{"id": "execution", "agent": "nobody"}])
    pipelines = board.root / ".windlass" / "pipelines"
    pipelines.mkdir()
    (pipelines / "API-2.json").write_text("{")
    with pytest.raises(ConfigError) as refused:
        board.run()
    assert "no role 'nobody'" in refused.value.message
    assert "API-2.json" in refused.value.message
    assert board.open_jobs("schedule") == 0
    assert board.markers() == {"API-1": " ", "API-2": " "}


def test_tasks_are_wanted_by_their_ids_in_any_case(board: RunGround) -> None:
    """As everywhere else."""
    board.run(tasks=["api-1"])
    assert board.task("API-1")["state"] == "works"


def test_what_a_step_left_uncommitted_is_not_taken_back_by_one_that_only_looks(
    board: RunGround,
) -> None:
    """It is committed under the name of the step that left it, and lands."""
    looks = {"id": "look", "agent": "worker", "readonly": True}
    board.pipeline([{"id": "execution", "agent": "worker"}, looks])
    board.run()
    (board.workspace("api-1") / "more.py").write_text("more = 1\n")
    board.speak("api-1", PASSED)
    (board.workspace("api-1") / "stray.py").write_text("stray = 1\n")
    board.speak("api-1", PASSED)
    assert board.task("API-1")["state"] == "landed"
    assert (board.root / "more.py").exists()
    assert not (board.root / "stray.py").exists()
    assert "API-1: execution" in git(board.root, "log", "--format=%s", "main")


def test_an_answer_that_comes_before_the_question_is_recorded_counts(board: RunGround) -> None:
    """The agent is quicker than the record that it was asked."""
    board.run()
    session = board.workshop.session(board.agent("api-1"))
    session.hook("SessionStart", source="startup")
    for said in ("No word of it.", "<result>FAIL</result>"):
        session.hook("UserPromptSubmit", prompt="go on")
        session.hook("Stop", last_assistant_message=said)
    board.workshop.state(board.agent("api-1"))
    board.settle()
    assert board.task("API-1")["visits"][0]["result"] == "FAIL"


def test_sessions_that_die_one_after_the_other_end_the_run(board: RunGround) -> None:
    """With ever longer pauses between them; the reason has the last of what they said."""
    board.run()
    for number in range(1, 7):
        agent = board.agent("api-1")
        assert agent.session == number
        board.workshop.session(agent).end(1, "no such flag")
        board.workshop.state(agent)
        board.settle()
        board.later(100)
    task = board.task("API-1")
    assert task["state"] == "failed"
    assert "6 times" in task["why"]


def test_a_task_that_is_done_is_not_dropped(board: RunGround) -> None:
    """Its mark stays, and so does what waits for it."""
    board.run(tasks=["API-1"])
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    with pytest.raises(Conflict, match="is done"):
        board.workshop.ask("task.drop", task="API-1")
    assert board.markers()["API-1"] == "x"


def test_a_task_that_waits_for_others_is_not_tried_once_more(board: RunGround) -> None:
    """It begins by itself when they are done."""
    with pytest.raises(Conflict, match="waits for API-1"):
        board.workshop.ask("task.retry", task="API-2")


def test_a_driver_that_nobody_knows_is_refused_at_once(board: RunGround) -> None:
    """Before any task counts as being at work."""
    with pytest.raises(WindlassError, match="nope"):
        board.run(driver="nope")
    assert board.markers()["API-1"] == " "


def test_a_mark_that_was_missed_is_given_at_the_next_round(board: RunGround) -> None:
    """The board was away when the task landed; what needs it begins all the same."""
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    text = board.board_file.read_text()
    board.board_file.unlink()
    board.speak("api-1", PASSED)
    board.board_file.write_text(text)
    board.run()
    assert board.markers() == {"API-1": "x", "API-2": "="}


def test_a_task_that_somebody_marks_before_it_has_begun_is_not_begun(board: RunGround) -> None:
    """The round had read the board already; what they wrote stays."""
    failpoints = board.workshop.context.failpoints

    def reached(name: str) -> None:
        if name == "run.prepare.document.before":
            board.board_file.write_text(BOARD.replace("- [ ] **[API-1]", "- [N] **[API-1]"))

    failpoints.reached = reached  # type: ignore[method-assign]
    board.run(tasks=["API-1"])
    task = board.task("API-1")
    assert (task["state"], task["agent"]) == ("dropped", None)
    assert board.markers()["API-1"] == "N"


def test_what_becomes_of_a_change_while_its_run_records_it_is_not_lost(board: RunGround) -> None:
    """A run hears of its change once it knows which that is, and how it stood then."""
    board.run(tasks=["API-1"])
    failpoints = board.workshop.context.failpoints

    def reached(name: str) -> None:
        if name == "run.submit.finish.before":
            board.workshop.ask("drop", change="c1", why="not this way")

    failpoints.reached = reached  # type: ignore[method-assign]
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert (board.task("API-1")["state"], board.markers()["API-1"]) == ("dropped", "N")


def test_an_agent_that_asks_the_person_has_its_answer_before_its_step_goes_on(
    board: RunGround,
) -> None:
    """It is not asked for a result meanwhile, its time does not run, and followers are told."""
    board.run()
    board.workshop.ask_as(board.agent("api-1"), "ask", text="Which colour?")
    board.speak("api-1", "I have asked.\nWAITING")
    told = board.workshop.ask("runs", after=0)["events"]
    (waits,) = (event for event in told if event["kind"] == "run.waits")
    assert (waits["task"], waits["question"]) == ("API-1", "Which colour?")
    board.later(4000)
    task = board.task("API-1")
    assert (task["state"], task["why"]) == ("waits", "asks you: Which colour?")
    inbox = board.workshop.ask("inbox", agent="api-1", all=True)
    assert not any("<result>" in message["text"] for message in inbox)
    board.workshop.ask("answer", question="api-1", text="blue")
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    assert board.markers()["API-1"] == "x"


def test_a_role_that_stands_in_the_configuration_alone_says_how_its_steps_run(
    board: RunGround,
) -> None:
    """As one that has a file does."""
    said = "[roles.digger]\nmode = 'loop'\niterations = 3\ntimeout = 70\nreadonly = true\n"
    config = board.workshop.context.folders.home / "config.toml"
    config.write_text(config.read_text() + said)
    board.pipeline([{"id": "execution", "agent": "digger"}])
    board.run(tasks=["API-1"])
    jobs = board.workshop.context.store.read(lambda c: rows.listed(c, status="open"))
    (state,) = (convert(job.state, RunState) for job in jobs if job.kind == "run")
    role = state.role
    assert (role.name, role.mode, role.iterations, role.timeout) == ("digger", "loop", 3, 70)
    assert role.readonly
    assert board.agent("api-1").readonly


def test_what_a_visit_is_told_lies_in_a_file_of_its_run(board: RunGround) -> None:
    """The row of its session says where; one of an older release has it itself."""
    board.run(tasks=["API-1"])
    agent, context = board.agent("api-1"), board.workshop.context
    session = context.store.read(lambda c: agent_rows.session(c, agent.uid, agent.session))
    assert session is not None
    part = session.part
    assert part is not None
    assert part.prompt == ""
    told = (context.folders.run(part.run) / part.prompt_file).read_text()
    assert json.dumps(told)[1:-1] in board.workshop.session(agent).received.decode()
    assert first_words(context, agent, session) == told
    older = msgspec.structs.replace(part, prompt_file="", prompt="Begin.")
    before = msgspec.structs.replace(session, part=older)
    assert first_words(context, agent, before) == "Begin."


def test_a_plan_that_no_prompt_could_hold_stops_its_task_with_the_reason(board: RunGround) -> None:
    """Cut in the middle it would be worked off as if that were all."""
    plan = board.root / ".windlass" / "plans" / "API-1.md"
    plan.parent.mkdir()
    plan.write_text("x" * (256 << 10) + "and leave the rest alone")
    board.run()
    why = board.task("API-1")["why"]
    assert "API-1.md has more than 256 KiB" in why


def test_a_task_that_is_too_long_is_not_begun_and_holds_up_no_other(board: RunGround) -> None:
    """All that has to do with it says so; the rest of the board is worked off."""
    board.board_file.write_text(
        BOARD.replace("Write more.py", "x" * 100_000).replace(": API-1", ": none")
    )
    board.run()
    assert board.markers() == {"API-1": " ", "API-2": "="}
    assert "API-1 has 1000" in board.workshop.ask("runs")["problem"]
