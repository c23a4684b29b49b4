"""What has landed, along the target's own line; and which change a commit came with.

The target's first parents are the truth: what Windlass has not moved it to is listed with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.landing import (
    CommitReply,
    CommitRequest,
    LandedChangeView,
    LandingsReply,
    LandingsRequest,
    LandingView,
)
from windlass.core.errors import NotFound, UserError
from windlass.core.events import AgentMerged
from windlass.core.gate import verdicts as outcomes
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing.changes import Change
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Target
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.landing.views import author_of, tells_tickets, undone_by, view
from windlass.git import mainline, repository, squashes
from windlass.git.mainline import Moved
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store import rows as event_rows
from windlass.store import verdicts
from windlass.store.rows import Repo

_USUAL = 100
_MOST = 10_000
_NEWEST = 200
"""Changes that have not landed, among which a commit is looked for."""
_ID = re.compile(r"[0-9a-f]{4,64}")


class History:
    """Tells what the target moved to, and with what."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def landings(self, caller: Caller, request: LandingsRequest) -> LandingsReply:
        """Lists what the target moved to, the newest first."""
        repo, git, target = self._target(caller, request)
        last = request.get("last", _USUAL)
        if last < 1:
            raise UserError(f"the newest {last} landings are none", "give 1 or more")
        moves = mainline.moves(git, target.tip, limit=min(last, _MOST))
        return {"target": target.branch, "landings": self._landings(repo.id, moves)}

    def commit(self, caller: Caller, request: CommitRequest) -> CommitReply:
        """Says with what a commit landed, and which changes have it."""
        repo, git, target = self._target(caller, request)
        wanted = request["commit"]
        # An agent may name a commit by its id alone: git finds others by what is written in them.
        may = caller.agent is None or _ID.fullmatch(wanted) is not None
        commit = repository.resolve(git, wanted) if may else None
        if commit is None:
            raise NotFound(
                f"{printable_line(wanted)} is no commit in {printable_line(repo.root)}",
                "`git log` lists what there is",
            )
        (itself,) = mainline.moves(git, commit, limit=1)
        landed = mainline.came_with(git, commit, target.tip)
        if landed is not None:
            (landing,) = self._landings(repo.id, [landed])
            having = self._landed_with(git, repo.id, commit, landed)
        else:
            landing, having = None, self._not_landed(git, repo.id, commit)
        told = tells_tickets(self._context, lookup.scope(self._context, caller, request))
        return {
            "commit": commit,
            "subject": itself.subject,
            "target": target.branch,
            "landing": landing,
            "changes": self._context.store.read(
                lambda c: [view(c, x, rows.open_ones(c, repo.id), is_told=told(x)) for x in having]
            ),
        }

    def _target(self, caller: Caller, request: Any) -> tuple[Repo, Repository, Target]:
        repo = lookup.scope(self._context, caller, request).require_repo()
        git = squashes.seen(repos.git(repo))
        return repo, git, gates.target(self._context, repo, git)

    def _landed_with(
        self, git: Repository, repo: RepoId, commit: str, landed: Moved
    ) -> list[Change]:
        """The changes of a landing that brought a commit; all of them for what was made of all."""
        found = self._context.store.read(lambda c: rows.landed_with(c, repo, [landed.commit]))
        own = [change for change in found if _has(git, change, commit)]
        return own or found

    def _not_landed(self, git: Repository, repo: RepoId, commit: str) -> list[Change]:
        states = core.UNFINISHED
        found = self._context.store.read(lambda c: rows.listed(c, repo, states=states))
        return [change for change in found[-_NEWEST:] if _has(git, change, commit)]

    def _landings(self, repo: RepoId, moves: Sequence[Moved]) -> list[LandingView]:
        def read(connection: sa.Connection) -> list[LandingView]:
            landed: dict[str, list[Change]] = {}
            for change in rows.landed_with(connection, repo, [move.commit for move in moves]):
                landed.setdefault(change.commit or "", []).append(change)
            by_hand = {
                str(event.data["commit"]): str(event.data["verdict"])
                for event in event_rows.events(
                    connection, repo=repo, kind=AgentMerged.kind, last=_MOST
                )
            }
            judged = _judged(connection, repo, [move.tree for move in moves])
            return [
                _landing(
                    move,
                    [_change(connection, change) for change in landed.get(move.commit, ())],
                    changes=landed.get(move.commit, []),
                    by_hand=by_hand.get(move.commit),
                    judged=judged.get(move.tree, ""),
                )
                for move in moves
            ]

        return self._context.store.read(read)


def _judged(connection: sa.Connection, repo: RepoId, trees: Sequence[str]) -> dict[str, str]:
    """What the gate said last of trees, whoever asked it."""
    return {
        tree: outcomes.worst(verdict.outcome for verdict in checks.values())
        for tree, checks in verdicts.of_trees(connection, repo, trees).items()
    }


def _landing(
    move: Moved,
    shown: list[LandedChangeView],
    *,
    changes: Sequence[Change],
    by_hand: str | None,
    judged: str,
) -> LandingView:
    first = changes[0] if changes else None
    return {
        "commit": move.commit,
        "tree": move.tree,
        "verdict": first.verdict if first is not None else by_hand or judged,
        "at": (first.landed_at if first is not None else None) or float(move.time),
        "subject": move.subject,
        "by": "windlass" if first is not None or by_hand is not None else "outside",
        "changes": shown,
    }


def _change(connection: sa.Connection, change: Change) -> LandedChangeView:
    return {
        "id": change.id,
        "title": change.title,
        "branch": change.branch,
        "task": change.task or None,
        "agent": author_of(connection, change),
        "usd": change.usd,
        "undone_by": undone_by(connection, change),
    }


def _has(git: Repository, change: Change, commit: str) -> bool:
    """Whether a commit is in what a change is at; false where that is no longer here."""
    head = repository.resolve(git, change.head)
    return head is not None and repository.is_ancestor(git, commit, head)
