"""The private tmux server: its life, and one method per thing done to a session in it.

Owns every call of the tmux program. The user's own server and configuration are never touched:
own socket, own configuration file, built environment. Knows nothing of agents or holders.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import shlex
import shutil
import socket as sockets
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.core.errors import (
    ConfigError,
    Conflict,
    Internal,
    NotFound,
    Unavailable,
    program_failed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONFIG = Path(__file__).with_name("tmux.conf")
_RECORDER = Path(__file__).with_name("recorder.sh")
TERM = "tmux-256color"
OLDEST = (3, 2)

# macOS allows 104 bytes of socket path, Linux 108; tmux puts ".lock" beside it.
LONGEST_SOCKET = 98

_INHERITED = ("PATH", "HOME", "LANG", "SHELL", "USER")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_PASTE_MARKS = re.compile(r"(?:\x1b\[|\x9b)20[01]~")
_CALL_TIMEOUT = 30.0

_GONE = ("no server running", "error connecting to", "lost server", "server exited")
_MISSING = ("can't find", "no current target", "no such session", "session not found")

_RAISE = 'ulimit -Sn "$(ulimit -Hn)" 2>/dev/null; exec "$@"'
_RAISED = ("/bin/sh", "-c", _RAISE, "windlass-tmux")

_buffers = itertools.count()


def server_environment() -> dict[str, str]:
    """Builds all that the server, its clients and hence every pane inherit."""
    env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    env.setdefault("PATH", os.defpath)
    env.setdefault("LANG", "C.UTF-8")
    # Without SHELL tmux 3.3 starts, but starts nothing in its panes.
    env.setdefault("SHELL", "/bin/sh")
    env["TERM"] = "xterm-256color"
    return env


def client_argv(*words: str) -> list[str]:
    """Returns the command of a client of the daemon's, which gets through whatever agents do.

    A client sends its streams to the server. The kernel refuses that where more files are on their
    way through sockets than the client may have open, and counts those of all agents, boxed or not.
    """
    return [*_RAISED, "tmux", *words]


class Tmux:
    """A private tmux server behind one socket; every method is safe from many threads at once."""

    def __init__(self, socket: Path) -> None:
        if len(os.fsencode(socket)) > LONGEST_SOCKET:
            raise ConfigError(
                f"the tmux socket path is too long for this system: {socket}",
                f"Choose a runtime folder so that it has at most {LONGEST_SOCKET} bytes.",
            )
        self.socket = socket
        self._started: list[Callable[[], None]] = []

    def version(self) -> str:
        """Returns what `tmux -V` says, without the word tmux."""
        try:
            done = subprocess.run(
                ["tmux", "-V"],
                env=server_environment(),
                capture_output=True,
                text=True,
                timeout=_CALL_TIMEOUT,
                check=False,
            )
        except FileNotFoundError:
            raise ConfigError("tmux is not installed", _install_line()) from None
        return done.stdout.strip().removeprefix("tmux ")

    def require_version(self) -> None:
        """Refuses a machine whose tmux is missing or too old."""
        version = self.version()
        numbers = re.search(r"(\d+)\.(\d+)", version)
        # "master" and "openbsd-7.6" carry no number to compare; both are newer than OLDEST.
        if numbers is None or version.startswith("openbsd"):
            return
        if (int(numbers[1]), int(numbers[2])) < OLDEST:
            raise ConfigError(f"tmux {version} is too old, 3.2 is needed", _install_line())

    def ensure(self) -> None:
        """Starts the server if none answers; returns with one that does."""
        if self.alive():
            return
        self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._starting():
            if self.alive():
                return
            self._call("start-server", start=True)
        for tell in tuple(self._started):
            tell()

    def when_started(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Calls `tell`, in whichever thread it is, after each start; returns how to stop that."""
        self._started.append(tell)
        return lambda: self._started.remove(tell)

    def alive(self) -> bool:
        """Says whether a server listens on the socket, without starting a program."""
        probe = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        with probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(self.socket))
            except TimeoutError:
                return True  # a full queue: somebody owns it, busy as they are
            except OSError:
                return False
        return True

    def server_pid(self) -> int:
        """Returns the process id of the server."""
        return int(self._call("display-message", "-p", "#{pid}"))

    def shutdown(self) -> None:
        """Ends the server and every session in it."""
        with contextlib.suppress(Unavailable):
            self._call("kill-server")

    def sessions(self) -> list[str]:
        """Lists the names of the sessions; Unavailable when no server runs."""
        return self._call("list-sessions", "-F", "#{session_name}").splitlines()

    def new(
        self,
        name: str,
        argv: list[str],
        *,
        cwd: Path,
        columns: int,
        lines: int,
        log: Path | None = None,
        env: Mapping[str, str] | None = None,
        tag: str = "",
    ) -> None:
        """Starts a detached session; its output goes to `log` from the first byte.

        Of much output only the last is kept there, and some before it in `LOG.1`.
        `env` is added to the pane's environment. `tag` is kept with the session, see `tag`.
        Conflict when the name is taken.
        """
        _check_name(name)
        command = argv if len(argv) > 1 else [f"exec {shlex.quote(argv[0])}"]
        words = ["new-session", "-d", "-E", "-s", name, "-x", str(columns), "-y", str(lines)]
        words += ["-c", _unformatted(str(cwd))]
        for key, value in (env or {}).items():
            words += ["-e", f"{key}={value}"]
        words += ["--", *command]
        steps = [words]
        if tag:
            steps.append(["set-option", "-t", _pane(name), "@windlass", tag])
        if log is not None:
            recorder = f"exec /bin/sh {shlex.quote(str(_RECORDER))} {shlex.quote(str(log))}"
            # pipe-pane also expands the time, so a percent sign in a path needs doubling.
            recorder = _unformatted(recorder).replace("%", "%%")
            steps.append(["pipe-pane", "-t", _pane(name), recorder])
        self._sequence(*steps)

    def tag(self, name: str) -> str:
        """Returns the tag given to `new`, "" if it had none."""
        return self._ask_pane(name, "#{@windlass}")

    def kill(self, name: str) -> None:
        """Ends a session; one that is not there is fine."""
        with contextlib.suppress(NotFound, Unavailable):
            self._call("kill-session", "-t", f"={_check_name(name)}")

    def capture(self, name: str, *, scrollback: int | None = 0, colour: bool = False) -> str:
        """Returns the rows of the screen as they are seen, wrapped lines not joined.

        `scrollback` adds that many rows of history above, None all of it. The text is what the
        program in the session wrote: neutralise it before showing it to anybody.
        """
        first = "-" if scrollback is None else str(-scrollback)
        colours = ["-e"] if colour else []
        return self._call("capture-pane", "-p", *colours, "-S", first, "-t", _pane(name))

    def paste(self, name: str, text: str, *, submit: bool) -> None:
        """Types text literally, bracketed where the program asked for that; then maybe Enter.

        Marks that would end the bracket early are taken out; everything else arrives as it is.
        """
        self._type(name, _without_marks(text).encode("utf-8", "surrogateescape"), "-p")
        if submit:
            self._type(name, b"\r")

    def keys(self, name: str, *keys: str) -> None:
        """Presses keys by their tmux names (`C-c`, `Escape`, `Up`), ending scroll-back first."""
        self._sequence(_leave_history(name), ["send-keys", "-t", _pane(name), "--", *keys])

    def attach_argv(self, name: str) -> list[str]:
        """Returns the command that attaches a terminal, also from inside another tmux."""
        attach = ["tmux", "-u", "-N", "-S", str(self.socket), "attach-session", "-t"]
        return ["env", "-u", "TMUX", "-u", "TMUX_PANE", *attach, f"={_check_name(name)}"]

    def window_argv(self, name: str) -> list[str]:
        """Returns the command that attaches in a new window of the user's own tmux."""
        return ["tmux", "new-window", "-n", name, "--", *map(_word, self.attach_argv(name))]

    def _ask_pane(self, name: str, question: str) -> str:
        # display-message and show-options answer nothing, without error, for a missing session.
        answer = self._call("list-panes", "-t", f"={_check_name(name)}:0", "-F", question)
        return answer.partition("\n")[0]

    def _type(self, name: str, data: bytes, *how: str) -> None:
        buffer = f"windlass-{os.getpid()}-{next(_buffers)}"
        try:
            self._sequence(
                _leave_history(name),
                ["load-buffer", "-b", buffer, "-"],
                ["paste-buffer", *how, "-r", "-d", "-b", buffer, "-t", _pane(name)],
                stdin=data,
            )
        except NotFound:
            with contextlib.suppress(NotFound, Unavailable):
                self._call("delete-buffer", "-b", buffer)
            raise

    def _sequence(self, *steps: list[str], stdin: bytes = b"") -> str:
        words: list[str] = []
        for step in steps:
            words += [*map(_word, step), ";"]
        return self._run(words[:-1], stdin=stdin)

    def _call(self, *words: str, start: bool = False) -> str:
        return self._run([*map(_word, words)], start=start)

    def _run(self, words: list[str], *, stdin: bytes = b"", start: bool = False) -> str:
        how = ["-f", str(CONFIG)] if start else ["-N"]
        argv = ["tmux", "-u", "-S", str(self.socket), *how, *words]
        if not shutil.which("tmux"):
            raise ConfigError("tmux is not installed", _install_line())
        try:
            done = subprocess.run(
                # Sessions inherit what the server is started with, and agents end with it.
                argv if start else client_argv(*argv[1:]),
                input=stdin,
                capture_output=True,
                cwd="/",
                env=server_environment(),
                timeout=_CALL_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(
                f"the tmux server at {self.socket} does not answer",
                f"See what it does: tmux -S {self.socket} list-sessions",
            ) from None
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        raise self._failure(argv, done.returncode, done.stderr.decode("utf-8", "replace"))

    def _failure(self, argv: list[str], code: int, complaint: str) -> Exception:
        said = complaint.strip()
        if not said or any(sign in said for sign in _GONE):
            return Unavailable(
                f"no tmux server answers at {self.socket}: {said or 'it closed the connection'}",
                "Its sessions ended with it; the daemon starts it again when it needs it.",
            )
        if "duplicate session" in said:
            return Conflict(f"tmux: {said}", "Choose another session name.")
        if any(sign in said for sign in _MISSING):
            return NotFound(f"tmux: {said}", "The session has ended, or never was.")
        return Internal(program_failed(argv, code, said), "This is a defect: please report it.")

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        # tmux itself uses <socket>.lock.
        path = self.socket.with_name(self.socket.name + ".start")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _check_name(name: str) -> str:
    # tmux silently changes dots and colons in names, and reads "=", "@", "%", "$" in targets.
    if not _NAME.fullmatch(name):
        raise Internal(f"{name!r} cannot name a tmux session", "Use letters, digits, - and _.")
    return name


def _pane(name: str) -> str:
    return f"={_check_name(name)}:0.0"


def _leave_history(name: str) -> list[str]:
    # While somebody reads the history, keys go there, and a paste gets no brackets: measured.
    target = _pane(name)
    leave = f"send-keys -t {target} -X cancel"
    return ["if-shell", "-F", "-t", target, "#{pane_in_mode}", leave]


def _word(word: str) -> str:
    # tmux takes a word that ends in a semicolon as the end of a command.
    return f"{word[:-1]}\\;" if word.endswith(";") else word


def _unformatted(text: str) -> str:
    return text.replace("#", "##")


def _without_marks(text: str) -> str:
    # Repeatedly: taking one mark out can join the two halves of another.
    while (shorter := _PASTE_MARKS.sub("", text)) != text:
        text = shorter
    return text


def _install_line() -> str:
    for program, line in (
        ("apt-get", "sudo apt-get install tmux"),
        ("dnf", "sudo dnf install tmux"),
        ("pacman", "sudo pacman -S tmux"),
        ("apk", "sudo apk add tmux"),
        ("brew", "brew install tmux"),
    ):
        if shutil.which(program):
            return f"Install tmux 3.2 or newer: {line}"
    return "Install tmux 3.2 or newer with your system's package manager."
