"""The environment that sessions and the project's own commands start from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from windlass.core.leaks import without_leaks

_OURS_ALONE = ("WINDLASS_LOG", "WINDLASS_SEED", "WINDLASS_FAILPOINTS")


def for_session(environ: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """What every session starts from; `wl` of this very installation is first on its PATH."""
    env = without_leaks(environ)
    for name in _OURS_ALONE:
        env.pop(name, None)
    ours = str(Path(sys.executable).parent)
    path = [part for part in env.get("PATH", "/usr/bin:/bin").split(":") if part != ours]
    env["PATH"] = ":".join([ours, *path])
    env["WINDLASS_HOME"] = str(home)
    env.setdefault("LANG", "C.UTF-8")
    env.setdefault("TERM", "xterm-256color")
    env.setdefault("SHELL", "/bin/sh")
    return env
