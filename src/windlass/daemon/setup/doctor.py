"""`wl doctor`: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from windlass import __version__, disk_room, drivers
from windlass.api.wire.setup import DoctorReply, LevelView
from windlass.box import probes, toolchains
from windlass.box.probes import Probe
from windlass.core import project_config
from windlass.core.box_spec import Level
from windlass.core.config import Config, confinement, role_settings
from windlass.core.errors import WindlassError
from windlass.core.roles import USUAL
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes, session_request
from windlass.daemon.launch.environment import for_session
from windlass.git import versions
from windlass.project import role_files
from windlass.store.rows import Repo

_ROOM_WANTED = 1 << 30


class _Start(NamedTuple):
    """Whether a new agent of a driver would start, and what would confine it."""

    driver: str
    level: Level | Literal["none"]
    version: str = ""
    why: str = ""
    fix: str = ""


def examine(
    context: Context, root: str | None, repo: Repo | None, *, driver: str | None
) -> DoctorReply:
    """Looks at everything that an agent needs; `ok` is about what agents cannot do without.

    `driver` is the one that the caller's environment names, as for `wl new`. Where configuration
    is wrong, the rest is looked at with what of it can be used: that is said once, not everywhere.
    """
    config, configuration = _config(context, root)
    needed = [
        Probe(
            name="windlass", works=True, detail=f"{__version__}, Python {sys.version.split()[0]}"
        ),
        _checked("git", _git, "install git 2.38 or newer"),
        _checked("tmux", lambda: _tmux(context), "install tmux 3.2 or newer"),
        _wl(context),
        _room(context.folders.home),
        configuration,
        *_waiting(context, root),
    ]
    configured = role_settings(config, USUAL).driver or config.driver
    chosen = driver or context.env.get("WINDLASS_DRIVER") or configured
    tried = [*probes.box(), probes.landlock(), *_partial_toolchains(context)]
    starts = [
        _start(context, name, config, repo) for name in dict.fromkeys([*drivers.known(), chosen])
    ]
    ready = any(start.driver == chosen and start.level != "none" for start in starts)
    return {
        "ok": ready and all(probe.works for probe in needed),
        "needed": [msgspec.to_builtins(probe) for probe in needed],
        "driver": chosen,
        "drivers": [msgspec.to_builtins(_driver(start)) for start in starts],
        "isolation": {
            "available": "box" if probes.usable().host_network else "hooks",
            "agents": [_level(start) for start in starts],
            "probes": [msgspec.to_builtins(probe) for probe in tried],
        },
        "login": None,
        "disk": [],
        "home": str(context.folders.home),
        "sockets": str(context.folders.runtime),
        "system": f"{platform.system()} {platform.release()}",
    }


def _start(context: Context, name: str, config: Config, repo: Repo | None) -> _Start:
    """Goes the way of a worker's spawn as far as it can be gone without one."""
    wanted, network = confinement(config, USUAL)
    root = str(context.folders.workspaces)
    try:
        version = drivers.get(name).check()
        draft = session_request.draft(
            context, name, mode="live", root=root, config=config, boxed=True
        )
        choice = boxes.choose(
            wanted=wanted,
            network=network,
            driver=name,
            draft=draft,
            repo=repo,
        )
        if choice.level == "hooks":
            session_request.require_ready(context, name, mode="live", root=root, config=config)
    except WindlassError as error:
        return _Start(name, "none", why=error.message, fix=error.hint)
    return _Start(name, choice.level, version, choice.why, choice.fix)


def _driver(start: _Start) -> Probe:
    if start.level == "none":
        return Probe(name=start.driver, works=False, detail=start.why, fix=start.fix)
    return Probe(name=start.driver, works=True, detail=start.version)


def _level(start: _Start) -> LevelView:
    return {"driver": start.driver, "level": start.level, "why": start.why, "fix": start.fix}


def _checked(name: str, look: Callable[[], str], fix: str) -> Probe:
    try:
        return Probe(name=name, works=True, detail=look())
    except WindlassError as error:
        return Probe(name=name, works=False, detail=error.message, fix=error.hint or fix)


def _git() -> str:
    versions.require_version()
    return ".".join(map(str, versions.version()))


def _tmux(context: Context) -> str:
    context.sessions.terminal.require_version()
    return str(context.sessions.terminal.version())


def _wl(context: Context) -> Probe:
    path = for_session(context.env, home=context.folders.home)["PATH"]
    program = shutil.which("wl", path=path)
    fix = "" if program else "install Windlass so that `wl` lies beside its Python"
    return Probe(
        name="wl in sessions", works=program is not None, detail=program or "not found", fix=fix
    )


def _partial_toolchains(context: Context) -> list[Probe]:
    """Folders of programs of which boxes show no more, because they are part of a repository."""
    path = for_session(context.env, home=context.folders.home)["PATH"]
    folders = toolchains.alone(path)
    if not folders:
        return []
    inside = "is inside a git repository" if len(folders) == 1 else "are inside git repositories"
    detail = (
        f"{', '.join(folders)} on your PATH {inside}: agents in a box can run the programs there,"
        " and see nothing else of the repository"
    )
    around = shlex.quote(str(Path(folders[0]).parent))
    fix = f"if a program needs what is around it: wl config add box.toolchains {around} --global"
    return [Probe(name="toolchains", works=True, detail=detail, fix=fix)]


def _room(home: Path) -> Probe:
    free = disk_room.free(home)
    if free is None:
        return Probe(name="disk", works=True, detail=f"not known how much is free under {home}")
    return Probe(
        name="disk",
        works=free > _ROOM_WANTED,
        detail=f"{free / (1 << 30):.1f} GiB free under {home}",
        fix="" if free > _ROOM_WANTED else "free some disk space: workspaces live there",
    )


def _config(context: Context, root: str | None) -> tuple[Config, Probe]:
    try:
        config = settings.load(context.folders.home, root)
    except WindlassError as error:
        return settings.usable(context.folders.home, root).config, Probe(
            name="configuration", works=False, detail=error.message, fix=error.hint
        )
    unexplained = role_files.unexplained(config, root) if root else []
    if not unexplained:
        return config, Probe(name="configuration", works=True, detail="valid")
    named = ", ".join(f"[{table}.{role}]" for table, role in unexplained)
    return config, Probe(
        name="configuration",
        works=True,
        detail=f"valid, but {named}: nothing says that there is such a role",
        fix=_how_to_explain(unexplained[0][1], role_files.known(config, root)),
    )


def _waiting(context: Context, root: str | None) -> list[Probe]:
    """What of the repository's configuration waits for the person, if anything does."""
    said = project_config.summary(settings.usable(context.folders.home, root).acceptable)
    fix = "look at it, and accept it if you want it: wl trust"
    return [Probe(name="trust", works=True, detail=said, fix=fix)] if said else []


def _how_to_explain(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, [other for other in known if other != name], n=1)
    meant = f"if you meant {near[0]}, rename it; " if near else ""
    return (
        f"{meant}to have that role, write what it is told to {role_files.FOLDER}/{name}.md,"
        f" or say in [roles.{name}] what its agents may do: readonly = false"
    )
