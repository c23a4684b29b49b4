"""The last line that a session's program printed, which often says why it failed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from windlass.core.printable import without_escapes
from windlass.core.sessions import EARLIER_SCREEN, OUTPUT, SCREEN
from windlass.sessions import record

_READ = 16_384
_LONGEST = 300


def read(folder: Path) -> str:
    """Returns it without escape sequences; empty when nothing was printed.

    A headless program tells people on its standard error; JSON on the other stream is not for them.
    """
    for name in (record.STDERR, OUTPUT, SCREEN, EARLIER_SCREEN):
        lines = [line.strip() for line in _tail(folder / name).splitlines()]
        said = [line for line in lines if line and not line.startswith("{")]
        if said:
            return said[-1][:_LONGEST]
    return ""


def _tail(path: Path) -> str:
    try:
        # As somebody may have put a link or a pipe there, who could write into the folder.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            file.seek(max(0, os.fstat(descriptor).st_size - _READ))
            return without_escapes(file.read(_READ).decode(errors="replace").replace("\r", "\n"))
    except OSError:
        return ""
