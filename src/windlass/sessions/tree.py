"""One tree of processes: finding all of it, ending it, and proving it gone.

A tree is found in two ways that complete each other: by descent from the holder, which adopts
orphans while it lives, and by a mark that every process of it carries in its environment, which
finds them when the holder was killed. A process is a number and a start time, never a number.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

import msgspec
import psutil

from windlass.sessions.census import Entry, look, newest, take

if TYPE_CHECKING:
    from collections.abc import Iterable

# How long after KILL something may still be seen before it counts as a survivor.
_KILL_PATIENCE = 5.0
# A process that replaces itself all the time can slip through one look, hardly through three.
_QUIET_LOOKS = 3


class StopReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a tree ended: after TERM, by KILL, or (described) not at all."""

    terminated: int = 0
    killed: int = 0
    survivors: tuple[str, ...] = ()


class Tree:
    """Everything below a holder or with a mark, looked for anew each time; identities, not pids.

    A holder that is a witness ends only after all below it: that is proof. Without one the proof
    is several looks in a row that find nothing.
    """

    def __init__(
        self,
        mark: str,
        *,
        holder: psutil.Process | None = None,
        witness: bool = False,
        known: Iterable[psutil.Process] = (),
        spared: frozenset[int] = frozenset(),
    ) -> None:
        self._mark = mark.encode()
        self._holder = holder
        self._witness = witness
        self._seen = set(known)
        self._living = set(known)
        self._killed: set[psutil.Process] = set()
        self._spared = spared | {os.getpid()}
        # A daemon that was started from inside the session: what it started is not part of it.
        ourselves = look(os.getpid())
        self._inside = ourselves is not None and ourselves.has(self._mark)
        self._quiet = 0

    def end(self, *, first: int | None, grace: float) -> StopReport:
        """Ends it all, the process `first` first; the holder last, as it adopts the orphans."""
        self._terminate_all(first=first, deadline=time.monotonic() + grace)
        proven = self._kill_all(deadline=time.monotonic() + _KILL_PATIENCE)
        survivors = [] if proven else self._look()
        described = tuple(_describe(one) for one in survivors)
        if not proven and not described:
            described = ("something that replaces itself too fast to be caught",)
        return StopReport(
            terminated=len(self._seen - self._killed),
            killed=len(self._killed.difference(survivors)),
            survivors=described,
        )

    def _terminate_all(self, *, first: int | None, deadline: float) -> None:
        told: set[psutil.Process] = set()
        while targets := self._look():
            fresh = [one for one in targets if one not in told]
            for one in sorted(fresh, key=lambda one: one.pid != first):
                _signal(one, signal.SIGTERM)
            told.update(fresh)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            # In slices: what appears while we wait has to be told as well.
            _wait(targets, min(left, 0.25))

    def _kill_all(self, *, deadline: float) -> bool:
        """Kills until it is proven that nothing is left; False when time runs out."""
        last_resort = time.monotonic() + (deadline - time.monotonic()) / 2
        quiet_rounds = 0
        while time.monotonic() < deadline:
            self._quiet = 0
            self._chase()
            self._strike(self._look())
            quiet_rounds = quiet_rounds + 1 if self._quiet > _QUIET_LOOKS else 0
            if quiet_rounds and self._proven(quiet_rounds):
                return True
            if self._holder is not None and time.monotonic() > last_resort:
                # It hangs, or waits for something that even a chase cannot catch.
                self._strike([self._holder])
                self._witness = False
        return False

    def _proven(self, quiet_rounds: int) -> bool:
        if self._holder is not None and not _wait([self._holder], 0.1):
            return False
        # One look after its end, for what carries the mark without being below it.
        return not self._look() if self._witness else quiet_rounds >= _QUIET_LOOKS

    def _chase(self) -> None:
        """Kills what replaces itself faster than a look at everything takes."""
        deadline = time.monotonic() + 1.0
        while self._quiet < _QUIET_LOOKS and time.monotonic() < deadline:
            # A few processes do not show whose grandchildren they are.
            found = self._find({} if self._inside else newest())
            for one in found:
                _signal(one, signal.SIGKILL)
            self._killed.update(found)

    def _strike(self, targets: list[psutil.Process]) -> None:
        """Kills all of them and waits for it."""
        self._killed.update(targets)
        # Frozen first: what is stopped starts nothing while the others are killed.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in targets:
                _signal(one, number)
        _wait(targets, 1.0)

    def _look(self) -> list[psutil.Process]:
        """Lists what lives now, without the holder: marked, below, or seen before."""
        return self._find(take())

    def _find(self, census: dict[int, Entry]) -> list[psutil.Process]:
        chosen = self._chosen(census)
        # Counted even if it has ended before it could be identified: it may have a successor.
        self._quiet = 0 if chosen else self._quiet + 1
        found = {one for pid in chosen if (one := _identify(pid, census[pid])) is not None}
        self._seen |= found
        self._living |= found
        return [*found]

    def _chosen(self, census: dict[int, Entry]) -> set[int]:
        children: dict[int, list[int]] = {}
        for pid, entry in census.items():
            children.setdefault(entry.parent, []).append(pid)
        roots = {pid for pid, entry in census.items() if entry.has(self._mark)}
        if self._inside:
            roots -= _descendants({os.getpid()}, children, frozenset())
        self._living = {one for one in self._living if _lives(one)}
        roots |= {one.pid for one in self._living}
        if self._holder is not None and _lives(self._holder):
            roots.add(self._holder.pid)
        chosen = _descendants(roots, children, self._spared) & census.keys()
        return chosen - {self._holder.pid} if self._holder is not None else chosen


def _descendants(
    roots: set[int], children: dict[int, list[int]], spared: frozenset[int]
) -> set[int]:
    """Follows children from the roots, themselves included; not into what is spared."""
    reached: set[int] = set()
    waiting = [*roots]
    while waiting:
        pid = waiting.pop()
        if pid not in reached and pid not in spared:
            reached.add(pid)
            waiting += children.get(pid, ())
    return reached


def _identify(pid: int, entry: Entry) -> psutil.Process | None:
    """Fixes which process this is; None when it has ended, or its number is another's by now."""
    with contextlib.suppress(psutil.Error):
        one = psutil.Process(pid)
        now = look(pid)
        if now is not None and now.start == entry.start and _lives(one):
            return one
    return None


def _lives(one: psutil.Process) -> bool:
    try:
        return one.is_running() and one.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _signal(one: psutil.Process, number: int) -> None:
    # psutil compares the start time first, so a reused number is never hit.
    with contextlib.suppress(psutil.Error):
        one.send_signal(number)


def _wait(some: list[psutil.Process], timeout: float) -> bool:
    """Waits for the end of all of them; says whether they have."""
    if sys.platform != "linux":
        psutil.wait_procs(some, timeout)
        return not any(map(_lives, some))
    deadline = time.monotonic() + timeout
    with contextlib.ExitStack() as stack:
        ends = select.poll()
        open_ones = set()
        for one in some:
            # psutil would also wait for the parent to collect it, and some never do.
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(one.pid)
                stack.callback(os.close, descriptor)
                if _lives(one):
                    ends.register(descriptor, select.POLLIN)
                    open_ones.add(descriptor)
        while open_ones and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in ends.poll(left * 1000):
                ends.unregister(descriptor)
                open_ones.discard(descriptor)
    return not any(map(_lives, some))


def _describe(one: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return f"{one.pid} {one.name()} ({one.status()})"
    return str(one.pid)
