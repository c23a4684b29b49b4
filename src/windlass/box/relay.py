"""Carrying bytes between pairs of sockets, both ways, in one thread.

Used on both sides of a box's wall: by the relay in it and by the proxy outside. Loaded by its path,
imports nothing of ours. Holds at most one piece per direction, so that whoever does not read makes
the other side wait, and never makes the two directions wait for each other.
"""

import _socket
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_READ, _WRITE, _GONE = 1, 4, 8 | 16 | 32
_PIECE = 1 << 16


class _End:
    """One end of a connection: what was read from it and not yet given to the other."""

    def __init__(self, connection: _socket.socket, most: int | None = None) -> None:
        connection.setblocking(False)  # noqa: FBT003 its only parameter
        self.connection = connection
        self.number = connection.fileno()
        self.held = b""
        self.left = most
        """How much may still be read from it; None is all that comes."""
        self.reading = most != 0
        self.is_near = False
        self.said = False
        """Whether anything ever came from it."""
        self.finished = False
        """Whether the other end was told that no more comes, or need not be."""
        self.other: _End


class Carrier:
    """All pairs of one thread, and the listening sockets that bring new ones."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._ends: dict[int, _End] = {}
        self._doors: dict[int, Callable[[], None]] = {}

    def __len__(self) -> int:
        return len(self._ends) // 2

    def open(self, door: _socket.socket, admit: "Callable[[], None]") -> None:
        """Calls `admit` whenever somebody waits at a listening socket."""
        self._doors[door.fileno()] = admit
        self._poll.register(door.fileno(), _READ)

    def join(
        self,
        near: _socket.socket,
        far: _socket.socket,
        first: bytes = b"",
        most: int | None = None,
    ) -> None:
        """Carries between these two from now on, `first` to the far one before all else.

        With `most`, that much is taken from the near one and then nothing more.
        """
        near_end, far_end = _End(near, most), _End(far)
        near_end.other, far_end.other = far_end, near_end
        near_end.is_near = True
        near_end.held = first
        near_end.finished = most == 0 and not first
        for end in (near_end, far_end):
            self._ends[end.number] = end
        self._watch(near_end)

    def let_go(self) -> None:
        """Drops the oldest pair whose near end has said nothing, if there is one."""
        for end in self._ends.values():
            if end.is_near and not end.said:
                self._drop(end)
                return

    def turn(self, seconds: float | None = None) -> bool:
        """Waits for something to do and does it; False when nothing happened for so long."""
        ready = self._poll.poll(None if seconds is None else seconds * 1000)
        for number, event in ready:
            if number in self._doors:
                self._doors[number]()
            elif number in self._ends:
                self._move(self._ends[number], event)
        return bool(ready)

    def close(self) -> None:
        """Drops everything that is still joined."""
        for end in list(self._ends.values()):
            if end.number in self._ends:
                self._drop(end)

    def _watch(self, end: _End) -> None:
        for side in (end, end.other):
            wanted = _READ if side.reading and not side.held else 0
            wanted |= _WRITE if side.other.held else 0
            # One that waits for the other is not watched: its hang-up would be told all the while.
            if wanted or not side.held:
                self._poll.register(side.number, wanted)
            else:
                self._forget(side)

    def _forget(self, end: _End) -> None:
        try:
            self._poll.unregister(end.number)
        except KeyError:
            return

    def _move(self, end: _End, event: int) -> None:
        try:
            if event & (_WRITE | _GONE) and end.other.held:
                sent = end.connection.send(end.other.held)
                end.other.held = end.other.held[sent:]
            if event & (_READ | _GONE) and end.reading and not end.held:
                self._take(end)
            elif event & _GONE and not end.reading and not end.held:
                raise ConnectionResetError  # nobody is there any more to be told anything
            for side in (end, end.other):
                self._finish(side)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(end)
            return
        if end.finished and end.other.finished:
            self._drop(end)
        else:
            self._watch(end)

    def _take(self, end: _End) -> None:
        room = _PIECE if end.left is None else min(_PIECE, end.left)
        end.held = end.connection.recv(room)
        end.said = end.said or bool(end.held)
        end.reading = bool(end.held)
        if end.left is not None:
            end.left -= len(end.held)
            end.reading = end.reading and end.left > 0

    def _finish(self, end: _End) -> None:
        if end.reading or end.held or end.finished:
            return
        end.finished = True
        # One that has said all it may say goes on listening: some servers take silence for an end.
        if end.left != 0:
            end.other.connection.shutdown(_socket.SHUT_WR)

    def _drop(self, end: _End) -> None:
        for side in (end, end.other):
            self._forget(side)
            self._ends.pop(side.number, None)
            side.connection.close()
