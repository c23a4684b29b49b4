"""How much folders take: nobody hides what fills the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.privileges import unprivileged

from windlass.daemon.kernel import disk_use


def test_what_lies_in_a_folder_that_its_owner_has_closed_is_counted(tmp_path: Path) -> None:
    """Else an agent would close a folder that it fills, and go on."""
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "large").write_bytes(b"x" * (5 << 20))
    closed.chmod(0)
    try:
        taken = unprivileged(lambda: disk_use.count(tmp_path), closed=closed)
    finally:
        closed.chmod(0o700)
    assert taken >= 5


def test_what_is_not_there_cannot_be_counted(tmp_path: Path) -> None:
    """It is said, and not taken for nothing."""
    with pytest.raises(ValueError, match="du ended"):
        disk_use.count(tmp_path / "none")
