"""`wl estop`: the daemon is killed, and it stays away until the person starts again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.api import daemon_record, daemon_start
from windlass.cli import main
from windlass.core.errors import Denied

HOLDS_LOCK = """
import fcntl, json, os, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
file.write(json.dumps({"pid": os.getpid()})); file.flush()
print("up", flush=True)
time.sleep(100)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv(daemon_start.IN_A_SESSION, raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_the_daemon_is_killed_and_marked_as_stopped(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [sys.executable, "-c", HOLDS_LOCK, str(home / "daemon.lock")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        assert main.main(["estop", "--json"]) == 0
        assert daemon.wait(60) == -9
    told = json.loads(capsys.readouterr().out)
    assert (told["stopped"], told["survivors"]) == (0, [])
    assert told["seconds"] < 2
    assert daemon_record.is_stopped()
    assert (home / daemon_record.EMERGENCY).exists()


def test_it_works_without_a_daemon_and_without_a_state_folder(home: Path) -> None:
    assert main.main(["estop"]) == 0
    assert daemon_record.is_stopped()
    for left in home.iterdir():
        left.unlink()
    home.rmdir()
    assert main.main(["estop"]) == 0
    assert not home.exists(), "nothing is made where nothing was"


def test_agents_do_not_stop_everybody(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(daemon_start.IN_A_SESSION, "m")
    assert main.main(["estop"]) == Denied.exit_code
    assert not any(home.iterdir())
