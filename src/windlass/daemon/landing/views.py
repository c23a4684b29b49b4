"""Changes as faces see them, and the wait for one to leave the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.landing import (
    ChangeRequest,
    ChangesReply,
    ChangesRequest,
    ChangeView,
    ChangeWaitRequest,
    LastLandingView,
    TargetView,
    TicketView,
    UnfinishedReply,
)
from windlass.api.wire.request import AnyRequest
from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, NotFound, WindlassError
from windlass.core.events import ChangeLanded, ChangeStopped
from windlass.core.gate import verdicts as outcomes
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing.changes import OPEN, Change, ChangeId, Revision, Ticket
from windlass.core.landing.job import LAND
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import lookup, repos, waits
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.git import repository
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store import verdicts
from windlass.store.rows import Repo

_ENDS = (ChangeLanded.kind, ChangeStopped.kind)


class ChangeViews:
    """Answers who asks for changes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def changes(self, caller: Caller, request: ChangesRequest) -> ChangesReply:
        """Lists the changes of a repository."""
        scope = lookup.scope(self._context, caller, request)
        repo, told = scope.require_repo().id, tells_tickets(self._context, scope)
        queue = self._context.store.read(partial(rows.open_ones, repo=repo))
        states = () if request.get("all", False) else core.WAITING
        found = self._context.store.read(partial(rows.listed, repo=repo, states=states))
        shown = self._context.store.read(
            lambda c: [view(c, change, queue, is_told=told(change)) for change in found]
        )
        return {"changes": shown}

    def show(self, caller: Caller, request: ChangeRequest) -> ChangeView:
        """Shows one change."""
        scope = lookup.scope(self._context, caller, request)
        change = find(self._context, scope.require_repo().id, request["change"])
        queue = self._context.store.read(partial(rows.open_ones, repo=change.repo))
        is_told = tells_tickets(self._context, scope)(change)
        return self._context.store.read(lambda c: view(c, change, queue, is_told=is_told))

    def unfinished(self, caller: Caller, request: AnyRequest) -> UnfinishedReply:
        """What is under way, what waits for a person, and whether the target is green."""
        scope = lookup.scope(self._context, caller, request)
        if (repo := scope.repo) is None:
            return {
                "target": None, "gateless": "", "last": None,
                "changes": [], "waiting": [], "retiring": [], "done": [],
            }  # fmt: skip
        told = tells_tickets(self._context, scope)
        gate, gateless = self._gate(repo)
        most = gate.config.landing.max_attempts if gate is not None else 1
        states = core.UNFINISHED

        def read(connection: sa.Connection) -> UnfinishedReply:
            found = rows.listed(connection, repo.id, states=states)
            queue = [change for change in found if change.state in OPEN]
            authors = {change.id: _author(connection, change) for change in found}
            live = {n for n, agent in authors.items() if agent and agent.ended_at is None}
            agents = agent_rows.agents(connection, repo=repo.id)
            return {
                "target": _target(connection, gate) if gate is not None else None,
                "gateless": gateless,
                "last": _last(connection, repo.id),
                "retiring": [agent.id for agent in agents if _is_retiring(connection, agent)],
                "done": [],
                "changes": [view(connection, c, queue, is_told=told(c)) for c in found],
                "waiting": [
                    change.id
                    for change in found
                    if core.needs_a_person(change, has_author=change.id in live, most=most)
                ],
            }

        return {**self._context.store.read(read), "done": self._done(repo)}

    def _done(self, repo: Repo) -> list[str]:
        """The agents that are kept though their branches have nothing beyond what landed."""
        heads = self._context.store.read(partial(_kept_heads, repo=repo.id))
        if not heads:
            return []
        refs = repository.read_refs(repos.git(repo), *(ref for ref, _ in heads.values()))
        return [name for name, (ref, head) in heads.items() if refs.get(ref) == head]

    def _gate(self, repo: Repo) -> tuple[Gate | None, str]:
        """The gate of a repository, or why nothing can land in it."""
        try:
            gate = gates.landing(gates.read(self._context, repo))
        except WindlassError as error:
            return None, f"{error.message}; {error.hint}" if error.hint else error.message
        return (gate, "") if gate.spec.checks else (None, gates.unproven(gate))

    async def wait(self, caller: Caller, request: ChangeWaitRequest) -> ChangeView:
        """Tells how a change fared as soon as it has left the queue, or when the time is over.

        What has landed on a remote is over once the branch here has followed, or stays behind.
        """
        shown, _ = await waits.until(
            self._context,
            partial(self._context.pools.look, caller, self._seen, caller, request),
            is_over=lambda seen: seen[1],
            heeds=lambda event: event.kind in _ENDS or event.data.get("what") == LAND,
            seconds=request.get("seconds"),
        )
        return shown

    def _seen(self, caller: Caller, request: ChangeRequest) -> tuple[ChangeView, bool]:
        """A change, and whether nothing more is to be waited for."""
        shown = self.show(caller, request)
        return shown, not self._is_under_way(caller, request, shown)

    def _is_under_way(self, caller: Caller, request: ChangeRequest, shown: ChangeView) -> bool:
        """Whether the queue has a change still, or is just bringing the target along with it."""
        if shown["state"] != "landed":
            return shown["state"] in OPEN
        repo = lookup.scope(self._context, caller, request).require_repo().id
        return any(
            intent.kind == LAND and intent.repo == repo and shown["id"] in _group(intent.data)
            for intent in self._context.store.read(agent_rows.open_intents)
        )


def _group(data: Mapping[str, Any]) -> list[str]:
    """The changes that a landing is of."""
    found: list[str] = data.get("tried", {}).get("group", [])
    return found


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
    of_branch = [change for change in newest if change.branch == wanted]
    # Proposed once more it had nothing new: what it brought is what is asked about.
    telling = (change for change in of_branch if change.state != "nothing-to-land")
    named = next(telling, of_branch[0] if of_branch else None)
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


def _last(connection: sa.Connection, repo: RepoId) -> LastLandingView | None:
    found = rows.last_landed(connection, repo)
    if found is None:
        return None
    return {"id": found.id, "title": found.title, "landed_at": found.landed_at}


def _kept_heads(connection: sa.Connection, repo: RepoId) -> dict[str, tuple[str, str]]:
    """The branches of agents that live on after a landing, and what has landed of each."""
    found: dict[str, tuple[str, str]] = {}
    for agent in agent_rows.agents(connection, repo=repo):
        own = rows.of_author(connection, agent.uid)
        if own is None or own.state != "landed" or own.ends or agent.branch is None:
            continue
        if undone_by(connection, own) is None:
            found[agent.id] = (f"refs/heads/{agent.branch}", own.head)
    return found


def _is_retiring(connection: sa.Connection, agent: Agent) -> bool:
    """Whether all that an agent proposed has landed, and it is to end with that."""
    own = rows.of_author(connection, agent.uid)
    return own is not None and own.state == "landed" and own.ends


def undone_by(connection: sa.Connection, change: Change) -> ChangeId | None:
    """The change that has taken back another one, which has landed."""
    if change.state != "landed":
        return None
    revert = rows.revert_of(connection, change.repo, change.id)
    return revert.id if revert is not None and revert.state == "landed" else None


def author_of(connection: sa.Connection, change: Change) -> str | None:
    """The name of the agent whose branch a change is."""
    found = _author(connection, change)
    return found.id if found is not None else None


def _author(connection: sa.Connection, change: Change) -> Agent | None:
    return agent_rows.agent(connection, change.author) if change.author is not None else None


def tells_tickets(context: Context, scope: Scope) -> Callable[[Change], bool]:
    """Says of which changes who asks may read the end of the log that they came back with.

    Agents read that of their own, and of those below them, as they do with differences.
    """
    if scope.caller is None:
        return lambda _: True
    below = crew.below(scope.caller, lookup.live(context, scope))
    reach = {scope.caller.uid, *(agent.uid for agent in below)}
    return lambda change: change.author in reach


def view(
    connection: sa.Connection,
    change: Change,
    queue: Sequence[Change],
    *,
    left_out: Sequence[str] = (),
    is_told: bool = True,
) -> ChangeView:
    """One change, with its place among those that wait for the same branch."""
    author = _author(connection, change)
    ticket = change.ticket if is_told else None
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
        "undone_by": undone_by(connection, change),
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
        "ticket": _ticket(ticket) if ticket is not None else None,
        "left_out": list(left_out),
    }
    return shown


def _ticket(ticket: Ticket) -> TicketView:
    fields = msgspec.structs.asdict(ticket)
    lists = {name: list(fields[name]) for name in ("failed", "paths", "landed")}
    shown: TicketView = {**fields, **lists}  # type: ignore[typeddict-item]
    return shown
