"""What the daemon and its sessions inherit from whoever started them: as little as works.

The first command that needs a daemon starts it, and that command may run inside an agent, a tmux
window or a git hook. Their variables would leak into every session (a Claude Code session that
believes it is a child writes no transcript), so they are taken out here, once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

_LEAKING = ("CLAUDE", "ANTHROPIC", "TMUX", "WINDLASS_", "GIT_", "AI_AGENT")
_KEPT = frozenset({"WINDLASS_HOME", "WINDLASS_LOG", "WINDLASS_SEED"})
_ODD = frozenset({"STY", "WINDOWID", "OLDPWD", "PWD", "SHLVL", "_", "COLUMNS", "LINES"})


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would leak from a calling agent, terminal or git hook."""
    return {
        name: text
        for name, text in environ.items()
        if name in _KEPT or not (name.startswith(_LEAKING) or name in _ODD)
    }


def for_session(environ: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """What every session starts from; `wl` of this very installation is first on its PATH."""
    env = clean(environ)
    ours = str(Path(sys.executable).parent)
    path = [part for part in env.get("PATH", "/usr/bin:/bin").split(":") if part != ours]
    env["PATH"] = ":".join([ours, *path])
    env["WINDLASS_HOME"] = str(home)
    env.setdefault("LANG", "C.UTF-8")
    env.setdefault("TERM", "xterm-256color")
    env.setdefault("SHELL", "/bin/sh")
    return env
