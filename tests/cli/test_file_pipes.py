"""A boxed program that `wl exec` runs with files as its streams has nothing but their content."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_RUN = (
    "import os, sys; from windlass.cli import terminal_relay as relay;"
    "sys.exit(relay.run_boxed(sys.argv[1:], dict(os.environ), raw=False))"
)
_OPENS_AGAIN = """
import os, sys
for number in (0, 1, 2):
    again = os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.ftruncate(again, 0)
    except OSError:
        continue
    sys.exit(1)
"""
_FILLS_ITS_INPUT = """
import os
while os.read(0, 1 << 16):
    pass
again = os.open("/proc/self/fd/0", os.O_RDWR | os.O_NONBLOCK)
os.write(again, bytes(1500))
"""
_BOTH = "for n in 1 2 3 4; do echo out $n; echo err $n >&2; done"


def _line(*argv: str) -> list[str]:
    return [sys.executable, "-c", _RUN, *argv]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of the person's, with something in it."""
    path = tmp_path / "file"
    path.write_bytes(b"the person's\n")
    return path


def test_a_file_that_is_read_or_printed_to_cannot_be_opened_again(file: Path) -> None:
    with file.open("rb") as source, file.open("ab") as sink:
        line = _line(sys.executable, "-c", _OPENS_AGAIN)
        done = subprocess.run(line, stdin=source, stdout=sink, stderr=sink, check=False)
    assert done.returncode == 0
    assert file.read_bytes() == b"the person's\n"


def test_all_of_it_goes_through(tmp_path: Path) -> None:
    content = os.urandom(3 << 20)
    (tmp_path / "in").write_bytes(content)
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        line = _line("sh", "-c", "cat; exit 3")
        done = subprocess.run(line, stdin=source, stdout=sink, check=False)
    assert (done.returncode, (tmp_path / "out").read_bytes()) == (3, content)


def test_what_it_does_not_read_is_left_for_others(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("".join(f"{number}\n" for number in range(20_000)))
    with (tmp_path / "list").open("rb", buffering=0) as source:
        subprocess.run(_line("head", "-c", "4"), stdin=source, check=True, capture_output=True)
        assert source.read(4) == b"2\n3\n"


def test_what_it_writes_into_its_own_input_has_nobody_read_anything_again(file: Path) -> None:
    """A script whose next line is run from there would be run from another place."""
    said = b"echo the person's\n" * 100
    file.write_bytes(said)
    with file.open("rb", buffering=0) as source:
        source.seek(1000)
        line = _line(sys.executable, "-c", _FILLS_ITS_INPUT)
        subprocess.run(line, stdin=source, check=True)
        assert source.tell() >= 1000


def test_both_outputs_keep_their_order_in_one_file(file: Path) -> None:
    with file.open("wb") as sink:
        subprocess.run(_line("sh", "-c", _BOTH), stdout=sink, stderr=sink, check=True)
    said = [f"{stream} {number}" for number in range(1, 5) for stream in ("out", "err")]
    assert file.read_text().splitlines() == said


def test_a_full_disk_is_told(file: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *_line("yes")]
    with file.open("wb") as sink:
        done = subprocess.run(limited, stdout=sink, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"cannot write what it prints: File too large" in done.stderr
