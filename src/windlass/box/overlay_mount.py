"""Mounts stacks of folders, each as one, for a single program: `python THIS SPEC -- program …`.

In a user and a mount namespace of its own, so nobody else sees the mounts, and they are gone with
the last process that does. Who runs it keeps their user. SPEC is a JSON list of stacks: `lowers`
(the topmost first), `upper`, `work` and `place`. Exits 125 with a line on stderr where the kernel
refuses.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_NO_SETUID, _NO_DEVICES = 2, 4
REFUSED = 125


def main(stacks: list[dict[str, str | list[str]]], argv: list[str]) -> None:
    """Mounts the stacks and becomes the program."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    _check(libc.unshare(_NEW_USER | _NEW_MOUNTS), "unshare")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    _check(libc.mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None), "mount of /")
    for stack in stacks:
        lowers = ":".join(_escaped(lower) for lower in stack["lowers"])
        upper, work = _escaped(str(stack["upper"])), _escaped(str(stack["work"]))
        options = os.fsencode(f"lowerdir={lowers},upperdir={upper},workdir={work},userxattr")
        place, flags = os.fsencode(str(stack["place"])), _NO_SETUID | _NO_DEVICES
        _check(libc.mount(b"overlay", place, b"overlay", flags, options), "overlay")
    os.execvp(argv[0], argv)  # noqa: S606 - the program that we are given


def _escaped(path: str) -> str:
    """A path as the kernel reads it among options."""
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
        file.write(text)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            main(json.load(file), sys.argv[3:])
    except OSError as error:
        sys.stderr.write(f"windlass: no overlay: {error.strerror}\n")
        sys.exit(REFUSED)
