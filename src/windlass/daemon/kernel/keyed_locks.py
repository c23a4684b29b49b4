"""Locks by name: each is there only while somebody holds it or waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

Holder = Callable[[], str]
"""Says, if it is asked, what somebody who holds a lock is doing."""


class StillHeld(Exception):
    """Somebody held the lock of a key for longer than was to be waited; `holder` says what for."""

    def __init__(self, key: str, holder: str) -> None:
        super().__init__(key)
        self.key = key
        self.holder = holder


def _unsaid() -> str:
    return ""


class _Counted:
    """A lock, how many hold it or wait for it, and what whoever holds it is doing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.holder: Holder = _unsaid


class KeyedLocks:
    """A lock for every key, made at its first use and gone after its last.

    A thread may hold the same key more than once.
    """

    def __init__(self) -> None:
        self._counted: dict[str, _Counted] = {}
        self._guard = threading.Lock()

    def __len__(self) -> int:
        """Returns how many keys somebody holds or waits for."""
        with self._guard:
            return len(self._counted)

    @contextmanager
    def holding(
        self, keys: Iterable[str], *, holder: Holder = _unsaid, within: float | None = None
    ) -> Iterator[None]:
        """Holds the locks of these keys, always taken in the same order.

        Raises StillHeld where one cannot be had within so many seconds; None waits for ever.
        """
        with ExitStack() as held:
            for key in sorted(set(keys)):
                counted = held.enter_context(self._using(key))
                if not counted.lock.acquire(timeout=-1.0 if within is None else within):
                    raise StillHeld(key, counted.holder())
                held.callback(counted.lock.release)
                held.callback(setattr, counted, "holder", counted.holder)
                counted.holder = holder
            yield

    @contextmanager
    def trying(self, key: str, *, within: float = 0.0) -> Iterator[bool]:
        """Holds a key's lock if that is possible within so many seconds; says whether it is."""
        with self._using(key) as counted:
            lock = counted.lock
            held = lock.acquire(timeout=within) if within else lock.acquire(blocking=False)
            try:
                yield held
            finally:
                if held:
                    lock.release()

    @contextmanager
    def _using(self, key: str) -> Iterator[_Counted]:
        """Keeps a key's lock from being forgotten, whether it is held or not."""
        with self._guard:
            counted = self._counted.setdefault(key, _Counted())
            counted.users += 1
        try:
            yield counted
        finally:
            with self._guard:
                counted.users -= 1
                if counted.users == 0:
                    del self._counted[key]
