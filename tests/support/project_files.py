"""A project that exists only as a table of paths and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class FakeProject:
    """What the rules of the gate's proposals read, from a table."""

    def __init__(
        self,
        files: Mapping[str, str],
        *,
        programs: Sequence[str] = (),
        ignored: Mapping[str, str] | None = None,
    ) -> None:
        """Takes tracked files, the programs of the person, and files that are not tracked."""
        self._files = dict(files)
        self._programs = frozenset(programs)
        self._ignored = dict(ignored or {})

    def names(self) -> Sequence[str]:
        """The tracked paths."""
        return sorted(self._files)

    def text(self, path: str) -> str | None:
        """A file's text."""
        return self._files.get(path, self._ignored.get(path))

    def program(self, name: str) -> bool:
        """Whether a program is there."""
        return name in self._programs
