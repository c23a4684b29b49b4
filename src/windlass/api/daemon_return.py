"""The program that brings a daemon back: `python -m windlass.api.daemon_return HOME`.

A session's holder has it run by the tmux server, with an empty environment; it takes on the one
that was written down at the person's last start. What it says is kept (`daemon_record`). As a
service (`--foreground HOME`) it becomes the daemon itself, also if the person stopped the last one:
a supervisor starts it when the person logs in, or says so.
"""

from __future__ import annotations

import sys

from windlass.api import daemon_record, daemon_start
from windlass.core.errors import WindlassError


def main(arguments: list[str]) -> int:
    """Starts the daemon of a state folder, unless one runs or the person stopped it."""
    *service, home = arguments
    try:
        daemon_record.take_on(home)
        daemon_start.become() if service else daemon_start.bring_back()
    except WindlassError as error:
        sys.stderr.write(f"windlass: {error.message}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
