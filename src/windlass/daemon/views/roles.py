"""The roles that agents of a repository can have."""

from __future__ import annotations

from windlass.api.verbs import Caller
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.views import RoleView
from windlass.core.config import Config
from windlass.core.errors import ConfigError
from windlass.core.ids import RoleName
from windlass.core.roles import Definition, Role
from windlass.daemon.kernel import lookup, settings
from windlass.daemon.kernel.context import Context
from windlass.project import role_files


def listed(context: Context, caller: Caller, request: AnyRequest) -> list[RoleView]:
    """Each with what it lets its agents do; of one whose file cannot be read, what is wrong."""
    root = lookup.root(context, caller, request)
    config = settings.load(context.folders.home, root)
    return [_view(config, root, name) for name in role_files.known(config, root)]


def _view(config: Config, root: str | None, name: RoleName) -> RoleView:
    definition, problem = Definition(Role(name=name)), ""
    try:
        definition = role_files.find(config, root, name)
    except ConfigError as error:
        problem = error.message
    role = definition.role
    return RoleView(
        name=name,
        about=role.about,
        spawns=role.spawns,
        persistent=role.persistent,
        readonly=role.readonly,
        withheld=list(definition.withheld),
        problem=problem,
    )
