"""The verbs for what a person does now and then: configuration, repositories, drivers, doctor."""

from __future__ import annotations

from windlass.api import wire
from windlass.api.server import Verb, Wait
from windlass.daemon.kernel.context import Context
from windlass.daemon.setup.configuration import Configuration
from windlass.daemon.setup.machine import Machine
from windlass.daemon.setup.repositories import Repositories


def routes(context: Context) -> dict[str, Verb | Wait]:
    """Verb by verb."""
    configuration, repositories = Configuration(context), Repositories(context)
    machine = Machine(context)
    return {
        "config": Verb(wire.ConfigRequest, configuration.view),
        "config.add": Verb(wire.ConfigRequest, configuration.add),
        "config.remove": Verb(wire.ConfigRequest, configuration.remove),
        "config.set": Verb(wire.ConfigRequest, configuration.set),
        "doctor": Verb(wire.DriversRequest, machine.doctor),
        "drivers": Verb(wire.DriversRequest, machine.drivers),
        "drivers.trust": Verb(wire.DriverRequest, machine.trust),
        "drivers.trusted": Verb(wire.DriverRequest, machine.trusted),
        "init": Verb(wire.InitRequest, repositories.init),
        "repo.add": Verb(wire.RepoRequest, repositories.add),
        "repo.remove": Verb(wire.RepoRequest, repositories.remove),
        "whoami": Verb(wire.AnyRequest, machine.whoami),
    }
