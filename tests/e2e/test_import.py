"""A project of an ancestor's comes over with the work that lay in its workers' trees."""

from __future__ import annotations

from pathlib import Path

from tests.support.ground import Ground

BOARD = """\
- [=] **[TASK-001]** Under way
  - Priority: HIGH
  - Dependencies: none
"""


def test_unfinished_work_of_another_tool_is_kept_and_comes_back_as_an_agents(
    unboxed: Ground,
) -> None:
    repo = unboxed.folder / "repo"
    ralph = repo / ".ralph"
    space = ralph / "workers" / "worker-TASK-001-17" / "workspace"
    space.parent.mkdir(parents=True)
    (ralph / "kanban.md").write_text(BOARD)
    unboxed.git("worktree", "add", "-q", "-b", "task/TASK-001-17", str(space))
    (space / "half.py").write_text("half done\n")
    reply = unboxed.wl("import", "ralph", "--json").ok().json()
    (tree,) = reply["trees"]
    assert tree["problem"] == ""
    assert [branch["branch"] for branch in reply["branches"]] == ["task/TASK-001-17"]
    (restored,) = unboxed.wl("trash", "restore", tree["entry"], "--json").ok().json()["restored"]
    path = unboxed.wl("path", restored["id"]).ok().out.strip()
    assert (space / "half.py").read_text() == "half done\n"
    assert (Path(path) / "half.py").read_text() == "half done\n"
    (task,) = unboxed.wl("board", "next", "--json").ok().json()
    assert task["ready"]
