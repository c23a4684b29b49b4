"""Layers: the dependencies that checks need, made once for each state of what they are made from.

A layer is made in a work tree of its own by the gate's setup. Kept of it are the paths that `deps`
names and the home that the setup had; every run sees them below its own tree, and changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from windlass import whole_file
from windlass.core.errors import WindlassError
from windlass.core.gate import patterns
from windlass.core.gate import spec as specs
from windlass.core.printable import printable_line
from windlass.daemon.gate import growth, rooms
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.places import READY, GatePlaces
from windlass.daemon.gate.rooms import Wanted
from windlass.daemon.gate.setup_reach import Reach
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees
from windlass.git.erasure import erase
from windlass.git.walk import walk

_LOG_BYTES = 64 << 20
_SETUP_SECONDS = 3600.0
PLATFORM = f"{platform.system()}-{platform.machine()}"


class LayerNeed(NamedTuple):
    """Which layer a tree needs, and the tree that it is made from."""

    key: str
    source: str
    is_own: bool
    """Whether only that tree has such inputs, and the target has others."""


def need(gate: Gate, tree: str, versions: str) -> LayerNeed:
    """Finds the layer of a tree. One that the target could have as well is made from the target.

    So no change supplies what others are tested with; what is made from one is for it alone.
    """
    git = repos.git(gate.repo)
    inputs = list(gate.spec.inputs)

    def key(of: str) -> str:
        blobs = gate_trees.blobs(git, of, inputs)
        return specs.layer_key(
            gate.spec, blobs, versions=versions, level=gate.level, platform=PLATFORM
        )

    own, common = key(tree), key(gate.target.tree)
    if own == common:
        return LayerNeed(common, gate.target.tree, is_own=False)
    return LayerNeed(specs.own_layer_key(own, tree), tree, is_own=True)


def is_ready(context: Context, gate: Gate, key: str) -> bool:
    """Whether a layer is there as a whole."""
    places = GatePlaces(context.folders.home, gate.repo.id)
    return not key or (places.layer(key) / READY).is_file()


@contextlib.contextmanager
def in_use(context: Context, gate: Gate, key: str) -> Iterator[None]:
    """Keeps a layer from being made or removed by others, and notes that it was wanted."""
    with context.locks.holding([f"layer {gate.repo.id} {key}"]):
        wanted(context, gate, key)
        yield


def wanted(context: Context, gate: Gate, key: str) -> None:
    """Notes that a layer is wanted: for a day from now on it is not removed."""
    now = context.clock.now()
    with contextlib.suppress(OSError):
        os.utime(GatePlaces(context.folders.home, gate.repo.id).layer(key) / READY, (now, now))


def make(
    context: Context,
    gate: Gate,
    needed: LayerNeed,
    *,
    tree: str,
    mark: str,
    reach: Reach,
    timeout: float = _SETUP_SECONDS,
) -> dict[str, Any]:
    """Makes a layer, unless it is there; returns `why` where a tree cannot have it, and its log."""
    if needed.key and (why := _masked(gate, tree)):
        return {"key": needed.key, "why": why, "log": ""}
    with in_use(context, gate, needed.key):
        if is_ready(context, gate, needed.key):
            return {"key": needed.key, "why": "", "log": ""}
        return _make(context, gate, needed, mark=mark, reach=reach, timeout=timeout)


def _make(
    context: Context, gate: Gate, needed: LayerNeed, *, mark: str, reach: Reach, timeout: float
) -> dict[str, Any]:
    places = GatePlaces(context.folders.home, gate.repo.id)
    rooms.end_earlier(context, mark)
    build = places.layer_made_at(needed.key)
    erase(str(build))
    places.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = places.logs / f"setup-{needed.key}.log"
    log.unlink(missing_ok=True)
    try:
        why = _set_up(
            context, gate, needed, build=build, log=log, mark=mark, reach=reach, timeout=timeout
        )
        if not why:
            why = _keep(gate, needed, build, places.layer(needed.key))
    finally:
        erase(str(build))
    return {"key": needed.key, "why": why, "log": str(log)}


def _set_up(
    context: Context,
    gate: Gate,
    needed: LayerNeed,
    *,
    build: Path,
    log: Path,
    mark: str,
    reach: Reach,
    timeout: float,
) -> str:
    """Runs the setup in a fresh tree; says why there is nothing to keep, or nothing."""
    gate_trees.bring(repos.git(gate.repo), build / "tree", needed.source)
    wanted = Wanted(gate.spec.box, reach.network, reach.domains)
    try:
        lent = rooms.writable(context, gate.repo, gate.config, wanted, folder=build)
        with lent as room:
            done = context.commands.run_whole(
                gate.spec.setup,
                cwd=room.cwd,
                env=room.env,
                log=log,
                timeout=timeout,
                mark=mark,
                prefix=room.prefix,
                most=_LOG_BYTES,
                look=growth.look(context, gate.config, build),
            )
    except WindlassError as error:
        return error.message
    if done.overgrown:
        return f"gate.setup was ended: {done.overgrown}"
    if done.timed_out:
        return f"gate.setup took longer than {timeout:.0f} s"
    if done.code:
        return f"gate.setup ended with {done.code}{_lacked(gate, needed, reach)}"
    return ""


def _masked(gate: Gate, tree: str) -> str:
    """Says which file of a tree nobody would test, because a layer lies over it."""
    wanted = gate.spec.deps
    for name in gate_trees.names(repos.git(gate.repo), tree) if wanted else ():
        if patterns.matches_below(name, wanted):
            return f"gate.deps: {printable_line(name)} is part of the tree itself"
    return ""


def _lacked(gate: Gate, needed: LayerNeed, reach: Reach) -> str:
    """What a setup had less of the network than the gate says, why, and what gives it more."""
    if not (gate.spec.setup_network and gate.spec.box):
        return ""
    if not gate.setup_network:
        return "; it had no network: you have not accepted it: wl trust gate.setup"
    if not needed.is_own or (reach.network and not reach.domains):
        return ""
    had = f"reached {', '.join(reach.domains)} alone" if reach.network else "had no network"
    return (
        f"; it {had}: its gate.inputs are not the target's; name hosts in setup_domains, or approve"
        " it for this tree: wl gate run REV --setup-network"
    )


def _keep(gate: Gate, needed: LayerNeed, build: Path, layer: Path) -> str:
    """Moves what `deps` names and the home into a layer; says what is wrong with that."""
    tracked = _with_folders(gate_trees.names(repos.git(gate.repo), needed.source))
    wanted = gate.spec.deps
    kept = build / "kept"
    (kept / "tree").mkdir(parents=True)
    found = False
    for path in list(dependencies(build / "tree", wanted)):
        name = str(path.relative_to(build / "tree"))
        if path.is_symlink():
            return f"gate.deps: {printable_line(name)} is a link"
        if name in tracked:
            return f"gate.deps: {printable_line(name)} is part of the tree itself"
        place = kept / "tree" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
        found = True
    if wanted and not found:
        return f"gate.setup made nothing that gate.deps names: {', '.join(wanted)}"
    (build / "home").rename(kept / "home")
    whole_file.replace(kept / READY, b"")
    erase(str(layer))
    layer.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(str(kept), layer)
    return ""


def _with_folders(names: Iterable[str]) -> set[str]:
    """Paths, and every folder that one of them lies in."""
    paths = set(names)
    for name in names:
        folder = name.rpartition("/")[0]
        while folder and folder not in paths:
            paths.add(folder)
            folder = folder.rpartition("/")[0]
    return paths


def dependencies(tree: Path, wanted: tuple[str, ...]) -> Iterator[Path]:
    """What patterns of `deps` name in a tree; of what lies in something named, nothing."""

    def is_named(name: bytes) -> bool:
        return patterns.matches(os.fsdecode(name), wanted)

    for entry in walk(str(tree), enter=lambda folder: not is_named(folder)):
        if is_named(entry.path):
            yield tree / os.fsdecode(entry.path)
