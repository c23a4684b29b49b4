"""Starts the stand-in: `python -I -m windlass.standin`."""

import sys

# msgspec looks for typing_extensions, which takes longer to import than msgspec itself.
sys.modules.setdefault("typing_extensions", None)  # type: ignore[arg-type]

from windlass.standin.program import main  # noqa: E402 - the line above must come first

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
