"""An agent's instructions: read, put together, and kept in its folder.

What they say is `core.prompts`' and that of the files of roles, shipped and the repository's.
"""

from __future__ import annotations

from windlass.core import prompts
from windlass.core.crew import Agent
from windlass.core.errors import ConfigError, NotFound
from windlass.core.events import PromptIncomplete
from windlass.core.ids import RoleName
from windlass.core.prompts import Situation
from windlass.core.roles import EVERYBODY, RoleFile
from windlass.daemon.kernel import repos, settings, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.drivers import files
from windlass.project import role_files
from windlass.store import rows


def write(context: Context, agent: Agent, *, gate: tuple[str, ...] = ()) -> None:
    """Writes what an agent is told about itself, its crew, and the gate's commands.

    What a person added and cannot be read is an error at an agent's first start, and recorded at
    later ones: a resume that fails would be worse than an agent that was told less. A file that no
    agent is ever told is recorded, too: somebody may wonder why nobody does what it says.
    """
    root = repos.by_id(context, agent.repo).root
    added, problems = _added(root, agent.role)
    if problems and agent.session <= 1:
        raise problems[0]
    for why in (*(problem.message for problem in problems), *role_files.told_to_nobody(root)):
        _record(context, agent, why)
    text = prompts.assemble(
        _situation(context, agent, root, gate),
        shipped=_shipped(agent.role, added),
        added=[file.prompt for file in added],
    )
    files.write_bytes(context.folders.instructions(agent.uid), text.encode())


def require_readable(root: str, role: RoleName) -> None:
    """Refuses what `write` would refuse, before there is an agent."""
    _, problems = _added(root, role)
    if problems:
        raise problems[0]


def kept(context: Context, agent: Agent) -> str:
    """What an agent was told when its last session started; also of one that has ended."""
    path = context.folders.instructions(agent.uid)
    if agent.archive is not None:
        path = context.folders.archive / agent.archive / path.name
    try:
        return untrusted_files.read(path, most=1 << 20).decode(errors="replace")
    except OSError as error:
        raise NotFound(
            f"no instructions of {agent.id} are kept: {error.strerror or error}",
            f"they are written when a session starts: wl why {agent.id}",
        ) from None


def _situation(context: Context, agent: Agent, root: str, gate: tuple[str, ...]) -> Situation:
    above = agent.parent
    parent = context.store.read(lambda c: rows.agent(c, above)) if above else None
    return Situation(
        agent=agent,
        parent=parent if parent and parent.ended_at is None else None,
        questions=settings.usable(context.folders.home, root).config.allow_agent_questions,
        gate=gate,
    )


def _shipped(role: RoleName, added: list[RoleFile]) -> list[str]:
    """Our texts for everybody and for a role, unless the repository's file replaces that one."""
    names = (EVERYBODY,) if any(file.replace for file in added) else (EVERYBODY, role)
    return [file.prompt for name in names if (file := role_files.shipped(name))]


def _added(root: str, role: RoleName) -> tuple[list[RoleFile], list[ConfigError]]:
    """What the repository adds for all and for a role, and what of it cannot be read."""
    added: list[RoleFile] = []
    problems: list[ConfigError] = []
    for name in (EVERYBODY, role):
        try:
            file = role_files.added(root, name)
        except ConfigError as error:
            problems.append(error)
        else:
            added += [file] if file else []
    return added, problems


def _record(context: Context, agent: Agent, why: str) -> None:
    event = PromptIncomplete(id=agent.id, why=why)
    context.store.write(lambda w: w.emit(event, repo=agent.repo, agent=agent.uid))
