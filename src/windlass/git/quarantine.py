# ruff: noqa: PTH102, PTH103, PTH104, PTH118, PTH119, PTH120, PTH123, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""A throw-away repository that reads the main one's objects and keeps what is new to itself.

Owns half-made objects: all of them move into the main repository at the end, or none. Nothing is
configured by anybody but us in here, and a failure leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import IO, TYPE_CHECKING, Self

import msgspec

from windlass.core.errors import GitError
from windlass.git.blobs import kinds
from windlass.git.environment import Dirs
from windlass.git.repository import object_format
from windlass.git.runner import GitResult, failed, start
from windlass.git.workspace_state import OBJECTS_PREFIX, quoted_alternate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from windlass.git.repository import Repository

# Salvage deletes the originals afterwards, so what it kept has to survive a power cut.
DURABLE = {
    "core.fsync": "committed,reference",
    "core.compression": "1",
    "pack.compression": "1",
    "core.bigFileThreshold": "1m",
    "pack.window": "0",
    # One pack is three fsyncs; unpacked it would be one for each object.
    "fastimport.unpackLimit": "1",
}
_CHUNK = 1 << 20
_BLOCK = 4096


def format_config(kind: str) -> bytes:
    """Begins a configuration of ours: what kind of ids the objects have; ends in `[core]`."""
    if kind == "sha1":
        return b"[core]\n\trepositoryformatversion = 0\n"
    return (
        b"[extensions]\n\tobjectformat = %s\n[core]\n\trepositoryformatversion = 1\n"
        % kind.encode()
    )


class Quarantine(msgspec.Struct, frozen=True):
    """The throw-away repository."""

    dirs: Dirs
    folder: str
    sha256: bool

    @property
    def alone(self) -> Dirs:
        """What is new, without what the main repository has."""
        return Dirs(git_dir=self.folder)

    def beside(self, repo: Repository) -> Dirs:
        """The main repository, its refs too, and what is new."""
        new = quoted_alternate(os.path.join(self.folder, "objects"))
        return msgspec.structs.replace(repo.dirs, objects=new)

    def growth(self, repo: Repository) -> int:
        """Counts the bytes that a release would add to the main repository, as a disk does."""
        source = os.path.join(self.folder, "objects")
        target = os.path.join(repo.git_dir, "objects")
        files = (os.path.join(source, name) for name in self._missing_in(target))
        return sum(-(-os.lstat(file).st_size // _BLOCK) * _BLOCK for file in files)

    def take_packs_out(self) -> list[str]:
        """Takes packs out of the new objects, to be unpacked; gives where they are now."""
        taken = []
        for path in self.packs():
            taken.append(os.path.join(self.folder, os.path.basename(path)))
            os.rename(path, taken[-1])
        return [path for path in taken if path.endswith(".pack")]

    def known(self, oids: Iterable[str]) -> dict[str, str]:
        """Says which objects exist here or in the main repository, and of what type they are."""
        return kinds(self.dirs, oids)

    def release(self, repo: Repository) -> list[str]:
        """Moves every new object into the main repository, indexes last; gives where they are."""
        source = os.path.join(self.folder, "objects")
        target = os.path.join(repo.git_dir, "objects")
        moved: set[str] = set()
        for relative in sorted(self._missing_in(target), key=lambda name: name.endswith(".idx")):
            place = os.path.join(target, relative)
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.dirname(place))
            os.rename(os.path.join(source, relative), place)
            moved.add(os.path.dirname(place))
        return sorted(moved)

    def packs(self) -> list[str]:
        """Lists the files of the new packs."""
        folder = os.path.join(self.folder, "objects/pack")
        return [os.path.join(folder, name) for name in os.listdir(folder)]

    def _missing_in(self, target: str) -> list[str]:
        """Lists the files of objects that are not at the same place in another object folder."""
        found = _object_files(os.path.join(self.folder, "objects"))
        return [name for name in found if not os.path.lexists(os.path.join(target, name))]


@contextlib.contextmanager
def quarantine(repo: Repository) -> Iterator[Quarantine]:
    """Lends a quarantine inside the object folder, where `git prune` finds what a kill leaves."""
    objects = os.path.join(repo.git_dir, "objects")
    folder = tempfile.mkdtemp(prefix=OBJECTS_PREFIX, dir=objects)
    try:
        for name in ("refs", "objects/info", "objects/pack"):
            os.makedirs(os.path.join(folder, name))
        _write(os.path.join(folder, "HEAD"), b"ref: refs/heads/none\n")
        kind = object_format(repo)
        _write(os.path.join(folder, "config"), format_config(kind))
        dirs = Dirs(git_dir=folder, objects=quoted_alternate(objects))
        yield Quarantine(dirs=dirs, folder=folder, sha256=kind == "sha256")
    except OSError as error:
        raise GitError(
            f"cannot keep the work: {error}", "free disk space or fix the rights, then try again"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _object_files(folder: str) -> Iterator[str]:
    for here, _, names in os.walk(folder):
        relative = os.path.relpath(here, folder)
        if relative == "info":
            continue
        for name in names:
            if not name.startswith("tmp_") and not name.endswith(".keep"):
                yield os.path.normpath(os.path.join(relative, name))


def sync(paths: Iterable[str]) -> None:
    """Waits until the disk has these files and folders."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Importer:
    """Feeds one `git fast-import`: blobs as raw bytes, then one commit of everything."""

    def __init__(self, inside: Quarantine) -> None:
        self._inside = inside
        self._log = tempfile.TemporaryFile(dir=inside.folder)  # noqa: SIM115 -- closed in __exit__
        args = ["fast-import", "--quiet", "--done", "--depth=0", "--big-file-threshold=1m"]
        self._args = args
        self._git = start(args, dirs=inside.dirs, stderr=self._log, config=DURABLE)
        self._marks = 0
        self._tree: list[bytes] = []
        self.sent = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._git.poll() is None:
            self._git.kill()
        self._git.wait()
        for pipe in (self._git.stdin, self._git.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._log.close()

    def blob(self, content: bytes) -> str:
        """Sends one small blob; gives its mark."""
        mark = self._announce(len(content))
        self._say(content + b"\n")
        return mark

    def stream(self, source: IO[bytes], size: int) -> tuple[str, bool]:
        """Sends `size` bytes of an open file; False when the file was shorter meanwhile."""
        mark = self._announce(size)
        left = size
        while left and (chunk := source.read(min(left, _CHUNK))):
            self._say(chunk)
            left -= len(chunk)
        short = left > 0
        while left:
            filler = bytes(min(left, _CHUNK))
            self._say(filler)
            left -= len(filler)
        self._say(b"\n")
        return mark, not short

    def spooled(self) -> IO[bytes]:
        """Lends a file that vanishes with the quarantine."""
        return tempfile.TemporaryFile(dir=self._inside.folder)

    def place(self, path: bytes, *, mode: bytes, what: str) -> None:
        """Puts an object (its id or its mark) at a path of the tree, after what was said before."""
        self._tree.append(b"M %s %s %s" % (mode, what.encode(), _quoted(path)))

    def take_away(self, path: bytes) -> None:
        """Removes a path from the tree."""
        self._tree.append(b"D " + _quoted(path))

    def commit(self, *, message: str, time: int, parents: list[str]) -> str:
        """Writes the commit with the tree as placed and ends the import; gives the commit's id."""
        self._marks += 1
        text = message.encode(errors="surrogateescape")
        self._say(b"commit refs/heads/kept\nmark :%d\n" % self._marks)
        self._say(b"committer Windlass <windlass@localhost> %d +0000\n" % time)
        self._say(b"data %d\n%s\n" % (len(text), text))
        for number, parent in enumerate(parents):
            self._say(b"%s %s\n" % (b"merge" if number else b"from", parent.encode()))
        self._say(b"deleteall\n")
        for command in self._tree:
            self._say(command + b"\n")
        self._say(b"\nget-mark :%d\ndone\n" % self._marks)
        return self._finish()

    def _announce(self, size: int) -> str:
        self._marks += 1
        self.sent += size
        self._say(b"blob\nmark :%d\ndata %d\n" % (self._marks, size))
        return f":{self._marks}"

    def _say(self, data: bytes) -> None:
        pipe = self._git.stdin
        if pipe is None:
            raise self._failure()
        try:
            pipe.write(data)
        except (BrokenPipeError, ValueError) as error:
            raise self._failure() from error

    def _finish(self) -> str:
        pipe, answers = self._git.stdin, self._git.stdout
        if pipe is None or answers is None:
            raise self._failure()
        try:
            pipe.close()
        except BrokenPipeError as error:
            raise self._failure() from error
        oid = answers.read().decode().strip()
        if self._git.wait() != 0 or not oid:
            raise self._failure()
        return oid

    def _failure(self) -> GitError:
        code = self._git.wait()
        self._log.seek(0)
        return failed(self._args, GitResult(code, b"", self._log.read()), dirs=self._inside.dirs)


def _quoted(path: bytes) -> bytes:
    safe = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + safe + b'"'
