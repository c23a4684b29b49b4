"""The attacker: `python3 -m tests.redteam.inside [NAME …]` tries everything, or what is named.

Knows the whole ground from `map.json`: what stops it must not be that it does not know the way.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.redteam.inside import config, extras, files, gits, ipc, leaving, processes, starving
from tests.redteam.inside.trying import ALL, NOT_HERE, OUTSIDE, tried

_ORDER = (files, gits, processes, ipc, config, leaving, extras, starving)
"""They enter themselves when they are loaded."""


def main(wanted: list[str]) -> None:
    """Tries them, one after the other, and adds what came of each to `findings.json`."""
    given = os.environ.get("REDTEAM_MAP") or Path(__file__).with_name("map.json")
    known = json.loads(Path(given).read_text())
    names = [name for name in ALL if name in wanted or (not wanted and name.split()[0].isdigit())]
    kept = Path("findings.json")
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name in names:
        said = tried(ALL[name], known)
        if said["got"] not in (OUTSIDE, NOT_HERE):
            found[name] = said
    kept.write_text(json.dumps(found, indent=1))
    for name in wanted:
        Path(f".tried-{name}").touch()


if __name__ == "__main__":
    main(sys.argv[1:])
