"""docs/architecture.md says what is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import windlass
from windlass.daemon.kernel.pools import FRESH, POOLS, THREADS
from windlass.store import connections

SOURCE = Path(windlass.__file__).parent
PAGE = (SOURCE.parents[1] / "docs" / "architecture.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The rows of the table with that head, cell by cell."""
    after = PAGE.split(f"\n{heading}\n", 1)[1].split("\n\n", 1)[0]
    rows = after.splitlines()[1:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


def test_the_pools_are_those_that_the_daemon_declares() -> None:
    declared = [
        [p.name, str(p.bound), str(p.share or ""), str(p.fresh or ""), p.owner, p.work]
        for p in POOLS
    ]
    assert (
        table("| pool | at most | of one agent | begun lately | owner | what it does |") == declared
    )
    assert f"begun within the last {FRESH:.0f} seconds" in PAGE


def test_the_other_threads_are_those_that_the_daemon_declares() -> None:
    declared = [[thread.name, thread.owner, thread.work] for thread in THREADS]
    assert table("| thread | owner | what it does |") == declared


def test_the_readers_that_wait_are_counted_from_the_pools_and_the_connections() -> None:
    threads = sum(pool.bound for pool in POOLS)
    assert threads > connections.READERS
    assert f"{threads} threads in all, the store {connections.READERS} connections" in PAGE
    assert f"The {connections.READERS + 1}rd reader waits" in PAGE
    assert f"at most {connections.PATIENCE:.0f} seconds" in PAGE


def test_every_file_and_folder_that_is_named_exists() -> None:
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE)) - {"src/windlass/"}
    assert len(named) > 20
    below = {name: [SOURCE / name, SOURCE / "daemon" / name] for name in named}
    assert [name for name, paths in below.items() if not any(p.exists() for p in paths)] == []


def test_every_package_is_on_the_map() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    for folder in (SOURCE, SOURCE / "daemon"):
        packages = {path.parent.name for path in folder.glob("*/__init__.py")}
        assert packages <= named, packages - named


def test_the_rooms_of_the_daemon_stand_in_the_order_that_make_check_enforces() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c.get("containers") == ["windlass.daemon"])
    rooms = PAGE.split("Inside `daemon/`", 1)[1].split("| package | what it owns |\n", 1)[1]
    named = re.findall(r"^\| (`.*?`) \|", rooms.split("\n\n", 1)[0], re.MULTILINE)
    beside = ["__main__", "main", "routes", "services"]
    assert layers == [*beside, *(name.replace("`", "").replace(", ", " | ") for name in named)]
