"""`wl trust`: which lines of a repository's configuration wait for the person, and their consent.

A line is accepted by the digest that was shown with it: what the file says by then does not count.
Consent is an intent: asked for twice under one key, it is given once, and what was accepted or
taken back is not missed the second time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from windlass.api.verbs import Caller
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.setup import (
    AcceptedView,
    AcceptRequest,
    LineView,
    ProjectTrustReply,
    RevokeRequest,
)
from windlass.core.errors import Conflict, NotFound, UserError
from windlass.core.events import ConfigAccepted, ConfigRevoked, EventData
from windlass.core.project_config import Line
from windlass.daemon.kernel import accepted_lines, lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import NOWHERE, IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store import rows

KIND = "trust"


class ProjectTrust:
    """Shows, accepts and takes back lines of a repository's configuration."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: AnyRequest) -> ProjectTrustReply:
        """What waits, and what was accepted."""
        return self._view(self._root(caller, request))

    def operation(self) -> Operation:
        """One step, which a file that has the change already is fine with."""
        return Operation(KIND, (Step("write", self._write),), lambda _: [], self._changed)

    def accept(self, caller: Caller, request: AcceptRequest) -> IntentDraft:
        """Accepts the lines of these digests; refuses all if one of them does not wait."""
        repo = repos.require(self._context, request.get("cwd", ""))
        root = self._root(caller, request)
        known = settings.usable(self._context.folders.home, root)
        waiting = {line.digest: line for line in known.waiting if not line.personal}
        wanted = list(dict.fromkeys(request["digests"]))
        if any(digest not in waiting for digest in wanted):
            raise Conflict(
                f"{settings.PROJECT_FILE} is no longer what was shown; nothing was accepted",
                "look again: wl trust",
            )
        data = {"root": root, "accepted": [list(waiting[digest]) for digest in wanted]}
        return IntentDraft(repo.id, None, lambda _: data)

    def revoke(self, caller: Caller, request: RevokeRequest) -> IntentDraft:
        """Takes back what was accepted: all of it, or what concerns these keys."""
        repo = lookup.scope(self._context, caller, request).repo
        root = self._root(caller, request)
        keys = request.get("keys", [])
        known = [
            line.key for line in accepted_lines.of_repository(self._context.folders.home, root)
        ]
        for key in keys:
            if key not in known:
                raise NotFound(f"{key} was not accepted here", "`wl trust --list` shows what was")
        data = {"root": root, "revoked": list(keys or dict.fromkeys(known))}
        return IntentDraft(repo.id if repo else NOWHERE, None, lambda _: data)

    def _write(self, work: RunningIntent) -> None:
        home, root = self._context.folders.home, work.data["root"]
        told: EventData | None = None
        if "accepted" in work.data:
            lines = [Line(*line) for line in work.data["accepted"]]
            if lines:
                accepted_lines.accept(home, root, lines, now=self._context.clock.now())
                told = ConfigAccepted(root=root, keys=[line.key for line in lines])
        elif keys := work.data["revoked"]:
            accepted_lines.revoke(home, root, keys)
            told = ConfigRevoked(root=root, keys=keys)
        if told is not None:
            event = told
            work.with_next_record(lambda w: w.emit(event, repo=work.intent.repo))

    def _changed(self, work: RunningIntent) -> ProjectTrustReply:
        return self._view(work.data["root"])

    def _root(self, caller: Caller, request: AnyRequest) -> str:
        root = lookup.root(self._context, caller, request)
        if root is None:
            raise UserError("not in a git repository", "cd into one, or name it: wl -C DIR trust")
        return root

    def _view(self, root: str) -> ProjectTrustReply:
        home = self._context.folders.home
        known = settings.usable(home, root)
        accepted = accepted_lines.of_repository(home, root)
        return {
            "root": root,
            "config": str(Path(root) / settings.PROJECT_FILE),
            "waiting": views(known.waiting),
            "accepted": [
                AcceptedView(key=line.key, value=line.value, at=line.at) for line in accepted
            ],
            "problems": [problem.error.message for problem in known.problems],
        }


def views(lines: Iterable[Line]) -> list[LineView]:
    """Lines as faces show them."""
    return [
        LineView(
            key=line.key,
            value=line.value,
            instead_of=line.instead_of,
            digest=line.digest,
            in_boxes=line.counts_in_boxes,
            personal=line.personal,
        )
        for line in lines
    ]


def accept_typed(
    context: Context, root: str, key: str, value: object, *, words: Collection[str] | None = None
) -> None:
    """Accepts what the person has just written into a repository's file by a command of ours.

    Of a list only if every word of it is among `words`, which were in force or are theirs: others
    may stand beside them that nobody has looked at.
    """
    if words is not None and not set(value if isinstance(value, list) else []) <= set(words):
        return
    known = settings.usable(context.folders.home, root)
    remember(
        context, root, [line for line in known.waiting if (line.key, line.value) == (key, value)]
    )


def remember(context: Context, root: str, lines: list[Line]) -> None:
    """Remembers lines of a repository as accepted."""
    if not lines:
        return
    accepted_lines.accept(context.folders.home, root, lines, now=context.clock.now())
    _emit(context, root, ConfigAccepted(root=root, keys=[line.key for line in lines]))


def _emit(context: Context, root: str, event: EventData) -> None:
    repo = next((repo for repo in context.store.read(rows.repos) if repo.root == root), None)
    context.store.write(lambda w: w.emit(event, repo=repo.id if repo else None))
