"""Replacing a file whole: the old or the new is there, never half, and nothing is left over."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass import whole_file

Replace = Callable[..., None]
BOTH = pytest.mark.parametrize("replace", [whole_file.replace, whole_file.replace_durably])


@BOTH
def test_a_file_is_made_and_then_replaced_and_nothing_else_is_there(
    tmp_path: Path, replace: Replace
) -> None:
    path = tmp_path / "file"
    for data in (b"old", b"x" * 300_000, b""):
        replace(path, data)
        assert path.read_bytes() == data
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@BOTH
def test_it_is_for_us_alone_unless_somebody_says_otherwise(
    tmp_path: Path, replace: Replace
) -> None:
    replace(tmp_path / "ours", b"")
    replace(tmp_path / "shown", b"", mode=0o644)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "shown")]
    assert modes == [0o600, 0o644 & ~_umask()]


@BOTH
def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path, replace: Replace) -> None:
    target, path = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"theirs")
    path.symlink_to(target)
    replace(path, b"ours")
    assert not path.is_symlink()
    assert (target.read_bytes(), path.read_bytes()) == (b"theirs", b"ours")


@BOTH
def test_what_cannot_be_replaced_stays_and_leaves_nothing(tmp_path: Path, replace: Replace) -> None:
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        replace(tmp_path / "folder", b"data")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_reader_finds_all_of_one_of_them_whenever_it_looks(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [bytes([letter]) * 200_000 for letter in b"ab"]
    whole_file.replace(path, texts[0])
    over = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not over.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(200):
        whole_file.replace(path, texts[number % 2])
    over.set()
    reader.join()
    assert seen <= set(texts)


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now
