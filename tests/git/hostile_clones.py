"""What an agent can write into its clone to lead git, or us, out of it; and a look at all of that.

An `Attack` prepares a clone. `Scene` has the clone with its box, and asks everything that the
daemon asks: nothing outside may change by it, and no secret may come out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.git.conftest import git, snapshot

from windlass.box import reading
from windlass.core.errors import WindlassError
from windlass.git import changes, clones, mirror, repository, status, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import Salvaged, salvage

SECRET = "what only the person knows"  # noqa: S105 - of this test


class Scene:
    """A repository with a secret beside it, and a clone that an agent has written."""

    def __init__(self, repo: Repository, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        self.clone = folder / "ws" / "c1"
        self._looks = 0
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "secret").write_text(f"{SECRET}\n")
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
        return reading.prefix(
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
                said += changes.diff(
                    self.repo, str(self.clone), "main", stat=stat, color=False, box=self.reads
                )
        self._looks += 1
        into = self.folder / "diff" / str(self._looks)
        with contextlib.suppress(WindlassError):
            changes.materialise(self.repo, str(self.clone), "main", str(into), box=self.reads)
        files = (path for path in into.rglob("*") if path.is_file() and not path.is_symlink())
        return said + b"".join(path.read_bytes() for path in files)

    def keep(self) -> Salvaged:
        """Salvages it, as an ending does."""
        return salvage(
            self.repo,
            path=str(self.clone),
            agent="c1",
            stamp="1",
            meta={},
            branch="agent/c1",
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


Attack = Callable[[Scene], None]


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
    (clone / ".git/refs/heads/agent").mkdir(parents=True, exist_ok=True)
    (clone / ".git/refs/heads/agent/c1").write_text(f"{oid}\n")


def index_that_climbs(scene: Scene) -> None:
    """An index entry with `..` in it, for a diff with folders."""
    blob = write_object(scene.clone, b"blob", b"evil\n")
    climbing = (b"a/../../../planted", blob)
    (scene.clone / ".git/index").write_bytes(index_of(climbing, (b"../planted", blob)))


def tree_that_climbs(scene: Scene) -> None:
    """A commit whose tree has folders called `..`."""
    blob = write_object(scene.clone, b"blob", b"evil\n")
    top = tree_of(scene.clone, (b"100755", b"planted", blob))
    for _ in range(4):
        top = tree_of(scene.clone, (b"40000", b"..", top))
    point_head(scene.clone, commit_of(scene.clone, tree_of(scene.clone, (b"40000", b"a", top))))


def tree_with_a_git_folder(scene: Scene) -> None:
    """A commit whose tree has a `.git`."""
    blob = write_object(scene.clone, b"blob", b"[core]\n\tfsmonitor = touch planted\n")
    inner = tree_of(scene.clone, (b"100644", b"config", blob))
    point_head(
        scene.clone, commit_of(scene.clone, tree_of(scene.clone, (b"40000", b".git", inner)))
    )


def ref_with_commands(scene: Scene) -> None:
    """A branch whose name goes on, after a line feed, as another command to git."""
    tip = git(scene.clone, "rev-parse", "HEAD")
    other = commit_of(scene.clone, git(scene.clone, "rev-parse", "HEAD^{tree}"), parent=tip)
    folder = scene.clone / ".git/refs/heads" / "x\nupdate refs" / "heads"
    folder.mkdir(parents=True)
    (folder / f"main {other}").write_text(f"{tip}\n")
    (folder / "main").write_text(f"{tip}\n")


def nested_pointer_to_the_person(scene: Scene) -> None:
    """A nested `.git` file that names the person's own git folder, and one its objects."""
    hidden = scene.repo.git_dir
    with (Path(hidden) / "config").open("a") as file:
        file.write(f'[remote "x"]\n\turl = https://me:{SECRET}@example.org/\n')
    for number, target in enumerate((hidden, f"{hidden}/objects", str(scene.outside))):
        folder = scene.clone / f"nested{number}"
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {target}\n")
        (folder / "file").write_text("x\n")


def pack_that_lies(scene: Scene) -> None:
    """A blob whose file holds something else than its id says."""
    (scene.clone / "code").write_text("harmless\n")
    git(scene.clone, "add", "code")
    git(scene.clone, "commit", "-q", "-m", "code")
    blob = git(scene.clone, "rev-parse", "HEAD:code")
    place = scene.clone / ".git/objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob 5\0evil\n"))


def tree_that_unfolds(scene: Scene) -> None:
    """A few objects that are a hundred million paths."""
    blob = write_object(scene.clone, b"blob", b"x\n")
    level = tree_of(scene.clone, *((b"100644", b"%02d" % n, blob) for n in range(10)))
    for _ in range(7):
        level = tree_of(scene.clone, *((b"40000", b"%02d" % n, level) for n in range(10)))
    point_head(scene.clone, commit_of(scene.clone, level))


def garbage_for_stashes(scene: Scene) -> None:
    """Lines in the log of stashes that git never wrote."""
    logs = scene.clone / ".git/logs/refs"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "stash").write_bytes(b"garbage\n\n\xff\xfe one two\n\0\0\0\nx " + b"y" * 40 + b"\n")


def index_of_zeros(scene: Scene) -> None:
    """An index that is none."""
    (scene.clone / ".git/index").write_bytes(bytes(4096))


def index_cut_off(scene: Scene) -> None:
    """An index without its end."""
    path = scene.clone / ".git/index"
    path.write_bytes(path.read_bytes()[:-30])


def pointer_to_nowhere(scene: Scene) -> None:
    """A nested `.git` file that names nothing, and one that is no pointer."""
    for name, text in (("n1", "gitdir: /nowhere/at/all\n"), ("n2", "hello\n"), ("n3", "")):
        (scene.clone / name).mkdir()
        (scene.clone / name / ".git").write_text(text)


def head_of_garbage(scene: Scene) -> None:
    """A HEAD that names no ref."""
    (scene.clone / ".git/HEAD").write_bytes(b"ref: refs/heads/../../../outside/secret\n")


def pipes_everywhere(scene: Scene) -> None:
    """Pipes where git expects files: whoever opens one waits."""
    for name in ("index", "config", "packed-refs", "info/exclude", "logs/HEAD"):
        path = scene.clone / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)


def include_of_a_pipe(scene: Scene) -> None:
    """A configuration that includes a pipe."""
    os.mkfifo(scene.clone / "pipe")
    git(scene.clone, "config", "include.path", str(scene.clone / "pipe"))


def links_to_the_person(scene: Scene) -> None:
    """Links in the work tree and in the git folder to files of the person's."""
    (scene.clone / "readme.txt").unlink()
    (scene.clone / "readme.txt").symlink_to(scene.outside / "secret")
    (scene.clone / "folder").symlink_to(scene.outside)
    (scene.clone / ".git/info/attributes").unlink(missing_ok=True)
    (scene.clone / ".git/info/attributes").symlink_to(scene.outside / "secret")
    (scene.clone / ".git/refs/heads/stolen").symlink_to(scene.outside / "secret")


def objects_that_are_links(scene: Scene) -> None:
    """An object folder and a list of others that lead to the person's repository."""
    info = scene.clone / ".git/objects/info"
    with (info / "alternates").open("a") as file:
        file.write(f"{scene.repo.git_dir}/objects\n")
    hidden = git(scene.repo.root, "hash-object", "-w", "--stdin", stdin=SECRET.encode())
    tree = tree_of(scene.clone, (b"100644", b"stolen", hidden))
    point_head(scene.clone, commit_of(scene.clone, tree))


def deep_folders(scene: Scene) -> None:
    """A path that is longer than the system takes at once."""
    here = os.open(scene.clone, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


ATTACKS: tuple[Attack, ...] = (
    index_that_climbs,
    tree_that_climbs,
    tree_with_a_git_folder,
    ref_with_commands,
    nested_pointer_to_the_person,
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
)
