"""Workspaces with everything in them that a file system and git can say, by a seed; and all of it.

`build` makes one, `everything` says what is there, and `without` takes away what a salvage lists as
not kept: the rest has to come back.
"""

from __future__ import annotations

import os
import random
import stat
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.git.conftest import git

from windlass.core.printable import printable_line
from windlass.git.manifest import Dropped

FILE_MODES = (0o644, 0o600, 0o755, 0o444, 0o400, 0o000, 0o1644, 0o4755, 0o2755, 0o6711, 0o2644)
FOLDER_MODES = (0o755, 0o700, 0o775, 0o500, 0o555, 0o000, 0o2775, 0o1777, 0o3711, 0o4755)
ATTRIBUTES = ("user.plain", "user.a=b", os.fsdecode(b"user.\xff\n\x1b[31m"), "user.empty")
HEADS = ("own", "other", "detached", "unborn", "unborn own")
_ACCESS = "system.posix_acl_access"
_DEFAULT = "system.posix_acl_default"


class Thing(NamedTuple):
    """A file, folder or link."""

    kind: str
    mode: int
    content: bytes
    attributes: dict[str, bytes]


class Everything(NamedTuple):
    """All that is to be compared of a workspace."""

    things: dict[str, Thing]
    files: frozenset[frozenset[str]]
    """The names that are one file, where there are several."""
    entries: tuple[str, ...]
    """What is in the index."""
    staged: dict[str, str]
    """The content of that."""
    head: str


def build(ws: Path, outside: Path, dice: random.Random, *, head: str) -> None:
    """Fills a workspace of the repository that tests have."""
    folders = _folders(ws, dice)
    nested = _nested(dice.choice(folders))
    files = [_file(dice.choice([ws, *folders]) / f"file{number}", dice) for number in range(9)]
    files += [_file(nested / f"inner{number}", dice) for number in range(2)]
    for number in range(dice.randrange(6)):
        name = dice.choice([ws, nested, *folders]) / f"name{number}"
        name.hardlink_to(dice.choice(files))
    (ws / "pointer").symlink_to("nowhere")
    os.link(ws / "pointer", dice.choice(folders) / "pointer2", follow_symlinks=False)
    if dice.random() < 0.5:
        outside.mkdir(exist_ok=True)
        (outside / "theirs").write_text("theirs\n")
        (ws / "shared").hardlink_to(outside / "theirs")
    if dice.random() < 0.5:
        (ws / "pipes").mkdir()
        os.mkfifo(ws / "pipes" / "pipe")
    (ws / "cache").mkdir()
    (ws / "cache" / "ignored").write_text("ignored\n")
    _stage(ws, dice)
    _point_head(ws, head)
    for path in [ws / "cache", ws / "src", *folders, *files]:
        _give_attributes(path, dice)
    for path in files:
        path.chmod(dice.choice(FILE_MODES))
    for path in (ws / "src", ws / "cache", *folders):
        path.chmod(dice.choice(FOLDER_MODES))
    ws.chmod(dice.choice((0o755, 0o2770, 0o1777)))


def _folders(ws: Path, dice: random.Random) -> list[Path]:
    folders: list[Path] = []
    for number in range(6):
        folder = dice.choice([ws, *folders]) / f"folder{number}"
        folder.mkdir()
        folders.append(folder)
    return folders


def _file(path: Path, dice: random.Random) -> Path:
    path.write_bytes(dice.randbytes(dice.randrange(100)))
    return path


def _nested(folder: Path) -> Path:
    git(folder, "init", "-q", "--shared=group", "nested")
    (folder / "nested" / "work").write_text("work\n")
    git(folder / "nested", "add", "work")
    who = ("-c", "user.name=Agent", "-c", "user.email=agent@example.org")
    git(folder / "nested", *who, "commit", "-q", "-m", "nested")
    return folder / "nested" / ".git"


def _stage(ws: Path, dice: random.Random) -> None:
    """Stages what is no longer there, or something else by now."""
    for number in range(dice.randrange(1, 4)):
        path = ws / f"staged{number}"
        path.write_text(f"staged {number} {dice.random()}\n")
        git(ws, "add", path.name)
        if dice.random() < 0.6:
            path.unlink()
        else:
            path.write_text("later\n")
    (ws / "meant").write_text("meant\n")
    git(ws, "add", "-N", "meant")
    git(ws, "rm", "-q", "--cached", "run.sh")
    sides = (f"{side} {dice.random()}".encode() for side in ("base", "ours", "theirs"))
    ids = [git(ws, "hash-object", "-w", "--stdin", stdin=side) for side in sides]
    lines = [f"100644 {oid} {stage}\tclash\n" for stage, oid in enumerate(ids, 1)]
    git(ws, "update-index", "--index-info", stdin="".join(lines).encode())


def _point_head(ws: Path, where: str) -> None:
    if where == "other":
        git(ws, "branch", "side")
        git(ws, "symbolic-ref", "HEAD", "refs/heads/side")
    elif where == "detached":
        git(ws, "update-ref", "--no-deref", "HEAD", "HEAD^{commit}")
    elif where == "unborn":
        git(ws, "symbolic-ref", "HEAD", "refs/heads/not/yet")
    elif where == "unborn own":
        git(ws, "update-ref", "-d", git(ws, "symbolic-ref", "HEAD"))


def _give_attributes(path: Path, dice: random.Random) -> None:
    for name in ATTRIBUTES:
        if dice.random() < 0.2:
            value = b"" if name == "user.empty" else dice.randbytes(dice.randrange(1, 300))
            os.setxattr(path, name, value)
    if dice.random() < 0.2:
        os.setxattr(path, _ACCESS, _access_list())
    if path.is_dir() and dice.random() < 0.2:
        os.setxattr(path, _DEFAULT, _access_list())
    if dice.random() < 0.1 and os.geteuid() == 0:
        os.setxattr(path, "trusted.mark", b"x")


def _access_list() -> bytes:
    nobody = 0xFFFFFFFF
    rights = ((1, 7, nobody), (2, 5, 1234), (4, 5, nobody), (16, 7, nobody), (32, 1, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *right) for right in rights)


def everything(ws: Path, *, branch: str) -> Everything:
    """Says what is there, nested git folders too; the workspace's own by what git says of it."""
    things = {".": _thing(ws)}
    names: dict[int, set[str]] = {}
    for here, folders, files in os.walk(ws):
        if Path(here) == ws:
            folders[:] = [name for name in folders if name != ".git"]
        for name in [*folders, *files]:
            if here == str(ws) and name == ".git":
                continue
            path = Path(here) / name
            relative = str(path.relative_to(ws))
            things[relative] = _thing(path)
            if path.is_symlink() or not path.is_dir():
                names.setdefault(path.lstat().st_ino, set()).add(relative)
    shared = frozenset(frozenset(group) for group in names.values() if len(group) > 1)
    entries = git(ws, "ls-files", "-s", "-v", "-z").split("\0")[:-1]
    ids = {entry.split(" ")[2] for entry in entries}
    there = {oid: git(ws, "cat-file", "blob", oid) for oid in ids}
    return Everything(things, shared, tuple(entries), there, _head(ws, branch))


def _thing(path: Path) -> Thing:
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    found = {
        name: os.getxattr(path, name, follow_symlinks=False)
        for name in os.listxattr(path, follow_symlinks=False)
        if name != "security.selinux"
    }
    if stat.S_ISLNK(info.st_mode):
        return Thing("link", 0, os.fsencode(path.readlink()), found)
    if stat.S_ISDIR(info.st_mode):
        return Thing("folder", mode, b"", found)
    if stat.S_ISREG(info.st_mode):
        return Thing("file", mode, path.read_bytes(), found)
    return Thing("special", mode, b"", found)


def _head(ws: Path, branch: str) -> str:
    admin = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    text = (admin / "HEAD").read_text().strip()
    if not text.startswith("ref: "):
        return text
    ref = text.removeprefix("ref: ")
    at = git(ws, "for-each-ref", "--format=%(objectname)", ref)
    return f"{'own' if ref == f'refs/heads/{branch}' else ref} {at or 'unborn'}"


def without(there: Everything, dropped: Iterable[Dropped], *, base: str) -> Everything:
    """Takes away what is listed as not kept."""
    things, files, head = dict(there.things), there.files, there.head
    for drop in dropped:
        path, why = drop.path or ".", drop.reason
        if why.startswith("a socket, pipe or device"):
            del things[path]
            continue
        if path == ".git/HEAD":
            assert head == "own unborn", why
            head = f"own {base}"
        for part in why.split("; "):
            if part.startswith("the bit alone is not kept: "):
                things[path] = things[path]._replace(mode=things[path].mode & ~0o6000)
            if part.startswith("extended attributes alone are not kept: "):
                listed = part.partition(": ")[2].split(", ")
                for name in _names(there.files, path):
                    things[name] = _without_attributes(things[name], listed)
            if part.startswith("kept, but not as one file with ") and drop.files:
                files = frozenset(_split(files, path))
    return there._replace(things=things, files=files, head=head)


def _names(files: frozenset[frozenset[str]], path: str) -> set[str]:
    """All names of a file that are in the same part of a salvage; one of them is listed."""
    group = next((group for group in files if path in group), frozenset({path}))
    return {name for name in group if _is_inside(name) == _is_inside(path)}


def _is_inside(name: str) -> bool:
    return "/.git/" in f"{name}/"


def _without_attributes(thing: Thing, listed: list[str]) -> Thing:
    left = {
        name: value
        for name, value in thing.attributes.items()
        if printable_line(name) not in listed
    }
    return thing._replace(attributes=left)


def _split(files: frozenset[frozenset[str]], path: str) -> Iterator[frozenset[str]]:
    """Parts the names in a nested git folder from others."""
    for group in files:
        if path not in group:
            yield group
            continue
        inside = set(filter(_is_inside, group))
        for part in (inside, group - inside):
            if len(part) > 1:
                yield frozenset(part)
