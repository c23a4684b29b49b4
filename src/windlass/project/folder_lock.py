"""Holding a folder, so that two of us do not change what is in it at once."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from windlass.core.errors import ConfigError, Conflict
from windlass.core.printable import printable_line
from windlass.project import folder as folders

Remark = Callable[[str], None]
"""What is said to whoever waits."""

_POLL = 0.02
_SILENT = 1.0
"""How many seconds somebody waits without a word."""
_PATIENCE = 30.0
_ROW = ("number", "FLOCK", "kind", "access", "pid", "place")


@contextmanager
def held(folder: str, remark: Remark | None = None) -> Iterator[None]:
    """Holds a folder, which is made where there is none; gives up where somebody keeps it."""
    _require_no_links(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(
            f"{printable_line(folder)} is no folder, and nothing can be written into it",
            "move it away",
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot use the folder {printable_line(folder)}: {error.strerror}", "mend that"
        ) from None
    try:
        _wait(descriptor, folder, remark)
        yield
    finally:
        os.close(descriptor)


def _require_no_links(folder: str) -> None:
    """Refuses a `.windlass` that is a link, or a folder in it that is one: they lead elsewhere."""
    above, inside = folder, list[str]()
    while above != os.path.dirname(above):
        inside.append(above)
        if os.path.basename(above) == folders.NAME:
            break
        above = os.path.dirname(above)
    else:
        return
    for path in reversed(inside):
        if os.path.islink(path):
            raise ConfigError(
                f"{printable_line(path)} is a symbolic link, and nothing is written through links",
                "put a folder in its place",
            )


def _wait(descriptor: int, folder: str, remark: Remark | None) -> None:
    began = time.monotonic()
    silent = remark is not None
    while not _taken(descriptor):
        waited = time.monotonic() - began
        if waited > _PATIENCE:
            raise Conflict(
                f"{_holder(descriptor)} has held {printable_line(folder)} for {waited:.0f} s",
                "nothing was written; end it, or try again when it is done",
            )
        if silent and remark is not None and waited > _SILENT:
            remark(printable_line(f"waiting for {_holder(descriptor)}, which holds {folder}"))
            silent = False
        time.sleep(_POLL)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Who holds a folder, as far as the system tells."""
    wanted = str(os.fstat(descriptor).st_ino)
    try:
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file if "FLOCK" in line and "->" not in line]
        for row in rows:
            pid, place = row[_ROW.index("pid")], row[_ROW.index("place")]
            if place.rpartition(":")[2] == wanted:
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    return f"process {pid} ({file.read().strip()})"
    except (OSError, IndexError):  # not everywhere is that told, nor of everybody
        pass
    return "another process"
