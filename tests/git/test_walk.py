"""Folders that are exchanged for links while they are walked, read or deleted lead nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windlass.git import descent, erasing, gitfiles, replanting
from windlass.git.descent import Descent
from windlass.git.erasing import erase
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

    monkeypatch.setattr(erasing, "opened_folder", exchanged)
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
    replanting._write_pointer(str(workspace / "a/.git"), "/somewhere")  # noqa: SLF001
    assert (outside / "secret").read_text() == "mine\n"
    assert (workspace / "a/.git").read_text() == "gitdir: /somewhere\n"
