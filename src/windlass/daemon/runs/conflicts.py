"""Which tasks get in each other's way: by their scopes, and by the branches that they have.

Branches are looked at as they came home, as `wl merge-check` does: no work tree is touched, and
nothing of an agent's own checkout is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from windlass.core.board.board import Board
from windlass.core.errors import WindlassError
from windlass.core.ids import Uid
from windlass.core.printable import printable_line
from windlass.core.runs import collisions, run, task_copy
from windlass.core.runs.run_state import RunState
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import merges, repository
from windlass.store import jobs as job_rows
from windlass.store import rows
from windlass.store.rows import Repo

_SHOWN = 3


class Conflicts:
    """Says of a ready task why it is put off, in one round."""

    def __init__(
        self,
        context: Context,
        repo: Repo,
        board: Board,
        at_work: Sequence[RunState],
        since: Mapping[str, float],
    ) -> None:
        self._context = context
        self._repo = repo
        self._board = board
        self._at_work = at_work
        self._since = since

    def why(self, name: str, beside: Sequence[str]) -> str:
        """Why a task waits for those at work and those that begin beside it; nothing if it may.

        Who has been put off for long is begun all the same.
        """
        now = self._context.clock.now()
        if now - self._since.get(name, now) >= collisions.MOST_POSTPONED:
            return ""
        others = {each.task.id: each.task.scope for each in self._at_work}
        others |= {other: self._scope(other) for other in beside}
        if collision := collisions.first(self._scope(name), others):
            return collision.sentence
        return self._by_branch(name)

    def _scope(self, name: str) -> tuple[str, ...]:
        return task_copy.of(self._board.by_id[name]).scope

    def _by_branch(self, name: str) -> str:
        """Why a task that was tried before waits: that branch conflicts with one at work."""
        find = partial(
            job_rows.last_about, repo=self._repo.id, kind="run", subject=run.subject(name)
        )
        last = self._context.store.read(find)
        if last is None or not last.state.get("uid"):
            return ""
        found = by_branch(self._context, self._repo, Uid(last.state["uid"]), self._at_work)
        return f"its last try {found}" if found else ""


def by_branch(context: Context, repo: Repo, uid: Uid, others: Iterable[RunState]) -> str:
    """With which other run the branch of an agent conflicts, and where; nothing if with none."""
    branch = _branch(context, uid)
    for other in others if branch else ():
        if paths := _conflict(repo, branch, _branch(context, Uid(other.uid))):
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            named = ", ".join(map(printable_line, paths[:_SHOWN]))
            return f"conflicts with {other.task.id} in {named}{more}"
    return ""


def _branch(context: Context, uid: Uid) -> str:
    agent = context.store.read(partial(rows.agent, uid=uid)) if uid else None
    return f"refs/heads/{agent.branch}" if agent is not None and agent.branch else ""


def _conflict(repo: Repo, branch: str, other: str) -> list[str]:
    """The paths at which two branches conflict; none where one of them is not there."""
    git = repos.git(repo)
    if not other or not all(repository.read_ref(git, ref) for ref in (branch, other)):
        return []
    try:
        return merges.check(git, source=branch, target=other).conflicts
    except WindlassError:
        return []  # what git cannot merge now says nothing of who may begin
