"""Asks for objects: which there are, and what is in them, in pieces that fit in memory."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import subprocess
import time
from typing import IO, TYPE_CHECKING, Protocol, Self

from windlass.core.errors import GitError
from windlass.git import bounds
from windlass.git.bounds import LONG, Patience
from windlass.git.runner import end, run, start

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from windlass.git.environment import Dirs

_CHUNK = 1 << 20
_GOODBYE = 5.0
"""Seconds that a git has to end when it is asked nothing more."""
_AT_ONCE = 20_000
"""Objects that one git is asked for."""
_DEATHS = 50
"""So often a git in a box is asked for the rest when it died of one."""
# Above the first size git hands a blob on as it inflates it; the others bound what it maps.
_LEAN = {
    "core.bigFileThreshold": "1m",
    "core.packedGitWindowSize": "8m",
    "core.packedGitLimit": "32m",
}


def kinds(dirs: Dirs, oids: Iterable[str]) -> dict[str, str]:
    """Says which of these objects exist, and of what type they are; expressions are resolved."""
    found: dict[str, str] = {}
    patience = Patience()
    deaths = _DEATHS
    waiting = iter(dict.fromkeys(oids))
    # Some at a time: nothing else of this process runs while a million are sorted.
    while deaths and (asked := sorted(itertools.islice(waiting, _AT_ONCE))):
        while deaths and asked:
            try:
                said = run(
                    ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
                    dirs=dirs,
                    stdin=os.fsencode("\n".join(asked)) + b"\n",
                    timeout=patience.left if dirs.box else LONG,
                    # Git dies of a damaged object, and an agent can have as many as it likes.
                    ok=range(256) if dirs.box else (0,),
                )
            except GitError:
                if not dirs.box:
                    raise
                return found  # an agent has it answer for ever: what it does not say is not there
            lines = said.out.decode(errors="replace").splitlines()
            pairs = (line.rsplit(" ", 1) for line in lines)
            found |= {oid: kind for oid, kind in pairs if kind not in ("missing", "ambiguous")}
            asked = asked[len(lines) + 1 :] if said.code != 0 else []
            deaths -= said.code != 0
    return found


class Writer(Protocol):
    """What takes bytes: an open file, or who looks at them first."""

    def write(self, data: bytes, /) -> int:
        """Takes what comes next."""


class Blobs:
    """A `git cat-file --batch` that is asked for one blob at a time.

    In a box, where an agent can have it take for ever, it has so long for all of them together.
    """

    def __init__(self, dirs: Dirs) -> None:
        self._git = start(["cat-file", "--batch"], dirs=dirs, config=_LEAN)
        self._boxed = bool(dirs.box)
        self._end = time.monotonic() + bounds.LOOK
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pipe in (self._git.stdin, self._git.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._git.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            end(self._git)
            self._git.wait()

    def copy(self, oid: str, into: Writer) -> None:
        """Writes a blob's content to an open file."""
        asking, answering = self._git.stdin, self._git.stdout
        if asking is None or answering is None:
            raise self._lost(oid)
        try:
            asking.write(oid.encode() + b"\n")
            asking.flush()
        except BrokenPipeError as error:
            raise self._lost(oid) from error
        if not self._boxed:
            self._end = time.monotonic() + LONG
        while b"\n" not in self._rest:
            self._rest += self._more(answering, oid)
        line, _, self._rest = self._rest.partition(b"\n")
        header = line.split()
        if len(header) != 3:
            raise self._lost(oid)
        left = int(header[2])
        while left:
            chunk = self._rest or self._more(answering, oid)
            into.write(chunk[:left])
            self._rest = chunk[left:]
            left -= min(left, len(chunk))
        self._rest = (self._rest or self._more(answering, oid))[1:]

    def _more(self, answering: IO[bytes], oid: str) -> bytes:
        """Waits for the next piece of the answer, and not for ever."""
        waiting = select.poll()
        waiting.register(answering, select.POLLIN)
        left = max(0.0, self._end - time.monotonic())
        if not waiting.poll(left * 1000):
            raise GitError(
                f"git does not give object {oid} in time",
                "look at the disk and at other git processes on this repository, then try again",
            )
        chunk = os.read(answering.fileno(), _CHUNK)
        if not chunk:
            raise self._lost(oid)
        return chunk

    def _lost(self, oid: str) -> GitError:
        return GitError(f"cannot read object {oid}", "`git fsck` says what the repository lacks")
