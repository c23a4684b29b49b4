"""The files of a commit, as the rules see them that find a project's tests."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from windlass.daemon.kernel import untrusted_files
from windlass.git import gate_trees, own_commits
from windlass.git.blobs import Blobs
from windlass.git.repository import Repository

_LARGEST = 2 << 20
_LARGEST_IGNORED = 1 << 20


class TrackedFiles:
    """What a commit holds; of the checkout only files that git ignores, such as `.env`."""

    def __init__(self, repo: Repository, commit: str, blobs: Blobs, *, path: str) -> None:
        """Lists the names at once; `path` is where the person's programs are looked for."""
        self._repo = repo
        self._blobs = blobs
        self._path = path
        self._entries = gate_trees.sizes(repo, commit)

    def names(self) -> Sequence[str]:
        """The paths of every plain file."""
        return list(self._entries)

    def text(self, path: str) -> str | None:
        """The text of a file that is not large, None for any other."""
        entry = self._entries.get(path)
        if entry is None:
            return self._ignored(path)
        if entry.size > _LARGEST:
            return None
        held = io.BytesIO()
        self._blobs.copy(entry.oid, held)
        return _text(held.getvalue())

    def program(self, name: str) -> bool:
        """Whether the person's PATH has this program."""
        return shutil.which(name, path=self._path) is not None

    def _ignored(self, path: str) -> str | None:
        root = Path(self._repo.root)
        if not os.path.lexists(root / path) or not own_commits.is_ignored(self._repo, path):
            return None
        held = b""
        with suppress(OSError):
            held = untrusted_files.read(root / path, most=_LARGEST_IGNORED, below=root)
        return _text(held)


def _text(held: bytes) -> str | None:
    return None if b"\0" in held else held.decode("utf-8", "replace")
