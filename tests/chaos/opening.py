"""Opens stores in processes that may die of it: forked off one that has imported what they need.

Reads lines of JSON, each a path and the folder of its failpoints; answers with how each ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path

from windlass.daemon.kernel.failpoints import Failpoints
from windlass.store.store import Store


class _Clock:
    """The time of day."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()


def _open(path: str, points: str) -> None:
    try:
        Store(Path(path), clock=_Clock(), reached=Failpoints(points).reached).open()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a fork must never return into the loop below
        traceback.print_exc()
    finally:
        os._exit(1)


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        _open(**json.loads(line))
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer
