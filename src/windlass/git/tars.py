# ruff: noqa: PTH118, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Git folders as tar files: packed by lstat, unpacked without following a link.

For what cannot be a tree: git refuses `.git` in any letter case inside one.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tarfile
from typing import IO, TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import beneath
from windlass.git.walk import unlock

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PLAIN = frozenset({tarfile.REGTYPE, tarfile.DIRTYPE})


def pack(
    source: str, into: IO[bytes], *, keep: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """Writes a file or folder as a tar under the name `it`; gives what could not go in."""
    left: list[str] = []
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        pending = [""]
        while pending:
            relative = pending.pop()
            path = os.path.join(source, relative) if relative else source
            if relative and not keep(relative):
                continue
            if not _add(archive, path, os.path.join("it", relative) if relative else "it"):
                left.append(relative)
            if stat.S_ISDIR(os.lstat(path).st_mode):
                names = sorted(_names(path), reverse=True)
                pending.extend(os.path.join(relative, name) for name in names)
    return left


def _add(archive: tarfile.TarFile, path: str, name: str) -> bool:
    info = archive.gettarinfo(path, arcname=name)
    if info is not None and info.islnk():
        # Two names of one file become two files: the other may not be unpacked.
        info.type, info.linkname = tarfile.REGTYPE, ""
    if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
        return False
    info.name = name
    if not info.isreg():
        archive.addfile(info)
        return True
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        info.size = size
        archive.addfile(info, file)
    return True


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except PermissionError:
        unlock(os.fsencode(folder))
        return os.listdir(folder)


def _open(path: str) -> IO[bytes]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags), "rb")
    except PermissionError:
        unlock(os.fsencode(path))
        return os.fdopen(os.open(path, flags), "rb")


def unpack(
    source: IO[bytes],
    target: str,
    *,
    keep: Callable[[str], bool] = lambda _: True,
    kinds: frozenset[bytes] = PLAIN | {tarfile.SYMTYPE},
) -> None:
    """Writes what `pack` packed to `target`, which gets the place of `it`."""
    folders: list[tuple[str, int]] = []
    with tarfile.open(fileobj=source, mode="r|") as archive:
        for member in archive:
            relative = _relative(member.name)
            if (relative and not keep(relative)) or member.type not in kinds:
                continue
            if relative:
                folder, name = os.path.split(os.fsencode(relative))
                with beneath.opened(target, folder) as parent:
                    _extract(archive, member, name, parent=parent)
            else:
                _extract(archive, member, os.fsencode(target), parent=None)
            if member.isdir():
                folders.append((relative, member.mode & 0o777))
    for relative, mode in reversed(folders):
        with beneath.opened(target, os.fsencode(relative)) as folder_handle:
            os.fchmod(folder_handle, mode)


def read_one(source: IO[bytes], name: str) -> bytes:
    """Reads one plain file out of what `pack` packed; b"" when it is not there."""
    with tarfile.open(fileobj=source, mode="r:") as archive:
        for member in archive:
            if member.name == f"it/{name}" and member.isreg():
                content = archive.extractfile(member)
                return content.read(_CHUNK) if content is not None else b""
    return b""


def _relative(name: str) -> str:
    parts = name.split("/")
    if parts[0] != "it" or any(part in ("", ".", "..") for part in parts[1:]):
        raise GitError(
            f"the saved work holds an impossible name: {printable_line(name)}",
            "it was not written by Windlass; look at it with `git show`",
        )
    return "/".join(parts[1:])


def _extract(
    archive: tarfile.TarFile, member: tarfile.TarInfo, name: bytes, *, parent: int | None
) -> None:
    if member.isdir():
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        handle = os.open(name, _FOLDER, dir_fd=parent)
        try:
            os.fchmod(handle, 0o700)
        finally:
            os.close(handle)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
    if member.issym():
        os.symlink(os.fsencode(member.linkname), name, dir_fd=parent)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    content = archive.extractfile(member)
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb") as file:
        while content is not None and (chunk := content.read(_CHUNK)):
            file.write(chunk)
        os.fchmod(file.fileno(), member.mode & 0o777)
