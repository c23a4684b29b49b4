"""`wl doctor`: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from windlass import __version__, drivers
from windlass.box import probes
from windlass.box.probes import Probe
from windlass.core.errors import WindlassError
from windlass.daemon import boxes, lodging, settings
from windlass.daemon.context import Context
from windlass.daemon.environment import for_session
from windlass.git import runner
from windlass.store.rows import Repo

_ROOM_WANTED = 1 << 30


def examine(context: Context, root: str | None, repo: Repo | None) -> dict[str, Any]:
    """Looks at everything that an agent needs; `ok` is about what agents cannot do without."""
    needed = [
        Probe(
            name="windlass", works=True, detail=f"{__version__}, Python {sys.version.split()[0]}"
        ),
        _checked("git", _git, "install git 2.38 or newer"),
        _checked("tmux", lambda: _tmux(context), "install tmux 3.2 or newer"),
        _wl(context),
        _room(context.folders.home),
        _config(context, root),
    ]
    return {
        "ok": all(probe.works for probe in needed),
        "needed": [msgspec.to_builtins(probe) for probe in needed],
        "drivers": [
            msgspec.to_builtins(_driver(context, name, root)) for name in _drivers(context, root)
        ],
        "isolation": _isolation(context, root, repo),
        "home": str(context.folders.home),
        "sockets": str(context.folders.runtime),
        "system": f"{platform.system()} {platform.release()}",
    }


def _isolation(context: Context, root: str | None, repo: Repo | None) -> dict[str, Any]:
    """What each level is like here, each really run, and what new agents would get."""
    tried = [*probes.box(), probes.landlock()]
    available = "box" if probes.usable().host_network else "hooks"
    return {
        "available": available,
        "agents": [
            _level(context, name, root, repo) for name in _drivers(context, root) if _known(name)
        ],
        "probes": [msgspec.to_builtins(probe) for probe in tried],
    }


def _level(context: Context, name: str, root: str | None, repo: Repo | None) -> dict[str, Any]:
    """The level that a new agent of a driver would have, and what would reach a box."""
    try:
        config = settings.load(context.folders.home, root)
        where = str(context.folders.workspaces)
        draft = lodging.draft(context, name, mode="live", root=where, config=config, boxed=True)
        choice = boxes.choose(
            wanted=config.isolation, network=config.network, driver=name, draft=draft, repo=repo
        )
        if choice.level == "hooks":
            lodging.require_ready(context, name, mode="live", root=where, config=config)
    except WindlassError as error:
        return {"driver": name, "level": "none", "why": error.message, "fix": error.hint}
    return {"driver": name, "level": choice.level, "why": choice.why, "fix": choice.fix}


def _checked(name: str, look: Callable[[], str], fix: str) -> Probe:
    try:
        return Probe(name=name, works=True, detail=look())
    except WindlassError as error:
        return Probe(name=name, works=False, detail=error.message, fix=error.hint or fix)


def _git() -> str:
    runner.require_version()
    return ".".join(map(str, runner.version()))


def _tmux(context: Context) -> str:
    context.sessions.tmux.require_version()
    return str(context.sessions.tmux.version())


def _drivers(context: Context, root: str | None) -> list[str]:
    """The drivers there are, and the one that is configured, which may not be among them."""
    try:
        chosen = settings.load(context.folders.home, root).driver
    except WindlassError:
        return list(drivers.known())
    return list(dict.fromkeys([*drivers.known(), chosen]))


def _known(name: str) -> bool:
    return name in drivers.known()


def _driver(context: Context, name: str, root: str | None) -> Probe:
    """Whether a live agent of this driver could start now, and if not, the next step to there."""

    def look() -> str:
        version = drivers.get(name).check()
        config = settings.load(context.folders.home, root)
        where = str(context.folders.workspaces)
        lodging.require_ready(context, name, mode="live", root=where, config=config)
        return version

    return _checked(name, look, "")


def _wl(context: Context) -> Probe:
    path = for_session(context.env, home=context.folders.home)["PATH"]
    found = shutil.which("wl", path=path)
    fix = "" if found else "install Windlass so that `wl` lies beside its Python"
    return Probe(
        name="wl in sessions", works=found is not None, detail=found or "not found", fix=fix
    )


def _room(home: Path) -> Probe:
    free = shutil.disk_usage(home).free
    return Probe(
        name="disk",
        works=free > _ROOM_WANTED,
        detail=f"{free / (1 << 30):.1f} GiB free under {home}",
        fix="" if free > _ROOM_WANTED else "free some disk space: workspaces live there",
    )


def _config(context: Context, root: str | None) -> Probe:
    def look() -> str:
        settings.load(context.folders.home, root)
        return "valid"

    return _checked("configuration", look, "")
