"""The lean box in which a program of ours reads what an agent wrote."""

from __future__ import annotations

from pathlib import Path

from windlass.box import read_box, seccomp


def test_the_filter_of_another_release_is_replaced(tmp_path: Path) -> None:
    """It is kept from one start to the next, and so from one release to the next."""
    old = tmp_path / "reading.bpf"
    old.write_bytes(seccomp.program()[:-8])
    line = read_box.prefix(readable=(), writable=(), files=tmp_path, network=False)
    assert str(old) in line
    assert old.read_bytes() == seccomp.program()


def test_the_filter_is_written_once(tmp_path: Path) -> None:
    files = tmp_path / "boxes"
    read_box.prefix(readable=(), writable=(), files=files, network=False)
    before = (files / "reading.bpf").stat()
    read_box.prefix(readable=(), writable=(), files=files, network=False)
    assert (files / "reading.bpf").stat().st_ino == before.st_ino
