"""Files with holes: copied and brought back, they take no more room than they did."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from windlass.daemon.kernel import folder_copy
from windlass.git import holes, roots, tars, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

MEBIBYTE = 1 << 20
TEBIBYTE = 1 << 40
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
    salvaged_and_back(repo, ws)
    assert (ws / "large").read_bytes() == held
    assert room(ws / "large") < MEBIBYTE


def salvaged_and_back(repo: Repository, ws: Path) -> trash.TrashEntry:
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    entry = trash.find(repo, "a1")
    trash.restore(repo, entry, path=str(ws), branch="agent/a1", agent="a1")
    return entry


@pytest.mark.usefixtures("_holes")
def test_nothing_is_lost_of_files_with_more_holes_than_can_be_written_out(
    repo: Repository, ws: Path
) -> None:
    """An agent makes terabytes of them at no cost, and could not be ended any more."""
    write(ws / "first", PARTS[-1])
    held = (ws / "first").read_bytes()
    large = {"new": 0o640, "sub/new": 0o600, "readme.txt": 0o755}
    (ws / "sub").mkdir(exist_ok=True)
    for name, mode in large.items():
        with (ws / name).open("wb") as file:
            file.write(b"begins")
            file.seek(TEBIBYTE)
            file.write(os.fsencode(name))
            file.truncate(2 * TEBIBYTE)
        (ws / name).chmod(mode)
    kept = salvaged_and_back(repo, ws)
    assert kept.dropped == []
    assert [(change.letter, change.path) for change in trash.show(repo, kept).changes] == [
        ("A", "first"),
        ("A", "new"),
        ("M", "readme.txt"),
        ("A", "sub/new"),
    ]
    assert (ws / "first").read_bytes() == held
    for name, mode in large.items():
        info = (ws / name).stat()
        assert (info.st_size, info.st_mode & 0o777) == (2 * TEBIBYTE, mode)
        assert room(ws / name) < MEBIBYTE
        with (ws / name).open("rb") as file:
            assert file.read(6) == b"begins"
            file.seek(TEBIBYTE)
            assert file.read(len(name) + 1) == os.fsencode(name) + b"\0"


@pytest.mark.usefixtures("_holes")
def test_a_nested_repository_with_holes_in_it_comes_back_as_it_was(
    repo: Repository, ws: Path
) -> None:
    (ws / "nested/.git").mkdir(parents=True)
    for number, parts in enumerate(PARTS):
        write(ws / f"nested/.git/{number}", parts)
    held = [(ws / f"nested/.git/{number}").read_bytes() for number in range(len(PARTS))]
    with (ws / "nested/.git/x").open("wb") as file:
        file.truncate(TEBIBYTE)
    salvaged_and_back(repo, ws)
    found = [(ws / f"nested/.git/{number}").read_bytes() for number in range(len(PARTS))]
    assert found == held
    assert (ws / "nested/.git/x").stat().st_size == TEBIBYTE
    assert all(room(path) < MEBIBYTE for path in (ws / "nested/.git").iterdir())


@pytest.mark.usefixtures("_holes")
def test_holes_are_not_searched_for_ids(tmp_path: Path) -> None:
    """Each such file of a git folder took seconds, and there may be any number of them."""
    with (tmp_path / "ids").open("wb") as file:
        file.seek(TEBIBYTE)
        file.write(b"a" * 40)
        file.truncate(2 * TEBIBYTE)
    found = roots.Mentioned()
    roots.mentioned(str(tmp_path), found)
    assert found.ids == {"a" * 40}


@pytest.mark.usefixtures("_holes")
@pytest.mark.parametrize("parts", PARTS)
def test_other_programs_read_a_tar_of_a_file_with_holes(
    tmp_path: Path, parts: dict[int, bytes]
) -> None:
    """Whoever has the saved work alone brings it back with what is on any system."""
    write(tmp_path / "file", parts)
    with (tmp_path / "tar").open("w+b") as tar:
        assert tars.pack(str(tmp_path / "file"), tar).left == {}
        assert tar.tell() < MEBIBYTE
        tar.seek(0)
        with tarfile.open(fileobj=tar) as archive:
            content = archive.extractfile("it")
            assert content is not None
            assert content.read() == (tmp_path / "file").read_bytes()
    subprocess.run(["tar", "xf", "tar"], cwd=tmp_path, check=True)
    assert (tmp_path / "it").read_bytes() == (tmp_path / "file").read_bytes()


@pytest.mark.usefixtures("_holes")
def test_more_data_than_a_header_can_tell_is_followed_by_the_next_file(tmp_path: Path) -> None:
    """From 8 GiB on the size is told elsewhere in a tar, where that of the whole file is too."""
    header = tarfile.TarInfo("it/a")
    header.size = 9 << 30
    header.pax_headers = {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": f"0,{9 << 30}"}
    with (tmp_path / "tar").open("w+b") as tar:
        tar.write(header.tobuf(tarfile.PAX_FORMAT))
        tar.seek(9 << 30, os.SEEK_CUR)
        tar.write(tarfile.TarInfo("it/b").tobuf(tarfile.PAX_FORMAT))
        tar.truncate(tar.tell() + 1024)
        tar.seek(0)
        with tarfile.open(fileobj=tar, mode="r:") as archive:
            assert archive.getnames() == ["it/a", "it/b"]


@pytest.mark.usefixtures("_holes")
@pytest.mark.parametrize(("parts", "data"), [(PARTS[0], 0), (PARTS[1], 6), (PARTS[3], 70_012)])
def test_the_size_of_the_holes_is_what_is_not_data(
    tmp_path: Path, parts: dict[int, bytes], data: int
) -> None:
    write(tmp_path / "file", parts)
    with (tmp_path / "file").open("rb") as file:
        assert SIZE - MEBIBYTE < holes.size(file.fileno()) <= SIZE - data
        assert file.read(1) == ((tmp_path / "file").read_bytes()[:1])
