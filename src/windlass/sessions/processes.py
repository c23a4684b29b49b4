"""What runs for a session or a workspace: stopping it, looking at it, running a command.

Owns the marker that sessions carry; how a tree of processes is ended is in `tree`.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from windlass.core.errors import WindlassError
from windlass.core.sessions import CommandResult, StopReport
from windlass.sessions import boxed, census, record
from windlass.sessions.census import identify
from windlass.sessions.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from windlass.sessions.tmux import Tmux

MARKER = "WINDLASS_SESSION"

_RUN_MARKER = "WINDLASS_RUN"
_TAIL_BYTES = 4000
_BLOCK = 512
"""Bytes of a block, as the kernel counts them, whatever the file system's own are."""
_SHOWN = 80
"""Characters of a tool's command line."""


def stop(
    *, folder: Path, name: str, marker: str, grace: float = 5.0, tmux: Tmux | None = None
) -> StopReport:
    """Ends everything that runs for the session: TERM, `grace` seconds, KILL, until none is left.

    Works without holder and without tmux server. Never touches this process, the tmux server, or
    anything that neither descends from the holder nor carries the marker.
    """
    holder = record.read_holder(folder)
    living = holder.living() if holder else None
    if living is not None:
        # From now on the holder outlives its child, so that orphans stay below it.
        with contextlib.suppress(FileNotFoundError):
            (folder / record.STOPPING).touch()
    tree = Tree(
        f"{MARKER}={marker}",
        holder=living,
        # In this order: the holder writes the exit first and looks for the other file then.
        witness=living is not None and record.read_exit(folder) is None,
        spared=_server(tmux),
    )
    first = holder.child if holder else None
    report = tree.end(first=first, grace=grace)
    if tmux is not None:
        tmux.kill(name)
    return report


def newest_tool(folder: Path) -> str | None:
    """Describes the process that was started last below the agent CLI of a session."""
    newest, started = None, 0.0
    for process in _family(folder)[1:]:
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and process.create_time() >= started:
                newest, started = process, process.create_time()
    return None if newest is None else _described(newest.pid)


def is_suspended(folder: Path) -> bool:
    """Says whether the agent CLI of a session, or a process below it, is stopped by a signal."""
    for process in _family(folder):
        with contextlib.suppress(psutil.Error):
            if process.status() == psutil.STATUS_STOPPED:
                return True
    return False


def nameless(folder: Path, *, on: Sequence[Path]) -> int:
    """The bytes of deleted files that processes of a session hold open, each file once.

    Counted on the disks of these folders alone: a box's own /tmp is memory, and limited as such.
    What is mapped and not open, or on its way in a socket, no user can see of another process, nor
    anything of one that is not dumpable.
    """
    return _nameless(_everything_below(folder), on)


def nameless_below(pid: int, *, on: Sequence[Path]) -> int:
    """The same of a process and all below it."""
    with contextlib.suppress(psutil.Error):
        below = psutil.Process(pid).children(recursive=True)
        stacked = set().union(*(_stacked(process.pid) for process in below))
        return _nameless([pid, *(process.pid for process in below)], on, stacked)
    return 0


def _stacked(pid: int) -> set[int]:
    """The stacks of folders that a process sees: what lies in one takes room on another disk."""
    found = set()
    with contextlib.suppress(OSError):
        mounts = Path(f"/proc/{pid}/mountinfo").read_bytes().decode(errors="replace")
        for line in mounts.splitlines():
            about, _, kind = line.partition(" - ")
            if kind.startswith("overlay "):
                major, minor = about.split(" ")[2].split(":")
                found.add(os.makedev(int(major), int(minor)))
    return found


def _nameless(processes: Iterable[int], on: Sequence[Path], stacked: Iterable[int] = ()) -> int:
    disks = {place.stat().st_dev for place in on} | set(stacked)
    found: dict[tuple[int, int], int] = {}
    for process in processes:
        for status in _open_files(process):
            if stat.S_ISREG(status.st_mode) and not status.st_nlink and status.st_dev in disks:
                found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(found.values())


def _open_files(pid: int) -> Iterator[os.stat_result]:
    """What a process has open, as far as that can be seen before it ends or closes it."""
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                yield entry.stat()


def _everything_below(folder: Path) -> list[int]:
    """The processes of a session: whatever its holder started, the ones of a box's own included."""
    holder = record.read_holder(folder)
    if holder is None or holder.child is None or holder.living() is None:
        return []
    with contextlib.suppress(psutil.Error):
        below = psutil.Process(holder.pid).children(recursive=True)
        return [process.pid for process in below]
    return []


def _family(folder: Path) -> list[psutil.Process]:
    """The agent CLI of a session and every process below it; nothing once it has ended."""
    holder = record.read_holder(folder)
    if holder is None or holder.child is None or holder.living() is None:
        return []
    with contextlib.suppress(psutil.Error):
        program = psutil.Process(boxed.program(holder.child))
        return [program, *program.children(recursive=True)]
    return []


def marked(mark: str) -> dict[str, str]:
    """What a program has in its environment that is run under a mark."""
    return {_RUN_MARKER: mark}


def running(*marks: str) -> list[str]:
    """Describes every process that is run under a mark: its number, and what it is called with."""
    assignments = [_assigned(mark).encode() for mark in marks]
    under = (pid for pid, entry in census.take().items() if entry.has(*assignments))
    return [said for pid in sorted(under) if (said := _described(pid)) is not None]


def users(folder: Path) -> list[str]:
    """Describes every process that works in a folder, or has something in it open.

    As far as we may see: those of other users we may not.
    """
    top = os.path.realpath(folder)
    pids = (pid for pid in psutil.pids() if pid != os.getpid())
    used = (pid for pid in pids if any(_is_below(top, path) for path in _places(pid)))
    return [said for pid in sorted(used) if (said := _described(pid)) is not None]


def _places(pid: int) -> Iterator[str]:
    """Where a process works, and the path of everything that it has open."""
    if sys.platform != "linux":
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            yield process.cwd()
            yield from (file.path for file in process.open_files())
        return
    with contextlib.suppress(OSError):
        yield os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - a link of the kernel's
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                yield os.readlink(entry.path)  # noqa: PTH115 - as above


def _is_below(top: str, path: str) -> bool:
    return path == top or path.startswith(f"{top}{os.sep}")


def _described(pid: int) -> str | None:
    with contextlib.suppress(psutil.Error):
        return f"{' '.join(psutil.Process(pid).cmdline())[:_SHOWN]} (pid {pid})"
    return None


def end_run(*marks: str) -> StopReport:
    """Ends what was run under these marks, and whatever that has started."""
    return Tree(*map(_assigned, marks)).end(first=None, grace=2.0)


def _assigned(mark: str) -> str:
    return f"{_RUN_MARKER}={mark}"


def run(
    command: str,
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    timeout: float,
    mark: str,
    prefix: Sequence[str] = (),
) -> CommandResult:
    """Runs a shell command line, behind `prefix`, with its output appended to `log`.

    `mark` marks its processes, so that `end_run` finds them even if we die meanwhile. On time-out
    its whole tree is ended. What it leaves running after a normal end is left alone;
    with the session's marker in `env`, stopping that session ends it.
    """
    with log.open("ab") as file:
        start = file.tell()
        try:
            shell = subprocess.Popen(
                [*prefix, "/bin/sh", "-c", command],
                cwd=cwd,
                env={**env, **marked(mark)},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return CommandResult(code=127, timed_out=False, tail=str(error))
        try:
            code = shell.wait(timeout)
            timed_out = False
        except subprocess.TimeoutExpired:
            itself = identify(shell.pid)
            tree = Tree(_assigned(mark), known=[itself] if itself else [])
            tree.end(first=shell.pid, grace=2.0)
            code = shell.wait()
            timed_out = True
    return CommandResult(
        code=128 - code if code < 0 else code, timed_out=timed_out, tail=_tail(log, start)
    )


def _server(tmux: Tmux | None) -> frozenset[int]:
    if tmux is None:
        return frozenset()
    try:
        return frozenset({tmux.server_pid()})
    except WindlassError:
        return frozenset()


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(start, size - _TAIL_BYTES))
        return file.read().decode("utf-8", "replace")
