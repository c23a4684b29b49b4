"""Files that grow: every whole line once, whatever becomes of the file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.daemon.kernel import line_reader, untrusted_files
from windlass.daemon.kernel.line_reader import FileOffset

START = FileOffset()
LINES = st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"")), max_size=30)


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    path = tmp_path / "grown"
    path.write_bytes(b"one\ntwo\n")
    return path


def texts(path: Path, known: FileOffset = START) -> tuple[list[bytes], FileOffset]:
    part = line_reader.whole_lines(path, known)
    return [line.text for line in part.lines], part.place


@given(LINES, st.integers(1, 50), st.integers(0, 39))
def test_every_whole_line_is_read_once_in_order_however_little_at_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], most: int, half: int
) -> None:
    path = tmp_path_factory.mktemp("grown") / "lines"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + b"." * half)
    found: list[bytes] = []
    place = FileOffset()
    while (part := line_reader.whole_lines(path, place, most=most)).lines:
        assert part.start == place.offset
        assert part.lines[-1].end == part.place.offset
        found += [line.text for line in part.lines]
        place = part.place
    assert found == lines


def test_half_a_line_waits_for_its_end(grown: Path) -> None:
    _, place = texts(grown)
    with grown.open("ab") as file:
        file.write(b"thr")
    assert texts(grown, place) == ([], place)
    with grown.open("ab") as file:
        file.write(b"ee\n")
    assert texts(grown, place)[0] == [b"three"]


def test_a_file_that_became_shorter_is_read_from_its_beginning(grown: Path) -> None:
    for known in (FileOffset(8), texts(grown)[1]):
        grown.write_bytes(b"new\n")
        assert texts(grown, known)[0] == [b"new"]
        grown.write_bytes(b"one\ntwo\n")


def test_a_file_that_was_emptied_is_new_even_if_it_is_longer_at_the_next_look(grown: Path) -> None:
    _, place = texts(grown)
    grown.write_bytes(b"")
    found, place = texts(grown, place)
    assert (found, place.offset) == ([], 0)
    grown.write_bytes(b"longer than before\n")
    assert texts(grown, place)[0] == [b"longer than before"]


def test_another_file_in_its_place_is_new_however_long_it_is(grown: Path) -> None:
    _, place = texts(grown)
    other = grown.with_name("other")
    other.write_bytes(b"another file altogether\n")
    other.replace(grown)
    assert texts(grown, place)[0] == [b"another file altogether"]


def test_who_does_not_know_which_file_it_was_reads_on(grown: Path) -> None:
    assert texts(grown, FileOffset(4))[0] == [b"two"]


@pytest.mark.parametrize("longest", [98, 99, 100, 250])
@pytest.mark.parametrize("passed", [1, 64, 1 << 20])
def test_what_is_too_long_for_a_line_is_passed_over_and_told_once(
    grown: Path, monkeypatch: pytest.MonkeyPatch, longest: int, passed: int
) -> None:
    monkeypatch.setattr(line_reader, "_READ_AT_ONCE", 10)
    monkeypatch.setattr(line_reader, "_PASSED_AT_ONCE", passed)
    monkeypatch.setattr(line_reader, "_CHUNK", min(passed, 32))
    grown.write_bytes(b"y" * 99 + b"\n" + b"x" * 300 + b"\nafter\n")
    found: list[bytes] = []
    told, place = 0, FileOffset()
    while (part := line_reader.plain_lines(grown, place, longest=longest)).place != place:
        found += [line.text for line in part.lines]
        told += part.overlong
        place = part.place
    assert found[-1] == b"after"
    assert found[:-1] == ([b"y" * 99] if longest > 98 else [])
    assert told == (1 if longest > 98 else 2)
    assert place.offset == grown.stat().st_size


def test_a_line_without_end_is_read_once_and_what_is_added_to_it_alone_after_that(
    grown: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[int, int]] = []
    pread = os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        data = pread(descriptor, size, offset)
        read.append((offset, len(data)))
        return data

    monkeypatch.setattr(os, "pread", counted)
    grown.write_bytes(b"x" * (20 << 20))
    place = FileOffset()
    while (part := line_reader.whole_lines(grown, place)).place != place:
        place = part.place
    assert place.offset == 20 << 20
    assert max(size for _, size in read) <= line_reader.LONGEST_LINE + 1
    read.clear()
    with grown.open("ab") as file:
        file.write(b"xx\nafter\n")
    assert texts(grown, place) == ([], FileOffset((20 << 20) + 3, place.inode))
    assert sum(size for _, size in read) < 20
    assert texts(grown, FileOffset((20 << 20) + 3, place.inode))[0] == [b"after"]


def test_a_file_of_nothing_but_line_ends_is_read_some_at_a_time(grown: Path) -> None:
    grown.write_bytes(b"\n" * 35_000 + b"last\n")
    found: list[bytes] = []
    place = FileOffset()
    while (part := line_reader.plain_lines(grown, place)).lines:
        assert len(part.lines) <= 2500
        assert part.start == place.offset
        found += [line.text for line in part.lines]
        place = part.place
    assert found == [b""] * 35_000 + [b"last"]
    assert place.offset == grown.stat().st_size


@pytest.mark.parametrize("swapped", ["config", "config/projects", "config/projects/it"])
def test_no_folder_on_the_way_to_an_agents_file_is_a_link(tmp_path: Path, swapped: str) -> None:
    path = tmp_path / "agent" / "config" / "projects" / "it" / "talk.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine\n")
    below = tmp_path / "agent"
    assert line_reader.plain_lines(path, START, below=below).lines[0].text == b"mine"
    folder = below / swapped
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    assert path.read_bytes() == b"mine\n"
    assert line_reader.whole_lines(path, START, below=below).lines == []
    with pytest.raises(OSError):  # noqa: PT011 - a link is told in more than one way
        line_reader.plain_lines(path, START, below=below)
    assert "link" in untrusted_files.flaw(path, most=100, below=below)
    assert line_reader.plain_lines(path, START).lines, "what is the person's own may be a link"


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_folder(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    assert not path.exists()


@pytest.mark.parametrize("make", [a_pipe, a_link, a_folder, nothing])
def test_what_is_no_plain_file_holds_no_lines_and_nobody_up(
    grown: Path, make: Callable[[Path], None]
) -> None:
    _, place = texts(grown)
    grown.unlink()
    make(grown)
    assert texts(grown, place) == ([], place)


@pytest.mark.parametrize("make", [a_pipe, a_link, a_folder])
def test_who_needs_a_plain_file_is_told_that_there_is_none(
    grown: Path, make: Callable[[Path], None]
) -> None:
    grown.unlink()
    make(grown)
    with pytest.raises(OSError):  # noqa: PT011 - a pipe, a link and a folder each have their own
        line_reader.plain_lines(grown, FileOffset())


_WITHOUT_ROOM = """
import resource, sys
from windlass.daemon.kernel import line_reader
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
try:
    line_reader.whole_lines(sys.argv[1], line_reader.FileOffset())
except OSError as error:
    print(error.strerror)
"""


def test_a_file_that_we_have_no_room_to_open_is_not_said_to_be_empty(grown: Path) -> None:
    """In a process of its own: every thread of this one would go without files."""
    tried = [sys.executable, "-c", _WITHOUT_ROOM, str(grown)]
    said = subprocess.run(tried, capture_output=True, text=True, check=True).stdout
    assert said == "Too many open files\n"
