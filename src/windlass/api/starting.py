"""Starting, replacing and stopping the daemon from a face. The daemon itself is another program."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from windlass import __version__
from windlass.api import client, places
from windlass.core.errors import BY_KIND, Internal, Unavailable
from windlass.core.leaks import without_leaks
from windlass.core.schema import SCHEMA

_PATIENCE = 20.0
_PROGRAM = (sys.executable, "-P", "-m", "windlass.daemon")


def start() -> None:
    """Makes sure that a daemon answers; of two that try at once one does it, the other waits."""
    os.makedirs(places.home(), mode=0o700, exist_ok=True)
    places.make_private(places.runtime())
    with _alone():
        if answers():
            return
        if running() is not None and _wait(answers, 5.0):
            return
        stop()  # one that holds the lock and is deaf, its socket deleted by some tidy-up
        if "WINDLASS_SESSION" in os.environ:
            _start_outside_the_session()
        else:
            _start_detached()


def answers() -> bool:
    """Whether somebody listens on the person's socket."""
    try:
        client.ask("whoami", {}, path=places.person_socket(), timeout=5.0)
    except client.Gone:
        return False
    except client.VersionMismatch:
        return True
    return True


def running() -> dict[str, Any] | None:
    """Who holds the daemon's lock, by its own note; None if nobody does."""
    try:
        with open(os.path.join(places.home(), "daemon.lock")) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
    except FileNotFoundError:
        return None
    except BlockingIOError:
        pass
    try:
        with open(os.path.join(places.home(), "daemon.lock")) as file:
            note: dict[str, Any] = json.loads(file.read())
            return note
    except ValueError:  # it took the lock a moment ago and has not written yet
        return {}


def stop() -> dict[str, Any] | None:
    """Stops the daemon, if one runs, and waits until its lock is free."""
    held = running()
    if held is None:
        return None
    _wait(lambda: bool(running()) or running() is None, 1.0)
    held = running()
    if not held:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(held["pid"]), signal.SIGTERM)
    if not _wait(lambda: running() is None, 10.0):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(held["pid"]), signal.SIGKILL)
        if not _wait(lambda: running() is None, 5.0):
            raise Unavailable(f"the daemon (pid {held['pid']}) would not stop", "end it by hand")
    return held


def replace(mismatch: client.VersionMismatch) -> None:
    """Puts a daemon of this version in the place of another; agents do not notice."""
    if mismatch.schema > SCHEMA:
        raise Unavailable(
            f"the daemon is a newer Windlass ({mismatch.daemon}) than this one ({__version__})",
            "upgrade this one, or use another WINDLASS_HOME",
        )
    stop()
    start()


def _start_detached() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_daemon(writing)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        word = pipe.readline()
    if not word:
        raise Unavailable(f"the daemon died as it started{_last_words()}", "see `wl daemon logs`")
    _judge(json.loads(word))


def _last_words() -> str:
    try:
        with open(os.path.join(places.home(), "daemon.err"), errors="replace") as file:
            said = file.read().strip().splitlines()
    except FileNotFoundError:
        return ""
    return f": {said[-1]}" if said else ""


def _become_daemon(writing: int) -> None:
    """Runs in the forked child and never returns: detaches, forks again, becomes the daemon."""
    try:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        path = os.path.join(places.home(), "daemon.err")
        complaints = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for target, source in ((0, nothing), (1, nothing), (2, complaints)):
            os.dup2(source, target)
        # A copy of its own, and nothing else of the caller's: a pipe held open would hang it.
        os.dup2(writing, 3)
        os.set_inheritable(3, True)  # noqa: FBT003 - its own signature
        os.closerange(4, 4096)
        env = without_leaks(os.environ) | {"WINDLASS_HOME": places.home(), "WINDLASS_READY": "3"}
        os.execve(_PROGRAM[0], _PROGRAM, env)  # noqa: S606 - our own program, no shell wanted
    finally:
        os._exit(127)


def _start_outside_the_session() -> None:
    """An agent's holder adopts what its session leaves behind, and ends it with the agent.

    So from inside a session the daemon is started by the tmux server, which is nobody's child.
    """
    from shlex import join  # noqa: PLC0415 - only agents need it

    env = without_leaks(os.environ) | {"WINDLASS_HOME": places.home()}
    told = [f"{name}={env[name]}" for name in env if name.startswith("WINDLASS_") or name == "PATH"]
    line = join(["env", *told, *_PROGRAM]) + " </dev/null >/dev/null 2>&1 &"
    tmux = ("tmux", "-S", os.path.join(places.runtime(), "tmux"), "run-shell", "-b", line)
    child = os.posix_spawnp(tmux[0], tmux, env)
    _, status = os.waitpid(child, 0)
    if status != 0 or not _wait(answers, _PATIENCE):
        raise Unavailable(
            "the daemon is not there and could not be started from inside this session",
            "run any `wl` command outside of it",
        )


def _judge(word: dict[str, Any]) -> None:
    if "pid" in word:
        return
    if word.get("kind") == "conflict":  # somebody else's daemon was faster
        if _wait(answers, _PATIENCE):
            return
        raise Unavailable("a daemon runs but does not answer", "wl daemon stop, then try again")
    kind = BY_KIND.get(word.get("kind", ""), Internal)
    raise kind(f"the daemon cannot start: {word.get('message')}", str(word.get("hint", "")))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    path = os.path.join(places.runtime(), "starting.lock")
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _wait(true: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
