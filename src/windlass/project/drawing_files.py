"""Drawings as files: written anew, and never over what is none."""

from __future__ import annotations

import os
import stat

from windlass import whole_file
from windlass.core.errors import ConfigError, UserError
from windlass.core.printable import printable_line

_BEGIN = b"<svg "


def write(path: str, text: str) -> None:
    """Writes an SVG; a file that is there has to be one."""
    try:
        if os.path.islink(path):
            raise ConfigError(
                f"{printable_line(path)} is a symbolic link, and nothing is written through links",
                f"name the file itself: {printable_line(os.path.realpath(path))}",
            )
        if os.path.lexists(path) and not _is_drawing(path):
            raise ConfigError(
                f"{printable_line(path)} is there already and is no drawing",
                "name another file: `wl pipeline show PIPELINE --svg OUT`",
            )
        mode = stat.S_IMODE(os.lstat(path).st_mode) if os.path.lexists(path) else 0o666
        whole_file.replace(path, text.encode(), mode=mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"cannot write {printable_line(path)}: {reason}", "name another file"
        ) from None


def _is_drawing(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        begin = file.read(len(_BEGIN))
    return begin in (b"", _BEGIN)
