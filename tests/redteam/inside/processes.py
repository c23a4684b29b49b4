"""Lines 21 to 28: processes of others, the kernel, the machine's room, and programs run later."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.redteam.inside.trying import OUTSIDE, Map, attack, opens

LIBC = ctypes.CDLL(None, use_errno=True)


def called(done: int, what: str) -> int:
    """The result of a call of the C library, or its error."""
    if done < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return done


@attack("21 environ")
def _(known: Map) -> object:
    text = Path(f"/proc/{known['witness']['pid']}/environ").read_text()
    return "token" if "SECRET" in text else None


@attack("22 kill")
def _(known: Map) -> object:
    os.kill(known["witness"]["pid"], signal.SIGUSR1)
    return OUTSIDE


@attack("22 session")
def _(known: Map) -> object:
    os.kill(known["sibling_pid"], signal.SIGCONT)
    return "signalled it"


@attack("22 daemon")
def _(known: Map) -> object:
    os.kill(known["daemon_pid"], signal.SIGCONT)
    return "signalled it"


@attack("23 ptrace")
def _(known: Map) -> object:
    seize, pid = 0x4206, known["witness"]["pid"]
    called(LIBC.ptrace(seize, pid, None, None), "ptrace")
    return "seized it"


@attack("23 vm_readv")
def _(known: Map) -> object:
    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    room = ctypes.create_string_buffer(32)
    here = Piece(ctypes.cast(room, ctypes.c_void_p), 32)
    there = Piece(known["witness"]["address"], 32)
    pid = known["witness"]["pid"]
    called(LIBC.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0), "readv")
    return room.value.decode() if b"SECRET" in room.value else None


@attack("23 mem")
def _(known: Map) -> object:
    with Path(f"/proc/{known['witness']['pid']}/mem").open("rb", buffering=0) as file:
        file.seek(known["witness"]["address"])
        return "read it" if b"SECRET" in file.read(32) else None


@attack("24 survivor")
def _(known: Map) -> object:
    _stay(known["survivor"])
    return OUTSIDE


@attack("orphan")
def _(known: Map) -> object:
    """Line 24 again: and then it ends the one that would have adopted it."""
    _stay(f"{known['survivor']}-orphan")
    Path(".tried-orphan").touch()
    above = os.getpid()
    while above > 1 and b"holder" not in Path(f"/proc/{above}/cmdline").read_bytes():
        above = int(Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])
    # The first process of a box is all that is above there. That of the machine is left alone.
    if above > 1 or "WINDLASS_BOXED" in os.environ:
        os.kill(max(above, 1), signal.SIGKILL)
    return OUTSIDE


def _stay(mark: str) -> None:
    """Leaves a process behind: out of its session, its parent gone, its environment empty."""
    line = f"import time; time.sleep(300)  # {mark}"
    quiet = subprocess.DEVNULL
    child = os.fork()
    if child == 0:
        os.setsid()
        subprocess.Popen(
            [sys.executable, "-c", line],
            env={},
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
            cwd="/",
        )
        os._exit(0)
    os.waitpid(child, 0)


@attack("25 userns")
def _(_: Map) -> object:
    user, mounts = 0x10000000, 0x00020000
    called(LIBC.unshare(user | mounts), "unshare")
    called(LIBC.mount(b"none", b"/", None, 0x44000, None), "mount")
    called(LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None), "mount")
    return "mounted a file system"


@attack("tiocsti")
def _(_: Map) -> object:
    """Line 26: types a letter for the person into the terminal that this was started in."""
    fcntl.ioctl(0, 0x5412, b"x")
    return "typed it"


@attack("27 processes")
def _(known: Map) -> object:
    children: list[int] = []
    try:
        for _ in range(known["more_than"]["processes"]):
            child = os.fork()
            if child == 0:
                time.sleep(30)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return f"{len(children)} processes"


@attack("27 files")
def _(known: Map) -> object:
    # As far as one may raise it.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(known["more_than"]["files"])]
    return f"{len(kept)} open files"


@attack("27 disk")
def _(known: Map) -> object:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = Path("large")
    try:
        with path.open("wb") as file:
            file.truncate(known["more_than"]["bytes"])
    finally:
        path.unlink()
    return "a large file"


@attack("27 temp")
def _(known: Map) -> object:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written = 0
    paths = [Path(f"{known['tmp']}/fill-{known['survivor']}-{n}") for n in range(4)]
    try:
        for path in paths:
            with path.open("wb") as file:
                for _ in range(known["more_than"]["bytes"] // (1 << 20) // 3):
                    written += file.write(bytes(1 << 20))
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
    return f"{written} bytes"


@attack("28 wl")
def _(known: Map) -> object:
    return opens(known["wl"])


@attack("28 library")
def _(known: Map) -> object:
    return opens(known["library"])


@attack("28 path")
def _(known: Map) -> object:
    path = Path(known["home"]) / "bin/git"
    path.write_text('#!/bin/sh\nexec /usr/bin/git "$@"  # planted\n')
    return f"wrote {path}"


@attack("28 shadow")
def _(known: Map) -> object:
    # What a Python of ours with this folder as its own would load first.
    canary = f"{known['canaries']}/28 shadow"
    line = f"import os\ntry: open({canary!r}, 'w')\nexcept OSError: pass\n"
    for name in ("sitecustomize.py", "usercustomize.py", "windlass.py"):
        Path(name).write_text(line)
    return OUTSIDE
