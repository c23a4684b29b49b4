"""Whatever keeps a name of an agent's from being written is told by that name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.core.errors import GitError
from windlass.git import beneath

LONG = b"a" * 300
"""More than a file system takes for one name."""


def new_file(top: str, name: bytes) -> None:
    """Writes an empty file."""
    with beneath.new_file(top, name):
        pass


def new_link(top: str, name: bytes) -> None:
    """Makes a link."""
    beneath.new_link(top, name, b"target")


@pytest.mark.parametrize("make", [new_file, new_link, beneath.new_folder])
@pytest.mark.parametrize("name", [LONG, LONG + b"/below"])
def test_a_name_that_the_disk_refuses_is_named(
    tmp_path: Path, make: Callable[[str, bytes], None], name: bytes
) -> None:
    with pytest.raises(GitError, match=r"aaa.* cannot be written: File name too long"):
        make(str(tmp_path), name)


@pytest.mark.parametrize("make", [new_file, new_link, beneath.new_folder])
def test_nothing_is_written_through_a_link(
    tmp_path: Path, make: Callable[[str, bytes], None]
) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    (top / "link").symlink_to(outside)
    with pytest.raises(GitError, match=r"link.* cannot be written"):
        make(str(top), b"link/below")
    assert list(outside.iterdir()) == []
