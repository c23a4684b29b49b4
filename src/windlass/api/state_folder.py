"""Deleting the state folder, once no daemon runs: what is Windlass's in it, and nothing else."""

from __future__ import annotations

import contextlib
import os
import shutil

from windlass.api import places

_FOLDERS = (
    *("agents", "archive", "backups", "bin", "boxes", "crew", "gates", "mirrors", "own", "tokens"),
    *("trust", "workspaces"),
)
_FILES = (
    *("accepted.json", "config.toml", "estop", "git.lock", "offered-token", "pricing.json"),
    *("retention.json", "runtime", "starting.lock", "told.json"),
)
_PREFIXES = ("daemon.", "windlass.db")


def remove(keep: frozenset[str]) -> list[str]:
    """Deletes it with the folder of sockets; says what is left: what is kept, or is not ours."""
    home, runtime = places.home(), places.runtime()
    shutil.rmtree(runtime, ignore_errors=True)
    if not os.path.isdir(home):
        return []
    for name in sorted(os.listdir(home)):
        path = os.path.join(home, name)
        if any(kept == path or kept.startswith(path + os.sep) for kept in keep):
            continue
        if name in _FOLDERS and not os.path.islink(path):
            shutil.rmtree(path)
        elif name in _FILES or name.startswith(_PREFIXES) or name in _FOLDERS:
            os.unlink(path)
    with contextlib.suppress(OSError):
        os.rmdir(home)
    left = sorted(os.listdir(home)) if os.path.isdir(home) else []
    return [os.path.join(home, name) for name in left]
