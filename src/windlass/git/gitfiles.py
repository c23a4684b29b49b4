# ruff: noqa: PTH102, PTH108, PTH118, PTH123, PTH206, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Reads a git folder that an agent wrote without git, following no link and waiting for no pipe.

Git itself obeys a configuration before it does anything else, and opens whatever stands where it
expects a file. So HEAD and refs are read here, and object files are lent to git from a folder of
ours that holds nothing else.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from typing import IO, TYPE_CHECKING

from windlass.git import holes, names, open_flags

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

MOST_COPIED = 4 << 30
"""Bytes of a clone's own objects, which are mostly few: it borrows all that it began with."""
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LOOSE = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx)")
_PACKED_REFS = 64 << 20
_INDEX = 1 << 30
_DEPTH = 64
_TRIES = 3


def read_head(git_dir: str) -> tuple[str | None, str | None]:
    """Gives the ref that HEAD follows (None: detached) and the id that it has, as written."""
    text = os.fsdecode(_read(git_dir, "HEAD").strip())
    if not text.startswith("ref:"):
        return None, text if _OID.fullmatch(text) else None
    ref = text.removeprefix("ref:").strip()
    if not _is_ref(ref):
        return None, None
    return ref, read_ref(git_dir, ref)


def read_ref(git_dir: str, ref: str) -> str | None:
    """Gives the id that a ref has, as written."""
    text = os.fsdecode(_read(git_dir, ref).strip()) if _is_ref(ref) else ""
    if text:
        return text if _OID.fullmatch(text) else None
    return _packed(git_dir).get(ref)


def read_refs(git_dir: str) -> dict[str, str]:
    """Gives every ref with the id that it has, as written; not those that follow others."""
    refs = _packed(git_dir)
    with contextlib.suppress(OSError), opened(os.path.join(git_dir, "refs")) as top:
        for name, text in _files_below(top, "refs"):
            if not _is_ref(name):
                continue
            value = os.fsdecode(text.strip())
            if _OID.fullmatch(value):
                refs[name] = value
            else:
                refs.pop(name, None)
    return refs


def lend_objects(git_dir: str, into: str) -> None:
    """Makes the folder `into` hold a git folder's objects: plain files, and no list of others.

    They are linked where the file system allows it and copied elsewhere, up to `MOST_COPIED`: of
    more, git says that they are missing.
    """
    os.mkdir(into)
    copies = _Copies()
    with contextlib.ExitStack() as stack:
        try:
            top = stack.enter_context(opened(os.path.join(git_dir, "objects")))
        except (FileNotFoundError, NotADirectoryError):
            return
        # Packs last: git packs an object first, and then takes it away where it lay alone.
        for name in sorted(os.listdir(top)):
            wanted = _PACK if name == "pack" else _LOOSE
            if name == "pack" or re.fullmatch("[0-9a-f]{2}", name):
                target = os.path.join(into, name)
                _lend_folder(top, name, wanted=wanted, into=target, copies=copies)
    if copies.left_out:
        log.warning("%s: %d files are too much to be copied", git_dir, copies.left_out)


def _lend_folder(
    top: int, name: str, *, wanted: re.Pattern[str], into: str, copies: _Copies
) -> None:
    try:
        folder = os.open(name, open_flags.FOLDER, dir_fd=top)
    except OSError:
        return
    try:
        os.mkdir(into)
        # Where a file has gone since, another may have come that holds the same.
        for _ in range(_TRIES):
            files = [name for name in os.listdir(folder) if wanted.fullmatch(name)]
            lent = [_lend(folder, file, os.path.join(into, file), copies) for file in files]
            if all(lent):
                return
    finally:
        os.close(folder)


def _lend(folder: int, name: str, target: str, copies: _Copies) -> bool:
    """Links first and looks then: what is linked can no longer be exchanged; False: it is gone."""
    try:
        os.link(name, target, src_dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except FileExistsError:
        return True
    except OSError:
        copies.add(folder, name, target)
        return True
    info = os.lstat(target)
    if not stat.S_ISREG(info.st_mode):
        os.unlink(target)
    elif not info.st_mode & stat.S_IRUSR:
        os.chmod(target, stat.S_IMODE(info.st_mode) | 0o600)  # noqa: PTH101 - it is ours now
    return True


class _Copies:
    """Files that are copied because they cannot be linked."""

    def __init__(self) -> None:
        self._room = MOST_COPIED
        self.left_out = 0

    def add(self, folder: int, name: str, target: str) -> None:
        """Copies a plain file, without its holes, if there is room."""
        with _plain(name, folder) as old:
            if old is None:
                return
            size = os.fstat(old.fileno()).st_size - holes.size(old.fileno())
            if size > self._room:
                self.left_out += 1
                return
            self._room -= size
            with open(target, "xb") as new:
                holes.copy(old.fileno(), new.fileno())


@contextlib.contextmanager
def opened(path: str, *, top: int | None = None) -> Iterator[int]:
    """Opens a folder by its canonical path, or by one below `top`; no part of it may be a link."""
    here = os.open(os.sep, open_flags.FOLDER) if top is None else os.dup(top)
    try:
        for name in filter(None, path.split(os.sep)):
            below = os.open(name, open_flags.FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _read(git_dir: str, name: str, *, limit: int = 4096) -> bytes:
    folder, _, file = name.rpartition("/")
    try:
        with opened(os.path.join(git_dir, folder)) as top:
            return read_at(top, file, limit=limit)
    except OSError:
        return b""


def read_small(path: str, *, limit: int = 65536) -> bytes | None:
    """Reads a small regular file; None when it is missing or anything else."""
    with _plain(path) as file:
        return file.read(limit) if file is not None else None


def read_data(path: str, *, limit: int) -> bytes:
    """Reads a regular file without its holes; b"" when it is missing or anything else."""
    with _plain(path) as file:
        if file is None:
            return b""
        return holes.PartReader(file.fileno(), holes.parts(file.fileno())).read(limit)


def size_of_holes(path: str) -> int:
    """Gives the bytes of a regular file that are in holes; 0 for anything else."""
    with _plain(path) as file:
        return holes.size(file.fileno()) if file is not None else 0


def read_at(folder: int, name: str, *, limit: int = 4096) -> bytes:
    """Reads a plain file of an open folder; b"" when it is anything else.

    Raises where it is missing or may not be read: what is in it is not known then.
    """
    with _regular(os.open(name, open_flags.PLAIN, dir_fd=folder)) as file:
        return file.read(limit) if file is not None else b""


@contextlib.contextmanager
def _plain(path: str, folder: int | None = None) -> Iterator[IO[bytes] | None]:
    """Opens a plain file; None for whatever else an agent put there, and where it is missing."""
    try:
        handle = os.open(path, open_flags.PLAIN, dir_fd=folder)
    except (OSError, ValueError):
        yield None
        return
    with _regular(handle) as file:
        yield file


@contextlib.contextmanager
def _regular(handle: int) -> Iterator[IO[bytes] | None]:
    """Lends what was opened as a file, and closes it; None where it is no plain one."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        yield None
        return
    with os.fdopen(handle, "rb") as file:
        yield file


def copy_file(folder: int, name: str, *, into: str, top: int | None = None) -> None:
    """Copies a plain file of an open folder with its age, over whatever is there, a link too.

    By an index's age git knows which files may have changed in the same moment as it was written;
    a younger copy would have it trust their unchanged size.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(into, dir_fd=top)
    with _plain(name, folder) as old:
        if old is None:
            return
        info = os.fstat(old.fileno())
        if info.st_size > _INDEX:
            return
        with os.fdopen(os.open(into, open_flags.NEW, 0o644, dir_fd=top), "wb") as new:
            holes.copy(old.fileno(), new.fileno())
            os.utime(new.fileno(), ns=(info.st_mtime_ns, info.st_mtime_ns))


def copy_index(git_dir: str, into: str) -> None:
    """Copies a git folder's index into a folder of ours, with the one that it shares, if any."""
    with contextlib.suppress(OSError), opened(git_dir) as top:
        copy_file(top, "index", into=os.path.join(into, "index"))
        room = _INDEX
        for name in sorted(os.listdir(top)):
            if name.startswith("sharedindex."):
                room -= os.stat(name, dir_fd=top, follow_symlinks=False).st_size
                if room < 0:
                    return
                copy_file(top, name, into=os.path.join(into, name))


def put_at(folder: int, name: str, content: bytes) -> None:
    """Replaces a file of an open folder in one step."""
    new = f"{name}.windlass"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    with os.fdopen(os.open(new, open_flags.NEW, 0o644, dir_fd=folder), "wb") as file:
        file.write(content)
    os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)


def _files_below(top: int, prefix: str) -> Iterator[tuple[str, bytes]]:
    # Each folder is opened when its turn comes: an agent may have made more than may be open.
    pending = [""]
    while pending:
        relative = pending.pop()
        with contextlib.suppress(OSError), opened(relative, top=top) as folder:
            for name in sorted(os.listdir(folder)):
                below = f"{relative}/{name}".lstrip("/")
                with contextlib.suppress(OSError):
                    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode) and below.count("/") < _DEPTH:
                        pending.append(below)
                    elif stat.S_ISREG(mode):
                        yield f"{prefix}/{below}", read_at(folder, name, limit=4096)


def _packed(git_dir: str) -> dict[str, str]:
    refs = {}
    for line in _read(git_dir, "packed-refs", limit=_PACKED_REFS).splitlines():
        oid, _, name = os.fsdecode(line).partition(" ")
        if _OID.fullmatch(oid) and _is_ref(name):
            refs[name] = oid
    return refs


def _is_ref(name: str) -> bool:
    return names.is_ref(os.fsencode(name))
