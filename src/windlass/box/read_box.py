"""A box for reading with a program of our own what an agent wrote: lean, and started often.

No code of the agent's runs in it. It holds what that program could be talked into by its input:
opening other files, filling memory or disk, running for ever. What it was shown it cannot change.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from windlass import whole_file
from windlass.box import bwrap, seccomp
from windlass.core.errors import ConfigError

MEMORY = 2 << 30
"""Bytes of address space of each process."""
FILE_SIZE = 1 << 30
"""Bytes of each file that it writes, its answer among them."""
SECONDS = 1800
"""Of a processor, for each process; whoever starts it waits less."""

_LIMITED = (
    "ulimit -v $1; ulimit -f $2; ulimit -t $3; ulimit -c 0; "
    f'f=$4; shift 4; exec "$@" {bwrap.FILTER_FD}<"$f"'
)


def prefix(
    *,
    readable: Iterable[str],
    writable: Iterable[str],
    files: Path,
    network: bool,
    file_size: int | None = FILE_SIZE,
) -> list[str]:
    """Returns what to put before a command so that it reads in a box.

    Its filter lies in the folder `files`, whoever else uses that. With `network` it shares the
    machine's, where no other can be had. Whoever writes a file larger than `file_size` is ended;
    None is no limit.
    """
    program = bwrap.find()
    if program is None:
        raise ConfigError("bubblewrap is not installed", "install the package bubblewrap")
    allowed = _filter(files)
    blocks = "unlimited" if file_size is None else str(-(-file_size >> 9))
    limits = (str(MEMORY >> 10), blocks, str(SECONDS))
    options = bwrap.reading(tuple(readable), tuple(writable), network=network)
    return [
        *("/bin/sh", "-c", _LIMITED, "windlass-read", *limits, str(allowed)),
        *(program, *options, "--"),
    ]


def past_permissions() -> list[str]:
    """Returns what to put before a program of ours that only looks, to see what was closed to us.

    Whoever owns a folder may look into it, once it has said so; in a user namespace nobody has to
    change it for that. Nothing where there is no bubblewrap.
    """
    program = bwrap.find()
    if program is None:
        return []
    return [
        *(program, "--unshare-user", "--uid", "0", "--gid", "0"),
        *("--cap-add", "CAP_DAC_READ_SEARCH", "--die-with-parent"),
        *("--ro-bind", "/", "/", "--"),
    ]


def _filter(files: Path) -> Path:
    """The file with the system call filter of this release, whichever release wrote one before."""
    path, wanted = files / "reading.bpf", seccomp.program()
    try:
        is_there = path.read_bytes() == wanted
    except FileNotFoundError:
        is_there = False
    if not is_there:
        files.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.replace(path, wanted)
    return path
