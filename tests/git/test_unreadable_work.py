"""What an agent writes so that its ending fails, or never ends: it is ended all the same.

What git does not say, or not in time, is left unsaid: everything is kept, and what is not as it was
is listed.
"""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.git.conftest import git
from tests.git.hostile_clones import Scene
from tests.support.leases import leased, leased_until_asked
from tests.support.privileges import unprivileged

from windlass.core.errors import WindlassError
from windlass.git import bounds, descent, repository, runner, trash
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
    monkeypatch.setattr(bounds, "LOOK", 3.0)
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
    monkeypatch.setattr(bounds, "LOOK", 2.0)
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
    git(scene.clone, "init", "-q", odd)
    for place in (b"/.git/refs/heads/", b"/.git/", b"/.git/refs/", b"/.git/objects/"):
        Path(os.fsdecode(here + place + odd)).write_text(f"{tip}\n")
    os.mkfifo(here + b"/pipe" + odd)
    kept = scene.keep()
    assert git(scene.repo.root, "show", f"{kept.commit}:files/work.txt") == "work"
    scene.end()
    assert (scene.restore() / "work.txt").read_text() == "work\n"


def folder_for_the_mark(clone: Path) -> None:
    """A folder where a restore leaves its mark."""
    (clone / ".git/windlass-restored/x").mkdir(parents=True)


def file_for_a_folder(clone: Path) -> None:
    """Files where git has folders, and the other way round."""
    for name in ("info", "hooks", "logs"):
        shutil.rmtree(clone / ".git" / name, ignore_errors=True)
        (clone / ".git" / name).write_text("a file\n")
    for name in ("description", "FETCH_HEAD", "index.damaged", "COMMIT_EDITMSG"):
        (clone / ".git" / name).unlink(missing_ok=True)
        (clone / ".git" / name / "x").mkdir(parents=True)


def refs_in_each_others_way(clone: Path) -> None:
    """A ref and others below it: only one of them can be a file."""
    tip = git(clone, "rev-parse", "HEAD")
    lines = [f"{tip} refs/heads/{name}\n" for name in ("zz", "zz/b", "zz/b/c")]
    (clone / ".git/packed-refs").write_text("".join(lines))


def index_and_its_folder(clone: Path) -> None:
    """Folders where git has its index, its HEAD and what is under way."""
    for name in ("index", "MERGE_HEAD", "ORIG_HEAD", "rebase-merge/head-name/x"):
        (clone / ".git" / name).unlink(missing_ok=True)
        (clone / ".git" / name).mkdir(parents=True)


WAYS_BACK = (
    folder_for_the_mark,
    file_for_a_folder,
    refs_in_each_others_way,
    index_and_its_folder,
)


@pytest.mark.parametrize("prepare", WAYS_BACK, ids=lambda way: way.__name__)
def test_whatever_a_git_folder_holds_its_agent_comes_back(
    scene: Scene, prepare: Callable[[Path], None]
) -> None:
    prepare(scene.clone)
    scene.keep()
    scene.end()
    back = scene.restore()
    assert (back / "work.txt").read_text() == "work\n"
    assert "work.txt" in git(back, "status", "--porcelain")
    assert all(path.lstat().st_mode & stat.S_IRUSR for path in (back / ".git").rglob("*"))
    assert not list((Path(scene.repo.git_dir) / "windlass").glob("restore-*"))


CLOSED = ("config", "index", "HEAD", "info", "logs", "refs/heads", "packed-refs", "objects")


@pytest.mark.parametrize("names", [CLOSED, *((name,) for name in CLOSED), ("",)], ids=",".join)
def test_whatever_of_a_git_folder_is_closed_its_agent_comes_back(
    scene: Scene, names: tuple[str, ...]
) -> None:
    git(scene.clone, "add", "work.txt")
    git(scene.clone, "commit", "-q", "-m", "work")
    git(scene.clone, "branch", "other")
    git(scene.clone, "pack-refs", "--all", "--no-prune")
    (scene.clone / "staged.txt").write_text("staged\n")
    git(scene.clone, "add", "staged.txt")
    (scene.clone / "staged.txt").unlink()
    for name in names:
        (scene.clone / ".git" / name).chmod(0)

    def end_and_restore() -> Path:
        assert scene.keep().summary.dropped == 0
        scene.end()
        return scene.restore()

    back = unprivileged(end_and_restore, closed=scene.clone / ".git" / names[0])
    assert trash.entries(scene.repo)[0].dropped == []
    assert git(back, "show", ":staged.txt") == "staged"
    assert git(back, "show", "HEAD:work.txt") == git(back, "show", "other:work.txt") == "work"
    assert all(path.lstat().st_mode & stat.S_IRUSR for path in (back / ".git").rglob("*"))


def test_a_restore_that_fails_leaves_nothing_and_can_be_tried_again(scene: Scene) -> None:
    (scene.clone / "larger.txt").write_text("x" * 5000)
    scene.keep()
    scene.end()
    before = scene.untouched(), repository.refs_under(scene.repo, "refs/"), everything(scene)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises((WindlassError, OSError)):
            scene.restore()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert before == (
        scene.untouched(),
        repository.refs_under(scene.repo, "refs/"),
        everything(scene),
    )
    assert (scene.restore() / "larger.txt").stat().st_size == 5000


def everything(scene: Scene) -> list[str]:
    """What is beside workspaces, and in our own part of the repository."""
    private = Path(scene.repo.git_dir) / "windlass"
    return sorted(str(path) for top in (scene.folder / "ws", private) for path in top.rglob("*"))


def test_thousands_of_refs_come_back_with_few_calls_of_git(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call for each of them took minutes."""
    tip = git(scene.clone, "rev-parse", "HEAD")
    lines = [f"{tip} refs/heads/many/{number}\n" for number in range(3000)]
    (scene.clone / ".git/packed-refs").write_text("".join(lines))
    scene.keep()
    scene.end()
    calls: list[Any] = []
    popen = subprocess.Popen

    def counted(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        calls.append(args)
        return popen(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", counted)
        back = scene.restore()
    assert 0 < len(calls) < 200
    assert len(git(back, "for-each-ref", "refs/heads/many").splitlines()) == 3000


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="leases are Linux's")
def test_files_that_somebody_holds_a_lease_on_are_listed_and_the_rest_is_kept(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descent, "LEASES", 0.2)
    git(ws, "init", "-q", "nested")
    (ws / "new.txt").write_text("new\n")
    (ws / "other.txt").write_text("other\n")
    admin = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    with (
        leased(ws / "readme.txt"),
        leased(ws / "new.txt"),
        leased(ws / "nested/.git/description"),
        leased(admin / "HEAD"),
    ):
        kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert git(repo.root, "show", f"{kept.commit}:files/other.txt") == "other"
    (entry,) = trash.entries(repo)
    left = {drop.path: drop.reason for drop in entry.dropped}
    assert left.keys() == {"readme.txt", "new.txt", "nested/.git/description", ".git/HEAD"}
    assert set(left.values()) == {"another process holds a lease on it"}
    assert kept.summary.dropped == len(left)


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="leases are Linux's")
def test_a_lease_that_is_given_up_when_asked_for_keeps_nothing_out(
    repo: Repository, ws: Path
) -> None:
    (ws / "new.txt").write_text("new\n")
    with leased_until_asked(ws / "new.txt"):
        kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert git(repo.root, "show", f"{kept.commit}:files/new.txt") == "new"
    assert kept.summary.dropped == 0
