"""Control groups: how many processes and how much memory a whole box may have.

Owns making them, as children of the group that this process is in, entering nothing itself: the
shell that starts a box writes itself into them. Works with both versions of the kernel's interface,
where this user may; elsewhere limits per process are all there is, and `available` says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shlex
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from windlass.core.box_spec import Quota

_NAME = "windlass-"
_WANTED = ("memory", "pids")
_PATIENCE = 2.0
_OLD = 60.0
"""Seconds after which a group that nothing runs in was forgotten."""
CANNOT_ENTER = 126
_swept = [-_OLD]


class Available(NamedTuple):
    """Which of the two limits hold for whole boxes here, and if not, why."""

    memory: bool
    processes: bool
    why: str = ""


class _GroupFolder(NamedTuple):
    """Where groups with these limits are made."""

    folder: Path
    controllers: frozenset[str]
    version: int


def available() -> Available:
    """Finds out by making a group with limits, entering it, and removing it again."""
    places, why = _places()
    controllers = frozenset[str]().union(*(place.controllers for place in places))
    return Available("memory" in controllers, "pids" in controllers, why)


def enter(folder: Path, quota: Quota) -> str:
    """Makes the groups of the boxes started from `folder`; returns the shell's lines to enter them.

    The lines make again what was removed meanwhile, and end the shell if they cannot be entered.
    """
    wanted = {
        name for name, most in zip(_WANTED, (quota.memory, quota.processes), strict=True) if most
    }
    if not wanted:
        return ""
    sweep()
    lines = []
    for place in _places()[0]:
        if place.controllers & wanted:
            group = place.folder / _name(folder)
            group.mkdir(exist_ok=True)
            os.utime(group)  # young again, whatever its age: it is about to be entered
            limits = _limits(place, quota)
            _set(group, limits)
            lines.append(_line(group, _door(group, place), limits))
    return "".join(lines)


def remove(folder: Path) -> bool:
    """Removes the groups of boxes that have ended; False if something still runs in one.

    Only tidiness: `sweep` finds those that nobody removes.
    """
    gone = [_remove(place.folder / _name(folder)) for place in _candidates()]
    return all(gone)


def sweep() -> None:
    """Removes groups of ours that nothing runs in any more; now and then, however often called."""
    now = time.monotonic()
    if now < _swept[0] + _OLD:
        return
    _swept[0] = now
    for place in _candidates():
        for group in place.folder.glob(f"{_NAME}*"):
            # The kernel keeps those that are in use; a new one is about to be.
            with contextlib.suppress(OSError):
                if time.time() - group.stat().st_mtime > _OLD:
                    group.rmdir()


def forget() -> None:
    """Forgets where groups can be made, so that the next question tries it again."""
    _places.cache_clear()


def _door(group: Path, place: _GroupFolder) -> Path:
    # Of the old kind the one for single threads: the other waits for the whole machine.
    return group / ("cgroup.procs" if place.version == 2 else "tasks")


def _name(folder: Path) -> str:
    return _NAME + hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]


def _line(group: Path, door: Path, limits: dict[str, int]) -> str:
    place = shlex.quote(str(group))
    again = " && ".join(f"echo {most} >{place}/{name}" for name, most in limits.items())
    return (
        f"[ -d {place} ] || {{ mkdir {place} && {again}; }}\n"
        f"echo $$ >{shlex.quote(str(door))} || exit {CANNOT_ENTER}\n"
    )


def _limits(place: _GroupFolder, quota: Quota) -> dict[str, int]:
    values: dict[str, int] = {}
    if quota.processes and "pids" in place.controllers:
        values["pids.max"] = quota.processes
    if quota.memory and "memory" in place.controllers:
        values["memory.max" if place.version == 2 else "memory.limit_in_bytes"] = quota.memory
    return values


def _set(group: Path, limits: dict[str, int]) -> None:
    for name, most in limits.items():
        (group / name).write_text(str(most))
    # Swap is not counted by every kernel.
    with contextlib.suppress(OSError):
        if "memory.max" in limits:
            (group / "memory.swap.max").write_text("0")
        elif "memory.limit_in_bytes" in limits:
            both = limits["memory.limit_in_bytes"]
            (group / "memory.memsw.limit_in_bytes").write_text(str(both))


@cache
def _places() -> tuple[list[_GroupFolder], str]:
    """Those that work, and why one does not. It holds for as long as we live: so tried twice."""
    works, reasons = [], []
    for place in _candidates():
        why = _try(place) and _try(place)
        if why:
            reasons.append(f"{' and '.join(sorted(place.controllers))}: {why}")
        else:
            works.append(place)
    if not works and not reasons:
        reasons.append("no control groups are mounted that limit memory or processes")
    return works, "; ".join(reasons)


def _try(place: _GroupFolder) -> str:
    """Why no group with limits can be made and entered there; nothing if it can."""
    group = place.folder / f"{_NAME}trial-{secrets.token_hex(8)}"
    try:
        group.mkdir()
        _set(group, _limits(place, Quota(memory=1 << 30, processes=64)))
        line = f"echo $$ >{shlex.quote(str(_door(group, place)))}"
        done = subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        _remove(group)
    return (done.stderr.strip() or f"ended with {done.returncode}") if done.returncode else ""


def _candidates() -> list[_GroupFolder]:
    """Where this process's own groups are: children keep the limits of their parents."""
    mounts = list(_mounts())
    places = []
    for line in _lines("/proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        held = frozenset(controllers.split(",")) & frozenset(_WANTED)
        for folder, kind, options in mounts:
            if number == "0" and kind == "cgroup2":
                places += _delegated(folder, path)
            elif held and kind == "cgroup" and held <= set(options.split(",")):
                places.append(_GroupFolder(folder / path.strip("/"), held, 1))
    return places


def _delegated(mount: Path, path: str) -> list[_GroupFolder]:
    """The nearest group above us that gives its children these controllers, if it is ours."""
    folder = mount / path.strip("/")
    while folder != mount.parent:
        with contextlib.suppress(OSError):
            passed_on = frozenset((folder / "cgroup.subtree_control").read_text().split())
            held = passed_on & frozenset(_WANTED)
            if held and os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
                return [_GroupFolder(folder, held, 2)]
        folder = folder.parent
    return []


def _mounts() -> list[tuple[Path, str, str]]:
    mounts = []
    for line in _lines("/proc/self/mounts"):
        _, folder, kind, options, *_ = line.split(" ")
        if kind in {"cgroup", "cgroup2"}:
            mounts.append((Path(folder), kind, options))
    return mounts


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


def _remove(group: Path) -> bool:
    end = time.monotonic() + _PATIENCE
    while group.is_dir():
        try:
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)  # a process leaves its group a little after its end
    return True
