"""The verbs for what a person does now and then: configuration, repositories, drivers, doctor."""

from __future__ import annotations

from functools import partial

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import setup as wire
from windlass.api.wire.gate import GateRunReply
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.views import RepoView
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.setup import init
from windlass.daemon.setup.configuration import KIND, Configuration
from windlass.daemon.setup.init import Inits
from windlass.daemon.setup.logins import Logins
from windlass.daemon.setup.machine import Machine
from windlass.daemon.setup.repositories import FORGET, Repositories
from windlass.daemon.setup.trust import KIND as CONSENT
from windlass.daemon.setup.trust import ProjectTrust

_CONFIGURE = Refusal("agents do not change configuration")
_LOGIN = Refusal("agents have nothing to do with what they are logged in with")
_SET_UP = Refusal("agents do not set up repositories")
_TRUST = Refusal("agents do not accept what people are asked")


def routes(
    context: Context,
    intents: Intents,
    configuration: Configuration,
    *,
    inits: Inits,
    repositories: Repositories,
    trust: ProjectTrust,
) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    machine, logins = Machine(context), Logins(context)
    does = partial(IntentVerb, intents, KIND)
    consents = partial(IntentVerb, intents, CONSENT)
    return {
        "config": Verb(wire.ConfigRequest, wire.ConfigReply, configuration.view, callers="both"),
        "config.add": Verb(
            wire.ConfigRequest, wire.ConfigReply, does(configuration.add), refusal=_CONFIGURE
        ),
        "config.remove": Verb(
            wire.ConfigRequest, wire.ConfigReply, does(configuration.remove), refusal=_CONFIGURE
        ),
        "config.set": Verb(
            wire.ConfigRequest, wire.ConfigReply, does(configuration.set), refusal=_CONFIGURE
        ),
        "doctor": Verb(wire.DriversRequest, wire.DoctorReply, machine.doctor, callers="both"),
        "drivers": Verb(
            wire.DriversRequest, list[wire.DriverView], machine.drivers, callers="both"
        ),
        "drivers.trust": Verb(wire.DriverRequest, wire.TrustReply, machine.trust, refusal=_TRUST),
        "drivers.trusted": Verb(
            wire.DriverRequest, wire.TrustReply, machine.trusted, refusal=_TRUST
        ),
        "init": Verb(
            wire.InitRequest,
            wire.InitReply,
            IntentVerb(intents, init.KIND, inits.begin),
            refusal=_SET_UP,
        ),
        "init.look": Verb(wire.InitRequest, wire.InitLook, inits.look, refusal=_SET_UP),
        "init.prove": Verb(wire.InitRequest, GateRunReply, inits.prove, refusal=_SET_UP),
        "login.forget": Verb(wire.LoginRequest, wire.LoginView, logins.forget, refusal=_LOGIN),
        "login.keep": Verb(wire.LoginRequest, wire.LoginView, logins.keep, refusal=_LOGIN),
        "login.offer": Verb(wire.LoginRequest, wire.LoginOffer, logins.offer, refusal=_LOGIN),
        "repo.add": Verb(
            wire.RepoRequest,
            wire.RepoReply,
            repositories.add,
            refusal=Refusal("agents do not add repositories"),
        ),
        "repo.remove": Verb(
            wire.RepoRequest,
            wire.RepoReply,
            IntentVerb(intents, FORGET, repositories.remove),
            refusal=Refusal("agents do not remove repositories"),
        ),
        "repos": Verb(
            AnyRequest,
            list[RepoView],
            repositories.known,
            refusal=Refusal("agents do not list repositories"),
        ),
        "trust": Verb(AnyRequest, wire.ProjectTrustReply, trust.view, refusal=_TRUST),
        "trust.accept": Verb(
            wire.AcceptRequest, wire.ProjectTrustReply, consents(trust.accept), refusal=_TRUST
        ),
        "trust.revoke": Verb(
            wire.RevokeRequest, wire.ProjectTrustReply, consents(trust.revoke), refusal=_TRUST
        ),
        "whoami": Verb(AnyRequest, wire.WhoamiReply, machine.whoami, callers="both"),
    }
