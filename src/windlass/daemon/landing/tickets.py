"""Tickets: what the author of a change that did not land is told, and how to see it again."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.core.ids import RepoId
from windlass.core.landing.changes import Change, Ticket
from windlass.core.landing.job import Stopped
from windlass.core.printable import printable_line
from windlass.store import verdicts

_NAMED = 5


def ticket(connection: sa.Connection, repo: RepoId, change: Change, stopped: Stopped) -> Ticket:
    """What is known of why a change stops."""
    tried = stopped.tried
    if stopped.state == "conflict":
        shown = ", ".join(printable_line(path) for path in stopped.paths[:_NAMED])
        more = len(stopped.paths) - _NAMED
        why = f"it conflicts with {change.target} in {shown}{f' and {more} more' * (more > 0)}"
        return Ticket(why=why, paths=stopped.paths)
    if tried is None:
        why = stopped.why or f"{change.target} has all of it already"
        return Ticket(why=why)
    found = verdicts.newest_not_green(connection, repo, tried.tree)
    outcome = tried.outcome or ""
    if found is None:
        return Ticket(why=stopped.why or f"the gate: {outcome}", tree=tried.tree, outcome=outcome)
    failed = f": {printable_line(found.failed[0])}" if found.failed else ""
    why = (
        stopped.why
        or f"{found.check} {found.outcome}{failed or f': {found.why}' * bool(found.why)}"
    )
    return Ticket(
        why=why,
        tree=tried.tree,
        outcome=outcome,
        command=found.check,
        failed=found.failed,
        log=found.log,
        reproduce=f"wl gate run {tried.tree} --fresh",
    )
