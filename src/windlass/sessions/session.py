"""Sessions: an agent CLI under a holder in tmux, live or headless.

Owns the folder of one session (see `record` for its files) and starting, judging and stopping
what runs from it. It keeps no state of its own: a restarted daemon asks the same questions of the
same files. What a session means belongs to its callers.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil

from windlass.core.errors import Conflict, NotFound, Unavailable
from windlass.core.session_launch import HOOK_PORT
from windlass.core.sessions import SCREEN, SPEC, Facts, StopReport
from windlass.sessions import boxed, lastwords, peers, processes, record, streams
from windlass.sessions.daemon_watch import STEADY
from windlass.sessions.tmux import TERM, Tmux

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windlass.core.session_launch import Launch, ReceiverSpec
    from windlass.core.sessions import Mark, Peer, Started

HOLDER_PROGRAM = Path(__file__).with_name("holder.py")
RECEIVE_PROGRAM = Path(__file__).parents[1] / "hooks" / "receive.py"
WATCH_PROGRAM = Path(__file__).with_name("daemon_watch.py")
"""By path, as the holder loads them: nothing of ours is imported into a session's process."""
_BY_SIGNAL = 128
_SCREEN_LAGS = 0.5


class TmuxSessions:
    """Starts sessions on one tmux server and says what became of them.

    Where a state folder is given, sessions watch over its daemon and have it be started again; one
    that ends sooner than `steady` seconds after its start, ever later.
    """

    def __init__(self, tmux: Tmux, *, home: Path | None = None, steady: float = STEADY) -> None:
        self.tmux = tmux
        self._home = home
        self._steady = steady

    @property
    def terminal(self) -> Tmux:
        """The server that shows live sessions."""
        return self.tmux

    def start(
        self, *, folder: Path, name: str, launch: Launch, wake: Path | None, marker: str
    ) -> bool:
        """Starts the session; False when this folder's session was started before.

        One folder is one session, ever: a repeated call changes nothing, also after it ended.
        Conflict when another session has the name.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.begun(folder, name):
            return False
        self.tmux.ensure()
        self._write_spec(folder, name=name, launch=launch, wake=wake, marker=marker)
        try:
            self._open(folder, name=name, launch=launch, marker=marker)
        except Conflict:
            if self._has(name, folder):
                return False
            if not self._close_ended(name):
                raise
            self._open(folder, name=name, launch=launch, marker=marker)
        return True

    def begun(self, folder: Path, name: str) -> bool:
        """Says whether this folder's session was started, whatever became of it."""
        if record.read_holder(folder) is not None or record.read_exit(folder) is not None:
            return True
        return self._has(name, folder)

    def facts(self, folder: Path, name: str) -> Facts:
        """Says whether the session lives, and how it ended if that is known."""
        holder = record.read_holder(folder)
        if holder is None:
            # tmux has it before its holder has said a word.
            return Facts(alive=self._has(name, folder))
        alive = holder.living() is not None
        # Read after that look: an end between the two is then seen here.
        ended = record.read_exit(folder)
        child = holder.child
        if child is not None and alive:
            child = boxed.program(child)
        return Facts(
            alive=alive and ended is None,
            exit_code=ended.code if ended else None,
            exited_at=ended.at if ended else None,
            holder_pid=holder.pid,
            child_pid=child,
            reason=_why(folder, ended) if ended else "",
        )

    def started(self, folder: Path) -> Started | None:
        """Returns what a folder's session was started as, by its spec."""
        return record.read_started(folder)

    def shown(self) -> dict[str, Path]:
        """Returns every session that tmux has and that was begun here, with its folder."""
        tags = {}
        with contextlib.suppress(Unavailable):
            for name in self.tmux.sessions():
                with contextlib.suppress(NotFound):  # it ended just now
                    tags[name] = self.tmux.tag(name)
        return {name: Path(tag) for name, tag in tags.items() if tag}

    def find_server_again(self, folder: Path) -> bool:
        """Has the tmux server that a living session is in make its socket anew; True if it did.

        Sockets lie in a runtime folder that may be tidied away under a server that lives on.
        """
        holder = record.read_holder(folder)
        living = holder.living() if holder else None
        if living is None:
            return False
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            server = psutil.Process(living.pid).parent()
            if server is not None and server.name().startswith("tmux"):
                server.send_signal(signal.SIGUSR1)
                return self._answers_within(2.0)
        return False

    def _answers_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self.tmux.alive():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def stop(self, *, folder: Path, name: str, marker: str, grace: float = 5.0) -> StopReport:
        """Ends the session and proves its whole process tree gone; see `processes.stop`."""
        return processes.stop(folder=folder, name=name, marker=marker, grace=grace, tmux=self.tmux)

    def marks(self, peer: Peer) -> Iterator[Mark]:
        """Says which sessions a process may be of; see `peers.marks`."""
        return peers.marks(peer)

    def newest_tool(self, folder: Path) -> str | None:
        """Describes what runs below the agent CLI; see `processes.newest_tool`."""
        return processes.newest_tool(folder)

    def is_suspended(self, folder: Path) -> bool:
        """Says whether the program or a process of it is stopped; see `processes.is_suspended`."""
        return processes.is_suspended(folder)

    def nameless(self, folder: Path, *, on: Sequence[Path]) -> int:
        """Counts what files without a name take; see `processes.nameless`."""
        return processes.nameless(folder, on=on)

    def is_open(self, folder: Path) -> bool:
        """Says whether a headless session would read what is written to it."""
        return streams.is_open(folder)

    def write(self, folder: Path, data: bytes, *, timeout: float = 30.0) -> None:
        """Writes to a headless session's input; see `streams.write`."""
        streams.write(folder, data, timeout=timeout)

    def _open(self, folder: Path, *, name: str, launch: Launch, marker: str) -> None:
        program = [sys.executable, "-I", "-S", "-X", "utf8", str(HOLDER_PROGRAM)]
        self.tmux.new(
            name,
            [*program, str(folder / SPEC)],
            cwd=folder,
            columns=launch.columns,
            lines=launch.lines,
            log=folder / SCREEN if launch.mode == "live" else None,
            env={processes.MARKER: marker},
            tag=str(folder),
        )

    def _close_ended(self, name: str) -> bool:
        """Closes the session of that name if its program has ended, as tmux is about to."""
        with contextlib.suppress(NotFound, Unavailable):
            other = self.tmux.tag(name)
            if not other or record.read_exit(Path(other)) is None:
                return False
            self.tmux.kill(name)
        return True

    def _has(self, name: str, folder: Path) -> bool:
        with contextlib.suppress(NotFound, Unavailable):
            return self.tmux.tag(name) == str(folder)
        return False

    def _write_spec(
        self, folder: Path, *, name: str, launch: Launch, wake: Path | None, marker: str
    ) -> None:
        env = {**launch.env, processes.MARKER: marker}
        if launch.mode == "live":
            env["TERM"] = TERM  # the terminal is ours, whatever the caller's is
        spec = {
            "name": name,
            "folder": str(folder),
            "argv": launch.argv,
            "cwd": launch.cwd,
            "env": env,
            "mode": launch.mode,
            "wake": None if wake is None else str(wake),
            "marker": marker,
            "receiver": None if launch.receiver is None else _receiver(launch.receiver),
            "proxy": None if launch.proxy is None else msgspec.to_builtins(launch.proxy),
            "daemon": None if self._home is None else self._watch(self._home),
            "secrets": launch.secrets,
            "stdin": launch.stdin,
        }
        new = folder / f"{SPEC}.{os.getpid()}.{id(spec)}"
        # The environment may hold secrets: never readable for others, not even for a moment.
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            # msgspec refuses the surrogates that stand for bytes that are no UTF-8.
            json.dump(spec, file)
        new.replace(folder / SPEC)

    def _watch(self, home: Path) -> dict[str, str | float]:
        socket = str(self.tmux.socket)
        return {
            "program": str(WATCH_PROGRAM),
            "home": str(home),
            "tmux": socket,
            "steady": self._steady,
        }


def _why(folder: Path, ended: record.Exit) -> str:
    """Why a program ended, where it was neither told to nor killed."""
    if ended.reason or not 0 < ended.code < _BY_SIGNAL:
        return ended.reason
    end = time.monotonic() + _SCREEN_LAGS
    while not (words := lastwords.read(folder)) and time.monotonic() < end:
        time.sleep(0.02)  # tmux may not have written yet what it read
    return words


def _receiver(wanted: ReceiverSpec) -> dict[str, Any]:
    return {
        "program": str(RECEIVE_PROGRAM),
        "token": wanted.token,
        "events": wanted.events,
        "files": wanted.files,
        "port_text": HOOK_PORT,
    }
