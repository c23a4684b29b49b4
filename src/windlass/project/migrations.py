"""An ancestor's files in a project, and what is written into its `.windlass` folder for them.

No link is followed, nothing of the ancestor's is changed, and no file of ours is written over
unless whoever asked for it was asked: then the old one is kept beside it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from windlass.core.errors import ConfigError, NotFound, WindlassError
from windlass.core.migration import ittybitty, multiclaude, ralph
from windlass.core.migration.findings import Findings
from windlass.project import config_additions, edits, folder, git_files
from windlass.project.config_additions import Merged

_MOST_FILES = 2_000
_LARGEST = 4 << 20
_CONFIG = "config.toml"
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
    workers = os.path.join(project, _WORKERS)
    for name in sorted(os.listdir(workers)) if os.path.isdir(workers) else ():
        space = os.path.join(workers, name, "workspace")
        if os.path.isdir(space) and not os.path.islink(space):
            yield name, space


class Written(NamedTuple):
    """What became of a file of ours."""

    path: str
    how: str
    """`written`, `there` (the same already), `kept` (another one is there), or `replaced`."""
    aside: str = ""
    """Where the one lies that was replaced."""


def write(
    windlass: str, files: Mapping[str, bytes], may: Callable[[str], bool], *, dry_run: bool
) -> Iterator[Written]:
    """Writes files that are not there; `may` is asked about each that would be replaced."""
    for name, held in sorted(files.items()):
        path = os.path.join(windlass, *name.split("/"))
        was = _was(path)
        if was == held:
            yield Written(path, "there")
        elif was is None:
            if not dry_run:
                _new(path, held)
            yield Written(path, "written")
        elif dry_run or not may(path):
            yield Written(path, "kept")
        else:
            yield Written(path, "replaced", _replace(path, was, held))


def _was(path: str) -> bytes | None:
    if not os.path.lexists(path):
        return None
    if os.path.islink(path):
        raise ConfigError(
            f"{path} is a symbolic link, and nothing is written through links", "move it away"
        )
    return folder.read(path)


def _require_no_links(path: str) -> None:
    for above in (os.path.dirname(os.path.dirname(path)), os.path.dirname(path)):
        if os.path.islink(above):
            raise ConfigError(
                f"{above} is a symbolic link, and nothing is written through links", "move it away"
            )


def _new(path: str, held: bytes) -> None:
    _require_no_links(path)

    def fresh(was: bytes | None) -> bytes:
        if was is not None:
            raise ConfigError(f"{path} was made meanwhile", "import again")
        return held

    edits.change(path, fresh)


def _replace(path: str, was: bytes, held: bytes) -> str:
    aside = f"{path}.before-import"
    number = 1
    while os.path.lexists(aside):
        number += 1
        aside = f"{path}.before-import-{number}"
    _new(aside, was)
    edits.change(path, lambda _: held)
    return aside


def merged(windlass: str, settings: Mapping[str, Any]) -> Merged:
    """The repository's configuration with the keys that it does not have yet, and its comments."""
    path = os.path.join(windlass, _CONFIG)
    return config_additions.merged(path, _was(path) or b"", settings)


def configure(windlass: str, settings: Mapping[str, Any], *, dry_run: bool) -> Written:
    """Writes into the configuration what it does not have, as it is at that moment."""
    path = os.path.join(windlass, _CONFIG)
    if not dry_run:
        _require_no_links(path)
        edits.change(
            path, lambda was: config_additions.merged(path, was or b"", settings).text.encode()
        )
    return Written(path, "written")
