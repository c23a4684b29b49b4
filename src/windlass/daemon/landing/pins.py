"""`refs/windlass/changes/<id>`: the heads that wait to land, kept from git's clean-up.

A person's branch may be rewritten or deleted while its change waits, also for a person; what was
proposed is here, from when it was proposed until it is over.
"""

from __future__ import annotations

import logging
import threading
from functools import partial

import sqlalchemy as sa

from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import repository
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store.rows import Repo

log = logging.getLogger(__name__)
_TOP = "refs/windlass/changes/"
_ONE = threading.Lock()
"""One at a time: who read the changes earlier would let go of what was pinned since."""


def refresh(context: Context, repo: RepoId, git: Repository) -> None:
    """Pins the head of every change that is not over, and lets go of the others."""
    with _ONE:
        wanted = context.store.read(partial(_wanted, repo=repo))
        have = repository.refs_under(git, _TOP)
        new = {ref: head for ref, head in wanted.items() if have.get(ref) != head}
        repository.set_refs(git.dirs, new)  # a head that is gone already cannot be kept
        repository.delete_refs(git, *(ref for ref in have if ref not in wanted))


def pin(context: Context, repo: Repo) -> None:
    """The same for what was proposed just now, which it is in any case."""
    try:
        refresh(context, repo.id, repos.git(repo))
    except WindlassError as error:  # the next try pins it
        log.warning("the changes of %s are not pinned: %s", repo.root, error.message)


def _wanted(connection: sa.Connection, repo: RepoId) -> dict[str, str]:
    waiting = rows.listed(connection, repo, states=core.PINNED)
    return {f"{_TOP}{change.id}": change.head for change in waiting}
