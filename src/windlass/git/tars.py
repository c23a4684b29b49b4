# ruff: noqa: PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Folders as tar files: packed by lstat, unpacked without following a link.

For what cannot be a tree: git refuses `.git` in any letter case inside one; and what lies deeper
than the system can name. Both ways go folder by folder, so that no path is too long. Of a file with
holes the data alone is in the tar, as GNU tar and others have it too (GNU.sparse, version 0.1).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tarfile
from typing import IO, TYPE_CHECKING, cast

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import gitfiles, holes, open_flags
from windlass.git.descent import LEASED, Descent, is_exchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_CHUNK = 1 << 20
_IN_THE_WAY = frozenset(
    {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.EPERM}
)
_DEEPEST = 16 << 10
"""Of a path, in characters: each name is written with all that is above it."""
PLAIN = frozenset({tarfile.REGTYPE, tarfile.DIRTYPE})


def pack(
    source: str,
    into: IO[bytes],
    *,
    keep: Callable[[str], bool] = lambda _: True,
    only: Iterable[str] = ("",),
) -> dict[str, str]:
    """Writes a file or folder as a tar under the name `it`; gives what could not go in, and why.

    With `only`, it is what is at these paths in the folder, and no more.
    """
    left: dict[str, str] = {}
    above, top = os.path.split(source)
    with (
        gitfiles.opened(os.path.realpath(above)) as folder,
        Descent(folder) as descent,
        tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        pending = sorted(only, reverse=True)
        while pending:
            relative = pending.pop()
            if relative and not keep(relative):
                continue
            if len(relative) > _DEEPEST:
                left[relative] = "deeper than is kept"
                continue
            *parents, name = top, *filter(None, relative.split("/"))
            saved_as = "/".join(filter(None, ("it", relative)))
            try:
                here = descent.open(parents)
                mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
                if why := _add(archive, descent, (*parents, name), saved_as):
                    left[relative] = why
                names = os.listdir(descent.open((*parents, name))) if stat.S_ISDIR(mode) else []
            except OSError as error:
                if not relative or not is_exchanged(error):
                    raise
                left[relative] = "gone, or something else by now"
                continue
            names.sort(reverse=True)
            pending.extend("/".join(filter(None, (relative, name))) for name in names)
    return left


def _add(archive: tarfile.TarFile, descent: Descent, path: Sequence[str], saved_as: str) -> str:
    """Adds what is at these names; says why not, where it cannot go in."""
    *parents, name = path
    folder = descent.open(parents)
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    entry = tarfile.TarInfo(saved_as)
    entry.mode, entry.mtime = stat.S_IMODE(about.st_mode), about.st_mtime
    if stat.S_ISREG(about.st_mode):
        try:
            handle = descent.file(path)
        except BlockingIOError:
            return LEASED
        with os.fdopen(handle, "rb") as file:
            entry.size = os.fstat(file.fileno()).st_size
            if holes.size(file.fileno()):
                _add_sparse(archive, entry, file.fileno())
            else:
                archive.addfile(entry, file)
        return ""
    if stat.S_ISLNK(about.st_mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
    elif stat.S_ISDIR(about.st_mode):
        entry.type = tarfile.DIRTYPE
    else:
        return "a socket, pipe or device"
    archive.addfile(entry)
    return ""


def _add_sparse(archive: tarfile.TarFile, entry: tarfile.TarInfo, source: int) -> None:
    whole = entry.size
    parts = [(at, min(length, whole - at)) for at, length in holes.parts(source) if at < whole]
    entry.size = sum(length for _, length in parts)
    # The last one tells where the file ends.
    told = [*parts, (whole, 0)]
    entry.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.size": str(whole),
        "GNU.sparse.numblocks": str(len(told)),
        "GNU.sparse.map": ",".join(f"{at},{length}" for at, length in told),
    }
    archive.addfile(entry, cast("IO[bytes]", holes.PartReader(source, parts)))


def unpack(
    source: IO[bytes],
    target: str,
    *,
    keep: Callable[[str], bool] = lambda _: True,
    kinds: frozenset[bytes] = PLAIN | {tarfile.SYMTYPE},
    owner: int = 0,
) -> dict[str, str]:
    """Writes what `pack` packed to `target`, which gets the place of `it`.

    Its owner has the rights `owner` to all of it, whatever was saved. What is there already is
    replaced; gives what something of another kind stands in the way of, and what that is like.
    """
    left: dict[str, str] = {}
    closed: list[tuple[list[str], int]] = []
    above, top = os.path.split(target)
    with (
        gitfiles.opened(os.path.realpath(above)) as folder,
        Descent(folder) as descent,
        tarfile.open(fileobj=source, mode="r:") as archive,
    ):
        for member in archive:
            relative = _relative(member.name)
            if (relative and not keep("/".join(relative))) or member.type not in kinds:
                continue
            *parents, name = top, *relative
            try:
                member.mode |= owner if member.isdir() else owner & 0o600
                _extract(source, member, name, parent=descent.open(parents, make=True))
            except OSError as error:
                if error.errno in _IN_THE_WAY:
                    left["/".join(relative)] = os.strerror(error.errno)
                    continue
                raise GitError(
                    f"{printable_line(member.name)} cannot be written: {error.strerror}",
                    "something else is in its place, or the disk is full",
                ) from error
            if member.isdir() and (member.mode | owner) & 0o700 != 0o700:
                closed.append(([*parents, name], member.mode & 0o777))
        # Last: nothing could be written into them any more.
        for path, mode in reversed(closed):
            os.fchmod(descent.open(path), mode)
    return left


def read_one(source: IO[bytes], name: str) -> bytes:
    """Reads one plain file out of what `pack` packed; b"" when it is not there."""
    with tarfile.open(fileobj=source, mode="r:") as archive:
        for member in archive:
            if member.name == f"it/{name}" and member.isreg():
                content = archive.extractfile(member)
                return content.read(_CHUNK) if content is not None else b""
    return b""


def _relative(name: str) -> list[str]:
    parts = name.split("/")
    if parts[0] != "it" or any(part in ("", ".", "..") for part in parts[1:]):
        raise GitError(
            f"the saved work holds an impossible name: {printable_line(name)}",
            "it was not written by Windlass; look at it with `git show`",
        )
    return parts[1:]


def _extract(source: IO[bytes], member: tarfile.TarInfo, name: str, *, parent: int) -> None:
    if member.isdir():
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        handle = os.open(name, open_flags.FOLDER, dir_fd=parent)
        try:
            os.fchmod(handle, (member.mode | 0o700) & 0o777)
        finally:
            os.close(handle)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
    if member.issym():
        os.symlink(os.fsencode(member.linkname), name, dir_fd=parent)
        return
    with os.fdopen(os.open(name, open_flags.NEW, 0o600, dir_fd=parent), "wb") as file:
        _write(source, member, file)
        os.fchmod(file.fileno(), member.mode & 0o777)


def _write(source: IO[bytes], member: tarfile.TarInfo, file: IO[bytes]) -> None:
    """Writes what a member holds to an empty file; where it had holes there are holes again."""
    source.seek(member.offset_data)
    parts = cast("list[tuple[int, int]] | None", member.sparse)
    end = 0
    for at, length in parts or [(0, member.size)]:
        file.seek(at)
        end = at + length
        while file.tell() < end and (chunk := source.read(min(_CHUNK, end - file.tell()))):
            file.write(chunk)
    file.truncate(end)
