"""Locks by name: each is there only while somebody holds it or waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager


class StillHeld(Exception):
    """Somebody held the lock of a key for longer than was to be waited."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class _Counted:
    """A lock, and how many hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


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
    def holding(self, keys: Iterable[str], *, within: float | None = None) -> Iterator[None]:
        """Holds the locks of these keys, always taken in the same order.

        Raises StillHeld where one cannot be had within so many seconds; None waits for ever.
        """
        with ExitStack() as held:
            for key in sorted(set(keys)):
                lock = held.enter_context(self._using(key))
                if not lock.acquire(timeout=-1.0 if within is None else within):
                    raise StillHeld(key)
                held.callback(lock.release)
            yield

    @contextmanager
    def trying(self, key: str, *, within: float = 0.0) -> Iterator[bool]:
        """Holds a key's lock if that is possible within so many seconds; says whether it is."""
        with self._using(key) as lock:
            held = lock.acquire(timeout=within) if within else lock.acquire(blocking=False)
            try:
                yield held
            finally:
                if held:
                    lock.release()

    @contextmanager
    def _using(self, key: str) -> Iterator[threading.RLock]:
        """Keeps a key's lock from being forgotten, whether it is held or not."""
        with self._guard:
            counted = self._counted.setdefault(key, _Counted())
            counted.users += 1
        try:
            yield counted.lock
        finally:
            with self._guard:
                counted.users -= 1
                if counted.users == 0:
                    del self._counted[key]
