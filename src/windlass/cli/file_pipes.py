"""Pipes in the place of the person's files, for a program that is to have their content alone.

Whoever has a descriptor opens the file behind it again, through /proc and out of a box too: to read
what is in a file that it was to add to, and to write what it was only given to read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import stat
import struct
import termios
import threading
from collections.abc import Iterator

from windlass.core.errors import UserError

_CHUNK = 1 << 16


class _Input:
    """Has the program read what our own input has; what it leaves there stays there."""

    numbers = (0,)

    def __init__(self) -> None:
        self.its_end, self._ours = os.pipe()
        self._over, self._ending = os.pipe()
        self._left = b""
        self._taken = 0
        """Bytes that were read of our input."""
        self._carrier: threading.Thread | None = None
        os.set_blocking(self._ours, False)

    def begin(self) -> None:
        """Carries on, once the program has been started."""
        self._carrier = threading.Thread(target=self._carry)
        self._carrier.start()

    def finish(self) -> None:
        """Ends it, and leaves our input behind what the program has read, as if it had had it."""
        os.close(self._ending)
        if self._carrier is None:
            os.close(self._ours)
        else:
            self._carrier.join()
            unread = fcntl.ioctl(self.its_end, termios.FIONREAD, bytes(4))
            # The program can write to its pipe too: there may be more in it than came from here.
            back = min(struct.unpack("i", unread)[0] + len(self._left), self._taken)
            with contextlib.suppress(OSError):  # of a folder nothing was read
                os.lseek(0, -back, os.SEEK_CUR)
        os.close(self.its_end)
        os.close(self._over)

    def _carry(self) -> None:
        while self._over not in select.select([self._over], [self._ours], [])[0]:
            if not self._left:
                self._left = _read(0)
                self._taken += len(self._left)
            if not self._left:
                break
            self._left = self._left[os.write(self._ours, self._left) :]
        os.close(self._ours)


class _Output:
    """Has the program print to a pipe, and writes what comes out of it where it was to go."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self._ours, self.its_end = os.pipe()
        self._carrier: threading.Thread | None = None
        self._problem: OSError | None = None

    def begin(self) -> None:
        """Carries on, once the program has been started."""
        os.close(self.its_end)
        self._carrier = threading.Thread(target=self._carry)
        self._carrier.start()

    def finish(self) -> None:
        """Waits until all is written; raises what kept us from that."""
        if self._carrier is None:
            os.close(self._ours)
            os.close(self.its_end)
            return
        self._carrier.join()
        if self._problem is not None:
            raise UserError(
                f"cannot write what it prints: {self._problem.strerror}",
                "free disk space, or have it print elsewhere",
            ) from self._problem

    def _carry(self) -> None:
        try:
            while data := os.read(self._ours, _CHUNK):
                while data:
                    data = data[os.write(self.numbers[0], data) :]
        except OSError as error:
            self._problem = error
        os.close(self._ours)  # whoever goes on printing is told so


class FilePipes:
    """What a program has instead of those of our own streams that are files."""

    def __init__(self) -> None:
        files = [number for number in (0, 1, 2) if _is_file(number)]
        self._pipes: list[_Input | _Output] = [_Input()] if 0 in files else []
        if {1, 2} <= set(files) and os.path.sameopenfile(1, 2):
            # One pipe: with two their order would be lost.
            self._pipes.append(_Output(1, 2))
        else:
            self._pipes += [_Output(number) for number in files if number != 0]

    def attach(self) -> None:
        """Takes the pipes, in the process that becomes the program."""
        for pipe in self._pipes:
            for number in pipe.numbers:
                os.dup2(pipe.its_end, number)

    def begin(self) -> None:
        """Carries on, once the program has been started."""
        for pipe in self._pipes:
            pipe.begin()

    def finish(self) -> None:
        """Ends it, once the program has ended."""
        with contextlib.ExitStack() as stack:
            for pipe in self._pipes:
                stack.callback(pipe.finish)


@contextlib.contextmanager
def instead_of_files() -> Iterator[FilePipes]:
    """Lends pipes for those of our own streams that are files."""
    pipes = FilePipes()
    try:
        yield pipes
    finally:
        pipes.finish()


def _is_file(number: int) -> bool:
    """Whether a stream is what can be opened again; not a pipe, whose readers share it anyway."""
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False  # it is closed
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISBLK(mode)


def _read(number: int) -> bytes:
    try:
        return os.read(number, _CHUNK)
    except OSError:  # a folder, or nothing to read from
        return b""
