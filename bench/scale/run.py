"""`make bench-scale`: big repositories, two hundred agents and a year of history, in one run.

Its grounds are made here, in a folder of their own that is removed afterwards: some 2.5 GB of disk,
and some minutes of both cores. What a line may take is beside what plain git or an empty store does
in the same minutes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bench.parts import Asked  # noqa: E402 - as above
from bench.scale import big, crowd, history  # noqa: E402 - found through the line above
from bench.table import Row  # noqa: E402 - as above
from tests.support.ground import Ground  # noqa: E402 - as above

PARTS: dict[str, Callable[[Ground], Iterable[Row]]] = {
    "starts": big.starts,
    "looks": big.looks,
    "ends": big.ends,
    "merges": big.merges,
    "crowd": crowd.measure,
    "history": history.measure,
}


def main() -> int:
    """Measures everything, or the parts that are named; ends 1 if a budget is exceeded."""
    asked = Asked(__doc__, PARTS)
    rows: list[Row] = []
    for name, measure in asked.parts.items():
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        for row in _on_a_ground(measure):
            print(f"  {row.what}: {row.median:.1f} {row.unit}", file=sys.stderr, flush=True)
            rows.append(row)
    return asked.print(rows)


def _on_a_ground(measure: Callable[[Ground], Iterable[Row]]) -> Iterator[Row]:
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    ground = Ground(folder)
    ground.repository()
    if measure in (crowd.measure, history.measure):
        ground.unbox()
    try:
        yield from measure(ground)
    finally:
        ground.wl("nuke", "--force", "-q", timeout=600)
        ground.leave()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
