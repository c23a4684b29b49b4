"""The end of a session of a run: stopped, taken back or committed, and what it said kept.

One that only looked leaves tree and branch as it found them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from windlass.core.crew import Agent
from windlass.core.events import StepEnded, StepIterated
from windlass.core.ids import RepoId, Uid
from windlass.core.pipeline.steps import PASS
from windlass.core.runs import last_words, orders, planning, resume
from windlass.core.runs import loop as loops
from windlass.daemon.agents.endings import still_live
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.runs import own_git, plan_files, records, standstill, taken_back
from windlass.daemon.runs.steps import run_of
from windlass.store import rows
from windlass.store.store import Writing


class SessionEnds:
    """The operations by which a run ends the sessions of its agent."""

    def __init__(self, context: Context, life: SessionLife, fetcher: CommitFetcher) -> None:
        self._context = context
        self._life = life
        self._fetcher = fetcher

    def operations(self) -> tuple[Operation, ...]:
        """Between two sessions of a visit, and after its last one."""
        ends = (
            Step("stop", self._stop, needed=_ends),
            Step("take back", self._take_back, needed=_takes_back),
            Step("commit", self._commit, needed=_commits),
        )
        return (
            Operation(
                orders.ITERATE,
                (
                    Step("see", self._see),
                    *ends,
                    Step("keep", self._keep_iteration, needed=_ends),
                ),
                of_one_agent,
                lambda work: {"waits": work.data["waits"]},
                stops=of_one_agent,
            ),
            Operation(
                orders.CLOSE,
                (*ends, Step("keep", self._keep)),
                of_one_agent,
                lambda work: {"result": work.data["result"]},
                stops=of_one_agent,
            ),
        )

    def _see(self, work: RunningIntent) -> None:
        """Finds whether what the agent waits for begins its next turn."""
        agent = self._live(work)

        def change(writing: Writing) -> None:
            waits = standstill.expects(writing.connection, agent)
            if waits:
                standstill.tell(writing, agent, task=work.data["task"], run=run_of(work))
            work.keep_in(writing, waits=waits)

        if "waits" not in work.data:
            self._context.store.write(change)

    def _stop(self, work: RunningIntent) -> None:
        self._life.stop(self._live(work))

    def _take_back(self, work: RunningIntent) -> None:
        """Has tree and branch be as the session found them, or as its visit did."""
        agent = self._live(work)
        if back_to := work.data.get("back_to", ""):
            how = "a step that began anew"
            taken_back.take_back(work, self._fetcher, agent, back_to, how=how)
            return
        session = self._context.store.read(partial(rows.newest_session, uid=agent.uid))
        if session is not None and session.part is not None and session.part.tip:
            how = "a step that only looks"
            taken_back.take_back(work, self._fetcher, agent, session.part.tip, how=how)

    def _commit(self, work: RunningIntent) -> None:
        """Commits what the session left, in the agent's own place and with what it may reach."""
        agent, data = self._live(work), work.data
        own_git.commit(work, agent, f"{data['task']}: {data['label']}")
        self._fetcher.fetch(agent)

    def _keep_iteration(self, work: RunningIntent) -> None:
        """Keeps what an iteration came to, or what was said of it, and tells of that."""
        data, run = work.data, run_of(work)
        about = {name: data[name] for name in ("iteration", "duty", "said")}
        records.keep_iteration(self._context, run, _visit(data), **about)
        answers: dict[str, Callable[[str], str | None]] = {
            "supervisor": loops.answer,
            resume.DUTY: resume.answer,
        }
        answer = answers[data["duty"]](data["said"]) if data["duty"] in answers else ""
        told = StepIterated(
            task=data["task"],
            run=run,
            step=data["label"],
            visit=data["visit"],
            iteration=data["iteration"],
            duty=data["duty"],
            answer=answer or "",
        )
        repo = RepoId(work.intent.repo)
        work.with_next_record(lambda w: w.emit(told, repo=repo, agent=Uid(data["uid"])))

    def _keep(self, work: RunningIntent) -> None:
        """Keeps the report and the result, and tells of them."""
        data, run = work.data, run_of(work)
        repo = RepoId(work.intent.repo)
        if "ended_at" not in data:
            work.keep(ended_at=self._context.clock.now())
        data = work.data
        seconds = round(max(0.0, data["ended_at"] - data["began_at"]), 3)
        told = {"step": data["label"], "visit": data["visit"], "result": data["result"]}
        if data["result"]:
            records.keep_visit(
                self._context,
                run,
                _visit(data),
                report=last_words.report(data["said"]),
                result={**told, "seconds": seconds, "role": data["role"]},
            )
        plans = data["role"] == planning.ROLE and not data.get("only_plans")
        if plans and data["result"] == PASS:
            plan_files.keep(self._context, repo, data["task"], last_words.report(data["said"]))
        ended = StepEnded(task=data["task"], run=run, seconds=seconds, **told)
        work.with_next_record(lambda w: w.emit(ended, repo=repo, agent=Uid(data["uid"])))

    def _live(self, work: RunningIntent) -> Agent:
        return still_live(self._context, Uid(work.data["uid"]))


def _ends(data: Any) -> bool:
    return not data.get("waits")


def _takes_back(data: Any) -> bool:
    return _ends(data) and bool(data["readonly"] or data.get("back_to"))


def _commits(data: Any) -> bool:
    return _ends(data) and bool(data["commits"]) and not data["readonly"]


def _visit(data: Any) -> str:
    return records.of_visit(data["label"], data["visit"], began_at=data["began_at"])
