"""`wl uninstall`: what Windlass has put into repositories is taken out, and what it keeps deleted.

Refuses while anything would be lost or left half done. Branches and what a repository has committed
stay, and so does salvaged work unless its refs are wanted gone. The last files of the state folder
are the command's to delete, once this daemon has stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from windlass.api.verbs import Caller
from windlass.api.wire.person import (
    KnownRepository,
    UninstallLook,
    UninstallReply,
    UninstallRequest,
)
from windlass.api.wire.request import AnyRequest
from windlass.core.errors import Conflict, NotFound, WindlassError
from windlass.core.landing.changes import OPEN
from windlass.core.printable import printable_line
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.accepted_lines import REPO_ID_FILE
from windlass.daemon.kernel.context import Context
from windlass.daemon.person import status_files
from windlass.daemon.person.primary_hooks import PrimaryHooks
from windlass.git import repository
from windlass.git.erasure import erase
from windlass.git.repository import Repository
from windlass.store import changes as changes_rows
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

_REFS = "refs/windlass/"
_TRASH = "refs/windlass/trash/"
_OF_AGENTS = ("agents", "boxes", "crew", "gates", "mirrors", "workspaces")
"""Folders of the state folder that agents' programs wrote in."""


class Uninstalls:
    """Says what there is to be taken out, and takes it out."""

    def __init__(self, context: Context, hooks: PrimaryHooks) -> None:
        self._context = context
        self._hooks = hooks

    def look(self, _caller: Caller, _request: AnyRequest) -> UninstallLook:
        """What there is; nothing is changed."""
        known = self._context.store.read(rows.repos)
        archive = self._context.folders.archive
        return {
            "home": str(self._context.folders.home),
            "in_the_way": self._in_the_way(known),
            "repositories": [_known(repo) for repo in known],
            "archives": len(list(archive.iterdir())) if archive.is_dir() else 0,
            "kept": [str(folder) for folder in self._only_copies()],
        }

    def uninstall(self, caller: Caller, request: UninstallRequest) -> UninstallReply:
        """Takes it out; what cannot be is told, and keeps nothing else in. May be done again."""
        known = self._context.store.read(rows.repos)
        if in_the_way := self._in_the_way(known):
            raise Conflict(f"{in_the_way[0]}; nothing was removed", "wl uninstall lists it all")
        removed: list[str] = []
        problems: list[str] = []

        def attempt(do: Callable[[], list[str]]) -> None:
            try:
                removed.extend(do())
            except (WindlassError, OSError) as error:
                problems.append(printable_line(str(error)))

        folder = request.get("config_folder", "")
        if folder:
            attempt(lambda: self._unhook(caller, "user", "/", folder))
        for repo in known:
            if repos.is_gone(repo):
                continue
            git = repos.git(repo)
            if Path(repo.root).is_dir():
                attempt(lambda r=repo: self._unhook(caller, "project", r.root, folder))  # type: ignore[misc]
            if request.get("refs", False):
                attempt(lambda g=git: _delete_refs(g))  # type: ignore[misc]
            # From here on nothing keeps its status up to date.
            self._context.store.write(lambda w, r=repo: _forget(w, r))  # type: ignore[misc]
            gone, why = status_files.remove(repo.root)
            removed += [f"the crew's status in {path}" for path in gone]
            problems += why
            attempt(lambda g=git: _delete_private(g))  # type: ignore[misc]
        attempt(self._erase)
        return {"removed": removed, "problems": problems}

    def _in_the_way(self, known: list[Repo]) -> list[str]:
        found = []
        live = self._context.store.read(rows.agents)
        roots = {repo.id: repo.root for repo in known}
        for agent in live:
            root = printable_line(roots.get(agent.repo, agent.workspace))
            found.append(
                f"{agent.id} lives, in {root}: wl merge {agent.id}, or wl kill {agent.id}, which"
                " puts its work into the trash"
            )
        if not live:
            found += [
                f"{printable_line(str(place))} belongs to no agent: wl repair takes it in"
                for place in self._workspaces()
            ]
        for repo in known:
            waiting = self._context.store.read(
                lambda c, r=repo: changes_rows.listed(c, r.id, states=OPEN)  # type: ignore[misc]
            )
            found += [
                f"{change.id} is in the queue of {printable_line(repo.root)}: wait for it, or"
                f" wl drop {change.id}"
                for change in waiting
            ]
        return found

    def _workspaces(self) -> list[Path]:
        """Workspaces that are left, though nobody works in them."""
        top = self._context.folders.workspaces
        found = top.glob("*/*") if top.is_dir() else ()
        return sorted(place for place in found if place.is_dir() and any(place.iterdir()))

    def _only_copies(self) -> list[Path]:
        top = self._context.folders.archive
        found = top.iterdir() if top.is_dir() else ()
        return sorted(folder for folder in found if (folder / "workspace").is_dir())

    def _unhook(self, caller: Caller, where: str, root: str, folder: str) -> list[str]:
        request = {"where": where, "cwd": root, "config_folder": folder}
        done = self._hooks.uninstall(caller, request)  # type: ignore[arg-type]
        return [f"what is ours in {file['path']}" for file in done["files"] if file["changed"]]

    def _erase(self) -> list[str]:
        """Deletes what agents' programs wrote, by the care that needs, and archives."""
        home, kept = self._context.folders.home, set(self._only_copies())
        for name in _OF_AGENTS:
            erase(str(home / name))
        archive = self._context.folders.archive
        for folder in sorted(archive.iterdir()) if archive.is_dir() else ():
            if folder not in kept:
                erase(str(folder))
        if archive.is_dir() and not kept:
            archive.rmdir()
        return []


def _known(repo: Repo) -> KnownRepository:
    refs: list[str] = []
    is_gone = repos.is_gone(repo)
    if not is_gone:
        refs = sorted(repository.refs_under(repos.git(repo), _REFS))
    trash = [ref.removeprefix(_TRASH) for ref in refs if ref.startswith(_TRASH)]
    return {"root": repo.root, "is_gone": is_gone, "refs": len(refs), "trash": trash}


def _forget(writing: Writing, repo: Repo) -> None:
    try:
        repos.forget(writing, repo)
    except NotFound:
        return


def _delete_refs(git: Repository) -> list[str]:
    refs = sorted(repository.refs_under(git, _REFS))
    repository.delete_refs(git, *refs)
    return [f"{len(refs)} refs below {_REFS} of {git.root}"] if refs else []


def _delete_private(git: Repository) -> list[str]:
    """Deletes our own folder and file inside the git folder."""
    found = [path for path in (git.private, os.path.join(git.git_dir, REPO_ID_FILE))  # noqa: PTH118 - as in `git`
             if os.path.lexists(path)]  # fmt: skip
    for path in found:
        erase(path)
    return found
