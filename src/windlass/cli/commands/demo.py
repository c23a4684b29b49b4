"""Shows the main job on a scratch repository: no model, no account, nothing of yours touched.

A small Python package has a board of eight tasks, and its main is behind a gate. `wl run` works the
board off with four agents: a review wants a test, an agent asks, one task cannot be done. What is
done is merged, tested as merged, and lands when that is green: one change breaks a test, two edit
the same place, and these come back and are mended. The daemon is killed with -9 while the gate
runs. At the end every commit of main is tested once more. Nothing stays running or lying about.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from typing import Any, NoReturn

from windlass.api import daemon_start, places
from windlass.cli import board_view, gate_run, run_progress
from windlass.cli.call import Call
from windlass.cli.demo import project, proof
from windlass.cli.demo.person import Person, say
from windlass.core.errors import Internal, Unavailable
from windlass.core.leaks import without_leaks
from windlass.project import boards

EXAMPLES = ("wl demo", "wl demo --keep")
_WORKERS = 4
_PATIENCE = 240
"""Seconds; a few times as many as it takes."""
_FAILS = "CHART-1"
"""The task that cannot be done."""


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to leave the scratch folder afterwards."""
    parser.add_argument("--keep", action="store_true", help="leave it, to look around afterwards")


def run(call: Call) -> int:
    """Plays it and sums up."""
    began = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP on purpose
            signal.signal(number, _unwind)
    folder = tempfile.mkdtemp(prefix="windlass-demo-")
    _forget_the_caller(folder)
    repo = project.make(folder)
    os.chdir(repo)
    try:
        facts = _play(call, folder, repo)
    except BaseException:
        signal.alarm(0)
        with contextlib.suppress(Exception):  # what went wrong first is what is told
            _leave(call)
        raise
    _leave(call)
    facts |= {"seconds": round(time.monotonic() - began, 1), "folder": folder}
    _sum_up(call, facts, repo)
    if not call.args.keep:
        os.chdir(os.path.dirname(folder))
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _unwind(number: int, _: object) -> NoReturn:
    """A signal ends the demo the way a failure does: by leaving nothing running."""
    raise SystemExit(128 + number)


def _too_late(*_: object) -> NoReturn:
    raise Unavailable(f"the board is not worked off after {_PATIENCE} s", "is the machine busy?")


def _forget_the_caller(folder: str) -> None:
    """Another agent's socket or a git hook's GIT_DIR would make the demo act on what is theirs."""
    clean = without_leaks(os.environ)
    os.environ.clear()
    os.environ.update(clean)
    os.environ["WINDLASS_HOME"] = os.path.join(folder, "state")
    os.environ["PATH"] = f"{project.own_python(folder)}{os.pathsep}{os.environ['PATH']}"


def _play(call: Call, folder: str, repo: str) -> dict[str, Any]:
    say(call, f"a small Python package with a board of tasks; its gate: {project.runner()}")
    call.ask("init")
    call.ask("config.add", config_key="box.toolchains", value=project.packages(folder), user=True)
    _prove_main(call)
    if not call.json:
        board_view.say_tasks(call, boards.read(None).board)
    say(call, f"wl run: {_WORKERS} agents at once, played by scripts: no model, no account")
    person, before = Person(call), call.ask("runs")["at"]
    call.ask("run", driver="standin", workers=_WORKERS)
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(_PATIENCE)
    seen = run_progress.follow(call, {**call.ask("runs", after=before), "at": before}, person.hear)
    signal.alarm(0)
    _check(seen, person)
    if not call.json:
        run_progress.table(call, seen)
    say(call, "each commit of main is tested once more, in a plain clone")
    tasks = {task["task"]: task for task in seen["tasks"]}
    commits = proof.prove(call, repo, folder, tasks)
    outcomes = {name: task["state"] for name, task in tasks.items()}
    return {"tasks": outcomes, "commits": commits, "killed": person.killed}


def _prove_main(call: Call) -> None:
    run = call.ask("gate.run")
    if run["job"]:
        run = gate_run.wait(call, run["job"])
    if run["outcome"] != "passed":
        (check,) = run["checks"]
        why = check["why"] or ", ".join(check["failed"])
        raise Unavailable(
            f"the gate of the demo's project {run['outcome']}: {why}", f"see {check['log']}"
        )


def _check(seen: dict[str, Any], person: Person) -> None:
    """What the demo is for has happened, or it fails."""
    wrong = {
        task["task"]: f"{task['state']} {task['why']}"
        for task in seen["tasks"]
        if task["state"] != ("failed" if task["task"] == _FAILS else "landed")
    }
    told = (len(person.came_back), person.answered, bool(person.killed))
    if wrong or seen["blocked"] or seen["problem"] or told != (2, 1, True):
        raise Internal(
            "the demo went otherwise than it should", f"{wrong} {told} {person.came_back}"
        )


def _leave(call: Call) -> None:
    """Ends what may still run, also after a failure half-way, and whatever fails here."""
    try:
        call.ask("end", agents=[], tree=True, force=True)
    finally:
        daemon_start.stop()
        tmux = ["tmux", "-S", os.path.join(places.runtime(), "tmux"), "kill-server"]
        with contextlib.suppress(OSError):
            subprocess.run(tmux, capture_output=True, check=False)
        shutil.rmtree(places.runtime(), ignore_errors=True)


def _sum_up(call: Call, facts: dict[str, Any], repo: str) -> None:
    call.data(facts)
    call.say()
    proof.show(call, facts["commits"])
    call.say()
    landed = sum(state == "landed" for state in facts["tasks"].values())
    call.say(f"done in {facts['seconds']} s: {landed} of {len(facts['tasks'])} tasks have landed,")
    call.say("and every commit that main ever was at is green.")
    if not call.args.keep:
        call.say("wl demo --keep leaves the repository, to look around in it")
        return
    call.say("look around, in any shell: the board, why a task failed, what landed and came back")
    for words in ("board list", f"why {_FAILS}", "log --landed", "queue --all"):
        call.say(f"  {_typed(repo, words)}")
    call.say(f"and to be rid of it: rm -rf {shlex.quote(facts['folder'])}")


def _typed(repo: str, words: str) -> str:
    """A command of the demo as it can be pasted into any shell.

    By its path, because `wl` of a checkout is on no PATH; without a comment, which zsh would take
    for arguments.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "wl")
    program = beside if os.path.exists(beside) else "wl"
    home = shlex.quote(os.environ["WINDLASS_HOME"])
    return f"WINDLASS_HOME={home} {shlex.quote(program)} -C {shlex.quote(repo)} {words}"
