"""Locks by name: each is there only while somebody holds it or waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager


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
    def holding(self, keys: Iterable[str]) -> Iterator[None]:
        """Holds the locks of these keys, always taken in the same order."""
        with ExitStack() as held:
            for key in sorted(set(keys)):
                held.enter_context(held.enter_context(self._using(key)))
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
