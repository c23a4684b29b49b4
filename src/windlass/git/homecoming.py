# ruff: noqa: PTH103, PTH118, PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a clone's objects into quarantine without obeying anything in the clone.

A clone's configuration, alternates, links and pointers are agent-written: fetching from it can
pull another repository's objects into ours. So its object files are copied, plain files only, into
a folder of our own; git packs from there, and every id is computed again on arrival.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import msgspec

from windlass.git.contents import open_plain
from windlass.git.places import quoted_alternate
from windlass.git.quarantine import DURABLE
from windlass.git.repository import refs_under
from windlass.git.runner import LONG, run
from windlass.git.walk import walk

if TYPE_CHECKING:
    from windlass.git.places import Place
    from windlass.git.quarantine import Quarantine
    from windlass.git.repository import Repository


def bring(repo: Repository, inside: Quarantine, *, place: Place, wanted: set[str]) -> None:
    """Makes everything that `wanted` reaches available in the quarantine."""
    if place.git_dir is None:
        return
    with tempfile.TemporaryDirectory(prefix="incoming-", dir=inside.folder) as folder:
        _copy_objects(os.path.join(place.git_dir, "objects"), folder)
        seen = msgspec.structs.replace(inside.dirs, objects=quoted_alternate(folder))
        there = msgspec.structs.replace(inside, dirs=seen).known(wanted)
        had = sorted(set(refs_under(repo, "refs").values()))
        tips = [*sorted(there), *(f"^{oid}" for oid in had)]
        walked = "\n".join(tips).encode() + b"\n"
        with open(os.path.join(folder, "incoming.pack"), "w+b") as pack:
            run(
                ["pack-objects", "-q", "--revs", "--stdout"],
                dirs=seen,
                stdin=walked,
                sink=pack,
                config=DURABLE,
                timeout=LONG,
            )
            pack.seek(0)
            run(
                ["index-pack", "--stdin"],
                dirs=inside.dirs,
                source=pack,
                config=DURABLE,
                timeout=LONG,
            )
    # The copies are gone now: whatever a lying object file left out is missed here.
    run(["rev-list", "--objects", "--quiet", "--stdin"], dirs=inside.dirs, stdin=walked)


def _copy_objects(source: str, folder: str) -> None:
    for entry in walk(source):
        if entry.kind == "folder":
            os.makedirs(os.path.join(os.fsencode(folder), entry.path), exist_ok=True)
        elif entry.kind == "file" and not entry.path.startswith(b"info/"):
            target = os.path.join(os.fsencode(folder), entry.path)
            origin = os.path.join(os.fsencode(source), entry.path)
            with open_plain(origin) as old, open(target, "xb") as new:
                shutil.copyfileobj(old, new, 1 << 20)
