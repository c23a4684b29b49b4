"""Drawings as files: written anew, and never over what is none."""

from __future__ import annotations

import os

from windlass.core.errors import ConfigError, UserError

_BEGIN = b"<svg "


def write(path: str, text: str) -> None:
    """Writes an SVG; a file that is there has to be one."""
    try:
        if os.path.lexists(path) and not _is_drawing(path):
            raise ConfigError(
                f"{path} is there already and is no drawing",
                "name another file: `wl pipeline show PIPELINE --svg OUT`",
            )
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot write {path}: {reason}", "name another file") from None


def _is_drawing(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        begin = file.read(len(_BEGIN))
    return begin in (b"", _BEGIN)
