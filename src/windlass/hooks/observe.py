"""The observing hook: `python -I -S observe.py EVENTS_FILE WAKE_SOCKET`, the event on stdin.

Records the event and pokes the daemon. It never fails nor delays the agent: whatever happens, it
exits 0.
"""

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from windlass.hooks import event_record
else:
    sys.path.insert(0, __file__.rpartition("/")[0])
    import event_record


def main(arguments: list[str]) -> None:
    """Records the event, then pokes."""
    body, size = event_record.read_all()
    event_record.record(arguments[0], arguments[1], body, size)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        # Whatever happened, the agent must not feel it; and nothing needs cleaning up.
        posix._exit(0)  # noqa: SLF001 no other way ends an interpreter at once
