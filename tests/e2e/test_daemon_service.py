"""`wl daemon install`: a service whose lines are run here as its supervisor would run them."""

from __future__ import annotations

import configparser
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.ground import Ground, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "darwin", reason="launchd has another file"),
]


def unit(path: Path) -> configparser.ConfigParser:
    """What a unit says."""
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string(path.read_text())
    return read


def line(said: str) -> list[str]:
    """A command of a unit, as systemd takes it apart."""
    words = shlex.split(said.removeprefix("-"))
    return [word.replace("$$", "$").replace("%%", "%") for word in words]


def test_an_installed_daemon_starts_as_the_person_would_and_stops_for_good(ground: Ground) -> None:
    ground.warm = False
    told = ground.wl("daemon", "install", "--json", env={"MINE": "kept"}).ok().json()
    path = Path(told["path"])
    assert path.is_relative_to(ground.home / ".config" / "systemd" / "user")
    service = unit(path)["Service"]
    assert service["KillMode"] == "process"
    bare = {"HOME": str(ground.home), "PATH": "/usr/bin:/bin", "MAINPID": "1"}
    started = subprocess.Popen(line(service["ExecStart"]), env=bare)
    with started:
        # First its lock: a command that finds none would start another one.
        until(lambda: ground.living_daemon() is not None, what="its lock")
        ground.wl("list").ok()
        daemon = ground.living_daemon()
        assert daemon is not None
        assert daemon.pid == started.pid
        assert daemon.environ()["MINE"] == "kept"
        (said,) = shlex.split(service["Environment"])
        bare["WINDLASS_HOME"] = said.removeprefix("WINDLASS_HOME=")
        subprocess.run(line(service["ExecStop"]), env=bare, check=True)
    assert started.returncode == 0
    assert (ground.state / "daemon.stopped").exists()


def test_where_the_supervisor_cannot_be_told_the_person_is_and_uninstall_takes_it_back(
    ground: Ground,
) -> None:
    ground.warm = False
    without = {"DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": str(ground.runtime)}
    done = ground.wl("daemon", "install", env=without).ok().out.splitlines()
    path = Path(done[0].split(" is written")[0])
    assert path.exists()
    assert f"  systemctl --user enable {path.name}" in done
    done = ground.wl("daemon", "uninstall", env=without).ok().out.splitlines()
    assert f"  systemctl --user disable {path.name}" in done
    assert not path.exists()
    assert "there was no" in ground.wl("daemon", "uninstall", env=without).ok().out
