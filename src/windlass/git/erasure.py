# ruff: noqa: PTH100
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Deletes a folder that an agent wrote, folder by open folder: links are cut, and none followed."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git.descent import is_exchanged, opened_folder

_DEEPEST = 32
"""What lies deeper is moved up: every folder on the way is open meanwhile."""
_ROUNDS = 100_000


def erase(path: str) -> None:
    """Deletes what is at a path, in a folder of ours, with all that is in it, closed parts too."""
    above, name = os.path.split(os.path.abspath(path))
    try:
        folder = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        erase_in(folder, os.fsencode(name), shown=path)
    finally:
        os.close(folder)


def erase_in(folder: int, name: bytes, *, shown: str = "") -> None:
    """Deletes what has a name in an open folder; it is `shown` so where it cannot be."""
    for _ in range(_ROUNDS):
        is_folder = _is_folder(folder, name)
        if is_folder is None:
            return
        _remove(folder, name, is_folder=is_folder)
    raise GitError(
        f"{printable_line(shown or os.fsdecode(name))} is filled again while it is being deleted",
        "stop whatever still writes to it, then try again",
    )


def _remove(
    folder: int, name: bytes, *, is_folder: bool, top: int | None = None, depth: int = 0
) -> None:
    """Deletes one thing in an open folder, as far as nobody exchanges it meanwhile."""
    try:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
        elif top is not None and depth >= _DEEPEST:
            os.rename(name, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)
        else:
            _clear(folder, name, top=top, depth=depth)
            os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if not is_exchanged(error):
            raise


def _clear(folder: int, name: bytes, *, top: int | None, depth: int) -> None:
    here = opened_folder(name, folder)
    try:
        with contextlib.suppress(OSError):  # it may be another's; what is in it may still go
            os.fchmod(here, stat.S_IMODE(os.fstat(here).st_mode) | 0o700)
        for child, is_folder in _children(here):
            _remove(
                here,
                child,
                is_folder=is_folder,
                top=here if top is None else top,
                depth=depth + 1,
            )
    finally:
        os.close(here)


def _children(folder: int) -> list[tuple[bytes, bool]]:
    """Names what is in an open folder, and says of each whether it is a folder itself."""
    with os.scandir(folder) as entries:
        # Most file systems tell it with the name, so that nothing has to be asked for.
        return [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]


def _is_folder(folder: int, name: bytes) -> bool | None:
    """Says whether it is a folder itself; None where nothing has the name."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None
