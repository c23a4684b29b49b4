"""A ground of its own for one test: state, home, sockets, repository, and the real `wl` on it."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tests.support import nursery
from tests.support.replies import as_declared

from windlass.api import client

WL = str(Path(sys.executable).parent / "wl")
_TIDY = '[nudges]\nuncommitted = false\n[landing]\nunproven = "a test without a gate"\n'
"""Tests leave files in workspaces; an agent that were told of them would go on. Few have a gate."""
_LEAKING = ("CLAUDE", "ANTHROPIC", "TMUX", "WINDLASS", "GIT_", "XDG_", "AI_AGENT")


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it said, as data."""
        return json.loads(self.out)

    def ok(self) -> Done:
        """Itself, if it went well."""
        assert self.code == 0, f"ended {self.code}\n{self.out}\n{self.err}"
        return self

    def failed(self, code: int) -> Done:
        """Itself, if it failed with that code, in words and without a traceback."""
        assert self.code == code, f"ended {self.code}, not {code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err
        assert self.err.startswith(("wl: ", "usage:", '{"error"')), self.err
        return self


class Ground:
    """Everything that one test touches lies below one short folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.home = folder / "home"
        self.runtime = folder / "rt"
        self.shown = folder / "shown"
        for made in (self.state, self.home, self.runtime, self.shown):
            made.mkdir(mode=0o700)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_LEAKING)}
        self.env = {
            **kept,
            "HOME": str(self.home),
            "WINDLASS_HOME": str(self.state),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "WINDLASS_SEED": "7",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.warm = True
        """Whether the first command finds a daemon running, unless it is about daemons."""

    def _warm_up(self, args: Sequence[str]) -> None:
        if self.warm and args[:1] not in (("daemon",), ("demo",)):
            nursery.start(self.env)
        self.warm = False

    def wl(
        self,
        *args: str,
        cwd: Path | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 180.0,
    ) -> Done:
        """Runs `wl` as a person would."""
        if env is not None or args[:1] == ("demo",) or args[:2] == ("daemon", "start"):
            self.warm = False  # a daemon that is started is to be like the one who starts it
            return self._run(args, cwd, stdin, env or {}, timeout)
        self._warm_up(args)
        done = nursery.run(
            [WL, *args],
            cwd=str(cwd or self.folder / "repo"),
            env=self.env,
            stdin=(stdin or "").encode(errors="surrogateescape"),
            timeout=timeout,
        )
        out, err = (said.decode(errors="surrogateescape") for said in (done.stdout, done.stderr))
        return Done(done.returncode, out, err)

    def _run(
        self,
        args: Sequence[str],
        cwd: Path | None,
        stdin: str | None,
        env: Mapping[str, str],
        timeout: float,
    ) -> Done:
        done = subprocess.run(
            [WL, *args],
            cwd=cwd or self.folder / "repo",
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *args: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Starts `wl` and lets it run beside the test."""
        self._warm_up(args)
        return subprocess.Popen(
            [WL, *args],
            cwd=cwd or self.folder / "repo",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            text=True,
        )

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Runs plain git, as a person would."""
        done = subprocess.run(
            ["git", *args],
            cwd=cwd or self.folder / "repo",
            env={**self.env, **_IDENTITY},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout

    def repository(self, name: str = "repo") -> Path:
        """A repository with one commit; what is in `shown` can be read in boxes too."""
        config = self.state / "config.toml"
        if not config.exists():
            config.write_text(f'[box]\ntoolchains = ["{self.shown}"]\n{_TIDY}')
        path = self.folder / name
        shutil.copytree(_first_commit(), path)
        return path

    def unbox(self) -> None:
        """Has new agents do without boxes, with every command allowed: for what boxes prevent."""
        lines = ['isolation = "hooks"', *(f"[permissions.{r}]\nallow = ['Bash']" for r in _ROLES)]
        (self.state / "config.toml").write_text("\n".join(lines) + f"\n{_TIDY}")

    def configure(self, text: str) -> None:
        """Writes the repository's own configuration, which the person accepts as a whole."""
        file = self.folder / "repo" / ".windlass" / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        self.wl("trust", "--yes").ok()

    def script(self, name: str, *turns: Mapping[str, Any], on: Sequence[Any] = ()) -> str:
        """Writes a script for a stand-in and returns its path."""
        path = self.shown / f"{name}.script.json"
        path.write_text(json.dumps({"turns": list(turns), "on": list(on)}))
        return str(path)

    def new(self, name: str, *turns: Mapping[str, Any], flags: Sequence[str] = ()) -> Path:
        """Starts a stand-in, playing these turns, and returns its workspace."""
        chosen = ["--script", self.script(name, *turns)] if turns else []
        made = self.wl(
            "new", "--driver", "standin", "--name", name, *chosen, *flags, "--json", f"be {name}"
        )
        return Path(made.ok().json()["workspace"])

    def ask(self, verb: str, **request: Any) -> Any:
        """Asks the daemon what `wl` would ask, without a program: for what is asked often."""
        whole = {"cwd": str(self.folder / "repo"), **request}
        try:
            reply = client.ask(verb, whole, path=self._socket(), timeout=90.0)
        except (ValueError, client.Gone):
            self.warm = True
            self.wl("list").ok()  # starts it again
            reply = client.ask(verb, whole, path=self._socket(), timeout=90.0)
        return as_declared(verb, reply)

    def ask_as(self, name: str, verb: str, **request: Any) -> Any:
        """Asks the daemon as an agent, through the agent's own socket."""
        uid = self.ask("info", agent=name)["uid"]
        (path,) = self.runtime.glob(f"windlass/*/{uid[:8]}/api")
        return as_declared(verb, client.ask(verb, request, path=str(path), timeout=90.0))

    def _socket(self) -> str:
        (socket_path,) = self.runtime.glob("windlass/*/person.sock")
        return str(socket_path)

    def state_of(self, name: str) -> str:
        """An agent's state."""
        return str(self.ask("why", agent=name)["state"])

    def agents(self) -> list[dict[str, Any]]:
        """Those that live, as `wl list` has them."""
        agents: list[dict[str, Any]] = self.ask("agents")
        return agents

    def wait(self, *names: str, states: str = "complete,stopped") -> None:
        """Waits until agents reach one of the states, and what they committed has come home."""
        wanted = set(states.split(","))
        for name in names:
            end = time.monotonic() + _PATIENCE
            while not self._is_or_becomes(name, wanted, end=end):
                assert time.monotonic() < end, f"{name} is {self.state_of(name)}, never {states}"
            self.ask("why", agent=name, home=True)

    def _is_or_becomes(self, name: str, wanted: set[str], *, end: float) -> bool:
        """Whether an agent is in one of the states, or is so before nothing happens for a while."""
        known = self.ask("log", last=1)
        if self.state_of(name) in wanted:
            return True
        after = known[-1]["id"] if known else 0
        cwd = str(self.folder / "repo")
        try:
            for event in client.stream(after, cwd=cwd, path=self._socket(), timeout=1.0):
                if event["kind"] == "agent.state" and self.state_of(name) in wanted:
                    return True
                if time.monotonic() > end:
                    return False
        except (ValueError, client.Gone):
            return False  # nothing happened, or the daemon went away
        return False

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """The log, whole."""
        events: list[dict[str, Any]] = self.ask(
            "log", last=10_000, **({"agent": name} if name else {})
        )
        return events

    def daemon_pid(self) -> int | None:
        """The daemon's process."""
        pid = self.wl("daemon", "status", "--json", cwd=self.folder).ok().json()["pid"]
        return None if pid is None else int(pid)

    def kill_daemon(self) -> None:
        """Ends the daemon with -9 and waits until it is gone."""
        pid = self.daemon_pid()
        assert pid is not None
        end([psutil.Process(pid)])

    def tmux(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Talks to the private tmux server."""
        (socket,) = self.runtime.glob("windlass/*/tmux") or [self.runtime / "none"]
        return subprocess.run(
            ["tmux", "-S", str(socket), *args],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )

    def processes(self) -> list[psutil.Process]:
        """Every process that belongs to this ground, by its environment or its arguments."""
        mine = []
        daemon = self._daemon_from_the_nursery()
        for process in psutil.process_iter():
            try:
                environ = process.environ().get("WINDLASS_HOME", "")
                command = " ".join(process.cmdline())
            except (psutil.Error, OSError):
                continue
            ours = environ == str(self.state) or str(self.folder) in command
            if process.pid != os.getpid() and (ours or process.pid == daemon):
                mine.append(process)
        return mine

    def _daemon_from_the_nursery(self) -> int | None:
        """Its environment and arguments are those of the nursery."""
        daemon = self.living_daemon()
        with contextlib.suppress(psutil.Error):
            if daemon is not None and nursery.__file__ in daemon.cmdline():
                return daemon.pid
        return None

    def living_daemon(self) -> psutil.Process | None:
        """Who holds the daemon's lock, without a command.

        A number that a dead one left in the file may be another test's daemon by now.
        """
        try:
            with (self.state / "daemon.lock").open() as lock:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return None
                return psutil.Process(int(json.load(lock)["pid"]))
        except (OSError, ValueError, KeyError, psutil.Error):
            return None  # there is none, it has not said yet, or the test has spoiled the file

    def leave(self) -> None:
        """Ends what the test started, and fails if something will not go.

        First of all nobody is to bring a daemon back: a holder could, between two looks.
        """
        if self.state.is_dir():
            (self.state / "daemon.stopped").touch()
        for _ in range(_ROUNDS):
            left = self.processes()
            if not left:
                return
            end(left)
        assert not left, left


@functools.cache
def _first_commit() -> Path:
    """A repository to copy: three programs per test are a lot."""
    folder = tempfile.TemporaryDirectory(prefix="wl-first-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "repo"
    path.mkdir()
    (path / "README").write_text("a repository\n")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_LEAKING)}
    env = {**kept, **_IDENTITY, "HOME": folder.name, "GIT_CONFIG_NOSYSTEM": "1"}
    for line in ("init -q -b main", "add .", "commit -q -m first"):
        subprocess.run(["git", *line.split()], cwd=path, env=env, check=True)
    return path


_PATIENCE = 180.0
"""Seconds for what is waited for by events: no more than patience on a busy machine."""
_ROUNDS = 5
"""What was just being started when the others ended is found in the next round."""
_ROLES = ("manager", "worker")
_IDENTITY = {
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
}


@contextlib.contextmanager
def grounded() -> Iterator[Ground]:
    """Lends a ground with a repository; short paths, because sockets live below it."""
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    made = Ground(folder)
    made.repository()
    try:
        yield made
    finally:
        made.leave()
        shutil.rmtree(folder, ignore_errors=True)


def end(some: Iterable[psutil.Process]) -> None:
    """Kills them and waits until they have ended; whoever collects them may take seconds more."""
    with contextlib.ExitStack() as stack:
        ends = select.poll()
        left = set()
        for process in some:
            with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
                watched = os.pidfd_open(process.pid)
                stack.callback(os.close, watched)
                process.kill()
                ends.register(watched, select.POLLIN)
                left.add(watched)
        deadline = time.monotonic() + 60
        while left:
            ended = [watched for watched, _ in ends.poll((deadline - time.monotonic()) * 1000)]
            assert ended, "a killed process does not end"
            for watched in ended:
                ends.unregister(watched)
                left.discard(watched)


def until(true: Callable[[], bool], *, within: float = 120.0, what: str = "it") -> None:
    """Waits for something that offers no event, and says what never came."""
    end = time.monotonic() + within
    while True:
        asked = time.monotonic()
        if true():
            return
        assert time.monotonic() < end, f"{what} did not happen within {within:g} s"
        # A question that starts a program is asked less often: others need the machine as well.
        time.sleep(max(0.02, 4 * (time.monotonic() - asked)))
