"""Boxes of agents: which level one gets and why, and what its box shows and reaches.

How a box is made is `box`'s; what a session is told is `session_request`'s.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import windlass
from windlass import drivers, whole_file
from windlass.api import places
from windlass.box import bwrap, groups, probes, proxy, read_box, toolchains, wrapper
from windlass.core.box_spec import (
    HOME,
    TREE,
    BoxSpec,
    BoxView,
    Isolation,
    Level,
    Network,
    Quota,
)
from windlass.core.config import FILE_WAYS, Config, Way, confinement
from windlass.core.config import WAYS as ALL_WAYS
from windlass.core.config_layers import Usable
from windlass.core.crew import Agent
from windlass.core.driver_request import OF_PERSON, WAYS, SessionRequest
from windlass.core.errors import ConfigError
from windlass.core.session_launch import Launch
from windlass.daemon.kernel import repos, settings, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import beside, environment
from windlass.git import clones
from windlass.git.environment import ReadBox
from windlass.git.homecoming import SendBox
from windlass.store.rows import Repo

_SHOWN = (
    *("settings.json", "plugin", "instructions.md", "prompt.md", "policy.json", "fork.jsonl"),
    OF_PERSON,
)
"""Of an agent's folder, read-only: what it is told, and what it may do."""
_COVERED = ("config", "remote-settings.json")
"""A file in a folder of an agent's own that must be empty: an organisation's settings as last seen.

With one of its own making an agent would turn every hook off: measured on Claude Code.
"""
_NOTHING, _NONE = "nothing", "none"
"""In an agent's folder, where no box can write: what is seen where a file or a folder is covered
by nothing of anybody's."""
_ITS_OWN = ("home", "config")
_MEBIBYTE = 1 << 20


class Choice(NamedTuple):
    """The level that an agent gets, and where that is not a box, what stands against one."""

    level: Level
    why: str = ""
    fix: str = ""


def choose(
    *, wanted: Isolation, network: Network, driver: str, draft: SessionRequest, repo: Repo | None
) -> Choice:
    """Finds the level; refuses where a box was asked for that cannot be had.

    `draft` is the session as it would be in a box, as far as it is known; nothing is said of a
    repository that is not.
    """
    if wanted == "hooks":
        return Choice("hooks", "asked for")
    try:
        _require_box(network, draft, repo)
        drivers.get(driver).require_ready(draft)
    except ConfigError as error:
        if wanted == "auto":
            return Choice("hooks", error.message, error.hint)
        raise ConfigError(f"no box: {error.message}", error.hint) from None
    return Choice("box")


def lacks_token(*, network: Network, driver: str, draft: SessionRequest, repo: Repo | None) -> bool:
    """Whether a token for its agent CLI is all that stands between an agent and a box."""
    try:
        _require_box(network, draft, repo)
    except ConfigError:
        return False
    chosen = drivers.get(driver)
    return bool(chosen.token_command) and not chosen.can_log_in(draft)


def _require_box(network: Network, draft: SessionRequest, repo: Repo | None) -> None:
    if draft.trusted_root is None:
        raise ConfigError(
            "an agent in your own checkout works on your files, which a box would hide",
            "leave --no-worktree out",
        )
    _require_usable(network)
    try:
        owner = Path(repo.git_dir).stat().st_uid if repo is not None else os.geteuid()
    except FileNotFoundError as error:
        raise ConfigError(f"{error.filename} is not there", "`wl doctor` says what helps") from None
    if repo is not None and owner != os.geteuid():
        raise ConfigError(
            f"{repo.root} belongs to user {owner}, and a box shows only what is yours",
            f"run Windlass as that user, or chown -R {os.geteuid()} {repo.root}",
        )


def wrap(context: Context, agent: Agent, request: SessionRequest, launch: Launch) -> Launch:
    """Puts a session into its agent's box; one with hooks alone stays as it is."""
    if agent.isolation != "box":
        return launch
    _require_still(agent)
    folder = context.folders.session(agent.uid, agent.session)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    Path(request.hooks.events).touch(mode=0o600)
    spec = _box_spec(
        context, agent, request, programs=(launch.argv[0],), more=(request.hooks.events,)
    )
    return wrapper.wrap(launch, spec, folder=folder, sockets=context.folders.sockets(agent.uid))


def view(context: Context, agent: Agent, request: SessionRequest) -> BoxView:
    """What the programs of a session would find in its agent's box."""
    spec = _box_spec(context, agent, request)
    shown = (*bwrap.SYSTEM, *spec.readable, *spec.writable)
    return BoxView(shown=shown, network=spec.network, domains=spec.domains)


def prefix(
    context: Context,
    agent: Agent,
    request: SessionRequest,
    *,
    what: beside.What,
    terminal: bool = False,
) -> list[str]:
    """What runs a command beside a session in an agent's box; nothing where it has none.

    The command gets the request's environment, whatever that of its caller is.
    """
    if agent.isolation != "box":
        return []
    _require_still(agent)
    line = wrapper.prefix(
        _box_spec(context, agent, request),
        folder=context.folders.boxes(agent.uid) / what,
        sockets=context.folders.sockets(agent.uid),
        env={**request.env, **request.extra_env},
        cwd=agent.workspace,
        terminal=terminal,
    )
    return beside.marked_line(context, agent, what, line)


@contextlib.contextmanager
def way_out(context: Context, agent: Agent) -> Iterator[None]:
    """Lets a command beside a session reach the domains that its agent may, while it runs.

    Not while a session runs: this would take the place of its proxy's socket.
    """
    if agent.isolation != "box" or agent.network != "proxy":
        yield
        return
    config = _config(context, agent)
    sockets = context.folders.sockets(agent.uid)
    places.make_private(str(sockets))
    serving = proxy.Proxy(
        {
            "socket": str(sockets / wrapper.PROXY_SOCKET),
            "domains": config.box.domains,
            "addresses": (),
            "log": str(context.folders.agent(agent.uid) / wrapper.PROXY_LOG),
        }
    )
    serving.serve()
    try:
        yield
    finally:
        serving.close()


def clear(context: Context, agent: Agent) -> None:
    """Removes what limited an agent's boxes, once nothing runs in them."""
    groups.remove(context.folders.session(agent.uid, agent.session))
    for folder in context.folders.boxes(agent.uid).glob("*"):
        groups.remove(folder)


def close(context: Context, agent: Agent) -> None:
    """Keeps boxes from starting that were prepared to run beside an agent's sessions."""
    for file in context.folders.boxes(agent.uid).glob("*/*"):
        file.unlink(missing_ok=True)


def forget_ways(folder: Path) -> None:
    """Deletes what a session had of the person's own: the folder of its agent keeps none of it."""
    shutil.rmtree(folder / OF_PERSON, ignore_errors=True)


def forget(context: Context, agent: Agent) -> None:
    """Deletes what the boxes beside an agent's sessions were started from, at its ending."""
    shutil.rmtree(context.folders.boxes(agent.uid), ignore_errors=True)


def reading(context: Context, agent: Agent) -> ReadBox | None:
    """How git reads an agent's clone: in a box that shows the clone and what it borrows.

    None for an agent without a box, which could do as it likes; and where this machine has none any
    more, because what is in the clone has to be kept all the same.
    """
    return _lean(context, agent, agent.workspace)


def keeping(context: Context, agent: Agent, place: str) -> ReadBox | None:
    """The same for what its clone holds as a whole, however large that is, and where it lies."""
    return _lean(context, agent, place, file_size=None)


def _lean(
    context: Context, agent: Agent, *shown: str, file_size: int | None = read_box.FILE_SIZE
) -> ReadBox | None:
    usable = probes.usable()
    if agent.isolation != "box" or not (usable.full or usable.host_network):
        return None
    borrowed = clones.borrowed(str(context.folders.mirror(agent.repo)))

    def box(*writable: str) -> list[str]:
        return read_box.prefix(
            readable=(*borrowed, *shown),
            writable=writable,
            files=context.folders.home / "boxes",
            network=not usable.full,
            file_size=file_size,
        )

    return box


def filling(context: Context, agent: Agent) -> ReadBox | None:
    """How git puts back into a new clone what an agent left; None where `reading` is."""
    return _lean(context, agent)


def sending(context: Context, agent: Agent, *, most: int) -> SendBox:
    """How git sends what an agent committed: it is ended when it sends more than that.

    In a box like that for reading, which shows the mirror itself instead of its objects alone, and
    of the clone nothing but what is lent of it.
    """
    _require_still(agent)
    mirror = str(context.folders.mirror(agent.repo))
    size = None if most == sys.maxsize else most + 1

    def box(lent: str) -> list[str]:
        lean = _lean(context, agent, mirror, lent, file_size=size)
        if lean is None:
            raise AssertionError("git would obey what an agent wrote: it sends in a box alone")
        return list(lean())

    return box


def changing_prefix(context: Context, agent: Agent) -> list[str]:
    """What runs git to change an agent's clone, in a box that shows it and what it borrows."""
    _require_still(agent)
    borrowed = clones.borrowed(str(context.folders.mirror(agent.repo)))
    spec = BoxSpec(
        readable=borrowed,
        writable=(agent.workspace,),
        network="none" if probes.usable().full else "host",
        quota=quota(_config(context, agent)),
    )
    line = wrapper.prefix(spec, folder=context.folders.boxes(agent.uid) / beside.CHANGING)
    return beside.marked_line(context, agent, beside.CHANGING, line)


def require_as_configured(context: Context, agent: Agent) -> None:
    """Refuses a new session to an agent whose box is gone, or that has none and must have one."""
    if agent.isolation == "box":
        _require_still(agent)
        return
    config = _usable(context, agent).require("isolation", "roles")
    wanted, _ = confinement(config, agent.role)
    if wanted in ("required", "box"):
        raise ConfigError(
            f"{agent.id} has no box, and isolation is {wanted} by now",
            f"start another in its place: wl merge {agent.id}, then wl new;"
            " or lift it: wl config set isolation auto",
        )


def _usable(context: Context, agent: Agent) -> Usable:
    return settings.usable(context.folders.home, repos.by_id(context, agent.repo).root)


def _config(context: Context, agent: Agent) -> Config:
    """What is configured; a wrong key of a file is no reason to refuse what began without it."""
    return _usable(context, agent).config


def _require_still(agent: Agent) -> None:
    _require_usable(
        agent.network, before=f"{agent.id} is boxed, and this machine has no box any more: "
    )


def _require_usable(network: Network, *, before: str = "") -> None:
    usable = probes.usable()
    if not (usable.full if network != "host" else usable.host_network):
        more = "`wl doctor` tells more"
        raise ConfigError(before + usable.why, f"{usable.fix}; {more}" if usable.fix else more)


def _box_spec(
    context: Context,
    agent: Agent,
    request: SessionRequest,
    *,
    programs: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> BoxSpec:
    repo = repos.by_id(context, agent.repo)
    config = _config(context, agent)
    folder = context.folders.agent(agent.uid)
    for name in _ITS_OWN:
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    shown = [*(folder / name for name in _SHOWN), context.folders.home / environment.PROGRAMS]
    script = (agent.script,) if agent.script else ()
    found = toolchains.find(
        request.env["PATH"],
        programs=programs,
        never=(str(context.folders.home), str(context.folders.runtime)),
        tree=repo.root,
    )
    return BoxSpec(
        readable=(
            *(str(path) for path in shown if path.exists()),
            str(context.folders.sockets(agent.uid)),
            str(context.folders.mirror(agent.repo)),
            *clones.borrowed(str(context.folders.mirror(agent.repo))),
            *script,
            *found,
            *always(tuple(config.box.toolchains)),
        ),
        writable=(agent.workspace, *(str(folder / name) for name in _ITS_OWN), *more),
        covers=tuple(_covers(folder)),
        # What a gate's setup made for its checks serves agents as well.
        placed=((agent.workspace, TREE), (str(folder / "home"), HOME)),
        network=agent.network,
        domains=tuple(config.box.domains) if agent.network == "proxy" else (),
        addresses=drivers.get(agent.driver).reaches(request),
        quota=quota(config),
    )


def _covers(folder: Path) -> Iterator[tuple[str, str]]:
    """What is covered of an agent's own folder: our file or folder, and the place of the agent's.

    The same names in all of its boxes, and of one kind each, whatever is seen there. What a box has
    covered its programs cannot exchange; in one that has not, they could put a link in its place
    while another is being set up, and bubblewrap makes the file that is missing where a link leads.
    Nothing is made anew that is there: a box that runs would lose what covers it.
    """
    nothing, none = folder / _NOTHING, folder / _NONE
    if not untrusted_files.is_empty(nothing):
        whole_file.replace(nothing, b"")
    none.mkdir(mode=0o700, exist_ok=True)
    own, copies = folder / _COVERED[0], folder / OF_PERSON / WAYS
    untrusted_files.make_plain(own, _COVERED[1])
    yield str(nothing), str(own / _COVERED[1])
    for way in ALL_WAYS:
        yield str(_shown_as(way, copies / way, nothing, none)), str(_made(own, way))


def _shown_as(way: Way, copy: Path, nothing: Path, none: Path) -> Path:
    """What a box shows of the person's ways at one name: its copy, or that there is none."""
    if way in FILE_WAYS:
        return copy if copy.is_file() else nothing
    return copy if copy.is_dir() else none


def _made(own: Path, way: Way) -> Path:
    """The place in the agent's own folder over which one of the ways is seen."""
    make = untrusted_files.make_plain if way in FILE_WAYS else untrusted_files.make_folder
    make(own, way)
    return own / way


def always(more: tuple[str, ...]) -> tuple[str, ...]:
    """What every box shows: what Windlass itself is run by, and what the person names."""
    ours = (sys.prefix, sys.base_prefix, str(Path(windlass.__file__).parent))
    named = tuple(os.path.expanduser(folder) for folder in more)  # noqa: PTH111 - as people write it
    return (*ours, *named)


def quota(config: Config) -> Quota:
    """How much of the machine one box may take."""
    box = config.box
    return Quota(
        memory=box.memory_mb * _MEBIBYTE,
        processes=box.processes,
        open_files=box.open_files,
        file_size=box.file_mb * _MEBIBYTE,
        temp_size=box.temp_mb * _MEBIBYTE,
    )
