"""The services of a daemon, each built once, and the intents that they perform."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from windlass import forge
from windlass.core.gate import job as gate_job
from windlass.core.ids import RepoId, Uid
from windlass.core.jobs import DueEffect, Heard, Job
from windlass.core.landing import job as landing_job
from windlass.core.landing import request as request_job
from windlass.core.ports import Forge
from windlass.core.runs import orders
from windlass.daemon.agents.allow import Allowances
from windlass.daemon.agents.comebacks import Comebacks
from windlass.daemon.agents.endings import Endings
from windlass.daemon.agents.interrupt import Interrupts
from windlass.daemon.agents.limit_waits import LimitWaits
from windlass.daemon.agents.merge import Merges
from windlass.daemon.agents.note import Notes
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.reassign import Reassignments
from windlass.daemon.agents.refresh import Refreshes
from windlass.daemon.agents.removal import Removals
from windlass.daemon.agents.restore import Restores
from windlass.daemon.agents.session_life import AgentSockets, SessionLife
from windlass.daemon.agents.spawn import Spawns
from windlass.daemon.agents.trash import EmptyTrash
from windlass.daemon.agents.undo import Undos
from windlass.daemon.gate.agent_layers import AgentLayers
from windlass.daemon.gate.checks import Checks, Slots
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.pools import PoolName
from windlass.daemon.landing import restarts
from windlass.daemon.landing.authors import Authors
from windlass.daemon.landing.cancellations import Cancellations
from windlass.daemon.landing.failures import Failures
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.landing.landings import Landings
from windlass.daemon.landing.orphans import Orphans
from windlass.daemon.landing.proposals import Proposals
from windlass.daemon.landing.pull_requests import PullRequests
from windlass.daemon.landing.pushes import Pushes
from windlass.daemon.landing.recoveries import Recoveries
from windlass.daemon.landing.retirements import Retirements
from windlass.daemon.landing.stops import Stops
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.landing.tries import Tries
from windlass.daemon.landing.undos import LandingUndos
from windlass.daemon.landing.upstreams import Upstreams
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail import notices
from windlass.daemon.mail.acknowledge import Acknowledgements
from windlass.daemon.mail.answer import Answers
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.notify import Notifications
from windlass.daemon.mail.questions import Questions
from windlass.daemon.mail.send import Sends
from windlass.daemon.relay.accounts import Accounts
from windlass.daemon.relay.relay import Relay
from windlass.daemon.repair.repairs import Repairs
from windlass.daemon.retention.retention import Retention
from windlass.daemon.runs import runs
from windlass.daemon.runs.runs import Runs
from windlass.daemon.setup.configuration import Configuration
from windlass.daemon.setup.init import Inits
from windlass.daemon.setup.repositories import Repositories
from windlass.daemon.setup.trust import ProjectTrust
from windlass.daemon.spend.budgets import Budgets
from windlass.daemon.spend.costs import Costs
from windlass.daemon.spend.limit_pauses import LimitPauses
from windlass.daemon.states import reports
from windlass.daemon.states.clock_steps import ClockSteps
from windlass.daemon.states.evidence import Evidence
from windlass.daemon.states.reports import Reports
from windlass.daemon.states.sleep_inhibitor import SleepInhibitor
from windlass.daemon.states.sources import Sources
from windlass.daemon.states.stalls import Stalls
from windlass.daemon.states.watcher import AgentWatcher
from windlass.daemon.views.agents import AgentViews
from windlass.engine.embedded import EmbeddedEngine
from windlass.store.rows import Intent
from windlass.store.store import Event, Writing

_POOLS: dict[str, PoolName] = {
    **dict.fromkeys((gate_job.LAYER, gate_job.CHECK), "gate"),
    **dict.fromkeys((landing_job.TRY, landing_job.LAND, landing_job.STOP), "landing"),
    **dict.fromkeys((landing_job.PROPOSE, landing_job.RETIRE, landing_job.RECOVER), "landing"),
    request_job.LOOK: "landing",
    **dict.fromkeys(
        (orders.PREPARE, orders.BEGIN, orders.ITERATE, orders.CLOSE, orders.SUBMIT), "run"
    ),
}
"""Where effects of jobs are done that may take longer than seconds, by their operation."""


class Services:
    """What answers the verbs and what works by itself, each built from those before it."""

    def __init__(self, context: Context, sockets: AgentSockets) -> None:
        self.context = context
        self.intents = Intents(context, tell=_tell_of_unfinished)
        self.jobs = Jobs(context, self.intents, tell=_tell_of_job)
        self.proofs = Proofs(context, self.jobs, Checks(context, Slots()), tell=_tell_of_proof)
        self.costs = Costs(context)
        self.delivery = Delivery(context)
        self.fetcher = CommitFetcher(context)
        self.submissions = Submissions(context, self.jobs, self.fetcher)
        self.judgements = Judgements(context, self.submissions)
        upstreams = Upstreams(context)
        requests = PullRequests(context, self.jobs, upstreams, self._forge)
        self.landing_undos = LandingUndos(context, self.submissions, self.fetcher)
        self.budgets = budgets = Budgets(context, self.intents)
        self.relay = Relay(context, Accounts(context, self.costs, budgets))
        evidence = Evidence(context, LimitPauses(context, self.intents))
        sources = Sources(
            context,
            self.costs,
            budgets,
            evidence=evidence,
            fetcher=self.fetcher,
            delivery=self.delivery,
        )
        self.clock_steps = ClockSteps(context)
        self.watcher = AgentWatcher(context, sources)
        life = SessionLife(context, sockets, self.fetcher, self.watcher.look_at_the_end)
        self.endings = Endings(context, sockets, self.fetcher, life, Removals(context))
        agent_layers = AgentLayers(context, self.proofs.versions)
        self.spawns = Spawns(
            context,
            self.fetcher,
            life,
            self.endings,
            agent_layers,
            lands=self.submissions.await_author,
        )
        self.merges = Merges(context, self.fetcher, self.endings, self.proofs.prove_target)
        self.refreshes = Refreshes(context, self.fetcher)
        self.restores = Restores(context, sockets, agent_layers)
        self.undos = Undos(context, self.restores)
        self.pause_resume = PauseResume(context, life)
        self.limit_waits = LimitWaits(context, self.intents, self.pause_resume)
        self.reassignments = Reassignments(context)
        self.allowances = Allowances(context)
        self.interrupts = Interrupts(context, self.watcher.try_to_look)
        self.notes, self.empty_trash = Notes(context), EmptyTrash(context)
        self.questions = Questions(context)
        self.sends = Sends(context, self._wake)
        self.answers = Answers(context, self.sends)
        self.acknowledgements, self.listeners = Acknowledgements(context), Listeners(context)
        self.notifications = Notifications(context)
        self.reports = Reports(context, self.intents)
        self.stalls = Stalls(context, self.fetcher)
        self.sleep_inhibitor = SleepInhibitor(context)
        self.agent_views = AgentViews(context, self.fetcher, self.stalls.denied)
        self.configuration = Configuration(context)
        self.inits = Inits(context, self.proofs)
        self.repositories = Repositories(context)
        self.trust = ProjectTrust(context)
        self.repairs = Repairs(context, sockets, self.watcher.try_to_look)
        self.retention = Retention(context, self.jobs)
        self.runs = Runs(
            context,
            self.jobs,
            self.intents,
            spawns=self.spawns,
            life=life,
            fetcher=self.fetcher,
            submissions=self.submissions,
            judgements=self.judgements,
            wake=self._resume,
        )
        self.intents.add(
            (
                *self.runs.operations(),
                self.spawns.operation(),
                self.endings.operation(),
                self.merges.operation(),
                self.refreshes.operation(),
                self.restores.operation(),
                self.undos.operation(),
                *self.pause_resume.operations(),
                self.reassignments.operation(),
                self.allowances.operation(),
                self.interrupts.operation(),
                self.notes.operation(),
                self.empty_trash.operation(),
                self.configuration.operation(),
                self.inits.operation(),
                *self.repositories.operations(),
                self.trust.operation(),
                self.sends.operation(),
                self.acknowledgements.operation(),
                self.questions.operation(),
                self.notifications.operation(),
                reports.OPERATION,
                *self.proofs.operations(),
                self.submissions.operation(),
                *self.judgements.operations(),
                self.landing_undos.operation(),
                Tries(context, self.proofs, upstreams).operation(),
                Landings(context, self.proofs, Pushes(context, upstreams), requests).operation(),
                requests.operation(),
                Stops(context, self._authors()).operation(),
                Orphans(context).operation(),
                Failures(context).operation(),
                Cancellations(context, self.jobs).operation(),
                Recoveries(context, self.proofs, upstreams).operation(),
                Proposals(context, self.submissions).operation(),
                Retirements(context, self.fetcher, self.endings).operation(),
            )
        )
        self.jobs.add((gate_job.KIND, landing_job.KIND, request_job.KIND, *runs.KINDS))

    def open_jobs(self) -> EmbeddedEngine:
        """Goes on with every job, and has them hear of what is committed from now on."""
        context = self.context
        begin = partial(context.pools.begin, "job")
        engine = EmbeddedEngine(self.jobs, context.clock, begin=begin, perform=self._perform)
        context.store.listen(partial(_heed, engine))
        context.store.write(restarts.reset)
        engine.open()
        return engine

    def _perform(self, effect: DueEffect) -> None:
        pool = _POOLS.get(effect.what, "effect")
        self.context.pools.begin(pool, self.intents.perform_recorded, effect.key)

    def _forge(self, addresses: Sequence[str]) -> Forge:
        return forge.at(addresses, env=self.context.env)

    def _authors(self) -> Authors:
        comebacks = Comebacks(self.context, self.intents, self.restores)
        return Authors(self.context, self._resume, comebacks.bring_back)

    def _resume(self, uid: Uid, key: str) -> None:
        self._wake(uid, key, None)

    def _wake(self, uid: Uid, key: str, by: Uid | None) -> None:
        """Mail lies below agents, and may wake one: one of the ways up in docs/architecture.md."""
        self.pause_resume.wake(self.intents, uid, key=key, by=by)


def _tell_of_unfinished(writing: Writing, intent: Intent, why: str) -> None:
    notices.post(writing, intent.repo, "windlass", "waiting", why, by_hand=True)


def _tell_of_job(writing: Writing, job: Job, why: str) -> None:
    notices.post(writing, job.repo, "windlass", "waiting", why, by_hand=True)


def _tell_of_proof(writing: Writing, *, repo: RepoId, text: str, is_green: bool) -> None:
    notices.post(
        writing, repo, "windlass", "complete" if is_green else "waiting", text, by_hand=True
    )


def _heed(engine: EmbeddedEngine, events: list[Event]) -> None:
    engine.heed([Heard(event.kind, event.repo, event.subject) for event in events])
