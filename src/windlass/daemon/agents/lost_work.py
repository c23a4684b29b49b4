"""Where the work of an agent is that this state folder does not know, and the repository does.

So it is after the state folder was moved or deleted: the branch is in the repository, which also
says where the workspace was.
"""

from __future__ import annotations

from pathlib import Path

from windlass.core.errors import WindlassError
from windlass.git import names, repository


def hint(cwd: str, wanted: str) -> str:
    """Says where the work of an agent of that name is; empty where nothing is known of it."""
    base = f"refs/windlass/base/{wanted}"
    if not names.is_ref(base.encode(errors="replace")):
        return ""
    try:
        repo = repository.discover(cwd)
        if repository.read_ref(repo, base) is None:
            return ""
        place = repository.checkouts(repo).get(f"agent/{wanted}")
    except WindlassError:
        return ""  # not in a repository, or none that can be read: there is nothing to add
    return f"its commits are on agent/{wanted} in {repo.root}{_files(place)}"


def _files(place: str | None) -> str:
    if place is None:
        return "; `wl repair` takes it in again"
    if Path(place).is_dir():
        return f", its files in {place}; `wl repair` takes it in again"
    return (
        f", and its files were in {place}, which is not there: if you have moved the state folder,"
        " put it back or name it with WINDLASS_HOME; without it, `wl repair` takes in the branch"
    )
