"""Tokens that the person gave for agent CLIs to log in with, one for each driver.

Each is a file in the state folder that nobody but the user can read, and no box shows. Nothing else
here reads one: a session's holder does, for the program that it starts.
"""

from __future__ import annotations

import contextlib

from windlass import whole_file
from windlass.daemon.kernel.context import Folders

_FOLDER = "tokens"


def file(folders: Folders, driver: str) -> str:
    """Where a driver's token is kept, if one is."""
    return str(folders.home / _FOLDER / driver)


def kept_at(folders: Folders, driver: str) -> float | None:
    """When a driver's token was kept; None where there is none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return (folders.home / _FOLDER / driver).stat().st_mtime
    return None


def keep(folders: Folders, driver: str, token: str) -> None:
    """Keeps a driver's token, in place of the last one."""
    folder = folders.home / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    whole_file.replace_durably(folder / driver, f"{token}\n".encode(), mode=0o600)


def forget(folders: Folders, driver: str) -> bool:
    """Deletes a driver's token; returns whether there was one."""
    try:
        (folders.home / _FOLDER / driver).unlink()
    except FileNotFoundError:
        return False
    return True
