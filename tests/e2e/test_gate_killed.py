"""A daemon is killed with -9 while a check runs: the next one ends that and runs it again, once."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
from tests.support.ground import Ground, until


def test_a_check_that_a_daemon_died_in_is_ended_and_run_again_once(ground: Ground) -> None:
    """Never twice at a time; what counts is the second, as if there had been no other."""
    go = ground.shown / "go"
    check = f"echo begun; while [ ! -e {go} ]; do sleep 0.05; done; echo through"
    with (ground.state / "config.toml").open("a") as file:
        file.write(f'[[gate.check]]\nname = "waits"\nrun = {json.dumps(check)}\ntests = "none"\n')
    ground.wl("init").ok()
    job = ground.ask("gate.run")["job"]
    until(lambda: bool(runs(check)) and begun(ground) == 1, what="the check")
    (first,) = runs(check)
    ground.kill_daemon()
    ground.wl("list").ok()  # starts the next daemon
    until(lambda: begun(ground) == 2, what="the second run")
    (second,) = runs(check)
    assert first != second
    assert not first.is_running()
    go.touch()
    done = ground.ask("gate.wait", job=job)
    assert done["outcome"] == "passed"
    assert logs(ground)[-1].endswith("through\n")
    assert begun(ground) == 2
    assert ground.ask("gate.run")["cached"]
    assert not list((ground.state / "gates").glob("*/runs/*"))


def runs(check: str) -> list[psutil.Process]:
    """The shells that run a check's line, wherever they came from."""
    line = ["/bin/sh", "-c", check]
    return [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == line]


def logs(ground: Ground) -> list[str]:
    """What every run has said, the latest last."""
    paths = (ground.state / "gates").glob("*/logs/*.log")
    return [path.read_text() for path in sorted(paths, key=_age)]


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def begun(ground: Ground) -> int:
    """How many runs have begun to say something."""
    return sum(text.count("begun\n") for text in logs(ground))
