"""What a gate's checks need, in the workspaces of agents: so they can run what they are gated by.

A boxed agent has a copy of the layer that the target's own checks see, and sees its workspace at
the path where that was made. A copy, and no overlay: several boxes of one agent run at once, and
what it writes there has to be found in its workspace. Without a box the gate's setup is run in the
workspace itself, as the workspace's own.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.daemon.gate import gates, layers, setup_reach
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.places import GatePlaces
from windlass.daemon.gate.versions import KnownVersions
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import beside, setup_files
from windlass.git import beneath, gate_trees, gitfiles, workspace_state
from windlass.git.erasure import erase
from windlass.git.walk import walk
from windlass.store.rows import Repo

_Give = Callable[[Path, str, str], bool]
"""Puts a dependency of a layer into a workspace; says whether it is there now."""
_NEW = ".windlass-new"
_EXCLUDE = "exclude"
_LARGEST = 1 << 20
_EXCLUDED = "# what the gate's checks need, put here by Windlass\n"


class AgentLayers:
    """Lends agents what the checks of their repository's gate need."""

    def __init__(self, context: Context, versions: KnownVersions) -> None:
        self._context = context
        self._versions = versions

    def lend(self, agent: Agent, repo: Repo, *, timeout: float) -> str:
        """Puts it into a new workspace, made first where it is not there; says what is lacking.

        Nobody may work there yet. A gate without a setup needs nothing.
        """
        return self._lent(agent, repo, timeout, _give)

    def lend_again(self, agent: Agent, repo: Repo, *, timeout: float) -> str:
        """The same in a workspace that came back with its agent's work: that stays as it is."""
        return self._lent(agent, repo, timeout, _complete)

    def _lent(self, agent: Agent, repo: Repo, timeout: float, give: _Give) -> str:
        try:
            gate = gates.find(self._context, repo)
            if gate is None or not gate.spec.setup:
                return ""
            return self._lend(agent, gate, timeout, give)
        except WindlassError as error:
            return error.message
        except OSError as error:
            return f"what the gate needs cannot be put there: {error.strerror}"

    def note(self, agent: Agent, repo: Repo) -> None:
        """Notes what a setup has made in a workspace of the gate's dependencies."""
        gate = gates.find(self._context, repo)
        if gate is not None and gate.spec.deps:
            there = Path(agent.workspace)
            paths = [p for p in _names(there, gate.spec.deps) if not (there / p).is_symlink()]
            setup_files.remember_provided(self._context, agent, paths)

    def _lend(self, agent: Agent, gate: Gate, timeout: float, give: _Give) -> str:
        if gate.level != "box":
            return "the gate runs without a box, so what it needs was made at another place"
        asked = self._versions.of(gate)
        if asked.why:
            return asked.why
        needed = layers.need(gate, gate.target.tree, asked.digest)
        mark = beside.mark(agent, "setup")
        made = layers.make(
            self._context,
            gate,
            needed,
            tree=gate.target.tree,
            mark=mark,
            reach=setup_reach.of_target(gate),
            timeout=timeout,
        )
        if made["why"]:
            return f"{made['why']} (log: {made['log']})" if made["log"] else str(made["why"])
        layer = GatePlaces(self._context.folders.home, gate.repo.id).layer(needed.key)
        with layers.in_use(self._context, gate, needed.key):
            git = repos.git(gate.repo)
            named = [
                p
                for p in _names(layer / "tree", gate.spec.deps)
                if not gate_trees.blobs(git, agent.base, [p])
            ]
            paths = [name for name in named if give(layer / "tree", agent.workspace, name)]
            home = self._context.folders.private_home(agent.uid)
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            _add(layer / "home", home)
            again = give is _complete  # in a new workspace nothing is anybody's work
            changed = _changed(layer / "tree", Path(agent.workspace), paths) if again else set()
        exclude(Path(agent.workspace), paths)
        setup_files.remember_provided(self._context, agent, paths, but=changed)
        return ""


def _names(folder: Path, wanted: tuple[str, ...]) -> list[str]:
    """What lies below a folder of the dependencies."""
    return [str(path.relative_to(folder)) for path in layers.dependencies(folder, wanted)]


def _holds(name: str, paths: Iterable[str]) -> bool:
    """Whether one of these paths is that, or lies below it."""
    return any(f"{path}/".startswith(f"{name}/") for path in paths)


def _give(layer: Path, workspace: str, name: str) -> bool:
    """Copies a dependency into a workspace, unless it is there; says whether it is there now.

    Not where something on the way is no folder: a link may lead anywhere.
    """
    here = Path(workspace)
    for part in name.split("/")[:-1]:
        here /= part
        if os.path.lexists(here) and not stat.S_ISDIR(here.lstat().st_mode):
            return False
    if not os.path.lexists(Path(workspace) / name):
        _copy(layer / name, Path(workspace) / name)
    return True


def _complete(layer: Path, workspace: str, name: str) -> bool:
    """The same where an agent has worked: of a folder that is there, what is missing in it."""
    if not _give(layer, workspace, name):
        return False
    _fill(layer / name, Path(workspace) / name)
    return True


def _fill(source: Path, target: Path) -> None:
    if not os.path.lexists(target):
        _copy(source, target)
    elif _is_folder(source) and _is_folder(target):
        for path in source.iterdir():
            _fill(path, target / path.name)


def _changed(layer: Path, workspace: Path, paths: Iterable[str]) -> set[str]:
    """The files below these paths that are no copies of the layer's: somebody's work, or older."""
    found = set()
    for path in paths:
        top = workspace / path
        below = [] if not _is_folder(top) else walk(str(top))
        names = [path, *(f"{path}/{os.fsdecode(e.path)}" for e in below if e.kind != "folder")]
        found |= {name for name in names if not _is_copy(layer / name, workspace / name)}
    return found


def _is_copy(one: Path, other: Path) -> bool:
    """Whether a file is as `cp -a` makes it of another one."""
    try:
        was, now = one.lstat(), other.lstat()
    except OSError:
        return False
    return (was.st_mode, was.st_size, was.st_mtime_ns) == (
        now.st_mode,
        now.st_size,
        now.st_mtime_ns,
    )


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


def _add(source: Path, home: Path) -> None:
    """Copies what an agent's home has not: nobody has worked there yet."""
    for path in source.iterdir():
        if not os.path.lexists(home / path.name):
            _copy(path, home / path.name)


def _copy(source: Path, target: Path) -> None:
    """Copies something as a whole, links as links, sharing its blocks where that can be."""
    fresh = target.with_name(f"{target.name}{_NEW}")
    fresh.parent.mkdir(parents=True, exist_ok=True)
    erase(str(fresh))
    shared = ["--reflink=auto"] if sys.platform == "linux" else []
    done = subprocess.run(
        ["cp", "-a", *shared, "--", str(source), str(fresh)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WindlassError(f"{source.name} cannot be copied: {done.stderr.strip()[-200:]}")
    fresh.rename(target)


def exclude(workspace: Path, paths: list[str]) -> None:
    """Has git in a clone leave alone what was put there, so that it is not committed by mistake."""
    lines = [f"/{_literal(path)}\n" for path in paths]
    git_dir = workspace_state.canonical(str(workspace / ".git"))
    if not lines or not workspace_state.is_folder(git_dir):
        return
    # It may have come back from the trash, as its agent left it: a link there leads anywhere.
    with beneath.opened(git_dir, b"info") as info:
        try:
            before = gitfiles.read_at(info, _EXCLUDE, limit=_LARGEST)
        except OSError:
            before = b""  # it is not there, or a link
        added = os.fsencode("".join([_EXCLUDED, *lines]))
        gitfiles.put_at(info, _EXCLUDE, b"".join([before, added]))


def _literal(path: str) -> str:
    return "".join(f"\\{sign}" if sign in "*?[]\\!# " else sign for sign in path)
