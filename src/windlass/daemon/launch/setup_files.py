"""What a workspace's setup left, which is no work of the agent's as long as nobody changes it.

Remembered in the agent's folder, outside of its box, before its first session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from windlass import whole_file
from windlass.core.crew import Agent
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes
from windlass.git import fingerprints, status
from windlass.git import provided as provided_files
from windlass.git.fingerprints import Fingerprint
from windlass.git.provided import NOTHING, Provided
from windlass.git.status import WorkStatus

FILE = "setup-files.json"
PROVIDED = "provided-files.json"


def remember(context: Context, agent: Agent) -> None:
    """Remembers what is not committed in a workspace that no agent has worked in yet."""
    work = _without_provided(context, agent, _status(context, agent))
    taken = fingerprints.take(agent.workspace, sorted({*work.untracked, *work.unstaged}))
    path = context.folders.agent(agent.uid) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_file.replace(path, msgspec.json.encode(taken))


def work_status(context: Context, agent: Agent) -> WorkStatus:
    """What is not committed in an agent's workspace, apart what its setup left and nobody touched.

    Runs git: not for a loop or a transaction.
    """
    work = _without_provided(context, agent, _status(context, agent))
    taken = _remembered(context, agent)
    listed = {*work.untracked, *work.unstaged} - {*work.staged, *work.conflicted}
    same = fingerprints.unchanged(agent.workspace, listed, taken)
    if not same:
        return work
    return msgspec.structs.replace(
        work,
        untracked=[name for name in work.untracked if name not in same],
        unstaged=[name for name in work.unstaged if name not in same],
        setup=sorted(same),
    )


def remember_provided(
    context: Context, agent: Agent, paths: Iterable[str], *, but: Collection[str] = ()
) -> None:
    """Notes what was put into a workspace in which nobody works yet, below these paths.

    But for files that were not put there: they are the agent's.
    """
    path = context.folders.agent(agent.uid) / PROVIDED
    path.parent.mkdir(parents=True, exist_ok=True)
    taken = provided_files.take(agent.workspace, paths)
    stamps = {name: stamp for name, stamp in taken.stamps.items() if name not in but}
    whole_file.replace(path, msgspec.json.encode(msgspec.structs.replace(taken, stamps=stamps)))


def provided(context: Context, agent: Agent) -> Provided:
    """What was put into an agent's workspace; nothing where the note of it is not whole."""
    try:
        held = (context.folders.agent(agent.uid) / PROVIDED).read_bytes()
        return msgspec.json.decode(held, type=Provided)
    except (OSError, msgspec.DecodeError):
        return NOTHING


def _without_provided(context: Context, agent: Agent, work: WorkStatus) -> WorkStatus:
    """What is not committed, apart from what was put there and is as it was."""
    there = provided(context, agent) if work.untracked else NOTHING
    if not there.paths:
        return work
    left = [name for name in work.untracked if not there.holds(agent.workspace, name)]
    return msgspec.structs.replace(work, untracked=left)


def _status(context: Context, agent: Agent) -> WorkStatus:
    git = repos.git(repos.by_id(context, agent.repo))
    return status.status(git, agent.workspace, box=boxes.reading(context, agent))


def _remembered(context: Context, agent: Agent) -> dict[str, Fingerprint]:
    """What was remembered; nothing where there was no setup, or the file is not whole."""
    try:
        held = (context.folders.agent(agent.uid) / FILE).read_bytes()
        return msgspec.json.decode(held, type=dict[str, Fingerprint])
    except (OSError, msgspec.DecodeError):
        return {}
