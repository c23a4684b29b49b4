"""Writes a workspace's files into a salvage: unchanged ones by id, new ones as raw bytes.

No filter, attribute or line-ending rule is applied: what is kept is what was on the disk.
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
import tempfile
from typing import IO, TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import gitfiles, holes, shared_files
from windlass.git.descent import LEASED, Descent, is_exchanged
from windlass.git.manifest import Dropped
from windlass.git.walk import WalkEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.properties import Properties
    from windlass.git.quarantine import Importer, Quarantine
    from windlass.git.survey import Survey

MOST_HOLES = 256 << 20
"""Bytes in holes of all files together that are kept as blobs, in which they are written out. They
cost an agent nothing, and without an end to them there is none to its ending."""
_CHUNK = 1 << 20
_TRIES = 5
_GITLINK = b"160000"

Tree = dict[bytes, tuple[bytes, str]]
"""Paths with mode and object id."""


class _Read:
    """What was found out of files with several names, so that each is read and sent only once."""

    def __init__(self, properties: Properties) -> None:
        self.properties = properties
        self.holes: dict[shared_files.Key, int] = {}
        self.ids: dict[shared_files.Key, str] = {}
        self.marks: dict[shared_files.Key, str] = {}


def keep_files(
    importer: Importer,
    inside: Quarantine,
    *,
    root: str,
    survey: Survey,
    before: Tree,
    tracked: set[bytes],
    properties: Properties,
) -> collections.Counter[str]:
    """Turns `files/`, so far HEAD's tree, into what is on the disk; counts what differs.

    Adds to what the survey dropped the files that another process keeps us from reading. Where
    there are too many holes it adds to what is hollow, and the file is not in the tree.
    """
    with _top(root) as top, Descent(top) as descent:
        properties.take_folders(descent, survey.folders)
        return _keep_files(
            importer,
            inside,
            descent,
            survey=survey,
            before=before,
            tracked=tracked,
            properties=properties,
        )


@contextlib.contextmanager
def _top(root: str) -> Iterator[int]:
    """Opens the workspace's folder; where it is gone, one that is empty."""
    with contextlib.ExitStack() as stack:
        try:
            top = stack.enter_context(gitfiles.entered(root))
        except OSError as error:
            if not is_exchanged(error):
                raise
            empty = stack.enter_context(tempfile.TemporaryDirectory())
            top = stack.enter_context(gitfiles.opened(os.path.realpath(empty)))
        yield top


def _keep_files(
    importer: Importer,
    inside: Quarantine,
    descent: Descent,
    *,
    survey: Survey,
    before: Tree,
    tracked: set[bytes],
    properties: Properties,
) -> collections.Counter[str]:
    algorithm = _algorithm(inside)
    room = MOST_HOLES
    read = _Read(properties)
    hashed = {}
    counts: collections.Counter[str] = collections.Counter()
    for entry in survey.files:
        try:
            if (hollow := _holes(descent, entry, read)) > room:
                survey.hollow.append(entry.path)
                if entry.path not in before:
                    counts[_sort(entry.path, survey=survey, known=entry.path in tracked)] += 1
                continue
            room -= hollow
            if hollow and (key := shared_files.key(entry.info)):
                read.holes[key] = 0  # by another name, they are not written out again
            oid = _hash(descent, entry, algorithm, read)
        except BlockingIOError:
            survey.dropped.append(_leased(entry))
            continue
        if oid is not None:
            hashed[entry.path] = (_mode(entry), oid)
            properties.add(entry)
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
        try:
            what = oid if oid in known else _send(importer, descent, entry, read)
        except BlockingIOError:
            survey.dropped.append(_leased(entry))
            importer.take_away(b"files/" + entry.path)
            continue
        importer.place(b"files/" + entry.path, mode=mode, what=what)
        counts[
            _sort(entry.path, survey=survey, known=entry.path in before or entry.path in tracked)
        ] += 1
    return counts


def _holes(descent: Descent, entry: WalkEntry, read: _Read) -> int:
    """The bytes of a file that are in holes and not yet written out."""
    if entry.kind == "link" or not holes.may_be_in(entry.info):
        return 0
    key = shared_files.key(entry.info)
    if key in read.holes:
        return read.holes[key]
    try:
        with _opened(descent, entry.path) as file:
            size = holes.size(file.fileno())
    except OSError as error:
        if is_exchanged(error):
            return 0
        raise
    if key:
        read.holes[key] = size
    return size


def _leased(entry: WalkEntry) -> Dropped:
    return Dropped(path=os.fsdecode(entry.path), reason=LEASED, size=entry.info.st_size)


def _sort(path: bytes, *, survey: Survey, known: bool) -> str:
    if path in survey.ignored:
        return "ignored"
    return "changed" if known else "untracked"


def _mode(entry: WalkEntry) -> bytes:
    if entry.kind == "link":
        return b"120000"
    return b"100755" if entry.info.st_mode & 0o100 else b"100644"


def _algorithm(inside: Quarantine) -> str:
    return "sha256" if inside.sha256 else "sha1"


def _hash(descent: Descent, entry: WalkEntry, algorithm: str, read: _Read) -> str | None:
    """The id that its content has; None where it is gone, or something else by now."""
    try:
        if entry.kind == "link":
            return _blob_id(algorithm, _link_text(descent, entry.path))
        handle = _handle(descent, entry.path)
        try:
            key = shared_files.key(os.fstat(handle))
            if key in read.ids:
                return read.ids[key]
            oid = _stream_id(algorithm, handle)
            read.properties.take(handle, entry.path)
            if key and key == shared_files.key(os.fstat(handle)):
                read.ids[key] = oid
            return oid
        finally:
            os.close(handle)
    except OSError as error:
        if is_exchanged(error):
            return None
        raise


def _blob_id(algorithm: str, content: bytes) -> str:
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def _stream_id(algorithm: str, handle: int) -> str:
    size = os.fstat(handle).st_size
    digest = hashlib.new(algorithm, b"blob %d\0" % size)
    # Most files are small: a buffer of the usual size for each would cost more than they do.
    piece = min(size + 1, _CHUNK)
    while chunk := os.read(handle, piece):
        digest.update(chunk)
    return digest.hexdigest()


def _link_text(descent: Descent, path: bytes) -> bytes:
    folder, name = descent.holder(path)
    return os.readlink(name, dir_fd=folder)


def _opened(descent: Descent, path: bytes) -> IO[bytes]:
    """Opens a regular file for reading, never a link, pipe or device."""
    return os.fdopen(_handle(descent, path), "rb")


def _handle(descent: Descent, path: bytes) -> int:
    try:
        return descent.file(path.split(b"/"))
    except PermissionError as error:
        raise GitError(
            f"cannot read {printable_line(os.fsdecode(path))}, so it cannot be kept",
            "make it readable for the user that runs Windlass, then try again",
        ) from error


def _send(importer: Importer, descent: Descent, entry: WalkEntry, read: _Read) -> str:
    path = entry.path
    if entry.kind == "link":
        return importer.blob(_link_text(descent, path))
    for _ in range(_TRIES):
        with _opened(descent, path) as file:
            before = os.fstat(file.fileno())
            key = shared_files.key(before)
            if key in read.marks:
                return read.marks[key]
            mark, whole = importer.stream(file, before.st_size)
            after = os.fstat(file.fileno())
        if whole and (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            if key and key == shared_files.key(after):
                read.marks[key] = mark
            return mark
    raise GitError(
        f"{printable_line(os.fsdecode(path))} keeps changing while it is being kept",
        "stop whatever still writes to it, then try again",
    )
