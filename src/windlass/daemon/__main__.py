"""`python -m windlass.daemon`: the daemon in the foreground."""

import sys

from windlass.daemon.main import run

sys.exit(run())
