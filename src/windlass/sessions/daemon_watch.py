"""The watch over the daemon that a session's holder keeps: has one that died be started again.

A holder is what is there all night, outside of every box. Of all holders of a state folder one
watches, whoever has the lock on `daemon.watch`; the others wait for that lock, and cost nothing.
The daemon's own lock is free when it has ended: then, unless the person stopped it
(`daemon.stopped`), the tmux server is told to run what `daemon.start` says. The tmux server,
because it is nobody's child: what a holder starts is taken for a part of its session, and ends with
it. What is started finds the person's environment by itself, and has nothing of an agent's. Why the
last try came to nothing is in `daemon.return`, for `wl daemon status`.

Loaded by the holder, by its path: standard library only, and of that the light part.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOCK, WATCH, START, STOPPED = "daemon.lock", "daemon.watch", "daemon.start", "daemon.stopped"
SAID = "daemon.return"
FIRST, LONGEST = 0.2, 60.0
"""Seconds between the daemon's end and the first try, and between later ones at most."""
STEADY = 60.0
"""Seconds after which a daemon that ends again is not thought to do so at once."""
_LOOK_AGAIN = 1.0
"""Seconds between looks at what has no event: a daemon that the person stopped, a lost folder."""


class Watch:
    """Waits for the daemon's end, again and again, for as long as the holder lives."""

    def __init__(self, wanted: "Mapping[str, Any]", scan: "Any") -> None:
        self._home: str = wanted["home"]
        self._tmux: str = wanted["tmux"]
        self._steady: float = wanted["steady"]
        self._scan = scan

    def serve(self) -> None:
        """Begins to watch, in a thread: it does not survive a fork, so call it after the last."""
        import _thread  # noqa: PLC0415 built in, and only needed where there is a daemon

        _thread.start_new_thread(self._watch, ())

    def _watch(self) -> None:
        self._await_turn()
        pause = FIRST
        while True:
            since = time.monotonic()
            if not self._await_end():
                time.sleep(_LOOK_AGAIN)
                continue
            if time.monotonic() - since > self._steady:
                pause = FIRST
            time.sleep(pause)
            if self._has(STOPPED) or not self._has(START):
                pause = FIRST
                time.sleep(_LOOK_AGAIN)
                continue
            pause = min(2 * pause, LONGEST)
            self._start()

    def _await_turn(self) -> None:
        """Returns when no other holder watches; the lock is then ours until we end."""
        while (watch := self._open(WATCH)) is None or not _lock(watch, exclusive=True):
            time.sleep(_LOOK_AGAIN)

    def _await_end(self) -> bool:
        """Returns when no daemon holds its lock; False where that cannot be seen."""
        lock = self._open(LOCK)
        if lock is None:
            return False
        try:
            return _lock(lock, exclusive=False)
        finally:
            os.close(lock)

    def _open(self, name: str) -> int | None:
        try:
            return os.open(f"{self._home}/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None  # the state folder was moved away, or its disk is full

    def _has(self, name: str) -> bool:
        return os.path.exists(f"{self._home}/{name}")  # noqa: PTH110 pathlib is too heavy an import

    def _start(self) -> None:
        """Has the daemon be started, and returns when that went well or failed."""
        try:
            with open(f"{self._home}/{START}", encoding="utf-8") as file:  # noqa: PTH123 as above
                program = self._scan(file.read(), 0)[0]["program"]
            # Neither tmux nor what it runs says anything on the agent's screen.
            said = f"{self._home}/{SAID}"
            quoted = " ".join(map(_quoted, ("/usr/bin/env", "-i", *program, self._home)))
            line = f"{quoted} </dev/null >>{_quoted(said)} 2>&1 || :"
            argv = ("tmux", "-S", self._tmux, "run-shell", line)
            child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=_saying_to(said))
            os.waitpid(child, 0)
        except ChildProcessError:
            return  # the holder collects children as well, and was faster
        except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
            self._note(f"{type(error).__name__}: {error}")  # the next try comes later

    def _note(self, why: str) -> None:
        try:
            with open(f"{self._home}/{SAID}", "w", encoding="utf-8") as file:  # noqa: PTH123 as above
                file.write(f"{why}\n")
        except OSError:
            return  # the state folder was moved away, or its disk is full: nobody can be told


def _lock(descriptor: int, *, exclusive: bool) -> bool:
    """Waits for a lock; False on a file system that has none."""
    import fcntl  # noqa: PLC0415 in the thread: the session need not wait for it

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
    except OSError:
        return False
    return True


def _saying_to(path: str) -> "list[tuple[Any, ...]]":
    """Has a program start with that file, emptied, in the place of a terminal."""
    fresh = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    return [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, path, fresh, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"
