"""Everything by which a session is watched, beside its hooks: wired together for `watcher`."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import NamedTuple

from windlass import drivers
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.reasons import Reason
from windlass.core.sessions import OUTPUT, SCREEN
from windlass.core.states import FADES_AFTER, Observation, Source
from windlass.daemon.kernel import file_stat
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.policy import decisions
from windlass.daemon.spend.budgets import Budgets
from windlass.daemon.spend.costs import Costs
from windlass.daemon.states.evidence import Evidence
from windlass.daemon.states.output_source import OutputSource, Printed
from windlass.daemon.states.screen_source import ScreenSource
from windlass.store import rows
from windlass.store.rows import Session


class _Print(NamedTuple):
    """The time that a session's file has of its last line, and when that was, and was looked at.

    The latter two by the machine's seconds that only go forward.
    """

    written: float
    at: float
    looked: float


class Sources:
    """What is done when a session is looked at, beside its hooks: output, screen, costs, mail."""

    def __init__(
        self,
        context: Context,
        costs: Costs,
        budgets: Budgets,
        *,
        evidence: Evidence,
        fetcher: CommitFetcher,
        delivery: Delivery,
    ) -> None:
        self._context = context
        self._costs = costs
        self._budgets = budgets
        self._evidence = evidence
        self._fetcher = fetcher
        self._delivery = delivery
        self._output_source = OutputSource(
            context, costs, partial(decisions.decide_for_agent, context)
        )
        self._screen_source = ScreenSource(context)
        self._prints: dict[Uid, _Print] = context.memory.per_agent()

    def are_sound(self, agent: Agent, session: Session) -> bool:
        """Returns whether what a session writes of itself can be read; has its agent paused if not.

        That is: its hook events, its output, its conversation and its status file.
        """
        return self._evidence.is_sound(
            agent,
            session,
            conversation=self._costs.conversation(agent, session),
            status=self._screen_source.status_file(agent, session),
        )

    def printed(self, agent: Agent, session: Session) -> Printed:
        """Returns how much a headless session has printed by now."""
        return self._output_source.printed(agent, session)

    def read_output(self, agent: Agent, session: Session, printed: Printed) -> Session:
        """Keeps the next lines of what a headless session had printed by then."""
        return self._output_source.read_on(agent, session, printed)

    def read_ahead(self, agent: Agent, session: Session, printed: Printed) -> Session:
        """Keeps its output as far as the next boundary of a turn, before its hooks are read."""
        return self._output_source.read_ahead(agent, session, printed)

    def has_unread_output(self, agent: Agent, session: Session) -> bool:
        """Returns whether a headless session has printed something that was not read."""
        return self._output_source.has_unread(agent, session)

    def glance(self, agent: Agent, session: Session) -> list[Observation]:
        """Returns what a live session's status file and screen say that is new."""
        driver = drivers.get(agent.driver)

        def status_file(pid: int) -> str | None:
            request = session_request.session_request(self._context, agent, session)
            return driver.status_file(request, pid)

        return self._screen_source.glance(agent, session, status_file=status_file)

    def sign_of_life(self, agent: Agent, session: Session) -> Reason | None:
        """A tool's process that lives while its call is open, or something printed lately."""
        folder = self._context.folders.session(agent.uid, session.number)
        if self._tool_is_open(agent.uid, session):
            tool = self._context.sessions.newest_tool(folder)
            if tool is not None:
                return Reason(kind="tool_running", text=tool)
        quiet = self._quiet(agent.uid, folder / (SCREEN if agent.mode == "live" else OUTPUT))
        return Reason(kind="printed", seconds=quiet) if quiet <= FADES_AFTER else None

    def _quiet(self, uid: Uid, file: Path) -> float:
        """For how long nothing was printed: by the hour only where this daemon did not see it."""
        clock, written = self._context.clock, file_stat.written_at(file)
        now, known = clock.real(clock.monotonic()), self._prints.get(uid)
        at = known.at if known is not None else -math.inf
        if known is None or known.written != written:
            at = max(now - max(0.0, clock.now() - written), known.looked if known else at)
        self._prints[uid] = _Print(written, at, now)
        return now - at

    def count(self, agent: Agent, session: Session) -> bool:
        """Counts some of what an agent has spent, and has it paused where that is too much.

        Returns whether there was anything to count: then there may be more.
        """
        counted = self._costs.count(agent, session)
        if counted.anything or self._budgets.is_spared(agent.uid):
            self._budgets.judge(agent, session)
        if counted.flaw is not None:
            self._evidence.pause_for_hidden(agent, session, counted.flaw)
        return counted.anything

    def fetch_commits(self, agent: Agent) -> None:
        """Begins to fetch an agent's new commits into the repository."""
        self._fetcher.begin(agent)

    def deliver_mail(self, agent: Agent) -> None:
        """Takes note of what became of an agent's mail, and begins to deliver more."""
        self._delivery.look(agent.uid)

    def enforce_time_limit(self, agent: Agent, session: Session) -> None:
        """Has an agent paused whose time is over."""
        self._budgets.judge_time(agent, session)

    def _tool_is_open(self, uid: Uid, session: Session) -> bool:
        seen = self._context.store.read(lambda c: rows.observations(c, uid))
        return any(
            o.source is Source.HOOK
            and o.session == session.number
            and o.reason.kind == "tool_called"
            for o in seen
        )
