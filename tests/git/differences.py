"""What agents did, asked for as the daemon does: from main to the branch of a workspace, and on."""

from __future__ import annotations

from pathlib import Path

from windlass.git import changes, repository
from windlass.git.changes import Difference
from windlass.git.environment import ReadBox
from windlass.git.repository import Repository


def difference(
    repo: Repository, path: Path, *, stat: bool = False, box: ReadBox | None = None
) -> Difference:
    """Gives both parts; the branch is where it is at home."""
    base, tip = ends(repo, path)
    return changes.diff(repo, str(path), base=base, tip=tip, stat=stat, box=box)


def shown(repo: Repository, path: Path, *, stat: bool = False, box: ReadBox | None = None) -> bytes:
    """Gives both as one."""
    parts = difference(repo, path, stat=stat, box=box)
    return parts.committed + parts.uncommitted


def materialise(
    repo: Repository, path: Path, into: Path, *, box: ReadBox | None = None
) -> list[str]:
    """Writes both as folders; gives what those are called."""
    base, tip = ends(repo, path)
    changes.materialise(repo, str(path), str(into), base=base, tip=tip, box=box)
    return sorted(str(side.relative_to(into)) for side in into.glob("*/*"))


def ends(repo: Repository, path: Path) -> tuple[str, str]:
    """Main, and the branch of a workspace; of one that nobody knows, an agent's, if any."""
    base = repository.require(repo, "main")
    places = {place: branch for branch, place in repository.checkouts(repo).items()}
    branch = places.get(str(path), "agent/a1")
    return base, repository.resolve(repo, f"refs/heads/{branch}") or base
