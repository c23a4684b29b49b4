"""The crew's status in files of the person's checkout: CLAUDE.md's node, `.windlass/STATUS.md`.

Both are off unless configured, and then cost a look at two files a second and repository. What is
in them is `core.person.status_node`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from windlass.core.config import Config
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import StatusFileSkipped, StatusNodeSkipped
from windlass.core.ids import RepoId
from windlass.core.person import status_node
from windlass.core.person.status_node import NodeMessage, Renewed, Root, Status
from windlass.core.states import State
from windlass.daemon.kernel import person_files, settings
from windlass.daemon.kernel.context import Context
from windlass.store import mailbox, rows
from windlass.store.rows import Repo

log = logging.getLogger(__name__)

NODE_FILE = "CLAUDE.md"
STATUS_FILE = ".windlass/STATUS.md"
_Signature = tuple[int, int, int] | None


class _LoadedConfig(NamedTuple):
    """A repository's options, and how the files were that they were read from."""

    files: tuple[_Signature, ...]
    config: Config | None


class _LastWrite(NamedTuple):
    """What a file was made to say last, when, and how it was then."""

    at: float
    data: dict[str, Any]
    file: _Signature


class StatusFiles:
    """Keeps both files as the crew is; `refresh` is to be called about once a second."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._configs: dict[RepoId, _LoadedConfig] = context.memory.per_repo()
        self._writes: dict[RepoId, dict[Path, _LastWrite]] = context.memory.per_repo()
        self._problems: dict[RepoId, dict[Path, str]] = context.memory.per_repo()
        """Why each file could not be written, as it was told last."""

    def refresh(self) -> None:
        """Writes what has changed, where it is wanted and due."""
        for repo in self._context.store.read(rows.repos):
            config = self._config(repo)
            self._take_back(repo, config)
            if config is None or not Path(repo.root).is_dir():
                continue
            status = self._context.store.read(partial(_status, repo=repo.id))
            if config.status_node.enabled:
                self._keep(repo, NODE_FILE, _node, status, config)
            if config.status_file:
                self._keep(repo, STATUS_FILE, _markdown, status, config)

    def _config(self, repo: Repo) -> Config | None:
        """The configuration, if it wants any of this; read again only when a file has changed."""
        home = self._context.folders.home
        paths = (*settings.own_files(home, repo.root), Path(repo.root) / settings.PROJECT_FILE)
        files = tuple(_signature(path) for path in paths)
        loaded = self._configs.get(repo.id)
        if loaded is None or loaded.files != files:
            loaded = _LoadedConfig(files, self._load(repo))
            self._configs[repo.id] = loaded
        return loaded.config

    def _load(self, repo: Repo) -> Config | None:
        try:
            config = settings.load(self._context.folders.home, repo.root)
        except (WindlassError, OSError) as error:
            log.warning("no status of %s is written: %s", repo.root, error)
            return None
        return config if config.status_node.enabled or config.status_file else None

    def _take_back(self, repo: Repo, config: Config | None) -> None:
        """Takes away what nobody keeps up to date any more: it would soon be untrue."""
        on = (config is not None and config.status_node.enabled, config and config.status_file)
        for name, edit, wanted in zip(
            (NODE_FILE, STATUS_FILE), (_without_node, _without_file), on, strict=True
        ):
            path = Path(repo.root) / name
            if wanted or self._writes_in(repo).pop(path, None) is None:
                continue
            _, why = _change(path, edit)
            self._tell_once(repo, path, why)

    def _keep(
        self,
        repo: Repo,
        name: str,
        renew: Callable[[bytes | None, dict[str, Any]], Renewed],
        status: Status,
        config: Config,
    ) -> None:
        path = Path(repo.root) / name
        options = config.status_node
        data = status_node.as_data(
            status,
            now=self._context.clock.now(),
            max_messages=options.max_messages,
            count_children=options.include_children_count,
        )
        if not self._due(repo, path, data, options.update_interval):
            return
        wrote, why = _write(path, lambda old: renew(old, data))
        if wrote or not why:
            before = self._writes_in(repo).get(path)
            at = self._context.clock.now() if wrote else before.at if before else 0.0
            self._writes_in(repo)[path] = _LastWrite(at, data, _signature(path))
        self._tell_once(repo, path, why)

    def _due(self, repo: Repo, path: Path, data: dict[str, Any], interval: float) -> bool:
        """Whether it is time: at first, when somebody has gone, else once in an interval."""
        last = self._writes_in(repo).get(path)
        if last is None:
            return True
        if status_node.same(last.data, data) and last.file == _signature(path):
            return False
        if _ids(last.data) - _ids(data):
            return True
        # A clock that went back is no reason to wait for it.
        return not 0 <= self._context.clock.now() - last.at < interval

    def _writes_in(self, repo: Repo) -> dict[Path, _LastWrite]:
        return self._writes.setdefault(repo.id, {})

    def _tell_once(self, repo: Repo, path: Path, why: str) -> None:
        problems = self._problems.setdefault(repo.id, {})
        if problems.get(path, "") == why:
            return
        problems[path] = why
        if not why:
            return
        skipped = (
            StatusNodeSkipped(path=str(path), why=why)
            if path.name == NODE_FILE
            else StatusFileSkipped(path=str(path), why=why)
        )
        self._context.store.write(lambda w: w.emit(skipped, repo=repo.id))


def remove(root: str) -> tuple[list[Path], list[str]]:
    """Takes both out of a checkout for good; says which were there, and what could not be."""
    removed, problems = [], []
    for name, edit in ((NODE_FILE, _without_node), (STATUS_FILE, _without_file)):
        path = Path(root) / name
        if not path.is_file():
            continue
        wrote, why = _change(path, edit)
        removed += [path] if wrote else []
        problems += [why] if why else []
    return removed, problems


def _node(old: bytes | None, data: dict[str, Any]) -> Renewed:
    if old is None:
        return Renewed(None, f"it is not there: {status_node.MAKES_BLOCK}")
    return status_node.renew(old, data)


def _without_node(old: bytes | None) -> bytes | None:
    return None if old is None else status_node.without(old)


def _without_file(old: bytes | None) -> bytes | None:
    return None if old is None or status_node.is_ours(old) else old


def _markdown(old: bytes | None, data: dict[str, Any]) -> Renewed:
    return status_node.renew_markdown(old, data)


def _status(connection: sa.Connection, repo: RepoId) -> Status:
    live = rows.agents(connection, repo=repo)
    present = {agent.uid for agent in live}
    return Status(
        roots=tuple(_root(agent, live) for agent in live if agent.parent not in present),
        messages=tuple(
            NodeMessage(
                id=message.id,
                sender=message.sender_id,
                at=message.created_at,
                kind=message.kind,
                body=message.body,
            )
            for message in mailbox.waiting_for_person(connection, repo)
        ),
    )


def _root(agent: Agent, live: list[Agent]) -> Root:
    children = [other for other in live if other.parent == agent.uid]
    return Root(
        id=agent.id,
        state=agent.state,
        created_at=agent.created_at,
        goal=agent.goal,
        children=len(children),
        children_complete=sum(child.state is State.COMPLETE for child in children),
    )


def _ids(data: dict[str, Any]) -> set[str]:
    return {root["id"] for root in data["root_agents"]}


def _write(path: Path, renew: Callable[[bytes | None], Renewed]) -> tuple[bool, str]:
    """Writes what a file becomes; says whether it was written, and if not, why."""
    why = ""

    def edit(old: bytes | None) -> bytes | None:
        nonlocal why
        text, why = renew(old)
        return old if text is None else text

    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        return False, f"{path.parent} cannot be made: {error.strerror}"
    wrote, problem = _change(path, edit)
    return wrote, problem or why


def _change(path: Path, edit: person_files.Edit) -> tuple[bool, str]:
    """Changes a file; says whether it did, and what kept it from that."""
    if path.parent.is_symlink():
        return False, f"{path.parent} is a link"
    try:
        return person_files.change(path, edit), ""
    except WindlassError as error:
        return False, error.message


def _signature(path: Path) -> _Signature:
    try:
        info = path.lstat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
