"""Nothing leaves the machine: everything works where there is no network but loopback.

The test runs this very file in an empty network namespace. Where the machine has strace, every
address that any of the processes connects to is looked at, too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.claude import claude_binary, claude_environment
from tests.support.ground import Ground

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SCRIPT = (
    {"tool": "Bash", "input": {"command": "echo red > colour"}},
    {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"},
)
INTERFACES = "/proc/self/net/dev"
LOOPBACK = re.compile(r'inet_addr\("127\.0\.0\.1"\)|inet_pton\(AF_INET6, "::1"')
STAYS_HERE = ("AF_UNIX", "AF_UNSPEC", "AF_NETLINK")


def test_everything_works_without_a_network_and_connects_to_loopback_alone(ground: Ground) -> None:
    said = ground.folder / "said.json"
    traced = ground.folder / "connects"
    argv = [sys.executable, "-m", "tests.claude.test_no_network", str(ground.folder), str(said)]
    if strace := shutil.which("strace"):
        watched = ("-e", "trace=connect", "-e", "signal=none", "-s", "200")
        argv = [strace, "-f", "-qq", *watched, "-o", str(traced), *argv]
    alone = ["bwrap", "--unshare-net", "--dev-bind", "/", "/", "--die-with-parent", "--"]
    claude_binary()  # installed here, if at all: there is no network in there
    env = {**ground.env, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*alone, *argv], cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(said.read_text())
    assert found["interfaces"] == ["lo"]
    assert found["live"] == found["headless"] == ["creating", "running", "complete"]
    assert found["colours"] == ["red\n", "red\n"]
    if strace:
        _require_loopback(traced.read_text(errors="replace"), port=found["port"])


def _require_loopback(trace: str, *, port: str) -> None:
    connects = [line for line in trace.splitlines() if "connect(" in line and "sa_family" in line]
    beyond = [
        line
        for line in connects
        if not any(f"sa_family={family}" in line for family in STAYS_HERE)
        and not LOOPBACK.search(line)
    ]
    assert beyond == []
    assert sum(f"htons({port})" in line for line in connects) >= 2  # by both of the agents


def _play(folder: Path, said: Path) -> None:
    """Everything at once, on a ground of its own: daemon, model, tmux and two agents."""
    place = folder / "n"
    place.mkdir()
    ground = Ground(place)
    ground.warm = False  # the daemon comes after the model
    ground.repository()
    programs = place / "bin"
    programs.mkdir()
    (programs / "claude").symlink_to(claude_binary())
    script = ground.script("both", *SCRIPT)
    serving = ground.start("model", "serve", script)
    try:
        assert serving.stdout is not None
        listening = re.search(r"http://127\.0\.0\.1:(\d+)", serving.stdout.readline())
        assert listening is not None
        built = claude_environment(ground.home, listening[0])
        built.pop("CLAUDE_CONFIG_DIR")
        ground.env |= built | {"PATH": os.pathsep.join((str(programs), ground.env["PATH"]))}
        ground.wl("config", "set", "claude.config", "own", "--global").ok()
        seen = {"live": _run(ground, "fox"), "headless": _run(ground, "owl", "--print")}
        colours = [
            Path(ground.wl("path", name).ok().out.strip(), "colour").read_text()
            for name in ("fox", "owl")
        ]
        lines = Path(INTERFACES).read_text().splitlines()[2:]
        there = [line.partition(":")[0].strip() for line in lines]
        told = {**seen, "colours": colours, "interfaces": there, "port": listening[1]}
        said.write_text(json.dumps(told))
    finally:
        serving.terminate()
        serving.wait(60)
        ground.leave()


def _run(ground: Ground, name: str, *flags: str) -> list[str]:
    ground.wl("new", "--driver", "claude", "--name", name, *flags, f"be {name}").ok()
    ground.wait(name, states="complete,waiting,stopped,asking")
    return [
        str(one["state"])
        for one in ground.wl("why", name, "--history", "--json").ok().json()["history"]
    ]


if __name__ == "__main__":
    _play(Path(sys.argv[1]), Path(sys.argv[2]))
