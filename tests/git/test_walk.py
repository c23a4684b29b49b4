"""Folders that are exchanged for links while they are walked, read or deleted lead nowhere."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from windlass.git import descent, erasure, gitfiles, putback_outside
from windlass.git.descent import Descent
from windlass.git.erasure import erase
from windlass.git.walk import walk


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the person's, with a file of theirs."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("mine\n")
    (folder / "secret").chmod(0o600)
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder of an agent's: `a/b/file`."""
    top = tmp_path / "workspace"
    (top / "a/b").mkdir(parents=True)
    (top / "a/b/file").write_text("work\n")
    return top


def exchange(folder: Path, outside: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(outside)


def test_a_folder_that_becomes_a_link_is_not_walked(workspace: Path, outside: Path) -> None:
    found = []
    for entry in walk(str(workspace)):
        found.append(entry.path)
        if entry.path == b"a":
            exchange(workspace / "a", outside)
    assert set(found) <= {b"a", b"a/b", b"a/b/file"}


def test_a_file_below_what_became_a_link_is_not_read(workspace: Path, outside: Path) -> None:
    (workspace / "a/b/secret").write_text("work\n")
    with gitfiles.opened(str(workspace)) as top, Descent(top) as below:
        folder, name = below.holder(b"a/b/secret")
        os.close(descent.opened_file(name, folder))
        below.open(())
        exchange(workspace / "a/b", outside)
        with pytest.raises(OSError, match=r"directory|symbolic") as raised:
            below.holder(b"a/b/secret")
        assert descent.is_exchanged(raised.value)


def test_only_what_is_the_agents_own_is_opened_to_us(workspace: Path, outside: Path) -> None:
    (workspace / "link").symlink_to(outside / "secret")
    (workspace / "closed").mkdir(mode=0o077)
    (workspace / "shut").write_text("x")
    (workspace / "shut").chmod(0o077)
    (outside / "secret").chmod(0o077)
    with gitfiles.opened(str(workspace)) as top:
        for name in ("link", "closed", "shut"):
            descent.unlock(name, folder=top)
    assert (outside / "secret").stat().st_mode & 0o777 == 0o077
    assert (workspace / "closed").stat().st_mode & 0o700 == 0o700
    assert (workspace / "shut").stat().st_mode & 0o600 == 0o600


def test_what_becomes_a_link_while_it_is_deleted_is_cut(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = descent.opened_folder
    calls = []

    def exchanged(name: bytes, folder: int) -> int:
        calls.append(name)
        if name == b"b" and calls.count(b"b") == 1:
            exchange(workspace / "a/b", outside)
        return opened(name, folder)

    monkeypatch.setattr(erasure, "opened_folder", exchanged)
    erase(str(workspace))
    assert not workspace.exists()
    assert (outside / "secret").read_text() == "mine\n"
    assert b"b" in calls


def test_what_is_closed_deep_or_a_link_is_deleted(tmp_path: Path, outside: Path) -> None:
    top = tmp_path / "top"
    here = top
    for _ in range(200):
        here /= "d"
    here.mkdir(parents=True)
    (here / "file").write_text("x")
    (here / "link").symlink_to(outside)
    here.chmod(0o500)
    erase(str(top))
    assert not top.exists()
    erase(str(top))
    (tmp_path / "link").symlink_to(outside)
    erase(str(tmp_path / "link"))
    assert (outside / "secret").exists()


def test_a_pointer_is_written_in_the_place_of_a_link_and_not_through_it(
    workspace: Path, outside: Path
) -> None:
    """Saved work can have a link where a nested repository's `.git` file was."""
    (workspace / "a/.git").symlink_to(outside / "secret")
    putback_outside._write_pointer(str(workspace / "a/.git"), "/somewhere")  # noqa: SLF001
    assert (outside / "secret").read_text() == "mine\n"
    assert (workspace / "a/.git").read_text() == "gitdir: /somewhere\n"


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_the_way_down_is_not_gone_again_for_each_folder_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain of folders, and at its end many more, each with a chain of its own."""
    end = tmp_path / "top" / "/".join("d" * 400)
    for number in range(40):
        (end / f"{number}" / "/".join("e" * 29)).mkdir(parents=True)
    folders = 400 + 40 * 30
    opened = descent.opened_folder
    open_now: list[int] = []

    def counted(name: bytes, folder: int) -> int:
        handle = opened(name, folder)
        open_now.append(open_files())
        return handle

    monkeypatch.setattr(descent, "opened_folder", counted)
    before = open_files()
    assert len(list(walk(str(tmp_path / "top")))) == folders
    assert len(open_now) < 4 * folders
    assert max(open_now) < before + 40
    assert open_files() == before


def test_each_folder_is_the_one_that_was_asked_for_wherever_one_comes_from(tmp_path: Path) -> None:
    chosen = random.Random(1)  # noqa: S311 - the same each time
    paths: list[tuple[str, ...]] = [()]
    for _ in range(40):
        start = chosen.choice(paths)
        paths += [(*start, *chosen.choices("ab", k=step)) for step in (1, 20, 90)]
    for path in paths:
        (tmp_path / "/".join(path)).mkdir(parents=True, exist_ok=True)
    with gitfiles.opened(str(tmp_path)) as top, Descent(top) as below:
        for path in chosen.choices(paths, k=500):
            if chosen.random() < 0.2:
                with pytest.raises(FileNotFoundError):
                    below.open((*path, "missing", "too"))
            found = os.fstat(below.open(path))
            assert os.path.samestat(found, (tmp_path / "/".join(path)).stat())
