"""An ancestor's files in a project: read, and never changed.

No link below the project's folder is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from windlass.core.errors import NotFound, WindlassError
from windlass.core.migration import ittybitty, multiclaude, ralph
from windlass.core.migration.findings import Findings
from windlass.project import folder, git_files

_MOST_FILES = 2_000
_LARGEST = 4 << 20
_WORKERS = f"{ralph.FOLDER}/workers"
_NOT_READ = frozenset({"workers", "worktrees", "agents", "archive", ".git", "node_modules"})
"""Folders that are work and logs: agents of ittybitty's, workers of Wiggum's."""


class Source(NamedTuple):
    """An ancestor's folder in a project."""

    project: str
    found: Findings
    workspaces: dict[str, str]
    """Work trees that are still there, by the names of their workers."""


def read(which: str, path: str) -> Source:
    """What an ancestor has in a project; `path` is the project, or what lies in it."""
    names = {
        "ralph": (ralph.FOLDER,),
        "ittybitty": (ittybitty.FILE, ittybitty.FOLDER),
        "multiclaude": (multiclaude.FOLDER,),
    }[which]
    project = _project(path, names)
    there = [name for name in names if os.path.lexists(os.path.join(project, name))]
    if not there:
        raise NotFound(f"no {names[0]} in {project}", "name the project that has it")
    skipped: list[tuple[str, str]] = []
    held = dict(_files(project, there, skipped, deep=which != "multiclaude"))
    if which == "ralph":
        spaces = dict(_workspaces(project))
        workers = {name: git_files.branch(space) for name, space in spaces.items()}
        found = ralph.read(held, branches=git_files.branches(project), workers=workers)
    else:
        spaces = {}
        found = (ittybitty if which == "ittybitty" else multiclaude).read(held)
    for name, why in skipped:
        found.leave(name, why)
    return Source(project, found, spaces)


def _project(path: str, names: tuple[str, ...]) -> str:
    full = os.path.abspath(path)
    if not os.path.lexists(full):
        raise NotFound(f"no folder {path}", "name the project that has it")
    base = os.path.basename(full)
    return os.path.dirname(full) if base in names or not os.path.isdir(full) else full


def _files(
    project: str, names: list[str], skipped: list[tuple[str, str]], *, deep: bool
) -> Iterator[tuple[str, bytes]]:
    """The plain files of these names and below them, by their paths in the project."""
    waiting, count = sorted(names, reverse=True), 0
    while waiting:
        name = waiting.pop()
        full = os.path.join(project, name)
        try:
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                skipped.append((name, "it is a symbolic link, and links are not followed"))
            elif stat.S_ISDIR(mode):
                if deep and os.path.basename(name) in _NOT_READ:
                    if name != _WORKERS:
                        why = "work and logs of agents stay there; `wl merge BRANCH` lands theirs"
                        skipped.append((f"{name}/", why))
                    continue
                below = sorted(os.listdir(full), reverse=True)
                waiting += [os.path.join(name, one) for one in below]
            elif not stat.S_ISREG(mode):
                skipped.append((name, "it is no plain file"))
            elif os.stat(full).st_size > _LARGEST:
                skipped.append((name, f"it has more than {_LARGEST >> 20} MiB"))
            elif (count := count + 1) > _MOST_FILES:
                skipped.append((name, f"there are more than {_MOST_FILES} files"))
                return
            else:
                yield name, folder.read(full)
        except (OSError, WindlassError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            skipped.append((name, f"it cannot be read: {reason}"))


def _workspaces(project: str) -> Iterator[tuple[str, str]]:
    """The work trees of workers, where no link is on the way to them."""
    workers = os.path.join(project, _WORKERS)
    if not (_is_folder(os.path.dirname(workers)) and _is_folder(workers)):
        return
    for name in sorted(os.listdir(workers)):
        worker = os.path.join(workers, name)
        space = os.path.join(worker, "workspace")
        if _is_folder(worker) and _is_folder(space):
            yield name, space


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
