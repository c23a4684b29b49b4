"""Every verb of the API, and what answers it: the tables of the packages, put together."""

from __future__ import annotations

from windlass.api.verbs import Verb, Wait
from windlass.daemon.agents import routes as agents
from windlass.daemon.gate import routes as gate
from windlass.daemon.jobs import routes as jobs
from windlass.daemon.landing import routes as landing
from windlass.daemon.mail import routes as mail
from windlass.daemon.person import routes as person
from windlass.daemon.policy import routes as policy
from windlass.daemon.repair import routes as repair
from windlass.daemon.retention import routes as retention
from windlass.daemon.runs import routes as runs
from windlass.daemon.services import Services
from windlass.daemon.setup import routes as setup
from windlass.daemon.spend import routes as spend
from windlass.daemon.views import routes as views


def routes(services: Services) -> dict[str, Verb | Wait]:
    """Every verb by name: the types of its request and reply, what answers it, who may call."""
    context, intents = services.context, services.intents
    tables = (
        policy.routes(context, services.delivery.context_for),
        mail.routes(
            context,
            intents,
            sends=services.sends,
            answers=services.answers,
            acknowledgements=services.acknowledgements,
            questions=services.questions,
            notifications=services.notifications,
            delivery=services.delivery,
            listeners=services.listeners,
        ),
        spend.routes(services.costs),
        agents.routes(
            context,
            intents,
            spawns=services.spawns,
            endings=services.endings,
            merges=services.merges,
            refreshes=services.refreshes,
            restores=services.restores,
            undos=services.undos,
            pause_resume=services.pause_resume,
            reassignments=services.reassignments,
            allowances=services.allowances,
            interrupts=services.interrupts,
            notes=services.notes,
            empty_trash=services.empty_trash,
        ),
        views.routes(context, services.agent_views, services.fetcher),
        person.routes(
            context,
            services.agent_views,
            questions=services.questions,
            armed=services.listeners.armed,
        ),
        setup.routes(
            context,
            intents,
            services.configuration,
            inits=services.inits,
            repositories=services.repositories,
            trust=services.trust,
        ),
        repair.routes(services.context, services.repairs),
        retention.routes(services.retention),
        jobs.routes(context),
        gate.routes(services.proofs),
        landing.routes(
            context,
            intents,
            services.submissions,
            services.judgements,
            services.landing_undos,
        ),
        runs.routes(
            context,
            intents,
            services.runs.schedules,
            services.runs.tasks,
            services.runs.plannings,
        ),
    )
    together: dict[str, Verb | Wait] = {}
    for table in tables:
        if twice := together.keys() & table.keys():
            raise AssertionError(f"two packages answer {', '.join(sorted(twice))}")
        together |= table
    return together
