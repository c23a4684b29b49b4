"""An agent's instructions: read, put together, and kept in its folder.

What they say is `core.prompts`' and `data/roles`'. A person adds to them in `.windlass/roles/` of
the registered checkout; an agent's own branch has no say in what it is told.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import get_args

from windlass.core import prompts
from windlass.core.crew import Agent, Role
from windlass.core.errors import ConfigError, NotFound
from windlass.core.events import PromptIncomplete
from windlass.core.printable import printable_line
from windlass.core.prompts import Situation
from windlass.daemon.kernel import repos, settings, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.drivers import files
from windlass.store import rows

FOLDER = ".windlass/roles"
LARGEST = 64 << 10
"""More than anybody writes for every agent to read at every start."""
_EVERYBODY = "all"
_NAMED = 5


def write(context: Context, agent: Agent) -> None:
    """Writes what an agent is told about itself and its crew.

    What a person added and cannot be read is an error at an agent's first start, and recorded at
    later ones: a resume that fails would be worse than an agent that was told less. A file that no
    agent is ever told is recorded, too: somebody may wonder why nobody does what it says.
    """
    root = repos.by_id(context, agent.repo).root
    found, problems = _added(root, agent.role)
    if problems and agent.session <= 1:
        raise problems[0]
    for why in (*(problem.message for problem in problems), *_told_to_nobody(root)):
        _record(context, agent, why)
    path = context.folders.instructions(agent.uid)
    told = prompts.assemble(_situation(context, agent, root), shipped=_shipped(agent), added=found)
    files.write_bytes(path, told.encode())


def require_readable(root: str, role: Role) -> None:
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


def _situation(context: Context, agent: Agent, root: str) -> Situation:
    above = agent.parent
    parent = context.store.read(lambda c: rows.agent(c, above)) if above else None
    return Situation(
        agent=agent,
        parent=parent if parent and parent.ended_at is None else None,
        questions=settings.load(context.folders.home, root).allow_agent_questions,
    )


def _shipped(agent: Agent) -> list[str]:
    ours = resources.files("windlass.data") / "roles"
    return [(ours / f"{name}.md").read_text("utf-8") for name in (_EVERYBODY, agent.role)]


def _added(root: str, role: Role) -> tuple[list[str], list[ConfigError]]:
    """What a person added for all and for a role, and what of it cannot be read."""
    found: list[str] = []
    problems: list[ConfigError] = []
    for name in (_EVERYBODY, role):
        path = Path(root) / FOLDER / f"{name}.md"
        try:
            found.append(_read(path))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8"
            problems.append(
                ConfigError(
                    f"{path} cannot be told to agents: {said}",
                    f"make it a plain text file of at most {LARGEST} bytes, or remove it",
                )
            )
    return found, problems


def _told_to_nobody(root: str) -> list[str]:
    """What is to be said of files that stand beside those of the roles, and have another name."""
    folder = Path(root) / FOLDER
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return []
    known = [f"{name}.md" for name in (_EVERYBODY, *get_args(Role))]
    try:
        others = sorted(path.name for path in folder.iterdir() if not _is_one_of(path, known))
    except OSError as error:
        return [f"{folder} cannot be listed: {error.strerror}"]
    if not others:
        return []
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    named = ", ".join(map(printable_line, others[:_NAMED]))
    return [f"told to no agent: {named}{more}; only {', '.join(known)} are read in {folder}"]


def _is_one_of(path: Path, known: list[str]) -> bool:
    """Whether a file is one of those, or hidden; on some machines `Worker.md` is `worker.md`."""
    if path.name in known or path.name.startswith("."):
        return True
    plain = path.with_name(path.name.lower())
    return plain.name in known and plain.exists() and plain.samefile(path)


def _read(path: Path) -> str:
    """Reads a file that a merge of an agent's work may have brought: no links, no end of it."""
    path.lstat()  # what is not there is no problem, wherever its folder leads
    for folder in (path.parent, path.parent.parent):
        if folder.is_symlink():
            raise untrusted_files.NotPlain(f"{folder} is a link")
    if path.is_symlink():
        raise untrusted_files.NotPlain("it is a link")
    text = untrusted_files.read(path, most=LARGEST + 1)
    if len(text) > LARGEST:
        raise untrusted_files.NotPlain(f"it is larger than {LARGEST} bytes")
    return text.decode()


def _record(context: Context, agent: Agent, why: str) -> None:
    told = PromptIncomplete(id=agent.id, why=why)
    context.store.write(lambda w: w.emit(told, repo=agent.repo, agent=agent.uid))
