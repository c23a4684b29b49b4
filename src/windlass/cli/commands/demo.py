"""Shows a crew at work on a scratch repository: no model, no account, nothing of yours touched.

A manager starts three workers, one of which is killed with -9 and goes on where it was; the work is
merged; an agent with uncommitted work is ended, and its work brought back. Nothing stays running.
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
import threading
import time
from argparse import ArgumentParser
from importlib import resources
from typing import Any, NoReturn

from windlass.api import calls, daemon_start, places
from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.errors import Internal, Unavailable
from windlass.core.leaks import without_leaks
from windlass.core.printable import printable_line

EXAMPLES = ("wl demo", "wl demo --clean")

_PATIENCE = 60.0


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
    _forget_the_caller(os.path.join(folder, "state"))
    repo = _repository(folder)
    os.chdir(repo)
    try:
        facts = _play(call)
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


def _forget_the_caller(home: str) -> None:
    """Another agent's socket or a git hook's GIT_DIR would make the demo act on what is theirs."""
    clean = without_leaks(os.environ)
    os.environ.clear()
    os.environ.update(clean)
    os.environ["WINDLASS_HOME"] = home
    os.environ["DEMO"] = str(resources.files("windlass.data") / "demo")


def _play(call: Call) -> dict[str, Any]:
    call.ask("init")
    call.ask("config.add", config_key="box.env", value="DEMO", user=True)
    watching = _Progress(call)
    _say(call, "a manager starts, and starts three workers itself")
    _start(call, "captain", "see to the three missing charts", role="manager")
    watching.until("gull", "waiting")
    _say(call, "kill -9 on gull's process, in the middle of its work")
    _kill_process(call, "gull")
    watching.until("gull", "stopped")
    _say(call, "gull is resumed and told to go on: it keeps its conversation and its commits")
    call.ask("resume", agent="gull")
    watching.until("gull", "waiting")
    call.ask("send", agent="gull", text="yes, go on")
    watching.until("captain", "complete")
    _say(call, "the captain's branch, with all three charts, is merged into main")
    merged = call.ask("merge", agent="captain")
    _say(call, "puffin works without committing, and is ended all the same")
    _start(call, "puffin", "sketch something")
    watching.until("puffin", "waiting")
    workspace = call.ask("place", agent="puffin")["path"]
    before = _contents(workspace)
    ended = call.ask("end", agents=["puffin"], force=True)
    _say(call, "its work is in the trash, and comes back whole")
    back = call.ask("trash.restore", entries=[ended["ended"][0]["trash"]["id"]])
    after = _contents(back["restored"][0]["workspace"])
    if before != after:
        raise Internal("what came back from the trash is not what went in", f"{before} {after}")
    call.ask("end", agents=["puffin"], force=True)
    return {"merged": merged["commit"], "restored": sorted(after), "verdict": merged["verdict"]}


def _start(call: Call, name: str, goal: str, *, role: str = "worker") -> None:
    script = os.path.join(os.environ["DEMO"], f"{name}.json")
    call.ask("spawn", goal=goal, name=name, role=role, driver="standin", script=script)


def _kill_process(call: Call, name: str) -> None:
    os.kill(call.ask("info", agent=name)["pid"], signal.SIGKILL)


def _contents(workspace: str) -> dict[str, str]:
    """Every file of a checkout, and what git thinks of it."""
    status = _git("status", "--porcelain", "-uall", cwd=workspace).splitlines()
    files = {line[3:]: line[:2] for line in status}
    for name in list(files):
        with open(os.path.join(workspace, name)) as file:
            files[name] += file.read()
    return files


class _Progress:
    """Prints what happens as it happens, and waits for states by it."""

    def __init__(self, call: Call) -> None:
        self._states: dict[str, str] = {}
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._call = call
        last = call.ask("log", last=1)
        start = last[0]["id"] if last else 0
        threading.Thread(target=self._follow, args=(start,), daemon=True).start()

    def _follow(self, after: int) -> None:
        try:
            for event in calls.follow(after):
                self._take(event)
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _take(self, event: dict[str, Any]) -> None:
        if line := _line(event):
            when = time.strftime("%H:%M:%S", time.localtime(event["at"]))
            self._call.tell(f"  {self._call.paint(when, 'dim')} {event['agent']:<8} {line}")
        if event["kind"] == "agent.state":
            with self._changed:
                self._states[event["agent"]] = event["data"]["now"]
                self._changed.notify_all()

    def until(self, agent: str, state: str) -> None:
        """Waits until an agent is in a state."""
        with self._changed:
            came = self._changed.wait_for(
                lambda: self._failure or self._states.get(agent) == state, _PATIENCE
            )
            if self._failure:
                raise self._failure
            if not came:
                raise Unavailable(
                    f"{agent} did not become {state} within {_PATIENCE:g} s",
                    _typed(os.getcwd(), f"look {agent}"),
                )


def _line(event: dict[str, Any]) -> str | None:
    """What an event says to somebody who sees it for the first time; None for most."""
    data = event["data"]
    match event["kind"]:
        case "agent.created":
            under = f" under {data['parent']}" if data["parent"] else ""
            said = f"is a new {data['role']}{under}: {data['goal']}"
        case "agent.state":
            said = f"is {data['now']}"
        case "agent.merged":
            said = f"is merged into {data['into']}"
        case "agent.ended":
            said = f"is ended ({data['how']} by {data['by']})"
        case "agent.restored":
            said = "is back, with its work"
        case "message.received":
            said = f"is told: {data['text']}"
        case _:
            return None
    return render.fit(printable_line(said), 60)


def _repository(folder: str) -> str:
    """What a person would have: a repository with a commit. The one place of the demo with git."""
    repo = os.path.join(folder, "repo")
    os.makedirs(repo)
    _git("init", "-q", "-b", "main", cwd=repo)
    with open(os.path.join(repo, "README.md"), "w") as file:
        file.write("# Charts\n\nNorth, south and west are missing.\n")
    _git("add", ".", cwd=repo)
    _git("commit", "-q", "-m", "a repository of charts", cwd=repo)
    return repo


def _git(*args: str, cwd: str) -> str:
    who = ("-c", "user.name=windlass demo", "-c", "user.email=demo@windlass.invalid")
    env = without_leaks(os.environ)
    done = subprocess.run(
        ["git", *who, *args], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"git {args[0]} failed: {done.stderr.strip()}", "is git installed?")
    return done.stdout


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
    call.say(_git("log", "--graph", "--oneline", "-n", "12", cwd=repo).rstrip())
    call.say()
    call.say(f"done in {facts['seconds']} s: one manager, three workers, one kill -9 survived,")
    call.say(f"main at {facts['merged'][:10]} ({facts['verdict']}), uncommitted work restored:")
    call.say(f"  {', '.join(facts['restored'])}")
    if not call.args.clean:
        call.say("look around, in any shell: what happened, and what is in the trash")
        for words in ("log", "trash list"):
            call.say(f"  {_typed(repo, words)}")


def _typed(repo: str, words: str) -> str:
    """A command of the demo as it can be pasted into any shell.

    By its path, because `wl` of a checkout is on no PATH; without a comment, which zsh would take
    for arguments.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "wl")
    program = beside if os.path.exists(beside) else "wl"
    home = shlex.quote(os.environ["WINDLASS_HOME"])
    return f"WINDLASS_HOME={home} {shlex.quote(program)} -C {shlex.quote(repo)} {words}"
