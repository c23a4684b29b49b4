"""Whether a session of a run may begin now, or its agent go on: money, others at work, the model.

Who may not is told when to ask again, and why it waits; nothing counts as tried by that.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from windlass.core import jobs
from windlass.core.crew import Agent
from windlass.core.errors import Denied
from windlass.core.ids import RepoId, Uid
from windlass.core.landing.changes import ChangeId
from windlass.core.pricing import OF_RUN, sentences
from windlass.core.runs.collisions import MOST_POSTPONED
from windlass.core.runs.run_state import Stage
from windlass.core.runs.schedule import PERIOD
from windlass.daemon.agents.endings import still_live
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.runs import conflicts, holds, rounds
from windlass.daemon.spend import backends, budgets, run_budgets
from windlass.store import changes as change_rows
from windlass.store.store import Writing

_NOT_BEGUN = frozenset[Stage]({"preparing", "beginning", "finishing"})
"""Stages of runs that change nothing now."""
_AGAIN = 300.0
"""Seconds until a budget is looked at once more that was spent."""


def may(data: Any) -> bool:
    """Whether an effect that asked goes on."""
    return "wait_until" not in data


def told(data: Any) -> dict[str, Any]:
    """What a run is told that has to wait; nothing where it may go on."""
    if may(data):
        return {}
    return {"until": data["wait_until"], "why": data["wait_why"], "turn": data["wait_turn"]}


class Permissions:
    """Asked first by whatever has an agent begin or go on."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def agent(self, work: RunningIntent) -> None:
        """Whether another agent may be made: what holds the board back holds it back as well."""
        if work.data.get("dropped"):
            return
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        config = settings.usable(self._context.folders.home, repo.root).config
        if why := holds.why(self._context, repo, work.data["driver"] or config.driver, config):
            self._wait(work, self._context.clock.now() + PERIOD, why)

    def session(self, work: RunningIntent) -> None:
        """Whether a session may begin; refused where the run has no money of its own any more."""
        agent = still_live(self._context, Uid(work.data["uid"]))
        spent = budgets.spent(self._context, agent)
        if of_run := [limit for limit in spent if limit.budget == OF_RUN]:
            raise Denied(sentences(of_run), of_run[0].hint)
        common = [limit for limit in spent if limit.budget not in run_budgets.KINDS]
        if common:
            self._wait(work, self._context.clock.now() + _AGAIN, sentences(common))
        elif why := self._in_the_way(work, agent):
            self._wait(work, self._context.clock.now() + PERIOD, why)
        else:
            self._ask(work, agent)

    def _in_the_way(self, work: RunningIntent, agent: Agent) -> str:
        """Why a change that came back is not mended yet: its branch conflicts with one at work.

        Those that have not begun are in nobody's way, so no two wait for each other; and after a
        while it is mended all the same.
        """
        name = ChangeId(work.data["change"])
        find = partial(change_rows.find, repo=agent.repo, change=name)
        change = self._context.store.read(find) if name else None
        now = self._context.clock.now()
        if change is None or now - change.updated_at >= MOST_POSTPONED:
            return ""
        repo = repos.by_id(self._context, agent.repo)
        runs = self._context.store.read(partial(rounds.open_runs, repo=repo.id))
        begun = [each for each in runs if each.uid != agent.uid and each.stage not in _NOT_BEGUN]
        return conflicts.by_branch(self._context, repo, agent.uid, begun)

    def turn(self, work: RunningIntent) -> None:
        """Whether an agent whose model failed may ask it again; the failure is noted first."""
        if work.data["asks"] == "model" and work.data["outage"]:
            self._ask(work, still_live(self._context, Uid(work.data["uid"])))

    def _ask(self, work: RunningIntent, agent: Agent) -> None:
        self._context.store.write(partial(_asked, work=work, agent=agent))

    def _wait(self, work: RunningIntent, until: float, why: str) -> None:
        work.keep(wait_until=until, wait_why=why, wait_turn=0.0)


def _asked(writing: Writing, *, work: RunningIntent, agent: Agent) -> None:
    """Notes what failed and gives a turn, both once."""
    if "asked" in work.data:
        return
    who = jobs.owner(work.intent.id) or agent.uid
    if failed := work.data.get("failed"):
        backends.failed(writing, agent.repo, agent.driver, who, failed)
    turn = backends.asked(writing, agent.driver, who, turn=work.data.get("turn", 0.0))
    work.keep_in(writing, asked=True)
    if not turn.is_now:
        why = backends.of(writing.connection, agent.driver).why or "its model has just come back"
        work.keep_in(writing, wait_until=turn.at, wait_why=why, wait_turn=turn.reserved)
