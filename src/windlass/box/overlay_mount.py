"""Mounts stacks of folders, each as one, for a single program: `… start()' SPEC program …`.

In a user and a mount namespace of its own, so nobody else sees the mounts, and they are gone with
the last process that does. Who runs it keeps their user. SPEC is a file of stacks, each of them
`place`, `upper`, `work` and its lowers, the topmost first; every name ends with a NUL, and a stack
with one more. Exits 125 with a line on stderr where the kernel refuses. Every run of a gate starts
with it: few and light imports, and imported itself rather than run, so that it need not be
compiled.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_NO_SETUID, _NO_DEVICES = 2, 4
_UNSYNCED = b",volatile"
"""What is written is thrown away: else the end of a stack waits until everything that anybody has
written on that disk is there, and each `fsync` of a run for its own. Linux 5.10 and later."""
REFUSED = 125


def main(stacks: list[list[bytes]], argv: list[str]) -> None:
    """Mounts the stacks and becomes the program."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    _check(libc.unshare(_NEW_USER | _NEW_MOUNTS), "unshare")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    _check(libc.mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None), "mount of /")
    for stack in stacks:
        _mount(libc, *stack)
    os.execvp(argv[0], argv)  # noqa: S606 - the program that we are given


def _mount(libc: ctypes.CDLL, place: bytes, upper: bytes, work: bytes, *lowers: bytes) -> None:
    # A folder to work in each time: one in which something unsynced was done is refused ever after.
    own = b"%b/%d" % (work, os.getpid())
    os.mkdir(own, 0o700)  # noqa: PTH102 - pathlib is slow to import
    below = b":".join(map(_escaped, lowers))
    options = b"lowerdir=%b,upperdir=%b,workdir=%b,userxattr"
    options %= (below, _escaped(upper), _escaped(own))
    flags = _NO_SETUID | _NO_DEVICES
    result = libc.mount(b"overlay", place, b"overlay", flags, options + _UNSYNCED)
    if result != 0 and ctypes.get_errno() == errno.EINVAL:
        result = libc.mount(b"overlay", place, b"overlay", flags, options)
    _check(result, "overlay")


def written(stacks: list[list[bytes]]) -> bytes:
    """Returns what a SPEC of these stacks holds."""
    return b"".join(b"".join(name + b"\0" for name in stack) + b"\0" for stack in stacks)


def _read(spec: bytes) -> list[list[bytes]]:
    return [stack.split(b"\0") for stack in spec.split(b"\0\0")[:-1]]


def _escaped(path: bytes) -> bytes:
    """A path as the kernel reads it among options."""
    return path.replace(b"\\", b"\\\\").replace(b":", b"\\:").replace(b",", b"\\,")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
        file.write(text)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def start() -> None:
    """Does it all, with the arguments of this process."""
    try:
        with open(sys.argv[1], "rb") as file:  # noqa: PTH123 - as above
            stacks = _read(file.read())
        main(stacks, sys.argv[2:])
    except OSError as error:
        sys.stderr.write(f"windlass: no overlay: {error.strerror}\n")
        sys.exit(REFUSED)
