"""Files that agents could have made are copied only as what a program of ours would write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windlass.daemon.kernel import untrusted_files

MEBIBYTE = 1 << 20


def test_a_file_full_of_holes_is_not_copied(tmp_path: Path) -> None:
    """It costs who made it nothing, and the disk of who copies it as much as it is long."""
    with (tmp_path / "hollow").open("wb") as file:
        file.truncate(64 * MEBIBYTE)
    if (tmp_path / "hollow").stat().st_blocks > 8:
        pytest.skip("this file system has no holes")
    with pytest.raises(untrusted_files.NotPlain, match="holes"):
        untrusted_files.copy(tmp_path / "hollow", tmp_path / "copy", most=1 << 30)
    assert not (tmp_path / "copy").exists()


def test_a_file_is_copied_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "talk").write_bytes(data := os.urandom(3 * MEBIBYTE + 5))
    untrusted_files.copy(tmp_path / "talk", tmp_path / "copy", most=len(data))
    assert (tmp_path / "copy").read_bytes() == data
    with pytest.raises(untrusted_files.NotPlain, match="larger"):
        untrusted_files.copy(tmp_path / "talk", tmp_path / "copy", most=len(data) - 1)


def test_a_folder_in_the_place_of_a_file_is_deleted_however_deep_it_is(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for name in ("place", *["d"] * 1500):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    untrusted_files.make_plain(tmp_path, "place")
    assert (tmp_path / "place").is_file()
