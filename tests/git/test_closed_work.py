"""What an agent closes to everybody, itself included, is kept all the same, or listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.differences import shown
from tests.git.hostile_clones import Scene
from tests.support.privileges import unprivileged

from windlass.core.errors import GitError
from windlass.git import gitfiles, repository, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import Salvaged, salvage


@pytest.fixture
def admin(ws: Path) -> Iterator[Path]:
    """The git folder of the workspace, in which something is staged that no commit has."""
    (ws / "new.txt").write_text("staged\n")
    git(ws, "add", "new.txt")
    (ws / "new.txt").write_text("on the disk\n")
    folder = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    yield folder
    if folder.exists():
        folder.chmod(0o700)


def keep(repo: Repository, ws: Path, *, closed: Path) -> Salvaged:
    """Salvages the workspace as who may not read what is closed."""
    return unprivileged(
        lambda: salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}), closed=closed
    )


@pytest.mark.parametrize("name", ["index", "HEAD", "gitdir", "logs", ""])
@pytest.mark.parametrize("mode", [0o000, 0o200])
def test_what_is_staged_is_kept_whatever_of_the_git_folder_is_closed(
    repo: Repository, ws: Path, admin: Path, name: str, mode: int
) -> None:
    (admin / name).chmod(mode)
    kept = keep(repo, ws, closed=admin / name)
    assert git(repo.root, "show", f"{kept.commit}:index/new.txt") == "staged"
    assert git(repo.root, "show", f"{kept.commit}:files/new.txt") == "on the disk"
    assert git(repo.root, "cat-file", "-t", f"{kept.commit}:gitdir.tar") == "blob"
    (entry,) = trash.entries(repo)
    assert (entry.branch, entry.dropped) == ("agent/a1", [])


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o444])
def test_a_folder_that_is_closed_in_part_is_walked_through(
    repo: Repository, ws: Path, mode: int
) -> None:
    inner = ws / "inner"
    inner.mkdir()
    (inner / "work.txt").write_text("work\n")
    inner.chmod(mode)
    kept = keep(repo, ws, closed=inner)
    assert git(repo.root, "show", f"{kept.commit}:files/inner/work.txt") == "work"
    assert kept.summary.dropped == 0


def test_stashes_and_refs_behind_closed_doors_are_kept(repo: Repository, ws: Path) -> None:
    (ws / "readme.txt").write_text("stashed\n")
    git(ws, "stash")
    git(ws, "update-ref", "refs/worktree/mine", git(ws, "rev-parse", "HEAD"))
    admin = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    stash = Path(repo.git_dir) / "logs/refs/stash"
    stash.chmod(0)
    (admin / "refs").chmod(0o444)
    kept = keep(repo, ws, closed=stash)
    assert kept.summary.stashes == 1
    assert b"refs/worktree/mine" in repo.git("show", f"{kept.commit}:windlass.json").out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_git_folder_that_cannot_be_opened_is_no_missing_one(
    repo: Repository, ws: Path, admin: Path
) -> None:
    admin.chmod(0o700)
    os.chown(admin, 12345, -1)
    with pytest.raises(GitError, match="cannot be read"):
        keep(repo, ws, closed=admin)
    assert repository.refs_under(repo, "refs/windlass/trash/") == {}


def test_an_index_that_is_not_looked_at_is_listed(
    repo: Repository, ws: Path, admin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (admin / "index").stat().st_size > 10
    monkeypatch.setattr(gitfiles, "_INDEX", 10)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    (entry,) = trash.entries(repo)
    assert [drop.path for drop in entry.dropped] == [".git/index"]


def test_somebody_else_s_closed_git_folder_holds_up_nobody(
    repo: Repository, ws: Path, admin: Path, tmp_path: Path
) -> None:
    (admin / "HEAD").chmod(0)
    other = str(tmp_path / "ws" / "a2")
    unprivileged(
        lambda: workspaces.create(repo, path=other, branch="agent/a2", base="main", agent="a2"),
        closed=admin / "HEAD",
    )
    assert (Path(other) / "readme.txt").read_text() == "hello\n"
    assert ws.is_dir()


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o444, 0o311, 0o750])
def test_a_workspace_that_its_agent_closed_ends_and_comes_back(
    repo: Repository, ws: Path, admin: Path, tmp_path: Path, mode: int
) -> None:
    assert admin.is_dir()
    ws.chmod(mode)

    def end_and_restore() -> trash.Restored:
        salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}, branch="agent/a1")
        workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
        entry = trash.find(repo, "a1")
        path = str(tmp_path / "ws" / "back")
        return trash.restore(repo, entry, path=path, branch="agent/back", agent="back")

    # What is closed to nobody is put back as it was, too.
    closed = ws if mode != 0o750 else close(tmp_path / "closed")
    restored = unprivileged(end_and_restore, closed=closed)
    back = Path(restored.path)
    assert not ws.exists()
    assert (back / "new.txt").read_text() == "on the disk\n"
    assert git(back, "show", ":new.txt") == "staged"
    assert back.stat().st_mode & 0o777 == mode | 0o700
    assert [f"({mode:03o})" in note for note in restored.notes] == [True] * (mode != 0o750)


def close(path: Path) -> Path:
    """A file that nobody may read."""
    path.touch(0)
    return path


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o444])
def test_a_clone_that_its_agent_closed_is_kept_as_a_clone(
    repo: Repository, tmp_path: Path, mode: int
) -> None:
    scene = Scene(repo, tmp_path)
    (scene.clone / "new.txt").write_text("staged\n")
    git(scene.clone, "add", "new.txt")
    scene.clone.chmod(mode)
    kept = unprivileged(scene.keep, closed=scene.clone)
    assert git(repo.root, "show", f"{kept.commit}:index/new.txt") == "staged"
    assert b'"kind": "clone"' in repo.git("show", f"{kept.commit}:windlass.json").out


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_a_look_at_a_closed_workspace_is_an_error_that_names_it(
    repo: Repository, ws: Path, tmp_path: Path, mode: int
) -> None:
    scene = Scene(repo, tmp_path)
    for path, box in ((ws, None), (scene.clone, scene.reads)):
        path.chmod(mode)
        looks: tuple[Callable[[], object], ...] = (
            partial(workspaces.status, repo, str(path), box=box),
            partial(shown, repo, path, box=box),
        )
        for look in looks:
            with pytest.raises(GitError, match=str(path)):
                unprivileged(look, closed=path)
        assert path.stat().st_mode & 0o777 == mode
