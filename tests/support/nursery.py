"""Daemons that need not import everything first: forked off a process that has.

Half of what most tests cost would be the start of their daemon, nearly all of it imports. What runs
is the daemon all the same, with an environment, a session and files of its own; how `wl` itself
starts one is for the tests of that.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping

_nursery: subprocess.Popen[str] | None = None


def start(env: Mapping[str, str]) -> None:
    """Starts a daemon and waits until it answers; one that cannot start is left to `wl` to tell."""
    global _nursery  # noqa: PLW0603 - one for each process of the test run
    if _nursery is None:
        _nursery = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(_nursery.communicate)
    assert _nursery.stdin is not None
    assert _nursery.stdout is not None
    _nursery.stdin.write(json.dumps(dict(env)) + "\n")
    _nursery.stdin.flush()
    assert _nursery.stdout.readline(), "the nursery of daemons died"


def _serve() -> None:
    from windlass.api import places  # noqa: PLC0415 - only in the nursery itself
    from windlass.daemon.main import run  # noqa: PLC0415

    for line in sys.stdin:
        env = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.setsid()
            if os.fork() > 0:
                os._exit(0)
            try:
                os.environ.clear()
                os.environ.update({**env, "WINDLASS_READY": str(writing)})
                os.chdir("/")
                places.make_home()
                nothing = os.open(os.devnull, os.O_RDWR)
                told = os.path.join(places.home(), "daemon.err")  # noqa: PTH118 - as places does
                complaints = os.open(told, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
                for target, source in ((0, nothing), (1, nothing), (2, complaints)):
                    os.dup2(source, target)
                os._exit(run())
            finally:
                os._exit(1)
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading) as ready:
            sys.stdout.write((ready.readline().strip() or "died") + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _serve()
