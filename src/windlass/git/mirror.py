# ruff: noqa: PTH103, PTH108, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""What clones call `origin`: a bare repository of ours that shows the main one's refs, and no more.

Owns that folder and the objects in it: what those refs reach, what we pin, and nothing else that
the main repository has, such as stashes and trash. Clones borrow them. Boxes see it read-only, so
that a fetch and a rebase work inside and a push does not.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from windlass import whole_file
from windlass.git import object_transfer, workspace_state
from windlass.git.blobs import kinds
from windlass.git.quarantine import format_config
from windlass.git.repository import object_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from windlass.git.repository import Repository

SHOWN = ("refs/heads/", "refs/tags/", "refs/remotes/")
"""Not refs/windlass and not refs/stash: those are ours and the person's."""
_PINNED = ("refs/windlass/base/", "refs/windlass/green")
"""Where agents begin, which a branch may have left behind by then; not shown."""
_SEEN = "windlass-seen"
_BROUGHT = "windlass-tips"
_LIMIT = 256 << 20
_BARE = b"\tbare = true\n"


class Ref(NamedTuple):
    """One ref as the packed-refs file has it; `peeled` is empty for all but annotated tags."""

    name: bytes
    oid: bytes
    peeled: bytes


def refresh(repo: Repository, folder: str, *, also: Iterable[str] = ()) -> bool:
    """Makes `folder` show the main repository's refs as they are now; says whether that is news.

    The commits in `also` are brought too, with all that they reach.
    """
    more = set(also)
    # The lock is not in the folder: whoever can read a file can hold it locked.
    with workspace_state.locked(repo, "mirror"):
        # Looked at first, so that what moves meanwhile is news for the next call.
        seen = _signature(repo)
        if _is_in_step(folder, seen) and _has_all(repo, folder, more):
            return False
        for name in ("refs", "objects/info", "objects/pack"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        shown = refs(repo)
        news = [put(os.path.join(folder, "config"), format_config(object_format(repo)) + _BARE)]
        head = os.path.join(folder, "HEAD")
        if not os.path.lexists(head):
            # Without one it is no repository to git.
            put(head, b"ref: refs/heads/none\n")
        _bring(repo, folder, {ref.oid.decode() for ref in shown} | _pinned(repo) | more)
        for oid in more if more and _is_partial(repo) else ():
            object_transfer.carry_tree(repo, folder, oid)
        news += [
            # Until lately a mirror borrowed all that the main repository has.
            put(os.path.join(folder, "objects/info/alternates"), b""),
            put(os.path.join(folder, "shallow"), shallow(repo)),
            put(os.path.join(folder, "packed-refs"), packed(shown)),
            put(head, _head(repo)),
        ]
        put(os.path.join(folder, _SEEN), _stamp(seen, folder))
        return any(news)


def _is_in_step(folder: str, seen: bytes) -> bool:
    return workspace_state.read_small(os.path.join(folder, _SEEN), limit=_LIMIT) == _stamp(
        seen, folder
    )


def _has_all(repo: Repository, folder: str, tips: set[str]) -> bool:
    return not tips or (tips <= _brought(repo, folder) and not _is_partial(repo))


def _bring(repo: Repository, folder: str, wanted: set[str]) -> None:
    had = _brought(repo, folder)
    if wanted <= had:
        return
    came = object_transfer.carry(repo, folder, wanted=wanted - had, had=had)
    object_transfer.tidy(folder)
    tips = sorted((wanted & had) | came)
    lines = [_cut(repo), " ".join(object_transfer.packs(folder)), *tips]
    put(os.path.join(folder, _BROUGHT), "\n".join(lines).encode())


def _brought(repo: Repository, folder: str) -> set[str]:
    """Gives tips of which everything is in the mirror; none where a pack of it was lost."""
    content = workspace_state.read_small(os.path.join(folder, _BROUGHT), limit=_LIMIT) or b"\n"
    cut, had, *tips = content.decode().split("\n")
    # Where the history is cut off elsewhere now, more belongs to the same tips.
    whole = cut == _cut(repo) and set(had.split()) <= set(object_transfer.packs(folder))
    return set(tips) if whole else set()


def brought(repo: Repository, folder: str) -> set[str]:
    """Gives tips of which everything can be borrowed from the mirror."""
    with workspace_state.locked(repo, "mirror"):
        return _brought(repo, folder)


def _cut(repo: Repository) -> str:
    return hashlib.sha256(shallow(repo)).hexdigest()


def _pinned(repo: Repository) -> set[str]:
    said = repo.git("for-each-ref", "--format=%(objectname)", *_PINNED)
    head = os.fsdecode(_head(repo).strip())
    detached = set() if head.startswith("ref:") else {head}
    return set(said.out.decode().split()) | detached


def _is_partial(repo: Repository) -> bool:
    """Says whether the main repository lacks objects that it would get when it needs them."""
    named = r"^(remote\..*\.promisor|extensions\.partialclone)$"
    return repo.git("config", "--get-regexp", named, ok=(0, 1)).code == 0


def objects(folder: str) -> str:
    """Names the folder that clones borrow from."""
    return os.path.realpath(os.path.join(folder, "objects"))


def refs(repo: Repository) -> list[Ref]:
    """Lists the refs that are shown: all but those that name what is not there."""
    for extra in ("%(*objectname)", ""):
        said = repo.git(
            "for-each-ref", f"--format=%(objectname) {extra} %(refname)", *SHOWN, ok=(0, 128)
        )
        # A tag whose object is lost cannot be peeled; then none is.
        if said.code == 0:
            break
    refs = []
    for line in said.out.splitlines():
        oid, peeled, name = line.split(b" ", 2)
        refs.append(Ref(name, oid, peeled))
    # With one that names nothing, `git log --all` would fail in every clone.
    there = kinds(repo.dirs, {ref.oid.decode() for ref in refs})
    return [ref for ref in refs if ref.oid.decode() in there]


def packed(listed: Iterable[Ref]) -> bytes:
    """Writes refs as git's packed-refs file."""
    ordered = sorted(listed)
    traits = b" peeled sorted" if any(ref.peeled for ref in ordered) else b" sorted"
    lines = [b"# pack-refs with:" + traits]
    for ref in ordered:
        lines.append(ref.oid + b" " + ref.name)
        if ref.peeled:
            lines.append(b"^" + ref.peeled)
    return b"\n".join(lines) + b"\n"


def alternates(folder: str) -> bytes:
    """Writes a mirror's object folder as git's list of folders to borrow from."""
    lent = objects(folder)
    text = workspace_state.quoted_alternate(lent) if "\n" in lent else lent
    return os.fsencode(text) + b"\n"


def shallow(repo: Repository) -> bytes:
    """Gives the commits at which the main repository's history is cut off; mostly none."""
    return workspace_state.read_small(os.path.join(repo.git_dir, "shallow"), limit=_LIMIT) or b""


def put(path: str, content: bytes) -> bool:
    """Replaces a file in one step, an empty one by none; says whether its content is new."""
    had = workspace_state.read_small(path, limit=_LIMIT)
    if had == content or (had is None and not content):
        return False
    if not content:
        os.unlink(path)
        return True
    whole_file.replace(path, content, mode=0o644)
    return True


def _head(repo: Repository) -> bytes:
    return (
        workspace_state.read_small(os.path.join(repo.git_dir, "HEAD")) or b"ref: refs/heads/main\n"
    )


def _signature(repo: Repository) -> bytes:
    """Tells one state of the main repository's refs from another, without git."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(repo.git_dir)))
    for name in ("packed-refs", "shallow"):
        digest.update(repr(_stat(os.path.join(repo.git_dir, name))).encode())
    for name in ("HEAD", "reftable/tables.list"):
        digest.update(repr(workspace_state.read_small(os.path.join(repo.git_dir, name))).encode())
    # By content: two moves in one tick of the clock leave the same times.
    for path in _loose(repo):
        digest.update(os.fsencode(path) + b"\0" + (workspace_state.read_small(path) or b"") + b"\0")
    return digest.hexdigest().encode()


def _stamp(seen: bytes, folder: str) -> bytes:
    """Ties a state of the main repository to the packs that the mirror had for it."""
    return seen + b" " + " ".join(object_transfer.packs(folder)).encode()


def _stat(path: str) -> tuple[int, ...]:
    try:
        info = os.lstat(path)
    except OSError:
        return ()
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _loose(repo: Repository) -> Iterator[str]:
    for top in (*SHOWN, *_PINNED):
        if not top.endswith("/"):
            yield os.path.join(repo.git_dir, top)
        for here, folders, names in os.walk(os.path.join(repo.git_dir, top)):
            folders.sort()
            yield from (os.path.join(here, name) for name in sorted(names))
