"""`wl repair`: orphans are named, and taken in or put away.

What holds work is taken in, never cleared: it is an agent again, and ends as every agent does, with
its work in the trash. Done again, it finds what is left.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from windlass.api.verbs import Caller
from windlass.api.wire.repair import OrphanView, RepairRequest
from windlass.core import crew
from windlass.core.box_spec import Level
from windlass.core.config import role_settings
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, WindlassError
from windlass.core.ids import AgentId, Uid
from windlass.core.roles import USUAL
from windlass.core.states import State
from windlass.daemon.agents.session_life import AgentSockets
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.cards import Card
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import grants
from windlass.daemon.repair import reconciliation
from windlass.daemon.repair.orphans import LostWorkspace, Orphan, Orphans
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)
_GOAL = "(taken in again by `wl repair`: what it was told is not known)"


class Repairs:
    """Finds orphans and mends them; `look` is how a session is looked at that was taken in."""

    def __init__(
        self, context: Context, sockets: AgentSockets, look: Callable[[Uid], None]
    ) -> None:
        self._context = context
        self._sockets = sockets
        self._look = look
        self._orphans = Orphans(context, self._take_in)

    def repair(self, caller: Caller, request: RepairRequest) -> list[OrphanView]:
        """Names every orphan, and mends what is ours unless that is not wanted."""
        is_wanted = not request.get("dry_run", False)
        cwd = request.get("cwd", "")
        known = lookup.scope(self._context, caller, request).repo
        if is_wanted and known is None and repos.root_of(cwd) is not None:
            repos.add(self._context, cwd)
        return [self._mended(orphan, is_wanted=is_wanted) for orphan in self._orphans.find()]

    def _mended(self, orphan: Orphan, *, is_wanted: bool) -> OrphanView:
        evidence, done = orphan.evidence, False
        if is_wanted and orphan.mend is not None:
            try:
                orphan.mend()
                done = True
            except WindlassError as error:
                log.warning("%s %s: %s", orphan.kind, orphan.subject, error.message)
                evidence = f"{evidence}; not done: {error.message}"
        return {
            "kind": orphan.kind,
            "subject": orphan.subject,
            "evidence": evidence,
            "action": orphan.action,
            "done": done,
        }

    def _take_in(self, lost: LostWorkspace) -> None:
        """Makes an agent of what is known of it; what is not known is as for a new worker."""
        agent = self._agent(lost)
        sessions = reconciliation.sessions_of(self._context, agent)

        def change(writing: Writing) -> None:
            live = rows.agents(writing.connection, repo=lost.repo.id)
            if any(other.id == agent.id for other in live):
                raise Conflict(f"an agent {agent.id} lives by now", "look again: wl repair")
            card = Card(agent=agent, repo=lost.repo, event=0)
            evidence = f"refs/windlass/base/{lost.name}"
            reconciliation.take_in(writing, card, sessions, evidence=evidence)

        self._context.store.write(change)
        self._sockets.open(agent.uid)
        self._look(agent.uid)

    def _agent(self, lost: LostWorkspace) -> Agent:
        context, now = self._context, self._context.clock.now()
        usable = settings.usable(context.folders.home, lost.repo.root)
        level: Level = "box" if lost.is_clone else "hooks"
        own = role_settings(usable.config, USUAL)
        live = context.store.read(rows.agents)
        return Agent(
            uid=lost.uid or context.new_uid(),
            repo=lost.repo.id,
            id=AgentId(lost.name),
            role=USUAL,
            parent=None,
            goal=_GOAL,
            driver=context.env.get("WINDLASS_DRIVER") or own.driver or usable.config.driver,
            model=None,
            mode="live",
            branch=f"agent/{lost.name}",
            workspace=lost.path,
            base=lost.base,
            base_from=f"refs/windlass/base/{lost.name}",
            policy=grants.configured_policy(usable.at(level), USUAL, level),
            script=None,
            isolation=level,
            network="none" if level == "box" else "host",
            slot=crew.free_slot(live),
            conversation=str(uuid.uuid4()),
            session=0,
            state=State.CREATING,
            state_at=now,
            created_at=now,
        )
