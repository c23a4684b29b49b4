"""A process of the sibling's: holds a secret in every way that a process can hold one.

`python3 witness.py SECRET-FILE MARK-FILE` says where, as a line of JSON, and marks when signalled.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

_SET_PTRACER, _ANY = 0x59616D61, ctypes.c_ulong(-1)


def main(secret: str, mark: str) -> None:
    """Waits to be ended."""
    # Where the system lets only parents trace, this one allows everybody: our box has to stop it.
    ctypes.CDLL(None).prctl(_SET_PTRACER, _ANY, 0, 0, 0)
    signal.signal(signal.SIGUSR1, lambda *_: Path(mark).touch())
    held = os.open(secret, os.O_RDONLY)
    memory = ctypes.create_string_buffer(b"SECRET-memory")
    told = {"pid": os.getpid(), "fd": held, "address": ctypes.addressof(memory)}
    print(json.dumps(told), flush=True)  # noqa: T201 - to who started it
    while True:
        signal.pause()


main(*sys.argv[1:])
