# ruff: noqa: PTH102, PTH108, PTH118, PTH123, PTH206, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Reads a git folder that an agent wrote without git, following no link and waiting for no pipe.

Git itself obeys a configuration before it does anything else, and opens whatever stands where it
expects a file. So HEAD and refs are read here, and object files are lent to git from a folder of
ours that holds nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import stat
from typing import IO, TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import holes, long_lists, names, open_flags
from windlass.git.descent import Descent, is_exchanged, opened_file, opened_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

MOST_COPIED = 4 << 30
"""Bytes of a clone's own objects, which are mostly few: it borrows all that it began with."""
MOST_LENT = 200_000
"""Files of a clone's own objects; git itself packs them long before there are so many."""
_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP})
"""What says that a file cannot be linked there at all, and not only this once."""
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LOOSE = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx)")
_PACKED_REFS = 64 << 20
_INDEX = 1 << 30
_DEPTH = 64
_TRIES = 3
_NO_FILE = frozenset({errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG})


def read_head(git_dir: str) -> tuple[str | None, str | None]:
    """Gives the ref that HEAD follows (None: detached) and the id that it has, as written."""
    text = os.fsdecode((read_below(git_dir, "HEAD") or b"").strip())
    if not text.startswith("ref:"):
        return None, text if _OID.fullmatch(text) else None
    ref = text.removeprefix("ref:").strip()
    if not _is_ref(ref):
        return None, None
    return ref, read_ref(git_dir, ref)


def read_ref(git_dir: str, ref: str) -> str | None:
    """Gives the id that a ref has, as written."""
    text = os.fsdecode((read_below(git_dir, ref) or b"").strip()) if _is_ref(ref) else ""
    if text:
        return text if _OID.fullmatch(text) else None
    return _packed(git_dir).get(ref)


def read_refs(git_dir: str) -> dict[str, str]:
    """Gives every ref with the id that it has, as written; not those that follow others."""
    refs = _packed(git_dir)
    for name, text in _files_below(git_dir, "refs"):
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

    They are linked where the file system allows it and copied elsewhere, up to `MOST_COPIED`, and
    no more of them than `MOST_LENT`: of the others, git says that they are missing.
    """
    os.mkdir(into)
    loan = _Loan()
    with _unless_exchanged(git_dir), entered(git_dir) as top, Descent(top) as descent:
        # Packs last: git packs an object first, and then takes it away where it lay alone.
        for name in long_lists.in_order(os.listdir(descent.open(("objects",)))):
            wanted = _PACK if name == "pack" else _LOOSE
            if name == "pack" or re.fullmatch("[0-9a-f]{2}", name):
                with _unless_exchanged(git_dir):
                    folder, target = descent.open(("objects", name)), os.path.join(into, name)
                    _lend_folder(folder, wanted=wanted, into=target, loan=loan)
    if loan.left_out:
        log.warning("%s: %d files of objects are left out", git_dir, loan.left_out)


def _lend_folder(folder: int, *, wanted: re.Pattern[str], into: str, loan: _Loan) -> None:
    os.mkdir(into)
    done: set[str] = set()
    # Where a file has gone since, another may have come that holds the same.
    for _ in range(_TRIES):
        files = [name for name in os.listdir(folder) if wanted.fullmatch(name)]
        new = [name for name in files if name not in done]
        there = [name for name in new if loan.add(folder, name, os.path.join(into, name))]
        if there == new:
            return
        done.update(there)


class _Loan:
    """The files that are lent, and how many were left out."""

    def __init__(self) -> None:
        self._room = MOST_COPIED
        self._files = MOST_LENT
        self.left_out = 0

    def add(self, folder: int, name: str, target: str) -> bool:
        """Lends a file if there is room; False: it is gone.

        Links first and looks then: what is linked can no longer be exchanged.
        """
        if not self._files:
            self.left_out += 1
            return True
        try:
            os.link(name, target, src_dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except FileExistsError:
            return True
        except OSError as error:
            # One that has as many names as it can have would be copied once for each of them.
            if error.errno in _NO_LINKS:
                self._copy(folder, name, target)
            else:
                self.left_out += 1
            return True
        info = os.lstat(target)
        if not stat.S_ISREG(info.st_mode):
            os.unlink(target)
            return True
        self._files -= 1
        if not info.st_mode & stat.S_IRUSR:
            os.chmod(target, stat.S_IMODE(info.st_mode) | 0o600)  # noqa: PTH101 - it is ours now
        return True

    def _copy(self, folder: int, name: str, target: str) -> None:
        """Copies a plain file, without its holes, if there is room."""
        with _plain(name, folder) as old:
            if old is None:
                return
            size = os.fstat(old.fileno()).st_size - holes.size(old.fileno())
            if size > self._room:
                self.left_out += 1
                return
            self._room -= size
            self._files -= 1
            with open(target, "xb") as new:
                holes.copy(old.fileno(), new.fileno())


@contextlib.contextmanager
def entered(path: str) -> Iterator[int]:
    """Opens a folder of an agent's as `opened` does, also if the agent closed it to us."""
    above, name = os.path.split(path)
    with opened(above) as parent:
        here = opened_folder(name, parent)
        try:
            yield here
        finally:
            os.close(here)


def open_up(path: str) -> int | None:
    """Opens a workspace to us that its agent closed, and its git folder where it has one.

    Gives the permissions that it had; None where there is no folder.
    """
    above, name = os.path.split(path)
    permissions: int | None = None
    with _unless_exchanged(path), opened(above) as parent:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        with entered(path) as here, _unless_exchanged(path):
            permissions = stat.S_IMODE(mode)
            os.close(opened_folder(".git", here))
    return permissions


@contextlib.contextmanager
def _unless_exchanged(folder: str) -> Iterator[None]:
    """Takes what is gone, or no file, for nothing; says what may not be read."""
    try:
        yield
    except OSError as error:
        if not _says_nothing(error):
            raise _unreadable(folder, error) from error


def _says_nothing(error: OSError) -> bool:
    """Whether there is no plain file at all; or one that a lease keeps from us, as listed later."""
    return is_exchanged(error) or error.errno in _NO_FILE or isinstance(error, BlockingIOError)


def _unreadable(path: str, error: OSError) -> GitError:
    return GitError(
        f"{printable_line(path)} cannot be read: {error.strerror}",
        "make it readable for the user that runs Windlass, then try again",
    )


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


def read_below(folder: str, name: str, *, limit: int = 65536) -> bytes | None:
    """Reads a plain file below an agent's folder, also if the agent closed it to us.

    None where it is missing, anything else, or leased; raises where it stays closed. The folder's
    path is canonical.
    """
    content: list[bytes] = []
    with _unless_exchanged(f"{folder}/{name}"), _opened_below(folder, name) as file:
        content.append(file.read(limit))
    return content[0] if content else None


def read_data(folder: str, name: str, *, limit: int) -> bytes:
    """Reads such a file without its holes; b"" where `read_below` gives None."""
    content: list[bytes] = []
    with _unless_exchanged(f"{folder}/{name}"), _opened_below(folder, name) as file:
        parts = holes.PartReader(file.fileno(), holes.parts(file.fileno()))
        content.append(parts.read(limit))
    return content[0] if content else b""


@contextlib.contextmanager
def _opened_below(folder: str, name: str) -> Iterator[IO[bytes]]:
    *above, file = name.split("/")
    with (
        entered(folder) as top,
        Descent(top) as descent,
        os.fdopen(opened_file(file, descent.open(above)), "rb") as opened_below,
    ):
        yield opened_below


def read_small(path: str, *, limit: int = 65536) -> bytes | None:
    """Reads a small regular file; None when it is missing or anything else.

    Raises where it may not be read: what is in it is not known then.
    """
    with _plain(path) as file:
        return file.read(limit) if file is not None else None


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
    """Opens a plain file; None for whatever else an agent put there, and where it is missing.

    In an open `folder` it may have been closed to us.
    """
    try:
        handle = (
            opened_file(path, folder) if folder is not None else os.open(path, open_flags.PLAIN)
        )
    except ValueError:  # no path at all
        yield None
        return
    except OSError as error:
        if not _says_nothing(error):
            raise _unreadable(path, error) from error
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
    with _unless_exchanged(git_dir), entered(git_dir) as top:
        copy_file(top, "index", into=os.path.join(into, "index"))
        room = _INDEX
        for name in long_lists.in_order(os.listdir(top)):
            if name.startswith("sharedindex."):
                room -= os.stat(name, dir_fd=top, follow_symlinks=False).st_size
                if room < 0:
                    return
                copy_file(top, name, into=os.path.join(into, name))


def index_files(git_dir: str) -> list[str]:
    """Names the index of a git folder of ours and those that it may share."""
    shared = (name for name in os.listdir(git_dir) if name.startswith("sharedindex."))
    return ["index", *shared]


def put_at(folder: int, name: str, content: bytes) -> None:
    """Replaces a file of an open folder in one step."""
    os.replace(_beside(folder, name, content), name, src_dir_fd=folder, dst_dir_fd=folder)


def make_at(folder: int, name: str, content: bytes) -> None:
    """Makes a file of an open folder in one step, whole or not at all; none may be there yet."""
    new = _beside(folder, name, content)
    try:
        os.link(new, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(name, open_flags.NEW, 0o644, dir_fd=folder))
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)


def _beside(folder: int, name: str, content: bytes) -> str:
    """Writes what a file is to be into another one beside it; the name of that."""
    new = f"{name}.windlass"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    with os.fdopen(os.open(new, open_flags.NEW, 0o644, dir_fd=folder), "wb") as file:
        file.write(content)
    return new


def _files_below(git_dir: str, prefix: str) -> Iterator[tuple[str, bytes]]:
    # Each folder is opened when its turn comes: an agent may have made more than may be open.
    pending = [prefix]
    with _unless_exchanged(git_dir), entered(git_dir) as top, Descent(top) as descent:
        while pending:
            relative = pending.pop()
            with _unless_exchanged(f"{git_dir}/{relative}"):
                folder = descent.open(relative.split("/"))
                for name in long_lists.in_order(os.listdir(folder)):
                    below = f"{relative}/{name}"
                    with _unless_exchanged(f"{git_dir}/{below}"):
                        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                        if stat.S_ISDIR(mode) and below.count("/") <= _DEPTH:
                            pending.append(below)
                        elif stat.S_ISREG(mode):
                            with os.fdopen(opened_file(name, folder), "rb") as file:
                                yield below, file.read(4096)


def _packed(git_dir: str) -> dict[str, str]:
    refs = {}
    for line in (read_below(git_dir, "packed-refs", limit=_PACKED_REFS) or b"").splitlines():
        oid, _, name = os.fsdecode(line).partition(" ")
        if _OID.fullmatch(oid) and _is_ref(name):
            refs[name] = oid
    return refs


def _is_ref(name: str) -> bool:
    return names.is_ref(os.fsencode(name))
