"""Shows a crew at work on a scratch repository: no model, no account, nothing of yours touched.

A manager starts three workers, one of which is killed with -9 and goes on where it was; the work is
merged; an agent with uncommitted work is ended, and its work brought back. Nothing stays running.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from argparse import ArgumentParser
from importlib import resources
from typing import Any

from windlass.api import asking, starting
from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.errors import Internal, Unavailable

EXAMPLES = ("wl demo", "wl demo --clean")

_PATIENCE = 60.0
_SHOWN = ("agent.created", "agent.state", "agent.merged", "agent.ended", "agent.restored",
          "session.ended", "message.received")  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    """Takes what to leave."""
    parser.add_argument("--clean", action="store_true", help="remove the scratch folder afterwards")


def run(call: Call) -> int:
    """Plays it and sums up."""
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="windlass-demo-")
    os.environ["WINDLASS_HOME"] = os.path.join(folder, "state")
    for name in ("WINDLASS_SOCKET", "WINDLASS_SESSION", "WINDLASS_AGENT"):
        os.environ.pop(name, None)
    os.environ["DEMO"] = str(resources.files("windlass.data") / "demo")
    repo = _repository(folder)
    os.chdir(repo)
    try:
        facts = _play(call)
    finally:
        _leave(call)
    facts |= {"seconds": round(time.monotonic() - began, 1), "folder": folder}
    _sum_up(call, facts, repo)
    if call.args.clean:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _play(call: Call) -> dict[str, Any]:
    call.ask("init")
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
    found = {line[3:]: line[:2] for line in status}
    for name in list(found):
        with open(os.path.join(workspace, name)) as file:
            found[name] += file.read()
    return found


class _Progress:
    """Prints what happens as it happens, and waits for states by it."""

    def __init__(self, call: Call) -> None:
        self._states: dict[str, str] = {}
        self._changed = threading.Condition()
        self._call = call
        last = call.ask("log", last=1)
        start = last[0]["id"] if last else 0
        threading.Thread(target=self._follow, args=(start,), daemon=True).start()

    def _follow(self, after: int) -> None:
        for event in asking.follow(after):
            if event["kind"] in _SHOWN and not self._call.quiet:
                self._call.say("  " + render.event(self._call, event))
            if event["kind"] == "agent.state":
                with self._changed:
                    self._states[event["agent"]] = event["data"]["now"]
                    self._changed.notify_all()

    def until(self, agent: str, state: str) -> None:
        """Waits until an agent is in a state."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._states.get(agent) == state, _PATIENCE):
                raise Unavailable(
                    f"{agent} did not become {state} within {_PATIENCE:g} s",
                    f"WINDLASS_HOME={os.environ['WINDLASS_HOME']} wl look {agent}",
                )


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
    done = subprocess.run(
        ["git", *who, *args], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"git {args[0]} failed: {done.stderr.strip()}", "is git installed?")
    return done.stdout


def _leave(call: Call) -> None:
    """Ends what may still run, also after a failure half-way."""
    call.ask("end", agents=[], tree=True, force=True)
    starting.stop()


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
        state = os.environ["WINDLASS_HOME"]
        call.say(f"look around:  cd {repo}")
        call.say(f"              WINDLASS_HOME={state} wl log     what happened")
        call.say(f"              WINDLASS_HOME={state} wl trash list")
