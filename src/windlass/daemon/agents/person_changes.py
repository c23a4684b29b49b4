"""What the person has not committed: a new agent begins at a commit, and has none of it.

They are told, and may have copies made in the agent's workspace, uncommitted there too. Nothing is
committed for them, and their own checkout stays as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from windlass.api.wire.agents import ChangesView, SpawnRequest
from windlass.core.errors import Conflict, UserError, WindlassError
from windlass.core.printable import printable_line
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.lookup import Scope
from windlass.git import checkout, repository, status, submodules
from windlass.store.rows import Repo

_NAMED = 5
_MOST = 5_000


class PersonChanges(NamedTuple):
    """The uncommitted files of a checkout, its commit, and why they could not be looked at."""

    checkout: str = ""
    head: str | None = None
    names: tuple[str, ...] = ()
    unfinished: str = ""
    problem: str = ""


def lacking(scope: Scope, repo: Repo, request: SpawnRequest, base: str) -> dict[str, Any]:
    """What a new agent at a commit does not have, or has copies of, as its intent records it."""
    changes = _look(scope, repo, request)
    carried = request.get("with_changes", False)
    apart = request.get("worktree", True)
    nested = submodules.folders(repos.git(repo), base) if apart else []
    told = {
        "changes": _view(changes, carried=carried),
        "submodules": [printable_line(name) for name in nested],
    }
    if not carried:
        return told
    _require_carried(changes, base)
    return {**told, "carried": _recorded(changes)}


def _look(scope: Scope, repo: Repo, request: SpawnRequest) -> PersonChanges:
    """What the person has not committed where they are; an agent's is its own to commit."""
    if scope.caller is not None or not request.get("worktree", True):
        if request.get("with_changes"):
            raise UserError(
                "--with-changes is for a person's own checkout and a new workspace",
                "leave it out; an agent commits first, and the new one begins there",
            )
        return PersonChanges()
    place = _checkout(repo, request.get("cwd", repo.root))
    try:
        git = repos.git(repo)
        work = status.status(git, place)
        # What their filters write (LFS, line ends) looks changed to a git without these.
        edited = set(work.unstaged).intersection(
            checkout.dirty(git, place) if work.unstaged else ()
        )
    except WindlassError as error:
        return PersonChanges(place, problem=error.message)
    names = sorted({*work.staged, *edited, *work.untracked})
    unfinished = work.operation or ("merge" if work.conflicted else "")
    return PersonChanges(place, work.head, tuple(names), unfinished)


def _require_carried(changes: PersonChanges, base: str) -> None:
    """Refuses to take changes along that would not be the same on the commit to begin at."""
    if changes.problem:
        raise Conflict(
            f"your changes could not be looked at: {changes.problem}", "leave --with-changes out"
        )
    if changes.unfinished:
        raise Conflict(
            f"a {changes.unfinished} is under way in {changes.checkout}", "finish it first"
        )
    if changes.head != base:
        raise Conflict(
            f"your changes are to {(changes.head or 'no commit')[:10]}, and the agent begins at"
            f" {base[:10]}",
            "commit them and let it merge, or leave --with-changes out",
        )
    if len(changes.names) > _MOST:
        raise Conflict(
            f"{len(changes.names)} uncommitted files are more than the {_MOST} that are copied",
            "commit them, or have git ignore what is made",
        )


def _view(changes: PersonChanges, *, carried: bool) -> ChangesView:
    """What the person is told of it."""
    return {
        "files": len(changes.names),
        "names": [printable_line(name) for name in changes.names[:_NAMED]],
        "carried": carried,
        "problem": changes.problem,
    }


def _recorded(changes: PersonChanges) -> dict[str, Any]:
    """What the step that copies them needs; a name that is no text cannot be written down."""
    names = [name for name in changes.names if name.isprintable()]
    odd = [printable_line(name) for name in changes.names if not name.isprintable()]
    return {"from": changes.checkout, "names": names, "odd": odd}


def _checkout(repo: Repo, cwd: str) -> str:
    """The checkout that a command is run in; the main one, run anywhere else."""
    here = Path(cwd)
    for place in repository.checkouts(repos.git(repo)).values():
        if place != repo.root and (here == Path(place) or Path(place) in here.parents):
            return place
    return repo.root
