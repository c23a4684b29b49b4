"""`python -m windlass`: the command line."""

import sys

from windlass.cli.main import main

sys.exit(main())
