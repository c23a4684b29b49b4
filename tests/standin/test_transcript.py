"""The file of a conversation, where its disk is full."""

from __future__ import annotations

from pathlib import Path

from windlass.standin.transcript import Transcript


def test_a_full_disk_does_not_end_a_session(tmp_path: Path) -> None:
    """Measured on Claude Code 2.1.197: it goes on, and writes what it has once there is room."""
    path = tmp_path / "projects" / "a.jsonl"
    path.parent.mkdir()
    path.symlink_to("/dev/full")
    transcript = Transcript(path, session="s", cwd="/")
    assert transcript.add("user") != transcript.add("user")
