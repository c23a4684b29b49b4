"""A board that comes over keeps its tasks and its text; only what nobody works on is reset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.board import parser
from windlass.core.board.task_lines import TASK
from windlass.core.migration import boards
from windlass.core.migration.findings import Findings

LINES = st.sampled_from(
    [
        *("# Kanban", "## Backlog", "## Done", "### more", "text", "", "<!-- done: ZZ-1 -->"),
        *("- [ ] **[AA-1]** t", "- [x] **[AA-2]** t", "- [=] **[BB-1]** u", "- [P] **[CC-1]** v"),
        *("  - Priority: HIGH", "  - Dependencies: none", "    - [ ] an item"),
    ]
)
BOARDS = st.builds(
    lambda lines, end: "".join(line + end for line in lines),
    st.lists(LINES, max_size=15, unique=True),
    st.sampled_from(["\n", "\r\n"]),
)


def taken(text: str) -> str:
    found = Findings()
    boards.take(found, text.encode(), ".ralph/kanban.md", branches={})
    return found.files["kanban.md"].decode()


def ids(text: str) -> list[str]:
    found = (TASK.fullmatch(line.removesuffix("\r")) for line in text.split("\n"))
    return [line[2] for line in found if line]


@given(BOARDS)
def test_every_task_is_one_here_and_none_is_under_way(text: str) -> None:
    board = parser.parse(taken(text))
    assert {*board.by_id} == {*ids(text)}
    assert {task.marker for task in board.tasks} <= {" ", "x"}


@given(BOARDS)
def test_nothing_goes_but_markers_and_a_second_time_changes_nothing(text: str) -> None:
    after = taken(text)
    assert taken(after) == after
    was = [line.lstrip("#").strip() for line in text.split("\n") if line.strip()]
    now = [line.lstrip("#").strip() for line in after.split("\n") if line.strip()]
    now.remove("TASKS")
    assert [line.replace("[=]", "[ ]").replace("[P]", "[ ]") for line in was] == now


def test_what_waits_for_approval_and_has_a_branch_stays_so() -> None:
    found = Findings()
    text = "## TASKS\n- [P] **[AA-1]** t\n- [P] **[AA-2]** t\n- [=] **[AA-3]** t\n"
    own = {"AA-1": ["task/AA-1"], "AA-3": ["task/AA-3"]}
    boards.take(found, text.encode(), "x", branches=own)
    markers = [task.marker for task in parser.parse(found.files["kanban.md"].decode()).tasks]
    assert markers == ["P", " ", " "]
    assert [branch.task for branch in found.branches] == ["AA-1", "AA-3"]


def test_a_branch_is_a_tasks_by_its_whole_id() -> None:
    names = ["task/TASK-1-99", "task/TASK-10", "fix/xTASK-1", "task-1", "TASK-1a", "main"]
    workers = {"worker-TASK-1-5": "odd/name", "worker-TASK-2-5": "other", "worker-TASK-1-6": ""}
    assert boards.branches_of("TASK-1", names, workers) == ["odd/name", "task/TASK-1-99", "task-1"]
