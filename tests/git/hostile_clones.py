"""What an agent can write into its clone to lead git, or us, out of it; and a look at all of that.

An `Attack` prepares a clone. `Scene` has one with its box, and asks everything that the daemon
asks: nothing outside may change by it, and no secret may come out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.git.conftest import git, snapshot
from tests.git.differences import materialise, shown

from windlass.box import read_box
from windlass.core.errors import WindlassError
from windlass.git import clones, mirror, repository, status, trash, workspaces
from windlass.git.arrival import EVERYTHING, Allowed
from windlass.git.repository import Repository
from windlass.git.salvage import Salvaged, salvage

DEEP = "d" * 200
SECRET = "what only the person knows"  # noqa: S105 - of this test


class Target:
    """A clone that an agent has written, the repository that it is of, and a secret beside it."""

    def __init__(self, repo: Repository, clone: Path, outside: Path) -> None:
        self.repo = repo
        self.clone = clone
        self.outside = outside
        outside.mkdir()
        (outside / "secret").write_text(f"{SECRET}\n")


class Scene(Target):
    """A target, and what is asked about it."""

    def __init__(self, repo: Repository, folder: Path) -> None:
        super().__init__(repo, folder / "ws" / "c1", folder / "outside")
        self.folder = folder
        self._looks = 0
        (folder / "files").mkdir()
        (folder / "diff").mkdir()
        self.origin = str(folder / "mirror")
        mirror.refresh(repo, self.origin)
        workspaces.create(
            repo,
            path=str(self.clone),
            branch="agent/c1",
            base="main",
            agent="c1",
            origin=self.origin,
        )

    def reads(self, *writable: str) -> list[str]:
        """The box that shows the clone."""
        return self._box((str(self.clone),), writable)

    def fills(self, *writable: str) -> list[str]:
        """The box for a new clone."""
        return self._box((), writable)

    def _box(self, shown: tuple[str, ...], writable: tuple[str, ...]) -> list[str]:
        return read_box.prefix(
            readable=(*clones.borrowed(self.origin), *shown),
            writable=writable,
            files=self.folder / "files",
            network=False,
        )

    def look(self) -> bytes:
        """Asks for all that faces show; returns everything that was answered."""
        said = b""
        with contextlib.suppress(WindlassError):
            said += repr(status.status(self.repo, str(self.clone), box=self.reads)).encode()
        for stat in (True, False):
            with contextlib.suppress(WindlassError):
                said += shown(self.repo, self.clone, stat=stat, box=self.reads)
        self._looks += 1
        into = self.folder / "diff" / str(self._looks)
        with contextlib.suppress(WindlassError):
            materialise(self.repo, self.clone, into, box=self.reads)
        files = (path for path in into.rglob("*") if path.is_file() and not path.is_symlink())
        return said + b"".join(path.read_bytes() for path in files)

    def keep(self, allowed: Allowed = EVERYTHING) -> Salvaged:
        """Salvages it, as an ending does."""
        return salvage(
            self.repo,
            path=str(self.clone),
            agent="c1",
            stamp="1",
            meta={},
            branch="agent/c1",
            allowed=allowed,
            box=self.reads,
        )

    def end(self) -> None:
        """Removes the clone, as an ending does."""
        workspaces.remove(self.repo, path=str(self.clone), branch="agent/c1", agent="c1")

    def restore(self) -> Path:
        """Brings it back; returns where it is."""
        back = trash.restore(
            self.repo,
            trash.find(self.repo, "c1"),
            path=str(self.folder / "ws" / "back"),
            branch="agent/back",
            agent="back",
            origin=self.origin,
            box=self.fills,
        )
        return Path(back.path)

    def untouched(self) -> object:
        """What must be the same before and after: the person's branches, checkout and files."""
        refs = repository.refs_under(self.repo, "refs/heads/")
        mains = {
            name: oid for name, oid in refs.items() if not name.startswith("refs/heads/agent/")
        }
        return (
            mains,
            snapshot(self.repo.root),
            snapshot(self.outside),
            sorted(path.name for path in self.folder.iterdir()),
        )


Attack = Callable[[Target], None]


def index_of(*entries: tuple[bytes, str]) -> bytes:
    """An index file with such names, which git itself would not write."""
    body = b"DIRC" + struct.pack(">II", 2, len(entries))
    for name, oid in sorted(entries):
        entry = struct.pack(">10I", *([0] * 6), 0o100755, 0, 0, 4) + bytes.fromhex(oid)
        entry += struct.pack(">H", min(len(name), 0xFFF)) + name
        body += entry + b"\0" * (8 - len(entry) % 8)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def write_object(clone: Path, kind: bytes, content: bytes) -> str:
    """Writes a loose object as it is, whatever git would say of it."""
    raw = kind + b" %d\0" % len(content) + content
    oid = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    place = clone / ".git" / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    if not place.exists():
        place.write_bytes(zlib.compress(raw))
    return oid


def tree_of(clone: Path, *entries: tuple[bytes, bytes, str]) -> str:
    """Writes a tree with entries of any name: mode, name, id."""
    content = b"".join(
        mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
    )
    return write_object(clone, b"tree", content)


def commit_of(clone: Path, tree: str, *, parent: str = "") -> str:
    """Writes a commit of a tree."""
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    lines += ["author A <a@b> 1700000000 +0000", "committer A <a@b> 1700000000 +0000", "", "x", ""]
    return write_object(clone, b"commit", "\n".join(lines).encode())


def point_head(clone: Path, oid: str) -> None:
    """Has the branch be at a commit."""
    branch = clone / ".git" / (clone / ".git/HEAD").read_text().removeprefix("ref: ").strip()
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{oid}\n")


def index_that_climbs(target: Target) -> None:
    """An index entry with `..` in it, for a diff with folders."""
    blob = write_object(target.clone, b"blob", b"evil\n")
    climbing = (b"a/../../../planted", blob)
    (target.clone / ".git/index").write_bytes(index_of(climbing, (b"../planted", blob)))


def tree_that_climbs(target: Target) -> None:
    """A commit whose tree has folders called `..`."""
    blob = write_object(target.clone, b"blob", b"evil\n")
    top = tree_of(target.clone, (b"100755", b"planted", blob))
    for _ in range(4):
        top = tree_of(target.clone, (b"40000", b"..", top))
    point_head(target.clone, commit_of(target.clone, tree_of(target.clone, (b"40000", b"a", top))))


def tree_with_a_git_folder(target: Target) -> None:
    """A commit whose tree has a `.git`."""
    blob = write_object(target.clone, b"blob", b"[core]\n\tfsmonitor = touch planted\n")
    inner = tree_of(target.clone, (b"100644", b"config", blob))
    point_head(
        target.clone, commit_of(target.clone, tree_of(target.clone, (b"40000", b".git", inner)))
    )


def ref_with_commands(target: Target) -> None:
    """A branch whose name goes on, after a line feed, as another command to git."""
    tip = git(target.clone, "rev-parse", "HEAD")
    other = commit_of(target.clone, git(target.clone, "rev-parse", "HEAD^{tree}"), parent=tip)
    folder = target.clone / ".git/refs/heads" / "x\nupdate refs" / "heads"
    folder.mkdir(parents=True)
    (folder / f"main {other}").write_text(f"{tip}\n")
    (folder / "main").write_text(f"{tip}\n")


def nested_pointer_to_the_person(target: Target) -> None:
    """A nested `.git` file that names the person's own git folder, and one its objects."""
    hidden = target.repo.git_dir
    with (Path(hidden) / "config").open("a") as file:
        file.write(f'[remote "x"]\n\turl = https://me:{SECRET}@example.org/\n')
    for number, place in enumerate((hidden, f"{hidden}/objects", str(target.outside))):
        folder = target.clone / f"nested{number}"
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {place}\n")
        (folder / "file").write_text("x\n")


def no_objects_and_a_nested_pointer(target: Target) -> None:
    """The same in what is no clone any more: its objects are gone."""
    nested_pointer_to_the_person(target)
    shutil.rmtree(target.clone / ".git/objects")


def index_of_commits(target: Target) -> None:
    """An index that has commits and trees for files, also among those that conflict."""
    commit, tree = git(target.clone, "rev-parse", "HEAD", "HEAD^{tree}").split()
    lines = [f"100644 {commit} 0\tfoo", f"100644 {tree} 0\tbar"]
    lines += [f"100644 {commit} {stage}\tq" for stage in (1, 2)]
    entries = "".join(f"{line}\n" for line in lines).encode()
    git(target.clone, "update-index", "--index-info", stdin=entries)


def object_that_lies(target: Target) -> None:
    """A blob whose file holds something else than its id says."""
    place = _committed_code(target)[1]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob 5\0evil\n"))


def pack_that_lies(target: Target) -> None:
    """A pack whose index gives a blob the id of another."""
    blob, place = _committed_code(target)
    place.unlink()
    body = b"PACK" + struct.pack(">II", 2, 1) + bytes([0x35]) + zlib.compress(b"evil\n")
    pack = body + hashlib.sha1(body, usedforsecurity=False).digest()
    fanout = [int(number >= int(blob[:2], 16)) for number in range(256)]
    index = b"\xfftOc" + struct.pack(">257I", 2, *fanout) + bytes.fromhex(blob)
    index += struct.pack(">II", zlib.crc32(body[12:]), 12) + pack[-20:]
    index += hashlib.sha1(index, usedforsecurity=False).digest()
    folder = target.clone / ".git/objects/pack"
    folder.mkdir(exist_ok=True)
    (folder / "pack-lies.pack").write_bytes(pack)
    (folder / "pack-lies.idx").write_bytes(index)
    shown = git(target.clone, "cat-file", "blob", blob)
    assert shown == "evil", "plain git believes it"


def _committed_code(target: Target) -> tuple[str, Path]:
    """Commits a file; returns the id of its blob, and where that lies."""
    (target.clone / "code").write_text("harmless\n")
    git(target.clone, "add", "code")
    git(target.clone, "commit", "-q", "-m", "code")
    blob = git(target.clone, "rev-parse", "HEAD:code")
    return blob, target.clone / ".git/objects" / blob[:2] / blob[2:]


def tree_that_unfolds(target: Target) -> None:
    """A few objects that are a hundred million paths."""
    blob = write_object(target.clone, b"blob", b"x\n")
    level = tree_of(target.clone, *((b"100644", b"%02d" % n, blob) for n in range(10)))
    for _ in range(7):
        level = tree_of(target.clone, *((b"40000", b"%02d" % n, level) for n in range(10)))
    point_head(target.clone, commit_of(target.clone, level))


def garbage_for_stashes(target: Target) -> None:
    """Lines in the log of stashes that git never wrote."""
    logs = target.clone / ".git/logs/refs"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "stash").write_bytes(b"garbage\n\n\xff\xfe one two\n\0\0\0\nx " + b"y" * 40 + b"\n")


def index_of_zeros(target: Target) -> None:
    """An index that is none."""
    (target.clone / ".git/index").write_bytes(bytes(4096))


def index_cut_off(target: Target) -> None:
    """An index without its end."""
    path = target.clone / ".git/index"
    path.write_bytes(path.read_bytes()[:-30])


def pointer_to_nowhere(target: Target) -> None:
    """A nested `.git` file that names nothing, and one that is no pointer."""
    for name, text in (("n1", "gitdir: /nowhere/at/all\n"), ("n2", "hello\n"), ("n3", "")):
        (target.clone / name).mkdir()
        (target.clone / name / ".git").write_text(text)


def head_of_garbage(target: Target) -> None:
    """A HEAD that names no ref."""
    (target.clone / ".git/HEAD").write_bytes(b"ref: refs/heads/../../../outside/secret\n")


def pipes_everywhere(target: Target) -> None:
    """Pipes where git expects files: whoever opens one waits."""
    for name in ("index", "config", "packed-refs", "info/exclude", "logs/HEAD"):
        path = target.clone / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)


def include_of_a_pipe(target: Target) -> None:
    """A configuration that includes a pipe."""
    os.mkfifo(target.clone / "pipe")
    git(target.clone, "config", "include.path", str(target.clone / "pipe"))


def links_to_the_person(target: Target) -> None:
    """Links in the work tree and in the git folder to files of the person's."""
    (target.clone / "readme.txt").unlink()
    (target.clone / "readme.txt").symlink_to(target.outside / "secret")
    (target.clone / "folder").symlink_to(target.outside)
    (target.clone / ".git/info/attributes").unlink(missing_ok=True)
    (target.clone / ".git/info/attributes").symlink_to(target.outside / "secret")
    (target.clone / ".git/refs/heads/stolen").symlink_to(target.outside / "secret")


def objects_that_are_links(target: Target) -> None:
    """An object folder and a list of others that lead to the person's repository."""
    info = target.clone / ".git/objects/info"
    with (info / "alternates").open("a") as file:
        file.write(f"{target.repo.git_dir}/objects\n")
    hidden = git(target.repo.root, "hash-object", "-w", "--stdin", stdin=SECRET.encode())
    tree = tree_of(target.clone, (b"100644", b"stolen", hidden))
    point_head(target.clone, commit_of(target.clone, tree))


def dig(top: Path, *, depth: int = 30, content: bytes = b"") -> None:
    """Makes folders below each other until their path is longer than the system takes at once.

    A file called `deep` is in the last one.
    """
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(DEEP, dir_fd=here)
        below = os.open(DEEP, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with os.fdopen(os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as file:
        os.close(here)
        file.write(content)


def opened_deep(top: Path, *, depth: int = 30) -> int:
    """The folder that `dig` ended in, open."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        below = os.open(DEEP, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    return here


def found_deep(top: Path) -> bytes:
    """What is in the file that `dig` left."""
    here = opened_deep(top)
    with os.fdopen(os.open("deep", os.O_RDONLY, dir_fd=here), "rb") as file:
        os.close(here)
        return file.read()


def deep_folders(target: Target) -> None:
    """A path that is longer than the system takes at once."""
    dig(target.clone)


def deep_git_folders(target: Target) -> None:
    """The same in git folders: its own, and that of a nested repository."""
    (target.clone / "nested").mkdir()
    git(target.clone / "nested", "init", "-q")
    for place in (".git", ".git/refs", ".git/objects", "nested/.git"):
        dig(target.clone / place)


ATTACKS: tuple[Attack, ...] = (
    index_that_climbs,
    tree_that_climbs,
    tree_with_a_git_folder,
    ref_with_commands,
    nested_pointer_to_the_person,
    no_objects_and_a_nested_pointer,
    index_of_commits,
    object_that_lies,
    pack_that_lies,
    tree_that_unfolds,
    garbage_for_stashes,
    index_of_zeros,
    index_cut_off,
    pointer_to_nowhere,
    head_of_garbage,
    pipes_everywhere,
    include_of_a_pipe,
    links_to_the_person,
    objects_that_are_links,
    deep_folders,
    deep_git_folders,
)
