"""Changes as faces see them, and the wait for one to leave the queue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.landing import (
    ChangeRequest,
    ChangesReply,
    ChangesRequest,
    ChangeView,
    ChangeWaitRequest,
    TargetView,
    TicketView,
    UnfinishedReply,
)
from windlass.api.wire.request import AnyRequest
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, NotFound
from windlass.core.events import ChangeLanded, ChangeStopped
from windlass.core.gate import verdicts as outcomes
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing.changes import OPEN, Change, ChangeId, Revision, Ticket
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store import verdicts
from windlass.store.store import Event

_ENDS = (ChangeLanded.kind, ChangeStopped.kind)


class ChangeViews:
    """Answers who asks for changes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def changes(self, caller: Caller, request: ChangesRequest) -> ChangesReply:
        """Lists the changes of a repository."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        queue = self._context.store.read(partial(rows.open_ones, repo=repo))
        found = queue
        if request.get("all", False):
            found = self._context.store.read(partial(rows.listed, repo=repo))
        shown = self._context.store.read(lambda c: [view(c, change, queue) for change in found])
        return {"changes": shown}

    def show(self, caller: Caller, request: ChangeRequest) -> ChangeView:
        """Shows one change."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        return self._shown(find(self._context, repo, request["change"]))

    def _shown(self, change: Change) -> ChangeView:
        queue = self._context.store.read(partial(rows.open_ones, repo=change.repo))
        return self._context.store.read(partial(view, change=change, queue=queue))

    def unfinished(self, caller: Caller, request: AnyRequest) -> UnfinishedReply:
        """What is under way, what waits for a person, and whether the target is green."""
        repo = lookup.scope(self._context, caller, request).repo
        if repo is None:
            return {"target": None, "changes": [], "waiting": []}
        gate = gates.find(self._context, repo)
        most = gate.config.landing.max_attempts if gate is not None else 1
        states = core.UNFINISHED

        def read(connection: sa.Connection) -> UnfinishedReply:
            found = rows.listed(connection, repo.id, states=states)
            queue = [change for change in found if change.state in OPEN]
            authors = {change.id: _author(connection, change) for change in found}
            live = {n for n, agent in authors.items() if agent and agent.ended_at is None}
            return {
                "target": _target(connection, gate) if gate is not None else None,
                "changes": [view(connection, change, queue) for change in found],
                "waiting": [
                    change.id
                    for change in found
                    if core.needs_a_person(change, has_author=change.id in live, most=most)
                ],
            }

        return self._context.store.read(read)

    async def wait(self, caller: Caller, request: ChangeWaitRequest) -> ChangeView:
        """Tells how a change fared as soon as it has left the queue, or when the time is over."""
        loop, news, clock = asyncio.get_running_loop(), asyncio.Event(), self._context.clock
        until = clock.monotonic() + request["seconds"] if "seconds" in request else None

        def committed(events: list[Event]) -> None:
            if any(event.kind in _ENDS for event in events):
                loop.call_soon_threadsafe(news.set)

        with self._context.store.listening(committed):
            while True:
                news.clear()
                shown = await self._context.pools.look(caller, self.show, caller, request)
                left = None if until is None else until - clock.monotonic()
                if shown["state"] not in OPEN or (left is not None and left <= 0):
                    return shown
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if left is None else clock.real(left)):
                        await news.wait()


def kept(connection: sa.Connection, repo: RepoId, name: ChangeId) -> ChangeView:
    """Shows a change that is known to be there."""
    change = rows.find(connection, repo, name)
    if change is None:
        raise AssertionError(name)
    return view(connection, change, rows.open_ones(connection, repo))


def find(context: Context, repo: RepoId, wanted: str) -> Change:
    """Finds a change by its id, else the newest of an agent of that name, or of a branch."""
    found = context.store.read(partial(_find, repo=repo, wanted=wanted))
    if found is None:
        live = context.store.read(partial(agent_rows.agents, repo=repo))
        name = printable_line(wanted)
        if any(agent.id == wanted for agent in live):
            raise NotFound(f"{name} has no change", f"`wl merge {name}` proposes what it has")
        raise NotFound(f"there is no change {name}", "`wl queue --all` lists them")
    return found


def _find(connection: sa.Connection, repo: RepoId, wanted: str) -> Change | None:
    if core.is_id(wanted):
        return rows.find(connection, repo, ChangeId(wanted))
    live = agent_rows.agents(connection, repo=repo)
    uid = next((agent.uid for agent in live if agent.id == wanted), None)
    own = rows.of_author(connection, uid) if uid is not None else None
    newest = list(reversed(rows.listed(connection, repo)))
    named = next((change for change in newest if change.branch == wanted), None)
    if own is not None and named is not None and own.id != named.id:
        # Managers name agents as they like, also as a branch of the person's is called.
        raise Conflict(
            f"{printable_line(wanted)} is an agent and a branch, with {own.id} and {named.id}",
            "say which by its id",
        )
    past = (change for change in newest if change.branch == f"agent/{wanted}")
    return own or named or next(past, None)


def _target(connection: sa.Connection, gate: Gate) -> TargetView:
    branch, tip, tree = gate.target.branch, gate.target.tip, gate.target.tree
    known = verdicts.of_trees(connection, gate.repo.id, [tree]).get(tree, {})
    judged = [known[check.name] for check in gate.spec.checks if check.name in known]
    outcome = outcomes.worst(verdict.outcome for verdict in judged) if judged else None
    if outcome == "passed" and len(judged) < len(gate.spec.checks):
        outcome = None
    red = next((verdict for verdict in judged if verdict.outcome == outcome), None)
    why = f"{red.check} {red.outcome}" if red is not None and outcome != "passed" else ""
    return {"branch": branch, "tip": tip, "tree": tree, "outcome": outcome, "why": why}


def author_of(connection: sa.Connection, change: Change) -> str | None:
    """The name of the agent whose branch a change is."""
    found = _author(connection, change)
    return found.id if found is not None else None


def _author(connection: sa.Connection, change: Change) -> Agent | None:
    return agent_rows.agent(connection, change.author) if change.author is not None else None


def view(
    connection: sa.Connection,
    change: Change,
    queue: Sequence[Change],
    *,
    left_out: Sequence[str] = (),
) -> ChangeView:
    """One change, with its place among those that wait for the same branch."""
    author = _author(connection, change)
    before = [other.id for other in queue if other.target == change.target]
    now = Revision(
        revision=change.revision,
        head=change.head,
        state=change.state,
        why=change.why,
        at=change.updated_at,
    )
    shown: ChangeView = {
        "id": change.id,
        "change": change.id,
        "branch": change.branch,
        "target": change.target,
        "head": change.head,
        "title": change.title,
        "task": change.task,
        "author": author.id if author is not None else None,
        "author_ended": author is not None and author.ended_at is not None,
        "revision": change.revision,
        "revisions": [msgspec.to_builtins(revision) for revision in (*change.past, now)],
        "state": change.state,
        "why": change.why,
        "needs": list(change.needs),
        "reverts": change.reverts,
        "guards": list(change.guards),
        "approval": msgspec.to_builtins(change.approval),
        "blocked": change.blocked,
        "attempts": change.attempts,
        "position": before.index(change.id) if change.id in before else None,
        "was": change.was,
        "commit": change.commit,
        "tree": change.tree,
        "verdict": change.verdict or (change.ticket.outcome if change.ticket is not None else ""),
        "usd": change.usd,
        "landed_at": change.landed_at,
        "ticket": _ticket(change.ticket) if change.ticket is not None else None,
        "left_out": list(left_out),
    }
    return shown


def _ticket(ticket: Ticket) -> TicketView:
    fields = msgspec.structs.asdict(ticket)
    lists = {name: list(fields[name]) for name in ("failed", "paths", "landed")}
    shown: TicketView = {**fields, **lists}  # type: ignore[typeddict-item]
    return shown
