"""The Protocols of the system: what its parts need of one another, and of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from windlass.core.dialect import Dialect
from windlass.core.driver_request import Abilities, ModelAccess, SessionRequest
from windlass.core.forge import Draft, PullRequest
from windlass.core.jobs import Heard, JobId, JobNote
from windlass.core.session_launch import Launch
from windlass.core.sessions import (
    CommandResult,
    Facts,
    Mark,
    Peer,
    Started,
    StopReport,
    WholeRun,
)


class WallClock(Protocol):
    """Where the time of day comes from, so that tests can turn it."""

    def now(self) -> float:
        """Returns the seconds since the epoch, as they are written into rows."""


class Clock(WallClock, Protocol):
    """Where all time comes from: the hour, how long something takes, and every wait."""

    def monotonic(self) -> float:
        """Returns seconds that only go forward, for how long ago and until when."""

    def offset(self) -> float:
        """Returns how far the hour is ahead of such seconds; it changes when the hour is set."""

    def sleep(self, seconds: float) -> None:
        """Lets this thread rest for so many seconds of this clock."""

    def real(self, seconds: float) -> float:
        """Returns how many of the machine's seconds so many of this clock take."""

    @property
    def unscaled(self) -> Clock:
        """Returns the same clock at the machine's pace, for waits on programs outside."""


class Reached(Protocol):
    """Told of each point at which a process under test may be made to die."""

    def __call__(self, name: str, /) -> None:
        """Returns, unless the process is to die here."""


class Driver(Protocol):
    """The adapter for one agent CLI."""

    @property
    def name(self) -> str:
        """Returns the name that people choose it by."""

    @property
    def dialect(self) -> Dialect:
        """Returns how this CLI speaks."""

    @property
    def abilities(self) -> Abilities:
        """Returns what this CLI offers."""

    @property
    def pinned(self) -> tuple[str, ...]:
        """Returns the options that an agent keeps: its conversation lies where they say."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Returns patterns of the variables that a boxed session needs of the person's own."""

    def check(self) -> str:
        """Returns the CLI's version; raises DriverError or ConfigError with how to install it."""

    def require_ready(self, request: SessionRequest) -> None:
        """Raises ConfigError where a session would stop at a question to the person."""

    def reaches(self, request: SessionRequest) -> tuple[str, ...]:
        """Returns the `host:port` of whatever a session cannot work without."""

    @property
    def token_command(self) -> tuple[str, ...]:
        """Returns what a person runs to make a token for sessions; nothing where they take none."""

    def token_problem(self, token: str) -> str:
        """Returns why what a person gave is no such token, as far as can be seen; else nothing."""

    def can_log_in(self, request: SessionRequest) -> bool:
        """Returns whether a session has something to log in with."""

    def model_access(self, request: SessionRequest) -> ModelAccess | None:
        """Returns how the daemon asks the model for a session; None where it does so itself."""

    def trusts(self, request: SessionRequest) -> bool:
        """Returns whether the CLI works in the workspace without asking the person first."""

    def asks_for_trust(self, request: SessionRequest) -> Launch | None:
        """Returns how to start the CLI so that it asks that, if it ever does."""

    def metered(self, request: SessionRequest) -> bool:
        """Returns whether tokens cost this person money, rather than a part of a subscription."""

    def credential(self, request: SessionRequest) -> str:
        """Returns what pays for a session, as people call it: a key, a token, a login."""

    def status_file(self, request: SessionRequest, pid: int) -> str | None:
        """Returns where the process tells its own status, if the CLI has such a file."""

    def launch(self, request: SessionRequest) -> Launch:
        """Writes what the session needs into the agent's folder and returns how to start it."""

    def transcript(self, request: SessionRequest) -> str:
        """Returns the absolute path of the session's conversation, whether it exists yet or not."""


class Terminal(Protocol):
    """The screens of live sessions, each by its name; NotFound where there is no such session."""

    def version(self) -> str:
        """Returns the version of the program that keeps them."""

    def require_version(self) -> None:
        """Raises ConfigError where that program is missing or too old."""

    def alive(self) -> bool:
        """Returns whether that program runs."""

    def capture(self, name: str, *, scrollback: int | None = 0, colour: bool = False) -> str:
        """Returns what is on a screen, with so many rows above it, or all of them for None."""

    def paste(self, name: str, text: str, *, submit: bool) -> None:
        """Types a text literally, and then presses Enter if it is to be submitted."""

    def keys(self, name: str, *keys: str) -> None:
        """Presses keys, named as tmux names them."""

    def attach_argv(self, name: str) -> list[str]:
        """Returns the command that joins a person's terminal to a session."""

    def window_argv(self, name: str) -> list[str]:
        """Returns the command that does so in a new window of the person's own tmux."""


class Sessions(Protocol):
    """Sessions of agent CLIs: one folder is one session, ever, and outlives the daemon."""

    @property
    def terminal(self) -> Terminal:
        """Returns where live sessions are seen and typed into."""

    def start(
        self, *, folder: Path, name: str, launch: Launch, wake: Path | None, marker: str
    ) -> bool:
        """Starts a folder's session; False where it was started before, Conflict for a name in use.

        `wake` is a datagram socket that is poked when it ends; `marker` is found again in every
        process of it.
        """

    def begun(self, folder: Path, name: str) -> bool:
        """Returns whether a folder's session was started, whatever became of it."""

    def facts(self, folder: Path, name: str) -> Facts:
        """Returns whether a session lives, and how it ended where that is known."""

    def stop(self, *, folder: Path, name: str, marker: str, grace: float = 5.0) -> StopReport:
        """Ends a session and everything that runs for it; safe to call again."""

    def marks(self, peer: Peer) -> Iterator[Mark]:
        """Yields the marks of a process and of all those above it, the outermost first.

        Each is looked at when it is asked for: above what an agent runs is the holder of its
        session, which it has no part in. Unavailable, at the latest instead of an end, where the
        process is gone.
        """

    def find_server_again(self, folder: Path) -> bool:
        """Returns whether the terminal that a living session is in could be reached again."""

    def started(self, folder: Path) -> Started | None:
        """Returns what a folder's session was started as; None where none was."""

    def shown(self) -> Mapping[str, Path]:
        """Returns every session that the terminal has, by its name, with its folder."""

    def newest_tool(self, folder: Path) -> str | None:
        """Returns the process that the program of a session started last, if one runs."""

    def is_suspended(self, folder: Path) -> bool:
        """Returns whether a session is stopped by a signal: it goes on later where it was."""

    def nameless(self, folder: Path, *, on: Sequence[Path]) -> int:
        """Returns the bytes of files that have no name any more and a session holds open.

        Those on the disks of these folders: what is in memory takes no room there.
        """

    def is_open(self, folder: Path) -> bool:
        """Returns whether a headless session would read what is written to it."""

    def write(self, folder: Path, data: bytes, *, timeout: float = 30.0) -> None:
        """Writes to a headless session's input, whole; Conflict where nobody reads it."""


class Commands(Protocol):
    """Programs that run beside sessions, each under a mark that it is found again by."""

    def run(
        self,
        command: str,
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        timeout: float,
        mark: str,
        prefix: Sequence[str] = (),
    ) -> CommandResult:
        """Runs a project's command line behind `prefix`, its output appended to `log`.

        It is ended when its time is over.
        """

    def run_whole(
        self,
        command: str,
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        timeout: float,
        mark: str,
        prefix: Sequence[str] = (),
        most: int,
        look: Callable[[int], str] = lambda _: "",
    ) -> WholeRun:
        """Runs a command line to its end, and ends whatever it started; its output is capped.

        What `look` says against its process, when it is asked now and then, ends it before.
        """

    def marked(self, mark: str) -> Mapping[str, str]:
        """Returns the variables that a program has under a mark which is not run by `run`."""

    def running(self, *marks: str) -> list[str]:
        """Returns what runs under these marks: how each process is called, and its number."""

    def nameless_below(self, pid: int, *, on: Sequence[Path]) -> int:
        """The bytes of deleted files on these disks that a process and those below hold open."""

    def end_run(self, *marks: str) -> StopReport:
        """Ends what runs under these marks, whoever started it."""

    def users(self, folder: Path) -> list[str]:
        """Returns what works in a folder or has anything in it open, as `running` names it."""


class Ledger(Protocol):
    """Where jobs are kept, as whatever drives them sees it: one transaction each."""

    def claim(self) -> list[JobNote]:
        """Takes over every open job; who drove them before can write no more."""

    def advance(self, job: JobId, /) -> JobNote | None:
        """Takes in what happened to a job; None where there is none, or it is somebody else's."""

    def wake(self, job: JobId, /) -> None:
        """Tells a job that the moment came that it waited for."""


class Engine(Protocol):
    """Drives jobs: has each take in what happened to it, and its effects done."""

    def open(self) -> None:
        """Takes over the jobs that there are, and goes on with each."""

    def heed(self, heard: Sequence[Heard]) -> None:
        """Is told what was committed just now; returns at once."""


class Forge(Protocol):
    """Where pull requests live."""

    def open(self, draft: Draft) -> PullRequest:
        """Opens a pull request, or finds the one that is open for its branch; never opens two.

        One without a number is to be opened by a person, at its address.
        """

    def look(self, request: PullRequest) -> PullRequest:
        """Returns how a pull request stands now; raises Unavailable where nobody can say."""
