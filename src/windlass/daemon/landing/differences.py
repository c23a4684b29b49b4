"""`wl diff c12`: what a change would bring to its target, or what it brought when it landed."""

from __future__ import annotations

import base64

from windlass.api.verbs import Caller
from windlass.api.wire.landing import ChangeDiffReply, ChangeDiffRequest
from windlass.core.crew import Agent
from windlass.core.errors import Denied, GitError
from windlass.core.landing.changes import Change, is_id
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.landing import views
from windlass.daemon.landing.tries import BOARD_FILE, since
from windlass.git import changes, mainline, merges, repository, squashes
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.rows import Repo


class Differences:
    """Shows what changes are about."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def diff(self, caller: Caller, request: ChangeDiffRequest) -> ChangeDiffReply:
        """Shows a change's own part, without what stays out of it when it lands."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.require_repo()
        if scope.caller is None and (reply := self._of_branch(repo, request)) is not None:
            return reply
        change = views.find(self._context, repo.id, request["change"])
        self._require_reachable(scope, change)
        git = squashes.seen(repos.git(repo))
        base, tip = _landed(git, change) or self._proposed(git, change)
        if scope.caller is None and change.seen != change.head and change.state != "landed":
            self._context.store.write(lambda writing: rows.saw(writing, change))
        without = (BOARD_FILE,) if change.author is not None else ()
        stat = request.get("stat", False)
        said = changes.between(git, base=base, tip=tip, stat=stat, without=without)
        return {
            "id": change.id,
            "state": change.state,
            "target": change.target,
            "base": base,
            "tip": tip,
            "committed": base64.b64encode(said).decode(),
        }

    def _of_branch(self, repo: Repo, request: ChangeDiffRequest) -> ChangeDiffReply | None:
        """What a branch would bring of which no change is at that commit; else None."""
        name, git = request["change"], squashes.seen(repos.git(repo))
        head = None if is_id(name) else repository.read_ref(git, f"refs/heads/{name}")
        if head is None:
            return None
        known = self._context.store.read(lambda c: rows.listed(c, repo.id))
        if any(change.branch == name and change.head == head for change in known):
            return None
        target = gates.target(self._context, repo, git)
        base = merges.compared_with(git, tip=head, target=target.tip) or target.tip
        said = changes.between(git, base=base, tip=head, stat=request.get("stat", False))
        return {
            "id": name,
            "state": "draft",
            "target": target.branch,
            "base": base,
            "tip": head,
            "committed": base64.b64encode(said).decode(),
        }

    def _require_reachable(self, scope: Scope, change: Change) -> None:
        """Refuses agents that look at what is neither theirs nor of one below them."""
        if scope.caller is None:
            return
        author = self._author(change)
        if author is None:
            raise Denied(
                f"{change.id} is the person's; agents look into what is theirs, and what is below",
                "ask the person",
            )
        live = lookup.live(self._context, scope)
        lookup.require_reachable(scope, author, live, doing="look into")

    def _proposed(self, git: Repository, change: Change) -> tuple[str, str]:
        """What merging it into its target would bring, as of now."""
        head = repository.resolve(git, change.head)
        if head is None:
            raise GitError(
                f"the commits of {change.id} are no longer here",
                f"`wl merge {printable_line(change.branch)}` proposes what the branch has now",
            )
        if again := since(self._context, git, change):
            return again, head
        target = repository.require(git, f"refs/heads/{change.target}")
        return merges.compared_with(git, tip=head, target=target) or target, head

    def _author(self, change: Change) -> Agent | None:
        uid = change.author
        if uid is None:
            return None
        return self._context.store.read(lambda c: agent_rows.agent(c, uid))


def _landed(git: Repository, change: Change) -> tuple[str, str] | None:
    """What it brought, where that is still here."""
    if change.state != "landed" or change.commit is None:
        return None
    if repository.resolve(git, change.commit) is None:
        return None
    (landed,) = mainline.moves(git, change.commit, limit=1)
    return mainline.own_part(git, landed, change.head)
