"""Rooms for gate commands: a throw-away view of folders, in a box or in the same place outside.

Whatever a command does there, none of the folders below changes, and nothing of it is left.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from windlass.api import places
from windlass.api.calls import BOXED
from windlass.box import overlay, probes, proxy, toolchains, wrapper
from windlass.box.overlay import Stack
from windlass.core.box_spec import HOME, TREE, BoxSpec, Network
from windlass.core.config import Config
from windlass.core.errors import ConfigError, GitError
from windlass.core.gate.spec import digest
from windlass.core.printable import printable_line
from windlass.daemon.kernel import folder_copy
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes, environment
from windlass.git.erasure import erase
from windlass.store.rows import Repo


class Room(NamedTuple):
    """Where a command runs: the words before it, its environment, and what to put in its way."""

    prefix: list[str]
    env: Mapping[str, str]
    cwd: Path
    written: Path
    """Where what it writes into the work tree lies, as it is seen from outside."""
    home_written: Path
    """The same of its home."""


class Wanted(NamedTuple):
    """What a room has to be like."""

    box: bool
    network: bool
    domains: tuple[str, ...] = ()
    variables: Mapping[str, str] = MappingProxyType({})


def end_earlier(context: Context, mark: str) -> None:
    """Ends what an earlier try has left running: there hardly ever is one, and a look is cheap."""
    if context.commands.running(mark):
        context.commands.end_run(mark)


@contextlib.contextmanager
def writable(
    context: Context, repo: Repo, config: Config, wanted: Wanted, *, folder: Path
) -> Iterator[Room]:
    """Lends a room in which the tree and home of `folder` are written to, and stay."""
    tree, home = folder / "tree", folder / "home"
    for made in (tree, home):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _room(context, repo, config, wanted, folder=folder, seen=folder, stacks=()) as room:
        yield room


@contextlib.contextmanager
def throw_away(
    context: Context,
    repo: Repo,
    config: Config,
    wanted: Wanted,
    *,
    folder: Path,
    trees: Sequence[Path],
    homes: Sequence[Path],
    at: Path | None = None,
) -> Iterator[Room]:
    """Lends a room that shows these trees as one, the topmost first, and homes likewise.

    What is written goes below `folder`, which is deleted afterwards. Whoever has no box sees both
    below `at`, where there is one: each run for itself, or, where they are copies, one at a time.
    """
    erase(str(folder))
    folder.mkdir(mode=0o700, parents=True)
    seen = at or folder
    stacks = [Stack(trees, folder / "top", seen / "tree")]
    if homes:
        stacks.append(Stack(homes, folder / "home-top", seen / "home"))
    try:
        with contextlib.ExitStack() as held:
            if not overlay.works(context.folders.home / "gates"):
                if at is not None:
                    held.enter_context(_taken(context, at))
                _copy(stacks)
                stacks = []
            (seen / "home").mkdir(mode=0o700, parents=True, exist_ok=True)
            if at is not None:
                os.utime(at)  # what was wanted within the last day stays
            lent = _room(context, repo, config, wanted, folder=folder, seen=seen, stacks=stacks)
            yield held.enter_context(lent)
    finally:
        erase(str(folder))


def _copy(stacks: Sequence[Stack]) -> None:
    """Makes the same of copies, where there are no such mounts; the places are empty."""
    for stack in stacks:
        stack.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        lowers = [str(lower) for lower in reversed(stack.lowers)]
        if left := folder_copy.copy_together(lowers, str(stack.place)):
            raise GitError(
                f"what a run is to see cannot be copied: {', '.join(map(printable_line, left))}",
                "`wl doctor` says what this machine lacks to do without a copy",
            )


@contextlib.contextmanager
def _taken(context: Context, folder: Path) -> Iterator[None]:
    """Has a folder to itself, empty, for as long as the block takes."""
    with context.locks.holding([f"gate at {folder}"]):
        erase(str(folder))
        try:
            yield
        finally:
            erase(str(folder))


@contextlib.contextmanager
def _room(
    context: Context,
    repo: Repo,
    config: Config,
    wanted: Wanted,
    *,
    folder: Path,
    seen: Path,
    stacks: Sequence[Stack],
) -> Iterator[Room]:
    tree, home = seen / "tree", seen / "home"
    before = overlay.prefix(stacks, file=folder / "stacks") if stacks else []
    uppers = {stack.place: stack.folder / "upper" for stack in stacks}
    written = (uppers.get(tree, tree), uppers.get(home, home))
    shown = environment.for_box(
        context.env, home=context.folders.home, private=Path(HOME), also=config.box.env
    )
    env = {**toolchains.variables(shown["PATH"]), **shown, "CI": "true", **wanted.variables}
    for ours in ("WINDLASS_HOME", BOXED):
        env.pop(ours, None)
    if not wanted.box:
        # The shell changes there itself: outside of its own mounts the folder is another one.
        enter = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "-", str(tree)]
        own = {**env, "HOME": str(home), "TMPDIR": str(_made(folder / "tmp"))}
        yield Room([*before, *enter], own, folder, *written)
        return
    network = _network(wanted)
    with _way_out(context, folder, wanted, network) as sockets:
        spec = _box_spec(context, repo, config, env["PATH"], network=network)
        spec = msgspec.structs.replace(
            spec, placed=((str(tree), TREE), (str(home), HOME)), domains=wanted.domains
        )
        line = wrapper.prefix(spec, folder=folder / "box", sockets=sockets, env=env, cwd=TREE)
        yield Room([*before, *line], {}, folder, *written)


def _network(wanted: Wanted) -> Network:
    """What a box of the gate reaches; refuses where there is no such box."""
    network: Network = "none"
    if wanted.network:
        network = "proxy" if wanted.domains else "host"
    usable = probes.usable()
    if not (usable.full or (usable.host_network and network == "host")):
        raise ConfigError(f"no box for the gate: {usable.why}", usable.fix or "see `wl doctor`")
    return network


def _box_spec(
    context: Context, repo: Repo, config: Config, path: str, *, network: Network
) -> BoxSpec:
    never = (str(context.folders.home), str(context.folders.runtime))
    found = toolchains.find(path, never=never, tree=repo.root)
    return BoxSpec(
        readable=(*found, *boxes.always(tuple(config.box.toolchains))),
        network=network,
        quota=boxes.quota(config),
    )


@contextlib.contextmanager
def _way_out(
    context: Context, folder: Path, wanted: Wanted, network: Network
) -> Iterator[Path | None]:
    """Keeps the way out of a box open that reaches some hosts; its log lies in the folder."""
    if network != "proxy":
        yield None
        return
    sockets = context.folders.runtime / f"gate-{digest([str(folder)])[:8]}"
    places.make_private(str(sockets))
    settings = {
        "socket": str(sockets / wrapper.PROXY_SOCKET),
        "domains": wanted.domains,
        "addresses": (),
        "log": str(folder / wrapper.PROXY_LOG),
    }
    serving = proxy.Proxy(settings)
    serving.serve()
    try:
        yield sockets
    finally:
        serving.close()
        erase(str(sockets))


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
