"""What lies in another tool's work trees is kept in the trash, and can be brought back."""

from __future__ import annotations

from pathlib import Path

from tests.support.workshop import Workshop, git


def a_tree(workshop: Workshop, name: str) -> Path:
    """A work tree that somebody else made in our repository, with work in it."""
    path = workshop.repo / ".ralph" / "workers" / name / "workspace"
    path.parent.mkdir(parents=True)
    git(workshop.repo, "worktree", "add", "-q", "-b", f"task/{name}", str(path))
    (path / "new.py").write_text("half done")
    return path


def test_its_work_is_kept_once_and_the_tree_stays_as_it_was(workshop: Workshop) -> None:
    path = a_tree(workshop, "worker-TASK-001-17")
    (kept,) = workshop.ask("foreign-work", paths=[str(path)])
    assert kept["problem"] == ""
    (again,) = workshop.ask("foreign-work", paths=[str(path)])
    assert again["entry"] == kept["entry"]
    (entry,) = workshop.ask("trash")
    assert (entry["id"], entry["how"], entry["summary"]["untracked"]) == (
        kept["entry"],
        "import",
        1,
    )
    assert (path / "new.py").read_text() == "half done"


def test_a_changed_tracked_file_is_kept_once_and_what_was_done_since_once_more(
    workshop: Workshop,
) -> None:
    path = a_tree(workshop, "worker-TASK-001-17")
    tracked = path / "kept.py"
    tracked.write_text("as it was")
    git(path, "add", "kept.py")
    git(path, "commit", "-q", "-m", "kept")
    tracked.write_text("changed here")
    (kept,) = workshop.ask("foreign-work", paths=[str(path)])
    (again,) = workshop.ask("foreign-work", paths=[str(path)])
    assert again["entry"] == kept["entry"]
    (entry,) = workshop.ask("trash")
    tracked.write_text("changed once more")
    (more,) = workshop.ask("foreign-work", paths=[str(path)])
    (same,) = workshop.ask("foreign-work", paths=[str(path)])
    assert same["entry"] == more["entry"] != kept["entry"]
    both = {one["id"]: one["summary"] for one in workshop.ask("trash")}
    assert both[kept["entry"]] == entry["summary"]
    counted = ("changed", "untracked")
    assert [both[more["entry"]][name] for name in counted] == [1, 1]


def test_it_can_be_brought_back_as_an_agents(workshop: Workshop) -> None:
    path = a_tree(workshop, "worker-TASK-001-17")
    (kept,) = workshop.ask("foreign-work", paths=[str(path)])
    reply = workshop.ask("trash.restore", entries=[kept["entry"]])
    (agent,) = reply["restored"]
    assert (Path(agent["workspace"]) / "new.py").read_text() == "half done"


def test_only_what_is_in_the_repository_or_its_tree_is_kept(
    workshop: Workshop, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign" / "secrets"
    foreign.mkdir(parents=True)
    (foreign / "key").write_text("secret")
    workers = workshop.repo / ".ralph" / "workers"
    workers.mkdir(parents=True)
    (workers / "out").symlink_to(foreign.parent)
    elsewhere = tmp_path / "elsewhere"
    git(workshop.repo, "worktree", "add", "-q", "-b", "task/x", str(elsewhere))
    paths = [foreign, workers / "out" / "secrets", workshop.repo / ".git" / "refs", elsewhere]
    *refused, good = workshop.ask("foreign-work", paths=[*map(str, paths)])
    assert [tree["entry"] for tree in refused] == [None] * 3
    assert all("no work tree of" in tree["problem"] for tree in refused)
    assert good["entry"]
    (entry,) = workshop.ask("trash")
    assert entry["id"] == good["entry"]


def test_what_cannot_be_kept_is_said_and_keeps_nothing_else_from_it(
    workshop: Workshop, tmp_path: Path
) -> None:
    path = a_tree(workshop, "worker-TASK-001-17")
    gone = str(tmp_path / "gone")
    odd = workshop.repo / "***"
    odd.mkdir()
    found = workshop.ask("foreign-work", paths=[gone, "x", str(odd), str(path)])
    missing, relative, nameless, good = found
    assert missing["problem"]
    assert "no absolute path" in relative["problem"]
    assert "cannot be an agent's name" in nameless["problem"]
    assert good["entry"]
