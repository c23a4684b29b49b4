"""A workspace comes back as it was in every property, or what is not so was listed."""

from __future__ import annotations

import io
import os
import random
import stat
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.git.conftest import git
from tests.git.hostile_clones import Scene
from tests.git.whole_workspaces import HEADS, build, everything, without
from tests.support.privileges import unprivileged

from windlass.git import attributes, removal, tars, trash, workspaces
from windlass.git.blobs import Blobs
from windlass.git.manifest import Dropped, Manifest
from windlass.git.putback_files import FilePutBack
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

SEEDS = range(6)


Fill = Callable[[Path], None]
Run = Callable[[Callable[[], Any]], Any]


def _in_a_worktree(repo: Repository, folder: Path, fill: Fill, run: Run) -> Path:
    path = folder / "ws" / "a1"
    workspaces.create(repo, path=str(path), branch="agent/a1", base="main", agent="a1")
    fill(path)
    keep = partial(salvage, repo, path=str(path), agent="a1", stamp="1", meta={})
    run(partial(keep, branch="agent/a1"))
    workspaces.remove(repo, path=str(path), branch="agent/a1", agent="a1")
    _collect(repo)
    back = folder / "ws" / "back"
    entry = trash.find(repo, "a1")
    run(partial(trash.restore, repo, entry, path=str(back), branch="agent/back", agent="back"))
    return back


def _in_a_box(repo: Repository, folder: Path, fill: Fill, run: Run) -> Path:
    scene = Scene(repo, folder)
    fill(scene.clone)
    run(scene.keep)
    scene.end()
    _collect(repo)
    back: Path = run(scene.restore)
    return back


def _closed(folder: Path) -> Path:
    """A file that nobody may read but root."""
    path = folder / "closed"
    path.touch()
    path.chmod(0)
    return path


def _collect(repo: Repository) -> None:
    """Has git forget whatever nothing keeps alive."""
    git(repo.root, "reflog", "expire", "--expire=now", "--all")
    git(repo.root, "gc", "-q", "--prune=now")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("live", [_in_a_worktree, _in_a_box])
def test_all_that_is_not_listed_comes_back(
    repo: Repository, tmp_path: Path, live: Callable[..., Path], seed: int
) -> None:
    seen = []
    name = "a1" if live is _in_a_worktree else "c1"

    def fill(ws: Path) -> None:
        dice = random.Random(seed)  # noqa: S311 - the same each time
        build(ws, tmp_path / "theirs", dice, head=HEADS[seed % len(HEADS)])
        seen.append(everything(ws, branch=f"agent/{name}"))

    folder = tmp_path / "work"
    folder.mkdir()
    back = live(repo, folder, fill, partial(unprivileged, closed=_closed(tmp_path)))
    listed = trash.find(repo, name).dropped
    expected = without(seen[0], listed, base=git(repo.root, "rev-parse", "main"))
    found = everything(back, branch="agent/back")
    different = {
        path: (found.things.get(path), expected.things.get(path))
        for path in expected.things | found.things
        if found.things.get(path) != expected.things.get(path)
    }
    assert different == {}, listed
    assert found == expected, listed


@pytest.fixture
def back(tmp_path: Path) -> Path:
    """Where saved work comes back."""
    return tmp_path / "back"


def _keep(repo: Repository, ws: Path) -> list[Dropped]:
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}, branch="agent/a1")
    return trash.find(repo, "a1").dropped


def _restore(repo: Repository, back: Path) -> list[str]:
    return trash.restore(repo, trash.find(repo, "a1"), path=str(back), branch="back").notes


def test_attributes_are_kept_as_long_as_there_is_room(
    repo: Repository, ws: Path, back: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attributes, "MOST", 150)
    for name in ("a", "b", "c"):
        (ws / name).write_text(f"{name}\n")
        os.setxattr(ws / name, "user.large", name.encode() * 100)
    listed = _keep(repo, ws)
    assert {(drop.path, drop.reason.partition(": ")[2]) for drop in listed} == {
        ("b", "user.large"),
        ("c", "user.large"),
    }
    _restore(repo, back)
    assert os.getxattr(back / "a", "user.large") == b"a" * 100
    assert [os.listxattr(back / name) for name in "bc"] == [[], []]


def test_a_file_with_many_names_in_a_nested_git_folder_is_kept_once(
    repo: Repository, ws: Path, back: Path
) -> None:
    git(ws, "init", "-q", "nested")
    inner = ws / "nested" / ".git"
    (inner / "large").write_bytes(os.urandom(1 << 20))
    for number in range(30):
        (inner / f"name{number}").hardlink_to(inner / "large")
    assert _keep(repo, ws) == []
    assert trash.find(repo, "a1").summary.size < 2 << 20
    _restore(repo, back)
    files = {(back / "nested/.git" / f"name{number}").stat().st_ino for number in range(30)}
    assert files == {(back / "nested/.git/large").stat().st_ino}


def test_what_is_staged_in_a_nested_worktree_alone_survives_a_collection(
    repo: Repository, ws: Path, back: Path
) -> None:
    git(ws, "worktree", "add", "-q", "--detach", "inner", "main")
    (ws / "inner" / "staged").write_text("staged\n")
    git(ws / "inner", "add", "staged")
    (ws / "inner" / "staged").unlink()
    _keep(repo, ws)
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    git(repo.root, "worktree", "prune")
    _collect(repo)
    _restore(repo, back)
    assert git(back / "inner", "show", ":staged") == "staged"


def test_what_an_index_in_a_box_names_is_kept_also_if_nobody_can_read_it(
    repo: Repository, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    scene = Scene(repo, folder)
    (scene.clone / "staged").write_text("staged alone\n")
    git(scene.clone, "add", "staged")
    oid = git(scene.clone, "rev-parse", ":staged")
    (scene.clone / "staged").unlink()
    with (scene.clone / ".git" / "index").open("r+b") as index:
        index.truncate(40)
    kept = scene.keep()
    content = repo.git("cat-file", "blob", f"{kept.commit}:objects.tar").out
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert f"it/{oid[:2]}/{oid[2:]}" in archive.getnames()


def test_thousands_of_things_that_are_not_kept_are_listed_in_short(
    repo: Repository, ws: Path
) -> None:
    for number in range(300):
        (ws / f"program{number}").write_text("x")
        (ws / f"program{number}").chmod(0o4755)
    listed = _keep(repo, ws)
    assert len(listed) == 201
    assert sum(drop.files for drop in listed) == 300
    assert listed[-1].reason.endswith("; and so on with 99 more")


def test_folders_that_are_closed_are_so_after_a_look(ws: Path, tmp_path: Path) -> None:
    """Somebody may be in the workspace still: then it is looked at before it is kept."""
    inner = ws / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    inner.chmod(0o000)
    (ws / "outer").chmod(0o600)
    assert b"outer/inner/file" in unprivileged(
        partial(removal.look, str(ws)), closed=_closed(tmp_path)
    )
    assert stat.S_IMODE((ws / "outer").stat().st_mode) == 0o600
    assert stat.S_IMODE(inner.stat().st_mode) == 0o000


def test_properties_of_what_is_no_name_of_a_file_lead_nowhere(
    repo: Repository, tmp_path: Path
) -> None:
    """A manifest is data, whoever wrote it."""
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir(mode=0o755)
    (outside / "secret").write_text("mine\n")
    about = Manifest(
        agent="a1",
        stamp="1",
        empty=["../outside", "../made"],
        subfolder_mode=0o700,
        subfolder_modes={"../outside": 0o000, "..": 0o000},
        links=[["../outside/secret", "stolen"]],
        attributes={"../outside": {"user.mark": "eA=="}},
    )
    oid = git(repo.root, "rev-parse", "main:readme.txt")
    saved = {b"files/stolen": (b"100644", oid), b"files/../outside/secret": (b"100644", oid)}
    files = FilePutBack(about, saved=saved, path=str(top))
    with Blobs(repo.dirs) as blobs:
        files.put(blobs)
    files.finish()
    assert len(files.notes) == 3
    assert (top / "stolen").read_text() == "hello\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "outside", "repo", "top"]
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755
    assert os.listxattr(outside) == []


@pytest.mark.parametrize("target", ["it/../../secret", "it/later", "/etc/passwd"])
def test_a_tar_links_only_to_what_it_has_brought(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text("mine\n")
    forged = io.BytesIO()
    with tarfile.open(fileobj=forged, mode="w") as archive:
        folder, link = tarfile.TarInfo("it"), tarfile.TarInfo("it/link")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        link.type, link.linkname = tarfile.LNKTYPE, target
        for member in (folder, link):
            archive.addfile(member)
    forged.seek(0)
    (tmp_path / "top").mkdir()
    tars.unpack(forged, str(tmp_path / "top" / "inner"))
    assert list((tmp_path / "top" / "inner").iterdir()) == []
