"""Processes that the stand-in starts: hooks and shell commands, each in a group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from windlass.standin.loop import Loop

GRACE = 2.0


class Child:
    """One running process; its output is kept, its end is seen through the loop.

    It counts as finished when it exited, even if something that it left behind still holds its
    pipes open: `server &` in a shell command must not hold up the conversation.
    """

    def __init__(
        self,
        children: Children,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes | None = None,
        output: IO[bytes] | None = None,
    ) -> None:
        self._loop = children.loop
        self._children = children
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.returncode: int | None = None
        self.on_exit: Callable[[Child], None] | None = None
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.STDOUT if output else subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._watch(self._process.stdout, self.stdout)
        self._watch(self._process.stderr, self.stderr)
        if stdin is not None:
            self._feed(stdin)
        children.add(self)

    @property
    def finished(self) -> bool:
        """Says whether the process has exited."""
        return self.returncode is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the exit; ends the process if the wait is cut short by anything but time."""
        try:
            return self._loop.wait(lambda: self.finished, timeout)
        except BaseException:
            self.end()
            raise

    def reap(self) -> None:
        """Notices the exit, if it happened, and takes what output is left."""
        if self.finished:
            return
        code = self._process.poll()
        if code is None:
            return
        for pipe, kept in (
            (self._process.stdout, self.stdout),
            (self._process.stderr, self.stderr),
        ):
            if pipe and not pipe.closed:
                self._drain(pipe, kept)
                self._close(pipe)
        if self._process.stdin:
            self._close(self._process.stdin)
        self.returncode = code
        self._children.remove(self)
        if self.on_exit:
            self.on_exit(self)

    def end(self) -> None:
        """Ends the whole process group: asks first, insists after a while."""
        if self.finished:
            return
        self.on_exit = None
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        self.reap()

    def _watch(self, pipe: IO[bytes] | None, kept: bytearray) -> None:
        if pipe is None:
            return
        os.set_blocking(pipe.fileno(), False)
        self._loop.on_readable(pipe.fileno(), lambda: self._drain(pipe, kept))

    def _drain(self, pipe: IO[bytes], kept: bytearray) -> None:
        try:
            while chunk := os.read(pipe.fileno(), 65536):
                kept += chunk
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close(pipe)

    def _feed(self, data: bytes) -> None:
        pipe = self._process.stdin
        if pipe is None:
            return
        os.set_blocking(pipe.fileno(), False)
        left = memoryview(data)

        def write() -> None:
            nonlocal left
            try:
                left = left[os.write(pipe.fileno(), left) :]
            except BlockingIOError:
                return
            except OSError:
                left = left[:0]
            if not left:
                self._close(pipe)

        self._loop.on_writable(pipe.fileno(), write)

    def _close(self, pipe: IO[bytes]) -> None:
        if pipe.closed:
            return
        self._loop.forget(pipe.fileno())
        with contextlib.suppress(OSError):
            pipe.close()


class Children:
    """All processes that run; one signal tells about the end of any."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._running: list[Child] = []
        loop.on_signal(signal.SIGCHLD, self._reap)

    def add(self, child: Child) -> None:
        """Keeps an eye on a new process."""
        self._running.append(child)

    def remove(self, child: Child) -> None:
        """Forgets a process that ended."""
        self._running.remove(child)

    def end_all(self) -> None:
        """Ends every process that is left."""
        for child in [*self._running]:
            child.end()

    def _reap(self) -> None:
        for child in [*self._running]:
            child.reap()
