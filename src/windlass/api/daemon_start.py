"""Starting, replacing and stopping the daemon from a face. The daemon itself is another program.

Only the person's processes start it, and for the person their holders: an agent's would give it the
agent's variables, and a place in the agent's process tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from windlass import __version__
from windlass.api import client, daemon_record, identity, places
from windlass.core.errors import (
    BY_KIND,
    ConfigError,
    Conflict,
    Denied,
    Internal,
    Unavailable,
    WindlassError,
)
from windlass.core.leaks import without_leaks
from windlass.core.schema import SCHEMA

_PATIENCE = 20.0
_OWN_PATIENCE = 60.0
"""Seconds that a daemon is given which says that it waits for something itself; it waits less."""
_PROGRAM = (sys.executable, "-P", "-m", "windlass.daemon")
IN_A_SESSION = "WINDLASS_SESSION"
"""Set in every process of an agent's session."""
Tell = Callable[[str], None]


def start(tell: Tell = lambda _: None) -> None:
    """Makes sure that a daemon answers; of two that try at once one does it, the other waits.

    Where the daemon itself has to wait for something first, `tell` is told what.
    """
    if IN_A_SESSION in os.environ and not answers():
        raise Unavailable(
            "no daemon runs, and agents do not start it", "any `wl` of the person starts it"
        )
    with _alone():
        _start_unless_it_answers(tell)


def bring_back() -> None:
    """Starts a daemon that went away without the person's having stopped it."""
    with _alone():
        if not daemon_record.is_stopped() and running() is None:
            places.settle()
            _start_detached(_Waits(lambda _: None))


def become() -> NoReturn:
    """Turns this process into the daemon, in the foreground: a program of its own, as always."""
    places.settle()
    daemon_record.unmark_stopped()
    daemon_record.keep_start()
    os.execv(_PROGRAM[0], _PROGRAM)  # noqa: S606 - our own program, no shell wanted


def answers() -> bool:
    """Whether somebody listens on the person's socket."""
    try:
        client.ask("whoami", {}, path=places.person_socket(), timeout=5.0)
    except client.Gone as gone:
        # One that is merely slow must not be taken for deaf and ended.
        return isinstance(gone.__cause__, TimeoutError)
    except (client.VersionMismatch, WindlassError):
        return True
    return True


def running() -> dict[str, Any] | None:
    """Who holds the daemon's lock, by its own note; None if nobody does."""
    try:
        with open(os.path.join(places.home(), "daemon.lock")) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                note: dict[str, Any] = json.loads(file.read())
                return note
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise places.unusable(error) from None
    except ValueError:  # it took the lock a moment ago and has not written yet
        return {}
    return None


def stop() -> dict[str, Any] | None:
    """Stops the daemon for the person: nobody else brings it back. Says which one ran, if any."""
    if IN_A_SESSION in os.environ:
        raise Denied("agents do not stop the daemon", "ask the person")
    if not os.path.isdir(places.home()):
        return None
    daemon_record.mark_stopped()
    held = _end()
    with _alone():  # whoever was starting one meanwhile has done so now
        return _end() or held


def stop_at_once() -> None:
    """Kills the daemon, and marks it as stopped by the person: nothing brings it back.

    It can be killed at any moment; what it was at is gone on with when the person starts again.
    """
    if IN_A_SESSION in os.environ:
        raise Denied("agents do not stop the daemon", "ask the person")
    if not os.path.isdir(places.home()):
        return
    daemon_record.mark_stopped()
    held = running()
    if not held or "pid" not in held:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(held["pid"]), signal.SIGKILL)
    with contextlib.suppress(OSError):  # as after `_terminate`
        os.unlink(places.person_socket())


def _end() -> dict[str, Any] | None:
    """Ends whoever holds the daemon's lock, until nobody does; says who was the first."""
    first = None
    while held := _holder():
        _terminate(int(held["pid"]))
        first = first or held
    return first


def _holder() -> dict[str, Any] | None:
    """Who holds the lock; waits a moment for one that has not said yet who it is."""
    _wait(lambda: running() != {}, 1.0)
    return running()


def _terminate(pid: int) -> None:
    """Ends a daemon and returns when it has given up its lock, whoever has it then."""

    def has_let_go() -> bool:
        return (running() or {}).get("pid") != pid

    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if _wait(has_let_go, 10.0):
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if not _wait(has_let_go, 5.0):
        raise Unavailable(f"the daemon (pid {pid}) would not stop", "end it by hand")
    # No socket is how followers tell a daemon that was stopped from one that was killed.
    with contextlib.suppress(OSError):
        os.unlink(places.person_socket())


def replace(mismatch: client.VersionMismatch, tell: Tell = lambda _: None) -> None:
    """Puts a daemon of this version in the place of an older one; agents do not notice."""
    theirs = mismatch.schema, identity.version(mismatch.daemon)
    if theirs > (SCHEMA, identity.version(__version__)):
        raise Unavailable(
            f"the daemon is a newer Windlass ({mismatch.daemon}) than this one ({__version__})",
            "upgrade this one, or use another WINDLASS_HOME",
        )
    with _alone():  # all of it, or a holder would bring back the one that is replaced
        held = running()
        if held and held.get("identity") != identity.IDENTITY:  # else another command was faster
            _end()
        _start_unless_it_answers(tell)


def _start_unless_it_answers(tell: Tell) -> None:
    """Does what `start` says; for whoever has made sure that nobody else does so."""
    places.settle()
    daemon_record.unmark_stopped()
    waits = _Waits(tell)
    # One that holds the lock is starting, ending, or deaf: its socket deleted by some tidy-up.
    _wait(lambda: answers() or running() is None, 5.0, waits)
    if answers():
        return
    _end()
    daemon_record.keep_start()
    _start_detached(waits)


class _Killed(Exception):
    """The daemon went without a word before it answered: somebody ended it."""


class _Waits:
    """Whether a daemon that does not answer yet waits for something; whoever waits is told once."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told = ""

    def look(self) -> bool:
        """Looks at what the daemon says of itself in the note on its lock."""
        what = (running() or {}).get("waits")
        if what and what != self._told:
            self._told = what
            self._tell(f"the daemon waits for {what}")
        return bool(what)


def _start_detached(waits: _Waits) -> None:
    """Starts the daemon, once more if it is killed meanwhile: as at any other moment."""
    try:
        _start_child(waits)
    except OSError as error:
        raise Unavailable(f"the daemon cannot be started: {error}", "try again") from error
    except _Killed:
        try:
            _start_child(waits)
        except _Killed:
            raise Unavailable(
                "the daemon was killed twice as it started", "see `wl daemon logs`"
            ) from None


def _start_child(waits: _Waits) -> None:
    path = os.path.join(places.home(), "daemon.err")
    try:
        complaints = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "remove it") from None
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_daemon(writing, complaints)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe, os.fdopen(complaints, errors="replace") as said:
        while not select.select([pipe], [], [], 1.0)[0]:
            waits.look()
        word = pipe.readline()
        if not word.endswith("\n"):
            said.seek(0)  # the daemon wrote through the same description
            why = _cause(said.read().strip().splitlines())
            if not why:
                raise _Killed
            raise Unavailable(f"the daemon died as it started{why}", "see `wl daemon logs`")
    _judge(json.loads(word), waits)


def _cause(complaints: list[str]) -> str:
    """What a dead daemon died of: the last thing it said, or that it crashed."""
    crashes = [line for line in complaints if line.startswith("Fatal Python error")]
    return "".join(f": {line}" for line in crashes[:1] or complaints[-1:])


def _become_daemon(writing: int, complaints: int) -> None:
    """Runs in the forked child and never returns: detaches, forks again, becomes the daemon."""
    try:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        os.chdir("/")
        # Out of the way: with a caller whose standard files are closed they may be 0, 1 or 2.
        writing, complaints = (fcntl.fcntl(fd, fcntl.F_DUPFD, 4) for fd in (writing, complaints))
        nothing = os.open(os.devnull, os.O_RDWR)
        for target, source in ((0, nothing), (1, nothing), (2, complaints)):
            os.dup2(source, target)
        # A copy of its own, and nothing else of the caller's: a pipe held open would hang it.
        os.dup2(writing, 3)
        os.set_inheritable(3, True)  # noqa: FBT003 - its own signature
        os.closerange(4, 4096)
        env = without_leaks(os.environ) | {"WINDLASS_HOME": places.home(), "WINDLASS_READY": "3"}
        os.execve(_PROGRAM[0], _PROGRAM, env)  # noqa: S606 - our own program, no shell wanted
    except OSError as error:
        os.write(complaints, f"{error}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def _judge(word: dict[str, Any], waits: _Waits) -> None:
    if "pid" in word:
        return
    kind = BY_KIND.get(word.get("kind", ""), Internal)
    if kind is Conflict:
        # Somebody else's daemon was faster, and answers soon; if it holds the lock, that is.
        _wait(lambda: answers() or running() is None, _PATIENCE, waits)
        if answers():
            return
        kind = Unavailable
    raise kind(f"the daemon cannot start: {word.get('message')}", str(word.get("hint", "")))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    places.make_home()
    try:
        file = open(os.path.join(places.home(), "starting.lock"), "w")  # noqa: SIM115 - closed below
    except OSError as error:
        raise places.unusable(error) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _wait(true: Callable[[], bool], seconds: float, waits: _Waits | None = None) -> bool:
    """Waits until something is true; as long as a daemon waits itself, for longer."""
    end = time.monotonic() + seconds
    while not true():
        left = end - time.monotonic()
        if left < 0 and (waits is None or left < -_OWN_PATIENCE or not waits.look()):
            return False
        time.sleep(0.01)
    return True
