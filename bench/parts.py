"""What both benchmarks are asked for on the command line, and how they print it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Mapping

from bench.table import Row, show
from tests.support.ground import Ground

Parts = Mapping[str, Callable[[Ground], Iterable[Row]]]


class Asked:
    """What somebody wants measured."""

    def __init__(self, about: str | None, parts: Parts) -> None:
        parser = argparse.ArgumentParser(description=about)
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}")
        args = parser.parse_args()
        if unknown := set(args.parts) - set(parts):
            parser.error(f"no such part: {', '.join(sorted(unknown))}")
        self.parts = {name: parts[name] for name in parts if name in (args.parts or parts)}
        self._as_json = args.json

    def print(self, rows: list[Row]) -> int:
        """Prints the table; ends 1 if a budget is exceeded."""
        if self._as_json:
            print(json.dumps([row.as_data() for row in rows], indent=2))
        else:
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end\n")
            show(rows)
        return int(any(row.verdict == "OVER" for row in rows))
