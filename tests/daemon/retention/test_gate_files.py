"""What gates leave is kept for so long, or for as much room, as a person wants."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.contexts import NOW

from windlass.daemon.gate.places import READY
from windlass.daemon.kernel.context import Context
from windlass.daemon.retention import gate_files
from windlass.daemon.setup import disk_kinds

DAY = 86_400.0


def layer(context: Context, name: str, *, days: float, kind: str = "layers") -> Path:
    """Dependencies of 64 KiB that were wanted so many days ago."""
    folder = context.folders.home / "gates" / "deadbeef" / kind / name
    (folder / "tree").mkdir(parents=True)
    (folder / "tree" / "file").write_bytes(os.urandom(64 << 10))
    if kind == "layers" and not name.startswith("."):
        (folder / READY).touch()
        os.utime(folder / READY, (NOW - days * DAY,) * 2)
    os.utime(folder, (NOW - days * DAY,) * 2)
    return folder


def test_layers_that_were_wanted_last_are_kept_up_to_a_size(context: Context) -> None:
    """Of the others all goes; what was wanted within a day stays, and a half one does not."""
    used, fresh = layer(context, "used", days=2), layer(context, "fresh", days=0.5)
    old, half = layer(context, "old", days=9), layer(context, ".half", days=3)
    cache = layer(context, "cache", days=8, kind="caches")
    most = 200 << 10
    found = list(gate_files.old_layers(context, most=most, removes=False))
    assert sorted(over.name for over in found) == [".half", "cache", "old"]
    assert all(folder.exists() for folder in (used, fresh, old, half, cache))
    list(gate_files.old_layers(context, most=most, removes=True))
    assert [folder.exists() for folder in (used, fresh, old, half, cache)] == [True, True] + [
        False
    ] * 3
    assert list(gate_files.old_layers(context, most=1, removes=True)) != []
    assert fresh.exists(), "a run may be at it"


def test_logs_go_by_their_age(context: Context) -> None:
    """All others stay."""
    logs = context.folders.home / "gates" / "deadbeef" / "logs"
    logs.mkdir(parents=True)
    for name, days in (("old.log", 15), ("new.log", 13)):
        (logs / name).write_text("said\n")
        os.utime(logs / name, (NOW - days * DAY,) * 2)
    found = list(gate_files.old_logs(context, before=NOW - 14 * DAY, removes=True))
    assert [over.name for over in found] == ["old.log"]
    assert [path.name for path in logs.iterdir()] == ["new.log"]


def test_doctor_counts_what_gates_take(context: Context) -> None:
    """Layers, logs and trees each by themselves."""
    layer(context, "used", days=2)
    taken = {view["kind"]: view["bytes"] for view in disk_kinds.taken(context)}
    assert taken["layers of gates"] >= 64 << 10
    assert taken["logs of gates"] == 0
