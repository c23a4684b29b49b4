"""Orphans: what lives and no agent in the store accounts for, and how each is mended.

Nothing is asked of what an agent could have written. A workspace is ours if its repository has it
registered in our folder, with the ref that we set before we made it; a session if it is on our own
terminal and was started from our own folder. What is not proven ours is named and never touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from windlass.core.errors import Unavailable, WindlassError
from windlass.core.ids import Uid
from windlass.daemon.agents import ending_settings
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes
from windlass.daemon.repair import missing_mail
from windlass.daemon.repair.missing_repositories import consequences
from windlass.git import registered, repository, workspace_state, worktrees
from windlass.git.repository import Repository
from windlass.store import rows
from windlass.store.rows import Repo

_BASES = "refs/windlass/base/"
_UID = re.compile(r"[0-9a-f]{12}")


class LostWorkspace(NamedTuple):
    """The workspace or the branch of an agent that the store does not know."""

    repo: Repo
    name: str
    path: str
    base: str
    is_clone: bool
    uid: Uid | None
    """The agent whose folder tells of a session in it."""


class Orphan(NamedTuple):
    """Something that nobody accounts for; `mend` is what is done about it, where that is ours."""

    kind: Literal["workspace", "branch", "session", "folder", "repository", "mail"]
    subject: str
    evidence: str
    action: Literal["take in", "stop", "archive", "tell", "none"]
    mend: Callable[[], None] | None = None


class Orphans:
    """Finds them; `take_in` is what mends a lost workspace."""

    def __init__(self, context: Context, take_in: Callable[[LostWorkspace], None]) -> None:
        self._context = context
        self._take_in = take_in

    @property
    def _workspaces(self) -> Path:
        return self._context.folders.workspaces.resolve()

    def find(self) -> list[Orphan]:
        """Everything, in the order in which it has to be mended.

        What lives is looked at before the store is asked: who is started meanwhile is no orphan.
        """
        shown = self._context.sessions.shown()
        workspaces = sorted(self._workspaces.glob("*/[!.]*"))
        folders = sorted((self._context.folders.home / "agents").glob("*"))
        lost: list[LostWorkspace] = []
        unproven: list[Orphan] = []
        for repo in self._context.store.read(rows.repos):
            try:
                of_this, others = ([], []) if repos.is_gone(repo) else self._of_repo(repo)
            except WindlassError as error:
                of_this, others = [], [Orphan("repository", repo.root, error.message, "none")]
            lost += of_this
            unproven += others
        live = self._context.store.read(rows.agents)
        accounted = {agent.uid for agent in live} | {workspace.uid for workspace in lost}
        places = {agent.workspace for agent in live} | {workspace.path for workspace in lost}
        resolved = {Path(place).resolve() for place in places}
        strange = [place for place in workspaces if place not in resolved and place.exists()]
        waiting = {f"wl-{place.parent.name}-{place.name}": place for place in strange}
        missing = [
            Orphan(
                "repository", repo.root, f"it is not there any more: {consequences(crew)}", "none"
            )
            for repo in self._context.store.read(rows.repos)
            if (crew := [agent for agent in live if agent.repo == repo.id]) and repos.is_gone(repo)
        ]
        return [
            *missing,
            *self._sessions(shown, accounted, waiting),
            *(self._workspace(workspace) for workspace in lost),
            *unproven,
            *self._strange_workspaces(strange),
            *self._folders(folders, accounted, waiting),
            *self._mail(),
        ]

    def _mail(self) -> Iterator[Orphan]:
        """Messages that only their senders know of, in a store that was replaced."""
        for missing in missing_mail.find(self._context):
            yield Orphan(
                "mail",
                ", ".join(missing.ids),
                f"{missing.agent.id} speaks of it, and the store, which was restored, has none",
                "tell",
                partial(missing_mail.tell, self._context, missing),
            )

    def _of_repo(self, repo: Repo) -> tuple[list[LostWorkspace], list[Orphan]]:
        """What is left of agents in a repository: workspaces of ours, branches of somebody's."""
        git = repos.git(repo)
        clones, linked = registered.clones(git), _linked(git)
        lost, unproven = [], []
        for name, base in self._unowned(repo, git).items():
            branch = f"agent/{name}"
            path = clones.get(branch) or linked.get(branch)
            if path is not None and Path(path).resolve().is_relative_to(self._workspaces):
                uid = self._uid(repo, name)
                lost.append(LostWorkspace(repo, name, path, base, branch in clones, uid))
            else:
                why = f"{_BASES}{name}, but no workspace of it is in {self._workspaces}"
                unproven.append(Orphan("branch", f"{branch} in {repo.root}", why, "none"))
        return lost, unproven

    def _unowned(self, repo: Repo, git: Repository) -> dict[str, str]:
        """The refs that mark branches as an agent's, by name, of which no agent lives."""
        bases = repository.refs_under(git, _BASES)
        live = self._context.store.read(lambda c: rows.agents(c, repo=repo.id))
        names = {agent.id for agent in live}
        unowned = {ref.removeprefix(_BASES): oid for ref, oid in bases.items()}
        return {
            name: oid
            for name, oid in unowned.items()
            # Once more: an agent may have ended between the two looks, and its ref before it.
            if name not in names and repository.read_ref(git, _BASES + name) == oid
        }

    def _workspace(self, lost: LostWorkspace) -> Orphan:
        there = Path(lost.path).is_dir()
        subject = lost.path if there else f"agent/{lost.name} in {lost.repo.root}"
        evidence = f"{_BASES}{lost.name}, and registered at {lost.path}; no agent {lost.name} lives"
        kind: Literal["workspace", "branch"] = "workspace" if there else "branch"
        return Orphan(kind, subject, evidence, "take in", lambda: self._take_in(lost))

    def _uid(self, repo: Repo, name: str) -> Uid | None:
        """The agent that nobody knows and that had a session there; who lives goes first."""
        session = f"wl-{repo.id}-{name}"
        folders = sorted((self._context.folders.home / "agents").glob("*/sessions/*"))
        if (shown := self._context.sessions.shown().get(session)) is not None:
            folders.insert(0, shown)
        for folder in folders:
            started, uid = self._context.sessions.started(folder), self._owner(folder)
            if started is None or started.name != session or uid is None:
                continue
            if self._context.store.read(partial(rows.agent, uid=uid)) is None:
                return uid
        return None

    def _owner(self, folder: Path) -> Uid | None:
        """Whose session a folder is, by its place in our own."""
        uid = Uid(folder.parent.parent.name)
        is_ours = folder.parent == self._context.folders.agent(uid) / "sessions"
        return uid if is_ours and _UID.fullmatch(uid) else None

    def _sessions(
        self,
        shown: Mapping[str, Path],
        accounted: Collection[Uid | None],
        waiting: Mapping[str, Path],
    ) -> Iterator[Orphan]:
        for name, folder in shown.items():
            uid = self._owner(folder)
            if uid is None or uid in accounted:
                continue
            if name in waiting:
                yield Orphan("session", name, _waits(waiting[name]), "none")
                continue
            evidence = f"on our terminal, started from {folder}; no such agent lives"
            yield Orphan("session", name, evidence, "stop", partial(self._stop, name, folder))

    def _stop(self, name: str, folder: Path) -> None:
        started = self._context.sessions.started(folder)
        if started is None:
            raise Unavailable(f"{folder} does not say what it was started with", "end it by hand")
        report = self._context.sessions.stop(folder=folder, name=name, marker=started.marker)
        if report.survivors:
            raise Unavailable(f"processes would not end: {', '.join(report.survivors)}", "end them")

    def _strange_workspaces(self, strange: list[Path]) -> Iterator[Orphan]:
        known = {repo.id for repo in self._context.store.read(rows.repos)}
        for folder in strange:
            why = "no repository has it registered"
            if folder.parent.name not in known:
                why = f"repository {folder.parent.name} is not known: run `wl repair` in it"
            yield Orphan("workspace", str(folder), why, "none")

    def _folders(
        self,
        folders: list[Path],
        accounted: Collection[Uid | None],
        waiting: Mapping[str, Path],
    ) -> Iterator[Orphan]:
        for folder in folders:
            if not _UID.fullmatch(folder.name) or folder.name in accounted or not folder.exists():
                continue
            sessions = map(self._context.sessions.started, folder.glob("sessions/*"))
            names = {session.name for session in sessions if session is not None}
            if name := next((name for name in sorted(names) if name in waiting), None):
                yield Orphan("folder", str(folder), _waits(waiting[name]), "none")
                continue
            evidence = "the folder of an agent, and no such agent lives"
            archive = partial(self._archive, folder)
            yield Orphan("folder", str(folder), evidence, "archive", archive)

    def _archive(self, folder: Path) -> None:
        """Moves the folder of an agent that nobody knows into the archive, as endings do."""
        if any(place.is_relative_to(folder) for place in self._context.sessions.shown().values()):
            raise Unavailable(f"a session in {folder} goes on", "end it, and try again")
        stamp = ending_settings.stamp(self._context.clock.now())
        target = self._context.folders.archive / f"{stamp}-{folder.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        boxes.forget_ways(folder)
        try:
            folder.rename(target)
        except OSError as error:
            raise Unavailable(f"{folder} cannot be moved: {error.strerror}", "") from error


def _waits(workspace: Path) -> str:
    """Why a session or a folder stays: it belongs to work that may be taken in some day."""
    return f"its workspace {workspace} is not taken in yet"


def _linked(git: Repository) -> dict[str, str]:
    """The linked worktrees that we made, by the branch that each was made for."""
    made = {
        worktrees.own_branch(admin): path for admin, path in workspace_state.admins(git).items()
    }
    return {branch: path for branch, path in made.items() if branch is not None}
