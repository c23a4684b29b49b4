"""Files with holes: copied and brought back, they take no more room than they did."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windlass.daemon.agents import folder_copy
from windlass.git import contents, holes, manifest, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

MEBIBYTE = 1 << 20
SIZE = 64 * MEBIBYTE
PARTS: list[dict[int, bytes]] = [
    {},
    {0: b"begins"},
    {SIZE - 4: b"ends"},
    {0: b"a", 5 * MEBIBYTE + 17: b"b" * 70_000, 40 * MEBIBYTE: b"\0" * 10 + b"c"},
]


def write(path: Path, parts: dict[int, bytes]) -> None:
    with path.open("wb") as file:
        for at, data in parts.items():
            file.seek(at)
            file.write(data)
        file.truncate(SIZE)


def room(path: Path) -> int:
    """The bytes that a file takes on the disk."""
    return path.stat().st_blocks * 512


@pytest.fixture
def _holes(tmp_path: Path) -> None:
    write(tmp_path / "trial", {})
    if room(tmp_path / "trial") > MEBIBYTE:
        pytest.skip("this file system has no holes")


@pytest.mark.usefixtures("_holes")
@pytest.mark.parametrize("parts", PARTS)
def test_a_folder_is_copied_with_its_holes(tmp_path: Path, parts: dict[int, bytes]) -> None:
    (tmp_path / "old").mkdir()
    write(tmp_path / "old/file", parts)
    assert folder_copy.copy(str(tmp_path / "old"), str(tmp_path / "new")) == []
    assert (tmp_path / "new/file").read_bytes() == (tmp_path / "old/file").read_bytes()
    assert room(tmp_path / "new/file") < MEBIBYTE


@pytest.mark.usefixtures("_holes")
@pytest.mark.parametrize("parts", PARTS)
def test_what_is_nothing_but_zeros_becomes_a_hole(tmp_path: Path, parts: dict[int, bytes]) -> None:
    write(tmp_path / "old", parts)
    with (tmp_path / "new").open("wb") as file, (tmp_path / "old").open("rb") as old:
        writer = holes.HoleWriter(file)
        while chunk := old.read(MEBIBYTE + 333):
            writer.write(chunk)
        writer.finish()
    assert (tmp_path / "new").read_bytes() == (tmp_path / "old").read_bytes()
    assert room(tmp_path / "new") < MEBIBYTE


def test_a_file_that_is_all_data_is_copied_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(data := os.urandom(3 * MEBIBYTE + 5))
    with (tmp_path / "old").open("rb") as old, (tmp_path / "new").open("wb") as new:
        holes.copy(old.fileno(), new.fileno())
    assert (tmp_path / "new").read_bytes() == data


@pytest.mark.usefixtures("_holes")
def test_a_workspace_comes_back_with_its_holes(repo: Repository, ws: Path) -> None:
    write(ws / "large", PARTS[-1])
    held = (ws / "large").read_bytes()
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1", agent="a1")
    assert (ws / "large").read_bytes() == held
    assert room(ws / "large") < MEBIBYTE


@pytest.mark.usefixtures("_holes")
def test_more_holes_than_can_be_read_in_time_are_listed_and_all_else_is_kept(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent makes terabytes of them at no cost, and could not be ended any more."""
    monkeypatch.setattr(contents, "MOST_HOLES", 2 * SIZE)
    for name in ("a", "b", "c", "d"):
        write(ws / name, PARTS[1])
    (ws / "data").write_bytes(data := os.urandom(3 * MEBIBYTE))
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert kept.summary.dropped == 2
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    entry = trash.find(repo, "a1")
    listed = manifest.read(repo, entry.commit).dropped
    assert [one.path for one in listed] == ["c", "d"]
    assert "holes" in listed[0].reason
    trash.restore(repo, entry, path=str(ws), branch="agent/a1", agent="a1")
    assert (ws / "data").read_bytes() == data
    assert sorted(path.name for path in ws.glob("?")) == ["a", "b"]


@pytest.mark.usefixtures("_holes")
@pytest.mark.parametrize(("parts", "data"), [(PARTS[0], 0), (PARTS[1], 6), (PARTS[3], 70_012)])
def test_the_size_of_the_holes_is_what_is_not_data(
    tmp_path: Path, parts: dict[int, bytes], data: int
) -> None:
    write(tmp_path / "file", parts)
    with (tmp_path / "file").open("rb") as file:
        assert SIZE - MEBIBYTE < holes.size(file.fileno()) <= SIZE - data
        assert file.read(1) == ((tmp_path / "file").read_bytes()[:1])
