"""The hook of the person's own session: `primary.py windlass-hook MODE API_SOCKET INSTRUCTIONS`.

`tell` passes a hook's input to the daemon and prints its answer (`primary_relay`); `wait` waits for
notices and wakes the session with them (`primary_wait`). It fails open: whatever goes wrong, it is
silent and exits 0. In the session of an agent of the crew it does nothing.
"""

import posix
import sys

if __name__ == "__main__":
    code = 0
    try:
        if b"WINDLASS_AGENT" not in posix.environ:
            sys.path.insert(0, __file__.rpartition("/")[0])
            _, mode, *rest = sys.argv[1:]
            code = __import__({"tell": "primary_relay", "wait": "primary_wait"}[mode]).main(rest)
    finally:
        # A session must not feel what went wrong; and nothing needs cleaning up.
        posix._exit(code)  # noqa: SLF001 no other way ends an interpreter at once
