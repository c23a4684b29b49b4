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


def deepen(folder: Path, *, folders: int) -> None:
    """Makes folders in each other, deeper than a path can be, with 300 KiB in the last."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(folders):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    with os.fdopen(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
        file.write(os.urandom(300 << 10))
    os.close(here)


def test_what_a_change_left_however_deep_keeps_nothing_from_being_removed(
    context: Context,
) -> None:
    """It counts as a whole, and it and all others go."""
    used, old = layer(context, "used", days=2), layer(context, "old", days=9)
    hostile = layer(context, "hostile", days=3)
    deepen(hostile / "tree", folders=3000)
    (hostile / "tree" / "closed").mkdir(mode=0)
    found = list(gate_files.old_layers(context, most=300 << 10, removes=True))
    assert {over.name: over.stays for over in found} == {"hostile": "", "old": ""}
    assert found[0].size > 300 << 10
    assert [folder.exists() for folder in (used, hostile, old)] == [True, False, False]


def test_what_cannot_be_removed_is_told_and_keeps_nothing_else(context: Context) -> None:
    """Somebody else's folder in it, say."""
    layers = context.folders.home / "gates" / "deadbeef" / "layers"
    stuck, old = layers / "stuck", layer(context, "old", days=9)
    stuck.symlink_to(layers / "nowhere")  # the mark in it cannot be deleted: it leads elsewhere
    (layers / "nowhere").write_text("no folder")
    os.utime(layers / "nowhere", (NOW - 9 * DAY,) * 2)
    os.utime(stuck, (NOW - 9 * DAY,) * 2, follow_symlinks=False)
    found = {over.name: over for over in gate_files.old_layers(context, most=1, removes=True)}
    assert found["stuck"].stays.startswith("it cannot be removed: ")
    assert not found["old"].stays
    assert not old.exists()


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
