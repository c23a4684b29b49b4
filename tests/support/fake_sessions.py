"""Sessions in memory: no tmux and no processes, and the test is the program that runs in them.

A `FakeSession` is what a test drives: it says what is on the screen, what is printed, what a hook
tells and how the program ends, and finds there what was typed or written. The files of a session's
folder are written as the real ones are. `tests/sessions/test_contract.py` holds these and the real
sessions to the same promises.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil

from windlass.core.errors import Conflict, NotFound, Unavailable
from windlass.core.ports import Clock
from windlass.core.session_launch import Launch
from windlass.core.sessions import OUTPUT, SCREEN, SPEC, Facts, Mark, Peer, Started, StopReport

_ENDED_BY_TERM = 143
_BY_SIGNAL = 128


class FakeSession:
    """One session, as its program sees it."""

    def __init__(self, clock: Clock, folder: Path, name: str, launch: Launch) -> None:
        self.folder = folder
        self.name = name
        self.launch = launch
        self.wake: Path | None = None
        self.received = launch.stdin.encode()
        """What the program has read: typed into its terminal, or written to its input."""
        self.pressed: list[str] = []
        """The keys that were pressed, by their names."""
        self.screen = ""
        self.unkillable: tuple[str, ...] = ()
        """The processes that no signal ends, while the test wants that."""
        self.tool: str | None = None
        """The process that the program started last, while it runs."""
        self.suspended = False
        """Whether the program is stopped by a signal."""
        self.deaf = False
        """Whether a headless program leaves its input unread, so that there is no room for more."""
        self.nameless = 0
        """Bytes of deleted files that the program holds open."""
        self.pids: set[int] = set()
        """The processes of the program, and of whatever it has started."""
        self.facts = Facts(alive=True)
        self._clock = clock
        self._last_line = ""

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        return self.facts.alive

    def show(self, text: str) -> None:
        """Puts a text on a live session's screen, in place of what was there."""
        self.screen = text
        self._print(SCREEN, text.encode() + b"\n")

    def say(self, line: str) -> None:
        """Prints a line, with or without its end, as a headless session does."""
        self._print(OUTPUT, line.encode())

    def hook(self, name: str, **more: Any) -> None:
        """Tells of a hook event, as the session's receiver writes it down."""
        if self.launch.receiver is None:
            raise AssertionError("this session was started without a receiver")
        event = {"hook_event_name": name, **more}
        line = json.dumps({"at": self._clock.now(), "event": event})
        with Path(self.launch.receiver.events).open("a") as file:
            file.write(line + "\n")

    def end(self, code: int, reason: str = "") -> None:
        """Ends the program; who fails by itself gives its last line as the reason."""
        if not self.alive:
            return
        if not reason and 0 < code < _BY_SIGNAL and not self._last_line.startswith("{"):
            reason = self._last_line
        now = self._clock.now()
        self.facts = Facts(alive=False, exit_code=code, exited_at=now, reason=reason)
        if self.wake is not None:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as poke:
                poke.sendto(b"session", str(self.wake))

    def _print(self, name: str, data: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(data)
        self._last_line = data.decode().strip().rpartition("\n")[2]


class FakeTerminal:
    """The screens of the sessions that live."""

    def __init__(self, living: dict[str, FakeSession]) -> None:
        self._living = living

    def version(self) -> str:
        """Returns no real version."""
        return "fake"

    def require_version(self) -> None:
        """Is never too old."""

    def alive(self) -> bool:
        """Runs always."""
        return True

    def capture(self, name: str, *, scrollback: int | None = 0, colour: bool = False) -> str:  # noqa: ARG002 - there is no history, and no colour
        """Returns what the test put on the screen."""
        return self._find(name).screen

    def paste(self, name: str, text: str, *, submit: bool) -> None:
        """Has the program read the text."""
        session = self._find(name)
        session.received += text.encode()
        if submit:
            session.received += b"\n"

    def keys(self, name: str, *keys: str) -> None:
        """Notes the keys; Enter is read as the end of a line."""
        session = self._find(name)
        session.pressed += keys
        session.received += b"\n" * keys.count("Enter")

    def attach_argv(self, name: str) -> list[str]:
        """Returns a command that names the session."""
        return ["attach", name]

    def window_argv(self, name: str) -> list[str]:
        """Returns a command that names the session."""
        return ["window", name]

    def _find(self, name: str) -> FakeSession:
        session = self._living.get(name)
        if session is None or not session.alive:
            raise NotFound(f"no session {name}", "The session has ended, or never was.")
        return session


class FakeSessions:
    """Sessions by their folders, kept for as long as the test keeps this."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started: dict[Path, FakeSession] = {}
        self._named: dict[str, FakeSession] = {}
        self.terminal = FakeTerminal(self._named)

    def forget_all(self) -> None:
        """Forgets every session, as what has ended is forgotten by tmux."""
        self._started.clear()
        self._named.clear()

    def forget(self, folder: Path, name: str) -> None:
        """Forgets one of them."""
        self._started.pop(folder, None)
        self._named.pop(name, None)

    def __getitem__(self, name: str) -> FakeSession:
        """The newest session of that name, for the test to drive."""
        return self._named[name]

    def start(
        self, *, folder: Path, name: str, launch: Launch, wake: Path | None, marker: str
    ) -> bool:
        """Starts a session that does nothing by itself."""
        if folder in self._started:
            return False
        other = self._named.get(name)
        if other is not None and other.alive:
            raise Conflict(f"duplicate session: {name}", "Choose another session name.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / SPEC).write_text(json.dumps({"name": name, "marker": marker}))
        (folder / (SCREEN if launch.mode == "live" else OUTPUT)).touch()
        session = FakeSession(self._clock, folder, name, launch)
        session.wake = wake
        self._started[folder] = self._named[name] = session
        return True

    def begun(self, folder: Path, name: str) -> bool:  # noqa: ARG002 - the folder says it
        """Returns whether that folder's session was started."""
        return folder in self._started

    def facts(self, folder: Path, name: str) -> Facts:  # noqa: ARG002 - as above
        """Returns what the test made of it."""
        session = self._started.get(folder)
        return session.facts if session else Facts(alive=False)

    def stop(self, *, folder: Path, name: str, marker: str, grace: float = 5.0) -> StopReport:  # noqa: ARG002 - it ends at once
        """Ends the program as a TERM does; what no signal ends lives on without a terminal."""
        session = self._started.get(folder)
        if session is None or not session.alive:
            return StopReport()
        if session.unkillable:
            if self._named.get(name) is session:
                del self._named[name]
            return StopReport(survivors=session.unkillable)
        session.end(_ENDED_BY_TERM)
        return StopReport(terminated=1)

    def marks(self, peer: Peer) -> Iterator[Mark]:
        """Yields that of the session that the test says the process is of."""
        if not psutil.pid_exists(peer.pid):
            raise Unavailable("the process is gone", "try again")
        for folder, session in self._started.items():
            if peer.pid in session.pids:
                spec = json.loads((folder / SPEC).read_text())
                yield Mark(spec["marker"], session.launch.env.get("WINDLASS_HOME"))

    def started(self, folder: Path) -> Started | None:
        """What the session in a folder was started as."""
        spec = folder / SPEC
        return msgspec.json.decode(spec.read_bytes(), type=Started) if spec.exists() else None

    def shown(self) -> dict[str, Path]:
        """Every session that was begun and lives."""
        return {name: one.folder for name, one in self._named.items() if one.alive}

    def find_server_again(self, folder: Path) -> bool:  # noqa: ARG002 - it is never lost
        """Returns false: nothing was lost."""
        return False

    def newest_tool(self, folder: Path) -> str | None:
        """Returns the tool that the test has run."""
        session = self._started.get(folder)
        return session.tool if session and session.alive else None

    def is_suspended(self, folder: Path) -> bool:
        """Returns whether the test has stopped it."""
        session = self._started.get(folder)
        return session is not None and session.alive and session.suspended

    def nameless(self, folder: Path, *, on: Sequence[Path]) -> int:  # noqa: ARG002 - on any disk
        """Returns what the test has it hold open."""
        session = self._started.get(folder)
        return session.nameless if session and session.alive else 0

    def is_open(self, folder: Path) -> bool:
        """Returns whether a headless session of that folder runs."""
        session = self._started.get(folder)
        return session is not None and session.alive and session.launch.mode == "headless"

    def write(self, folder: Path, data: bytes, *, timeout: float = 30.0) -> None:  # noqa: ARG002 - it reads at once
        """Has the program read the data."""
        if not self.is_open(folder):
            raise Conflict(f"no headless session is running in {folder}", "Resume the agent.")
        if self._started[folder].deaf:
            raise Conflict(f"the session in {folder} has not read its input", "Look at it.")
        self._started[folder].received += data
