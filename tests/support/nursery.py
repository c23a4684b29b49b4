"""Daemons and commands that need not import everything first: forked off a process that has.

Half of what most tests cost would be the start of their daemon and of each `wl`, nearly all of it
imports. What runs is the same all the same, with an environment, files and a working folder of its
own; how `wl` itself starts, alone and with a daemon, is for the tests of that.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from typing import IO, Any, NoReturn

_MOST = 1 << 16


class Nursery:
    """The process that forks; one for each process of the test run."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wl-nursery-")
        self._path = f"{self._folder.name}/door"
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, self._path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the nursery did not start"
        atexit.register(self._close)

    def _close(self) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def ask(self, request: Mapping[str, Any], *files: IO[bytes]) -> socket.socket:
        """Has it fork for this; the connection ends when what was forked does."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        socket.send_fds(connection, [b"\n"], [file.fileno() for file in files])
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        return connection


_nursery: Nursery | None = None


def _ready() -> Nursery:
    global _nursery  # noqa: PLW0603
    _nursery = _nursery or Nursery()
    return _nursery


def start(env: Mapping[str, str]) -> None:
    """Starts a daemon and waits until it answers; one that cannot start is left to `wl` to tell."""
    with _ready().ask({"env": dict(env)}) as connection:
        while connection.recv(_MOST):
            pass  # it closes its end when it answers


def run(
    argv: list[str], *, cwd: str, env: Mapping[str, str], stdin: bytes, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Runs a command and waits for its end, as `subprocess.run` does."""
    with contextlib.ExitStack() as stack:
        source, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write(stdin)
        source.seek(0)
        request = {"argv": argv, "cwd": cwd, "env": dict(env)}
        connection = stack.enter_context(_ready().ask(request, source, out, err))
        connection.settimeout(timeout)
        pid = _number_from(connection)
        try:
            code = _number_from(connection)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(argv, timeout) from None
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(argv, code, out.read(), err.read())


def _number_from(connection: socket.socket) -> int:
    """A number of the nursery's: of a process, and then how it ended."""
    said = connection.recv(4, socket.MSG_WAITALL)
    assert len(said) == 4, "the nursery died"
    return int.from_bytes(said, signed=True)


def _serve(path: str) -> None:
    """Forks for everyone who comes, and says how it ended, until the test run goes away."""
    _import_everything()
    waking, woken = socket.socketpair()
    woken.settimeout(0)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno())
    asked: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()
        os.write(1, b"ready\n")
        while True:
            ready, _, _ = select.select([door.fileno(), waking.fileno(), 0], [], [])
            if 0 in ready:
                return
            if door.fileno() in ready:
                connection, _ = door.accept()
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for inherited in (door, waking, woken, *asked.values()):
                        inherited.close()
                    _become(connection)
                asked[child] = connection
            if waking.fileno() in ready:
                waking.recv(_MOST)
                _collect(asked)


def _collect(asked: dict[int, socket.socket]) -> None:
    while asked:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with asked.pop(pid) as connection, contextlib.suppress(BrokenPipeError):
            connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))


def _import_everything() -> None:
    from importlib import import_module  # noqa: PLC0415 - only in the nursery itself

    from windlass.cli.index import NAMES  # noqa: PLC0415

    for name in ("windlass.daemon.main", *{entry.module for entry in NAMES.values()}):
        import_module(name)


def _become(connection: socket.socket) -> NoReturn:
    code = 1
    try:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        request = json.loads(b"".join(iter(lambda: connection.recv(_MOST), b"")))
        os.environ.clear()
        os.environ.update(request["env"])
        if "argv" in request:
            connection.sendall(os.getpid().to_bytes(4, signed=True))
            code = _command(request, files)
        else:
            code = _daemon(connection)
    except BaseException:  # noqa: BLE001 - a fork must never return into the nursery's loop
        traceback.print_exc()
    finally:
        os._exit(code)


def _command(request: Mapping[str, Any], files: list[int]) -> int:
    from windlass.cli.main import main  # noqa: PLC0415

    for target, source in enumerate(files):
        os.dup2(source, target)
        os.close(source)
    os.chdir(request["cwd"])
    sys.argv = request["argv"]
    return main()


def _daemon(connection: socket.socket) -> int:
    from windlass.api import places  # noqa: PLC0415
    from windlass.daemon.main import run  # noqa: PLC0415

    os.setsid()
    if os.fork() > 0:
        return 0
    os.environ["WINDLASS_READY"] = str(connection.detach())
    os.chdir("/")
    places.make_home()
    nothing = os.open(os.devnull, os.O_RDWR)
    error_log = os.path.join(places.home(), "daemon.err")  # noqa: PTH118 - as places does
    complaints = os.open(error_log, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    for target, source in ((0, nothing), (1, nothing), (2, complaints)):
        os.dup2(source, target)
    return run()


if __name__ == "__main__":
    _serve(sys.argv[1])
