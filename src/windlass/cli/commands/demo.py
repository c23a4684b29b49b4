"""Shows the main job on a scratch repository: no model, no account, nothing of yours touched.

Four agents work on a small Python package whose main is behind a gate. What they have is merged,
tested as merged, and lands when that is green. One breaks a test: its change comes back to it, and
lands once it is mended. Two edit the same place: one of them merges main and tries again. The
daemon is killed with -9 while the gate runs. At the end every commit of main is tested once more.
Nothing stays running.
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
from functools import partial
from typing import Any, NoReturn

from windlass.api import daemon_start, places
from windlass.cli import gate_run
from windlass.cli.call import Call
from windlass.cli.demo import project, proof
from windlass.cli.demo.progress import Progress
from windlass.core.errors import Internal, Unavailable
from windlass.core.leaks import without_leaks

EXAMPLES = ("wl demo", "wl demo --clean")


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to remove the scratch folder afterwards."""
    parser.add_argument("--clean", action="store_true", help="remove the scratch folder afterwards")


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
        with contextlib.suppress(Exception):  # what went wrong first is what is told
            _leave(call)
        raise
    _leave(call)
    facts |= {"seconds": round(time.monotonic() - began, 1), "folder": folder}
    _sum_up(call, facts, repo)
    if call.args.clean:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _unwind(number: int, _: object) -> NoReturn:
    """A signal ends the demo the way a failure does: by leaving nothing running."""
    raise SystemExit(128 + number)


def _forget_the_caller(folder: str) -> None:
    """Another agent's socket or a git hook's GIT_DIR would make the demo act on what is theirs."""
    clean = without_leaks(os.environ)
    os.environ.clear()
    os.environ.update(clean)
    os.environ["WINDLASS_HOME"] = os.path.join(folder, "state")
    os.environ["PATH"] = f"{project.own_python(folder)}{os.pathsep}{os.environ['PATH']}"


def _play(call: Call, folder: str, repo: str) -> dict[str, Any]:
    _say(call, f"a small Python package; main is behind a gate: {project.runner()}")
    call.ask("init")
    call.ask("config.set", config_key="landing.review", value="none", user=True)
    call.ask("config.add", config_key="box.toolchains", value=project.packages(folder), user=True)
    watching = Progress(call, partial(project.whose, repo))
    _prove_main(call)
    _say(call, "four agents at once; stand-ins play them by scripts: no model, no account")
    for name, goal in project.GOALS.items():
        script = os.path.join(project.DATA, f"{name}.json")
        call.ask("spawn", goal=goal, name=name, driver="standin", script=script, land=True)
    watching.until_gate_runs()
    killed = _kill_daemon(call)
    watching.until_landed(list(project.GOALS))
    _say(call, "all four have landed. Each commit of main is tested once more, in a plain clone")
    commits = proof.prove(call, repo, folder)
    _check(commits)
    return {"commits": commits, "killed": killed}


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


def _kill_daemon(call: Call) -> int:
    """Kills it in the middle of the gate, as the machine itself might; the next one goes on."""
    pid = _daemon_pid()
    _say(call, f"kill -9 on the daemon (process {pid}) while the gate runs")
    os.kill(pid, signal.SIGKILL)
    call.ask("whoami")
    _say(call, f"another daemon (process {_daemon_pid()}) goes on where that one was")
    return pid


def _daemon_pid() -> int:
    return int((daemon_start.running() or {})["pid"])


def _check(commits: list[dict[str, Any]]) -> None:
    """What the demo is for has happened, or it fails."""
    back = [why for commit in commits for c in commit["changes"] for why in c["came_back"]]
    agents = sorted(c["agent"] for commit in commits for c in commit["changes"])
    if agents != sorted(project.GOALS) or len(back) != 2:
        raise Internal("main does not hold what the demo is to show", f"{agents} {back}")


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


def _say(call: Call, text: str) -> None:
    call.tell(call.paint(f"\n{text}", "bold"))


def _sum_up(call: Call, facts: dict[str, Any], repo: str) -> None:
    call.data(facts)
    call.say()
    proof.show(call, facts["commits"])
    call.say()
    call.say(f"done in {facts['seconds']} s: every commit that main ever was at is green.")
    if not call.args.clean:
        call.say("look around, in any shell: what landed, what came back and why, what happened")
        for words in ("queue --all", "log"):
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
