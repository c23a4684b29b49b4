"""One tree of processes: finding all of it, ending it, and proving it gone.

A tree is found in two ways that complete each other: by descent from the holder, which adopts
orphans while it lives, and by marks of which every process of it carries one in its environment,
which find them when the holder was killed. A process is a number and a start time, never a number.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

import psutil

from windlass.core.sessions import StopReport
from windlass.sessions.census import Identity, ProcessEntry, look, newest, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# How long after KILL something may still be seen before it counts as a survivor.
_KILL_PATIENCE = 5.0
# What replaces itself all the time can slip through one look, hardly through three.
_QUIET_LOOKS = 3


class Tree:
    """Everything below a holder or with one of the marks, looked for anew each time.

    A holder that is a witness ends only after all below it: that is proof, and so it is never
    killed. Without one the proof is several looks in a row that find nothing.
    """

    def __init__(
        self,
        *marks: str,
        holder: Identity | None = None,
        witness: bool = False,
        known: Iterable[Identity] = (),
        spared: frozenset[int] = frozenset(),
    ) -> None:
        self._marks = [mark.encode() for mark in marks]
        self._holder = holder
        self._witness = witness
        self._seen = set(known)
        self._living = set(known)
        self._killed: set[Identity] = set()
        self._spared = spared | {os.getpid()}
        # A daemon that was started from inside the session: what it started is not part of it.
        ourselves = look(os.getpid())
        self._inside = ourselves is not None and ourselves.has(*self._marks)
        self._quiet = 0

    def end(self, *, first: int | None, grace: float) -> StopReport:
        """Ends it all, the process `first` first; the holder ends itself, after the others."""
        self._terminate_all(first=first, deadline=time.monotonic() + grace)
        proven = self._kill_all(deadline=time.monotonic() + _KILL_PATIENCE)
        survivors = [] if proven else self._look()
        if self._holder is not None and self._holder.lives():
            survivors.append(self._holder)
        described = tuple(_describe(process) for process in survivors)
        if not proven and not described:
            described = ("something that replaces itself too fast to be caught",)
        return StopReport(
            terminated=len(self._seen - self._killed),
            killed=len(self._killed.difference(survivors)),
            survivors=described,
        )

    def _terminate_all(self, *, first: int | None, deadline: float) -> None:
        signalled: set[Identity] = set()
        while targets := self._look():
            fresh = [process for process in targets if process not in signalled]
            for process in sorted(fresh, key=lambda process: process.pid != first):
                _signal(process, signal.SIGTERM)
            signalled.update(fresh)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            # In slices: what appears while we wait has to be told as well.
            _wait(targets, min(left, 0.25))

    def _kill_all(self, *, deadline: float) -> bool:
        """Kills until it is proven that nothing is left; False when time runs out.

        That is for what is still seen: looks that find nothing are gone on with until they are
        proof, however long each takes. A machine that is kept busy by others proves no survivor.
        """
        quiet_rounds = 0
        while True:
            self._quiet = 0
            self._chase()
            self._strike(self._look())
            is_quiet = self._quiet > _QUIET_LOOKS
            quiet_rounds = quiet_rounds + 1 if is_quiet else 0
            if is_quiet and self._proven(quiet_rounds):
                return True
            is_late = time.monotonic() >= deadline
            held = self._holder is not None and self._holder.lives()
            if is_late and (held or not is_quiet):
                return False

    def _proven(self, quiet_rounds: int) -> bool:
        if self._holder is not None:
            _signal(self._holder, signal.SIGCONT)
            if not _wait([self._holder], 0.1):
                return False
        # One look after its end, for what carries the mark without being below it.
        return not self._look() if self._witness else quiet_rounds >= _QUIET_LOOKS

    def _chase(self) -> None:
        """Kills what replaces itself faster than a look at everything takes."""
        deadline = time.monotonic() + 1.0
        while self._quiet < _QUIET_LOOKS:
            if not self._catch_newest():
                self._quiet += 1
                continue
            self._quiet = 0
            if time.monotonic() >= deadline:
                return

    def _catch_newest(self) -> bool:
        """Kills the newest process of the tree, at once: it is the one that has not forked yet."""
        # From inside, it takes all processes to tell ours from the tree's.
        for entry in () if self._inside else newest():
            below = self._holder is not None and entry.parent == self._holder.pid
            if (below or entry.has(*self._marks)) and self._may_be_killed(entry.identity):
                _signal(entry.identity, signal.SIGKILL)
                self._seen.add(entry.identity)
                self._killed.add(entry.identity)
                return True
        return False

    def _may_be_killed(self, process: Identity) -> bool:
        return (
            process != self._holder
            and process.pid not in self._spared
            and process not in self._killed
        )

    def _strike(self, targets: list[Identity]) -> None:
        """Kills all of them and waits for it."""
        self._killed.update(targets)
        # Frozen first: what is stopped starts nothing while the others are killed.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in targets:
                _signal(process, number)
        _wait(targets, 1.0)

    def _look(self) -> list[Identity]:
        """Lists what lives now, without the holder: marked, below, or seen before."""
        census = take()
        living = {census[pid].identity for pid in self._chosen(census)}
        living = {process for process in living if process != self._holder}
        self._quiet = 0 if living else self._quiet + 1
        self._seen |= living
        self._living |= living
        return [*living]

    def _chosen(self, census: Mapping[int, ProcessEntry]) -> set[int]:
        children: dict[int, list[int]] = {}
        for pid, entry in census.items():
            children.setdefault(entry.parent, []).append(pid)
        roots = {pid for pid, entry in census.items() if entry.has(*self._marks)}
        if self._inside:
            roots -= _descendants({os.getpid()}, children, frozenset())
        self._living = {process for process in self._living if process.lives()}
        roots |= {process.pid for process in self._living}
        if self._holder is not None and self._holder.lives():
            roots.add(self._holder.pid)
        return _descendants(roots, children, self._spared) & census.keys()


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


def _signal(process: Identity, number: signal.Signals) -> None:
    """Sends a signal to this process and never to a later one with its number."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform != "linux":
            if process.lives():
                os.kill(process.pid, number)
            return
        descriptor = os.pidfd_open(process.pid)
        try:
            if process.lives():
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _wait(some: list[Identity], timeout: float) -> bool:
    """Waits for the end of all of them; says whether they have."""
    if sys.platform != "linux":
        return _wait_by_psutil(some, timeout)
    deadline = time.monotonic() + timeout
    with contextlib.ExitStack() as stack:
        ends = select.poll()
        waiting = set()
        for process in some:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(process.pid)
                stack.callback(os.close, descriptor)
                if process.lives():
                    ends.register(descriptor, select.POLLIN)
                    waiting.add(descriptor)
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in ends.poll(left * 1000):
                ends.unregister(descriptor)
                waiting.discard(descriptor)
    return not any(process.lives() for process in some)


def _wait_by_psutil(some: list[Identity], timeout: float) -> bool:
    living = []
    for process in some:
        with contextlib.suppress(psutil.Error):
            if process.lives():
                living.append(psutil.Process(process.pid))
    psutil.wait_procs(living, timeout)
    return not any(process.lives() for process in some)


def _describe(process: Identity) -> str:
    with contextlib.suppress(psutil.Error):
        known = psutil.Process(process.pid)
        return f"{process.pid} {known.name()} ({known.status()})"
    return str(process.pid)
