# ruff: noqa: PTH115, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Writes a workspace's files into a salvage: unchanged ones by id, new ones as raw bytes.

No filter, attribute or line-ending rule is applied: what is kept is what was on the disk.
"""

from __future__ import annotations

import collections
import hashlib
import os
import stat
from typing import IO, TYPE_CHECKING, NamedTuple

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git.walk import WalkEntry, unlock

if TYPE_CHECKING:
    from windlass.git.quarantine import Importer, Quarantine
    from windlass.git.survey import Survey

_CHUNK = 1 << 20
_TRIES = 5
_GITLINK = b"160000"

Tree = dict[bytes, tuple[bytes, str]]
"""Paths with mode and object id."""


class Modes(NamedTuple):
    """The usual permissions of plain and executable files, and those that differ."""

    plain: int
    executable: int
    odd: dict[str, int]


def keep_files(
    importer: Importer,
    inside: Quarantine,
    *,
    root: str,
    survey: Survey,
    before: Tree,
    tracked: set[bytes],
) -> collections.Counter[str]:
    """Turns `files/`, so far HEAD's tree, into what is on the disk; counts what differs."""
    top = os.fsencode(root)
    algorithm = _algorithm(inside)
    hashed = {}
    for entry in survey.files:
        oid = _hash(top, entry, algorithm)
        if oid is not None:
            hashed[entry.path] = (_mode(entry), oid)
    counts: collections.Counter[str] = collections.Counter()
    for path, (mode, _) in before.items():
        if mode == _GITLINK or path not in hashed:
            importer.take_away(b"files/" + path)
            counts["changed"] += mode != _GITLINK
    new = {path: is_ for path, is_ in hashed.items() if before.get(path) != is_}
    known = inside.known(oid for _, oid in new.values())
    for entry in survey.files:
        if entry.path not in new:
            continue
        mode, oid = new[entry.path]
        what = oid if oid in known else _send(importer, top, entry)
        importer.place(b"files/" + entry.path, mode=mode, what=what)
        counts[
            _sort(entry.path, survey=survey, known=entry.path in before or entry.path in tracked)
        ] += 1
    return counts


def _sort(path: bytes, *, survey: Survey, known: bool) -> str:
    if path in survey.ignored:
        return "ignored"
    return "changed" if known else "untracked"


def usual_modes(survey: Survey) -> Modes:
    """Finds the commonest permissions, so that only the odd ones need to be written down."""
    modes = [(entry, stat.S_IMODE(entry.info.st_mode)) for entry in survey.files]
    files = [(entry, mode) for entry, mode in modes if entry.kind == "file"]
    plain = collections.Counter(mode for _, mode in files if not mode & 0o100)
    executable = collections.Counter(mode for _, mode in files if mode & 0o100)
    usual = plain.most_common(1)[0][0] if plain else 0o644
    usual_exec = executable.most_common(1)[0][0] if executable else 0o755
    odd = {
        os.fsdecode(entry.path): mode for entry, mode in files if mode not in (usual, usual_exec)
    }
    return Modes(usual, usual_exec, odd)


def _mode(entry: WalkEntry) -> bytes:
    if entry.kind == "link":
        return b"120000"
    return b"100755" if entry.info.st_mode & 0o100 else b"100644"


def _algorithm(inside: Quarantine) -> str:
    return "sha256" if inside.sha256 else "sha1"


def _hash(top: bytes, entry: WalkEntry, algorithm: str) -> str | None:
    path = os.path.join(top, entry.path)
    try:
        if entry.kind == "link":
            return _blob_id(algorithm, os.readlink(path))
        with open_plain(path) as file:
            return _stream_id(algorithm, file)
    except FileNotFoundError:
        return None


def _blob_id(algorithm: str, content: bytes) -> str:
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def _stream_id(algorithm: str, file: IO[bytes]) -> str:
    size = os.fstat(file.fileno()).st_size
    digest = hashlib.new(algorithm, b"blob %d\0" % size)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def open_plain(path: bytes) -> IO[bytes]:
    """Opens a regular file for reading, never a link, pipe or device."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags)
    except PermissionError:
        unlock(path)
        try:
            handle = os.open(path, flags)
        except PermissionError as error:
            raise GitError(
                f"cannot read {printable_line(os.fsdecode(path))}, so it cannot be kept",
                "make it readable for the user that runs Windlass, then try again",
            ) from error
    return os.fdopen(handle, "rb")


def _send(importer: Importer, top: bytes, entry: WalkEntry) -> str:
    path = os.path.join(top, entry.path)
    if entry.kind == "link":
        return importer.blob(os.readlink(path))
    for _ in range(_TRIES):
        with open_plain(path) as file:
            before = os.fstat(file.fileno())
            mark, whole = importer.stream(file, before.st_size)
            after = os.fstat(file.fileno())
        if whole and (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return mark
    raise GitError(
        f"{printable_line(os.fsdecode(path))} keeps changing while it is being kept",
        "stop whatever still writes to it, then try again",
    )
