# ruff: noqa: PTH102, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The filters that a person has set up for their own checkouts (LFS, git-crypt), tried beforehand.

A filter is a program: it may fail, or wait for what never comes. So it writes what a move brings
into a folder of ours first, and only what it could write is moved. Which driver is for which path
is said by attributes, which anybody may have committed; what a driver runs, by the person alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import few, printable_line
from windlass.git import bounds, index_entries, long_lists
from windlass.git.index_entries import PLAIN
from windlass.git.runner import TookTooLong, run

if TYPE_CHECKING:
    from windlass.git.environment import Dirs
    from windlass.git.index_entries import Change

_NONE = (b"unspecified", b"unset")
_HINT = "git config --get-regexp '^filter' names them; mend that, then try again"


def refuse_failing(dirs: Dirs, changes: Iterable[Change], commit: str) -> None:
    """Refuses a move that brings files which the person's filters cannot write."""
    new = [change.path for change in changes if change.new and change.new.mode in PLAIN]
    if not new or not dirs.of_person or not _are_set_up(dirs):
        return
    folder = os.path.join(os.path.dirname(dirs.index or ""), "filtered")
    os.mkdir(folder)
    trial = msgspec.structs.replace(dirs, work_tree=folder, index=f"{folder}.index")
    run(["read-tree", commit], dirs=trial, timeout=bounds.LONG)
    filtered = _filtered(trial, new)
    words = ["checkout-index", "-q", "-z", "--stdin"]
    try:
        index_entries.feed(words, filtered, dirs=trial, timeout=bounds.FILTERS)
    except GitError as error:
        names = few([printable_line(os.fsdecode(path)) for path in filtered])
        said = printable_line(error.message)
        raise Conflict(f"your git filters do not write {names}: {said}", _HINT) from error


def refuse_to_look(look: Callable[[], None], dirs: Dirs) -> None:
    """Looks at a checkout of the person's; refuses it where a filter fails or does not end."""
    try:
        look()
    except GitError as error:
        is_filter = isinstance(error, TookTooLong) or " filter '" in error.message
        if not (dirs.of_person and is_filter):
            raise
        place = printable_line(dirs.work_tree or "")
        said = printable_line(error.message)
        raise Conflict(f"your git filters cannot read {place}: {said}", _HINT) from error


def _are_set_up(dirs: Dirs) -> bool:
    asked = ["config", "--name-only", "--get-regexp", r"^filter\..*\.(smudge|process)$"]
    return bool(run(asked, dirs=dirs, ok=(0, 1)).out)


def _filtered(dirs: Dirs, paths: list[bytes]) -> list[bytes]:
    asked = ["check-attr", "--cached", "-z", "--stdin", "filter"]
    said = run(asked, dirs=dirs, stdin=b"\0".join(paths) + b"\0", timeout=bounds.LONG)
    fields = long_lists.records(said.out)
    return [path for path, _, value in zip(fields, fields, fields, strict=False)
            if value not in _NONE]  # fmt: skip
