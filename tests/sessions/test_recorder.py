"""What a session prints is kept at once, and no more of it than the last few MiB."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.sessions.conftest import until

from windlass import sessions

_RECORDER = Path(sessions.__file__).with_name("recorder.sh")
_MIB = 1 << 20


def begun(log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sh", str(_RECORDER), str(log)], stdin=subprocess.PIPE)


def test_much_is_kept_as_its_last_few_megabytes_in_order(tmp_path: Path) -> None:
    log = tmp_path / "a log's 100%.log"
    rows = b"".join(b"row %07d\n" % number for number in range(2_000_000))
    with begun(log) as recorder:
        recorder.communicate(rows)
    assert recorder.returncode == 0
    kept = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(kept) == 2
    assert 4 * _MIB <= sum(kept) <= 12 * _MIB
    assert rows.endswith(Path(f"{log}.1").read_bytes() + log.read_bytes())


def test_what_is_printed_is_there_at_once_and_what_there_was_stays(tmp_path: Path) -> None:
    log = tmp_path / "screen.log"
    log.write_bytes(b"before ")
    with begun(log) as recorder:
        assert recorder.stdin is not None
        os.write(recorder.stdin.fileno(), b"now")
        until(lambda: log.read_bytes() == b"before now")
        recorder.stdin.close()
    assert recorder.returncode == 0
