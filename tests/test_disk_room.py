"""A full disk is recognised by what the system says, and by how little room there is."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from windlass import disk_room


def test_a_full_disk_and_a_full_quota_are_told_from_other_errors() -> None:
    assert disk_room.is_lacking(OSError(errno.ENOSPC, "full"))
    assert disk_room.is_lacking(OSError(errno.EDQUOT, "full"))
    assert not disk_room.is_lacking(PermissionError(errno.EACCES, "no"))
    assert not disk_room.is_lacking(ValueError("full"))


def test_what_to_do_is_said_of_a_full_disk_and_of_a_closed_folder_and_of_nothing_else() -> None:
    assert disk_room.hint(OSError(errno.ENOSPC, "full")) == disk_room.HINT
    for number in (errno.EROFS, errno.EACCES, errno.EPERM):
        assert disk_room.hint(OSError(number, "closed")) == disk_room.HINT_CLOSED
    assert disk_room.hint(OSError(errno.EIO, "broken")) == ""
    assert disk_room.hint(PermissionError("without a number")) == ""


def test_what_the_kernel_refuses_for_want_of_room_is_recognised() -> None:
    with (
        pytest.raises(OSError, match="No space left") as refused,
        Path("/dev/full").open("wb", buffering=0) as file,
    ):
        file.write(b"x")
    assert disk_room.is_lacking(refused.value)


def test_a_file_system_without_a_size_is_not_known_to_be_full() -> None:
    assert disk_room.free("/proc") is None
    assert disk_room.full("/proc") == ""


def test_a_disk_with_little_room_is_named_and_one_that_is_not_there_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert disk_room.full(tmp_path, None) == ""
    monkeypatch.setattr(disk_room, "LITTLE", 1 << 60)
    assert disk_room.full(None, tmp_path / "gone", tmp_path) == str(tmp_path)
