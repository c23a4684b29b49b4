"""What the gate's tools are: the output of `gate.versions`, asked again when a tool changes.

Verdicts and layers hold only for the tools that they were made with. Asking takes a box, so an
answer is remembered for as long as the programs that the commands begin with are the same files.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from windlass.core.errors import WindlassError
from windlass.core.gate.spec import digest
from windlass.daemon.gate import rooms
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.places import GatePlaces
from windlass.daemon.gate.rooms import Wanted
from windlass.daemon.kernel.context import Context

_SECONDS = 60.0
_MOST = 64 << 10


UNKNOWN = "unknown"
"""What stands for the tools where one does not say what it is: no verdict is kept under it."""


class Versions(NamedTuple):
    """What the tools say, in short; `why` where one does not."""

    digest: str
    why: str = ""


class KnownVersions:
    """Remembers what tools said, for as long as they are the same."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, Versions] = {}

    def of(self, gate: Gate) -> Versions:
        """What the tools of a gate say."""
        if not gate.spec.versions:
            return Versions("")
        path = self._context.env.get("PATH", os.defpath)
        tools = [_tool(command, path) for command in gate.spec.versions]
        key = digest([gate.repo.id, gate.level, path, gate.spec.versions, tools])
        if key not in self._known:
            asked = self._ask(gate, mark=f"gate-versions-{key}")
            if asked.why:
                return asked
            self._known[key] = asked
        return self._known[key]

    def _ask(self, gate: Gate, *, mark: str) -> Versions:
        places = GatePlaces(self._context.folders.home, gate.repo.id)
        folder = places.runs / mark
        empty = places.folder / "empty"
        log = places.logs / f"{mark}.log"
        for made in (empty, places.logs):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        wanted = Wanted(gate.spec.box, network=False)
        # One line: a command that fails ends the others.
        line = " && ".join(f"( {command}\n)" for command in gate.spec.versions)
        try:
            lent = rooms.throw_away(
                self._context,
                gate.repo,
                gate.config,
                wanted,
                folder=folder,
                trees=[empty],
                homes=(),
            )
            with lent as room:
                done = self._context.commands.run_whole(
                    line,
                    cwd=room.cwd,
                    env=room.env,
                    log=log,
                    timeout=_SECONDS,
                    mark=mark,
                    prefix=room.prefix,
                    most=_MOST,
                )
        except WindlassError as error:
            return Versions(UNKNOWN, error.message)
        said = log.read_bytes().decode("utf-8", "replace")
        log.unlink(missing_ok=True)
        if done.code or done.timed_out:
            first = said.strip().partition("\n")[0][:200]
            return Versions(UNKNOWN, f"gate.versions: {first or f'ended with {done.code}'}")
        return Versions(digest([said]))


def _tool(command: str, path: str) -> list[object]:
    """Which file a command begins with, and how that is."""
    try:
        first = shlex.split(command)[0]
    except (ValueError, IndexError):
        return [command]
    found = shutil.which(first, path=path)
    if found is None:
        return [first]
    real = Path(found).resolve()
    status = real.stat()
    return [str(real), status.st_ino, status.st_size, status.st_mtime_ns]
