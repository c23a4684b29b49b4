"""What a salvage knows about itself: `windlass.json` inside its commit, and its short summary.

The JSON is plain ASCII; a byte of a name that is no UTF-8 is a lone surrogate there, as Python's
file system names have it.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from windlass.core import shapes
from windlass.core.errors import GitError

if TYPE_CHECKING:
    from windlass.git.repository import Repository

NAME = "windlass.json"
VERSION = 1
_MANY = 200
TRASH = "refs/windlass/trash/"
RESTORED = "windlass-restored"
"""In a workspace's git folder: the salvage that it was restored from, once it was."""


def ref_of(agent: str, stamp: str) -> str:
    """Names the ref that holds a salvage."""
    return f"{TRASH}{agent}/{stamp}"


_RAW = "more than are listed; they are in the index that is kept as raw bytes"
LISTS = {
    "refs": (2 << 20, "refs more than are put back; they are kept as raw bytes"),
    "stashes": (1 << 18, "stashes more than are put back; they are kept as raw bytes"),
    "nested": (1 << 18, "nested repositories more than are put back; they are kept"),
    "empty": (1 << 19, "empty folders more than are put back"),
    "modes": (1 << 19, "files with odd permissions more than get them back"),
    "hollow": (1 << 18, "files with many holes more than are listed; they are kept"),
    "skip_worktree": (1 << 18, _RAW),
    "assume_unchanged": (1 << 18, _RAW),
}
"""The bytes of each list that an agent can make as long as it likes, and what the others are."""
_MOST_DROPPED = 1 << 18


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was seen but not kept."""

    path: str
    reason: str
    size: int = 0
    files: int = 1


def few(dropped: list[Dropped]) -> list[Dropped]:
    """Lists things of one kind by themselves, and of many of them the rest as one."""
    listed, rest = dropped[:_MANY], dropped[_MANY:]
    if len(rest) < 2:
        return dropped
    others = msgspec.structs.replace(
        rest[0],
        reason=f"{rest[0].reason}; and so on with {len(rest) - 1} more",
        size=sum(drop.size for drop in rest),
        files=sum(drop.files for drop in rest),
    )
    return [*listed, others]


class Stash(msgspec.Struct, frozen=True, kw_only=True):
    """One stash of the workspace."""

    oid: str
    message: str


class Nested(msgspec.Struct, frozen=True, kw_only=True):
    """A repository inside the workspace: where its `.git` was and what that pointed to."""

    path: str
    tar: str
    target: Literal["none", "admin", "worktree", "module", "elsewhere"] = "none"
    target_path: str = ""
    target_tar: str = ""
    head: str = ""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How much a salvage holds."""

    changed: int = 0
    untracked: int = 0
    ignored: int = 0
    nested: int = 0
    stashes: int = 0
    commits: int = 0
    size: int = 0
    dropped: int = 0


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a restore needs beyond trees and tars."""

    version: int = VERSION
    agent: str
    stamp: str
    time: int = 0
    path: str = ""
    kind: Literal["worktree", "clone", "plain"] = "plain"
    folder: bool = False
    """False when the folder had been deleted by hand."""
    folder_mode: int | None = None
    """Its permissions; None where they were not written down."""
    branch: str | None = None
    tip: str | None = None
    head: str | None = None
    head_ref: str | None = None
    base: str | None = None
    index: bool = False
    """True when the index differed from HEAD and has a tree of its own."""
    hollow: list[str] = []
    """Files with more holes than can be written out, which are in `beyond.tar`."""
    empty: list[str] = []
    file_mode: int = 0o644
    exec_mode: int = 0o755
    modes: dict[str, int] = {}
    subfolder_mode: int | None = None
    """What the folders below have for permissions; None where that was not written down."""
    subfolder_modes: dict[str, int] = {}
    """Those that differ."""
    links: list[list[str]] = []
    """Names that are one file."""
    attributes: dict[str, dict[str, str]] = {}
    """Extended attributes of files and folders, in base64."""
    skip_worktree: list[str] = []
    assume_unchanged: list[str] = []
    nested: list[Nested] = []
    dropped: list[Dropped] = []
    stashes: list[Stash] = []
    refs: dict[str, str] = {}
    """A clone's own refs and a worktree's private ones."""
    tags: list[str] = []
    summary: Summary = Summary()
    meta: dict[str, object] = {}


def shortened(manifest: Manifest) -> Manifest:
    """Leaves out what would make a manifest long to read: an agent decides how much there is.

    Whoever lists the trash reads all manifests, and nothing else of the process runs meanwhile.
    """
    short: dict[str, Any] = {}
    dropped = list(manifest.dropped)
    for name, (most, what) in LISTS.items():
        values = getattr(manifest, name)
        kept = _first(values, most)
        if len(kept) < len(values):
            short[name] = kept
            reason = f"{len(values) - len(kept):,} {what}"
            dropped.insert(0, Dropped(path=f"{NAME}: {name}", reason=reason, files=0))
    kept = _first(dropped, _MOST_DROPPED)
    rest = dropped[len(kept) :]
    if rest:
        size, files = sum(drop.size for drop in rest), sum(drop.files for drop in rest)
        reason = f"{len(rest):,} more that are not listed"
        kept.append(Dropped(path="...", reason=reason, size=size, files=files))
    return msgspec.structs.replace(manifest, dropped=kept, **short)


def _first(values: list[Any] | dict[str, Any], most: int) -> Any:
    """Gives the first of them, up to so many bytes."""
    room = most
    number = 0
    for value in values.items() if isinstance(values, dict) else values:
        room -= len(msgspec.json.encode(_text(value)))
        if room < 0:
            break
        number += 1
    if isinstance(values, dict):
        return dict(itertools.islice(values.items(), number))
    return values[:number]


def _text(value: Any) -> str:
    """Writes a value so that it can be measured, with names that are no text."""
    return str(value).encode(errors="backslashreplace").decode()


def encode(manifest: Manifest) -> bytes:
    """Writes the manifest."""
    plain = msgspec.to_builtins(manifest)
    return json.dumps(plain, indent=1, ensure_ascii=True, default=str).encode() + b"\n"


def decode(content: bytes) -> Manifest:
    """Reads a manifest."""
    try:
        return shapes.decode(content, Manifest)
    except msgspec.DecodeError:  # a name in it is no text
        return shapes.convert(json.loads(content), Manifest)


def read(repo: Repository, commit: str) -> Manifest:
    """Reads the manifest of a salvage."""
    said = repo.git("cat-file", "blob", f"{commit}:{NAME}", ok=(0, 128))
    if said.code != 0:
        raise GitError(
            f"{commit} holds no {NAME}", "it was not written by Windlass; `git show` it by hand"
        )
    return decode(said.out)
