"""What it takes to start one session of an agent CLI: the hand-over from drivers to sessions."""

from __future__ import annotations

from typing import Literal

import msgspec

Mode = Literal["live", "headless"]


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A whole command to run; the environment is complete, nothing is inherited."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    mode: Mode
    columns: int = 120
    lines: int = 40
