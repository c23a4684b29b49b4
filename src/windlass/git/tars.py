# ruff: noqa: PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Folders as tar files: packed by lstat, unpacked without following a link.

For what cannot be a tree: git refuses `.git` in any letter case inside one; and what lies deeper
than the system can name. Both ways go folder by folder, so that no path is too long. Of a file with
holes the data alone is in the tar, as GNU tar and others have it too (GNU.sparse, version 0.1); of
one with several names, all but the first are links to it. Extended attributes are listed alone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tarfile
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import beneath, gitfiles, holes, long_lists, open_flags, properties, shared_files
from windlass.git.descent import LEASED, Descent, is_exchanged, opened_before, permissions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_CHUNK = 1 << 20
_IN_THE_WAY = frozenset(
    {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.EPERM}
)
_DEEPEST = 16 << 10
"""Of a path, in characters: each name is written with all that is above it."""
PLAIN = frozenset({tarfile.REGTYPE, tarfile.DIRTYPE})


class Packed(NamedTuple):
    """What is not in a tar, or not all of it, and why; and what of it has other names."""

    left: dict[str, str]
    shared: list[tuple[str, os.stat_result]]


def pack(
    source: str,
    into: IO[bytes],
    *,
    keep: Callable[[str], bool] = lambda _: True,
    only: Iterable[str] = ("",),
) -> Packed:
    """Writes a file or folder as a tar under the name `it`; gives what could not go in, and why.

    With `only`, it is what is at these paths in the folder, and no more. A file that has several
    names is written once.
    """
    packing = _Packing(Packed({}, []))
    left = packing.result.left
    above, top = os.path.split(source)
    with (
        gitfiles.opened(os.path.realpath(above)) as folder,
        Descent(folder) as descent,
        tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        pending = [*reversed(list(long_lists.in_order(only)))]
        while pending:
            relative = pending.pop()
            if relative and not keep(relative):
                continue
            if len(relative) > _DEEPEST:
                left[relative] = "deeper than is kept"
                continue
            *parents, name = top, *filter(None, relative.split("/"))
            try:
                here = descent.open(parents)
                mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
                if why := packing.add(archive, descent, (*parents, name), relative):
                    left[relative] = why
                names = os.listdir(descent.open((*parents, name))) if stat.S_ISDIR(mode) else []
            except OSError as error:
                if not relative or not is_exchanged(error):
                    raise
                left[relative] = "gone, or something else by now"
                continue
            ordered = reversed(list(long_lists.in_order(names)))
            pending.extend("/".join(filter(None, (relative, name))) for name in ordered)
    return packing.result


class _Packing:
    """A tar that is being written, and what is in it by its first name."""

    def __init__(self, result: Packed) -> None:
        self.result = result
        self._first: dict[shared_files.Key, str] = {}

    def add(
        self, archive: tarfile.TarFile, descent: Descent, path: Sequence[str], relative: str
    ) -> str:
        """Adds what is at these names; says why not, or what of it not, where it cannot go in."""
        *parents, name = path
        folder = descent.open(parents)
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        entry = tarfile.TarInfo("/".join(filter(None, ("it", relative))))
        entry.mode, entry.mtime = permissions(about, opened_before()), about.st_mtime
        if stat.S_ISREG(about.st_mode):
            try:
                handle = descent.file(path)
            except BlockingIOError:
                return LEASED
            with os.fdopen(handle, "rb") as file:
                if not self._is_there(archive, entry, os.fstat(handle), relative):
                    _add_file(archive, entry, file)
                return properties.in_a_tar(handle, about.st_mode)
        if stat.S_ISLNK(about.st_mode):
            if not self._is_there(archive, entry, about, relative):
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
                archive.addfile(entry)
            return ""
        if not stat.S_ISDIR(about.st_mode):
            return "a socket, pipe or device"
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
        return properties.in_a_tar(descent.open(path), about.st_mode)

    def _is_there(
        self, archive: tarfile.TarFile, entry: tarfile.TarInfo, info: os.stat_result, relative: str
    ) -> bool:
        """Adds another name of a file that is in the tar; says whether it is."""
        key = shared_files.key(info)
        if key is None:
            return False
        self.result.shared.append((relative, info))
        first = self._first.setdefault(key, entry.name)
        if first == entry.name:
            return False
        entry.type, entry.linkname = tarfile.LNKTYPE, first
        archive.addfile(entry)
        return True


def _add_file(archive: tarfile.TarFile, entry: tarfile.TarInfo, file: IO[bytes]) -> None:
    entry.size = os.fstat(file.fileno()).st_size
    if holes.size(file.fileno()):
        _add_sparse(archive, entry, file.fileno())
    else:
        archive.addfile(entry, file)


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
        unpacking = _Unpacking(source, descent)
        for member in archive:
            relative = _relative(member.name)
            content = unpacking.content_of(member)
            if (relative and not keep("/".join(relative))) or content.type not in kinds:
                continue
            path = [top, *relative]
            try:
                member.mode |= owner if member.isdir() else owner & 0o600
                unpacking.extract(member, content, path)
            except OSError as error:
                if error.errno in _IN_THE_WAY:
                    left["/".join(relative)] = os.strerror(error.errno)
                    continue
                raise GitError(
                    f"{printable_line(member.name)} cannot be written: {error.strerror}",
                    "something else is in its place, or the disk is full",
                ) from error
            if member.isdir() and (member.mode | owner) & 0o700 != 0o700:
                closed.append((path, member.mode & properties.FOLDER_RIGHTS))
        # Last: nothing could be written into them any more.
        for path, mode in reversed(closed):
            os.fchmod(descent.open(path), mode)
    return left


def read_one(source: IO[bytes], name: str) -> bytes:
    """Reads one plain file out of what `pack` packed; b"" when it is not there."""
    plain: dict[str, tarfile.TarInfo] = {}
    with tarfile.open(fileobj=source, mode="r:") as archive:
        for member in archive:
            if member.isreg():
                plain[member.name] = member
            first = plain.get(member.linkname if member.islnk() else member.name)
            if member.name == f"it/{name}" and first is not None:
                content = archive.extractfile(first)
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


class _Unpacking:
    """A tar that is being read, what was in it so far, and where that is now."""

    def __init__(self, source: IO[bytes], descent: Descent) -> None:
        self._source = source
        self._descent = descent
        self._members: dict[str, tarfile.TarInfo] = {}
        self._places: dict[str, list[str]] = {}

    def content_of(self, member: tarfile.TarInfo) -> tarfile.TarInfo:
        """Gives what came before, of which a member is another name; else the member itself."""
        if not member.islnk():
            self._members[member.name] = member
        return self._members.get(member.linkname, member) if member.islnk() else member

    def extract(
        self, member: tarfile.TarInfo, content: tarfile.TarInfo, path: Sequence[str]
    ) -> None:
        """Writes a member; as another name of what is there already, where it is one."""
        *parents, name = path
        parent = self._descent.open(parents, make=True)
        if member.isdir():
            _extract_folder(member, name, parent=parent)
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        first = self._places.get(content.name)
        if first is not None and self._link(first, parents, name):
            return
        parent = self._descent.open(parents)
        if content.issym():
            os.symlink(os.fsencode(content.linkname), name, dir_fd=parent)
        else:
            with os.fdopen(os.open(name, open_flags.NEW, 0o600, dir_fd=parent), "wb") as file:
                _write(self._source, content, file)
                os.fchmod(file.fileno(), member.mode & properties.FILE_RIGHTS)
        self._places[content.name] = list(path)

    def _link(self, first: Sequence[str], parents: Sequence[str], name: str) -> bool:
        """Gives what was written another name; False where it can have no more of them."""
        *above, known = first
        folder = os.dup(self._descent.open(above))
        try:
            parent = self._descent.open(parents)
            os.link(known, name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
        except OSError as error:
            if error.errno not in beneath.NO_MORE_NAMES:
                raise
            return False
        finally:
            os.close(folder)
        return True


def _extract_folder(member: tarfile.TarInfo, name: str, *, parent: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    handle = os.open(name, open_flags.FOLDER, dir_fd=parent)
    try:
        os.fchmod(handle, (member.mode | 0o700) & properties.FOLDER_RIGHTS)
    finally:
        os.close(handle)


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
