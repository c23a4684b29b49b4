"""What a run left of reports is the word of whoever was tested: reading it takes little."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from windlass.core.gate.tally import TestReport
from windlass.daemon.gate import report_files

_LARGE = 16 << 20
_SUITE = b'<testsuite><testcase name="a"/></testsuite>'


def read(folder: Path) -> TestReport | None:
    """Reads every XML file of a folder as a report."""
    log = folder / "log"
    log.write_text("nothing\n")
    return report_files.read(log, ((folder, ("*.xml",)),))


@pytest.mark.parametrize("first", [b"", _SUITE])
def test_hundreds_of_large_files_are_never_in_memory_together(tmp_path: Path, first: bytes) -> None:
    """Of holes, they take no room on the disk: five hundred would be eight gigabytes."""
    for number in range(40):
        path = tmp_path / f"{number:02}.xml"
        path.write_bytes(first + b" ")
        os.truncate(path, _LARGE)
    tracemalloc.start()
    try:
        assert read(tmp_path) is None
        assert tracemalloc.get_traced_memory()[1] < 4 * _LARGE
    finally:
        tracemalloc.stop()


def test_every_file_of_several_is_counted(tmp_path: Path) -> None:
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_bytes(_SUITE)
    found = read(tmp_path)
    assert found is not None
    assert found.ran == 2
