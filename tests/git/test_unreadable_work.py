"""What an agent writes so that its ending fails, or never ends: it is ended all the same.

What git does not say, or not in time, is left unsaid: everything is kept, and what is not as it was
is listed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.hostile_clones import Scene

from windlass.git import runner, trash
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

PIPES = (
    ".gitattributes",
    ".gitmodules",
    ".git/objects/info/commit-graph",
    ".git/objects/info/commit-graphs/commit-graph-chain",
    ".git/objects/pack/multi-pack-index",
    ".git/objects/pack/pack-00.idx",
    ".git/objects/pack/pack-00.pack",
    ".git/objects/00/" + "0" * 38,
    ".git/info/attributes",
    ".git/info/grafts",
    ".git/info/sparse-checkout",
    ".git/config.worktree",
    ".git/shallow",
    ".git/sharedindex." + "0" * 40,
)


@pytest.fixture
def scene(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A clone with some work in it, of which git is asked for no longer than a moment."""
    made = Scene(repo, tmp_path)
    (made.clone / "work.txt").write_text("work\n")
    monkeypatch.setattr(runner, "LOOK", 3.0)
    return made


def rules_without_end(folder: Path) -> None:
    """Rules of what is ignored that take git for ever to match."""
    (folder / ".gitignore").write_text("**/" * 24 + "x\n")
    deep = folder / "/".join("a" * 30)
    deep.mkdir(parents=True)
    (deep / "y").write_text("deep\n")


def pipe_for_rules(folder: Path) -> None:
    """A pipe in the place of those rules: git waits for somebody to write them."""
    (folder / ".gitignore").unlink(missing_ok=True)
    os.mkfifo(folder / ".gitignore")


@pytest.mark.parametrize("prepare", [rules_without_end, pipe_for_rules])
def test_rules_that_git_cannot_follow_ignore_nothing(
    scene: Scene, prepare: Callable[[Path], None]
) -> None:
    (scene.clone / "app.log").write_text("ignored\n")
    for number in range(3):
        git(scene.clone, "init", "-q", f"nested{number}")
        prepare(scene.clone / f"nested{number}")
    prepare(scene.clone)
    kept = scene.keep()
    listed = git(scene.repo.root, "ls-tree", "-r", "--name-only", f"{kept.commit}:files")
    assert {"app.log", "work.txt"} <= set(listed.split("\n"))
    (entry,) = trash.entries(scene.repo)
    assert any("nothing counts as ignored" in drop.reason for drop in entry.dropped)
    scene.end()
    assert (scene.restore() / "work.txt").read_text() == "work\n"


def test_the_work_of_an_agent_without_a_box_is_kept_whatever_it_ignores(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LOOK", 2.0)
    rules_without_end(ws)
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert git(repo.root, "show", f"{kept.commit}:files/{'/'.join('a' * 30)}/y") == "deep"


def test_an_answer_that_is_too_long_is_done_without(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (scene.clone / f"{'long' * 20}{number}.log").write_text("ignored\n")
        (scene.clone / f"{'long' * 20}{number}.txt").write_text("staged\n")
    git(scene.clone, "add", "*.txt")
    git(scene.clone, "commit", "-q", "-m", "many")
    monkeypatch.setattr(runner, "MOST", 2000)
    kept = scene.keep()
    monkeypatch.undo()
    names = git(scene.repo.root, "ls-tree", "-r", "--name-only", f"{kept.commit}:files")
    assert names.count("long.log") + names.count("longlong") >= 80
    reasons = " ".join(drop.reason for drop in trash.entries(scene.repo)[0].dropped)
    assert "nothing counts as ignored" in reasons
    scene.end()
    assert (scene.restore() / "work.txt").read_text() == "work\n"


def test_pipes_where_git_opens_files_by_itself_hold_nobody_up(scene: Scene) -> None:
    for name in PIPES:
        path = scene.clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    scene.look()
    kept = scene.keep()
    assert git(scene.repo.root, "show", f"{kept.commit}:files/work.txt") == "work"
    scene.end()
    assert (scene.restore() / "work.txt").read_text() == "work\n"


def test_names_that_are_no_utf8_are_kept_wherever_they_stand(scene: Scene) -> None:
    odd = b"odd\xff"
    here = os.fsencode(scene.clone)
    tip = git(scene.clone, "rev-parse", "HEAD")
    os.mkdir(here + b"/" + odd)
    git(os.fsdecode(here + b"/" + odd), "init", "-q")
    for place in (b"/.git/refs/heads/", b"/.git/", b"/.git/refs/", b"/.git/objects/"):
        Path(os.fsdecode(here + place + odd)).write_text(f"{tip}\n")
    os.mkfifo(here + b"/pipe" + odd)
    kept = scene.keep()
    assert git(scene.repo.root, "show", f"{kept.commit}:files/work.txt") == "work"
    scene.end()
    assert (scene.restore() / "work.txt").read_text() == "work\n"
