"""The environment that sessions and the project's own commands start from."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from windlass.api.calls import BOXED
from windlass.core.leaks import without_leaks

_OURS_ALONE = ("WINDLASS_LOG", "WINDLASS_SEED", "WINDLASS_CLOCK_SCALE", "WINDLASS_FAILPOINTS")


_IN_BOXES = (
    *("PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "SHELL", "USER", "LOGNAME"),
    "WINDLASS_HOME",
)
"""What says how things look and where programs are; tokens and sockets of the person's do not."""


def for_box(
    environ: Mapping[str, str], *, home: Path, private: Path, also: Iterable[str] = ()
) -> dict[str, str]:
    """What a boxed session starts from: little, and a home and a temporary folder of its own."""
    wanted = (*_IN_BOXES, *also)
    env = {
        name: value
        for name, value in for_session(environ, home=home).items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    }
    return {**env, "HOME": str(private), "TMPDIR": "/tmp", BOXED: "1"}  # noqa: S108 - the box's own


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
