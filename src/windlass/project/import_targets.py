"""What an import writes into a project's `.windlass` folder.

Everything is asked and looked at before the first of it is written. No link is followed, and no
file is written over but the very one that somebody was asked about, which is kept beside the new
one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from windlass.core.errors import ConfigError, WindlassError
from windlass.project import config_additions, edits, folder
from windlass.project.config_additions import Merged

_CONFIG = "config.toml"
_MODES = os.W_OK | os.X_OK


class Target(NamedTuple):
    """A file that an import makes, and what lies in its place."""

    path: str
    held: bytes
    was: bytes | None
    how: str
    """`written`, `there` (the same already), `kept` (another one stays), or `replaced`."""


class Written(NamedTuple):
    """What became of a file of ours."""

    path: str
    how: str
    """As of a target."""
    aside: str = ""
    """Where the one lies that was replaced."""


May = Callable[[str], bool]
"""Whether a file that is there and differs may be replaced."""


def targets(
    windlass: str, files: Mapping[str, bytes], may: May, *, dry_run: bool
) -> tuple[Target, ...]:
    """The files to be made; `may` is asked about each that would be replaced."""
    paths = {name: os.path.join(windlass, *name.split("/")) for name in sorted(files)}
    for path in paths.values():
        _require_place(windlass, path)
    found = tuple(_target(paths[name], files[name], may, dry_run=dry_run) for name in sorted(files))
    for target in found:
        if target.how in ("written", "replaced"):
            _require_writable(target.path)
    return found


def _target(path: str, held: bytes, may: May, *, dry_run: bool) -> Target:
    was = _was(path)
    if was is None or was == held:
        return Target(path, held, was, "written" if was is None else "there")
    replaced = not dry_run and may(path)
    return Target(path, held, was, "replaced" if replaced else "kept")


def write(found: tuple[Target, ...], may: May) -> Iterator[Written]:
    """Writes what is to be written; asks again about what was saved since it was asked about."""
    for target in found:
        now = target
        while now.how in ("written", "replaced"):
            try:
                aside = _put(now)
            except _SavedMeanwhileError:
                now = _target(target.path, target.held, may, dry_run=False)
            else:
                yield Written(now.path, now.how, aside)
                break
        else:
            yield Written(now.path, now.how)


class _SavedMeanwhileError(Exception):
    """A file is not any more what was asked about."""


def _put(target: Target) -> str:
    """Writes one file in the place of the one that is known; says where that one lies then."""
    aside = "" if target.was is None else _aside(target.path, target.was)

    def fresh(was: bytes | None) -> bytes:
        if was != target.was:
            raise _SavedMeanwhileError
        return target.held

    try:
        _change(target.path, fresh)
    except BaseException:
        if aside:
            with suppress(OSError):
                os.unlink(aside)
        raise
    return aside


def _aside(path: str, was: bytes) -> str:
    """Makes a copy of a file beside it, under a name that is free."""
    number = 1
    while True:
        aside = f"{path}.before-import" + (f"-{number}" if number > 1 else "")
        if not os.path.lexists(aside):
            break
        number += 1

    def fresh(there: bytes | None) -> bytes:
        if there is not None:
            raise ConfigError(f"{aside} was made meanwhile", "import again")
        return was

    _change(aside, fresh)
    return aside


def _change(path: str, edit: edits.Edit) -> None:
    try:
        edits.change(path, edit)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "mend that") from None


def _was(path: str) -> bytes | None:
    return folder.read(path) if os.path.lexists(path) else None


def _require_place(windlass: str, path: str) -> None:
    """Refuses a path with a link below the project, and what is no folder where one has to be."""
    folders = os.path.relpath(os.path.dirname(path), windlass).split(os.sep)
    here = windlass
    for name in (".", *folders, os.path.basename(path)):
        here = here if name == "." else os.path.join(here, name)
        if not os.path.lexists(here):
            return
        mode = os.lstat(here).st_mode
        if stat.S_ISLNK(mode):
            raise ConfigError(
                f"{here} is a symbolic link, and nothing is written through links", "move it away"
            )
        if here != path and not stat.S_ISDIR(mode):
            raise ConfigError(f"{here} is no folder, and {path} has to lie in it", "move it away")


def _require_writable(path: str) -> None:
    for place in (path, os.path.dirname(path)):
        if os.path.lexists(place) and not os.access(place, os.W_OK):
            raise ConfigError(
                f"{place} cannot be written to; nothing was imported", f"chmod u+w {place}"
            )
    above = os.path.dirname(path)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.access(above, _MODES):
        raise ConfigError(f"nothing can be made in {above}; nothing was imported", "mend that")


def merged(windlass: str, settings: Mapping[str, Any]) -> Merged:
    """The repository's configuration with the keys that it does not have yet, and its comments."""
    path = os.path.join(windlass, _CONFIG)
    _require_place(windlass, path)
    found = config_additions.merged(path, _was(path) or b"", settings)
    if found.added:
        _require_writable(path)
    return found


def configure(windlass: str, settings: Mapping[str, Any], *, dry_run: bool) -> Written:
    """Writes into the configuration what it does not have, as it is at that moment."""
    path = os.path.join(windlass, _CONFIG)
    if not dry_run:
        _change(path, lambda was: config_additions.merged(path, was or b"", settings).text.encode())
    return Written(path, "written")


def said_after(error: WindlassError, done: list[Written]) -> WindlassError:
    """An error in the middle of an import, with what had been written before it."""
    names = [one.path for one in done if one.how in ("written", "replaced")]
    before = f"written before that: {', '.join(names)}" if names else "nothing was written"
    return type(error)(f"{error.message}; {before}", error.hint)
