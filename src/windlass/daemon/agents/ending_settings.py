"""What endings need of the configuration: read before the first step, and kept in the intent.

An ending never fails for a wrong configuration: what is wrong is passed over, and said.
"""

from __future__ import annotations

import time

import msgspec

from windlass.core import shapes
from windlass.core.config import BoxSettings, Config, TrashSettings, WorkspaceSettings
from windlass.core.config_layers import Usable
from windlass.core.crew import Agent
from windlass.core.ids import RepoId
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store.rows import Repo


class EndingSettings(msgspec.Struct, frozen=True):
    """What an ending needs of the configuration: read before its first step, and kept with it."""

    workspace: WorkspaceSettings
    trash: TrashSettings
    boxed: WorkspaceSettings | None = None
    """The commands of agents in a box, where they were asked for."""
    box: BoxSettings = BoxSettings()

    @classmethod
    def of(cls, config: Config, *, boxed: Config | None = None) -> EndingSettings:
        """The part of a configuration that endings need."""
        in_box = boxed.workspace if boxed else None
        return cls(config.workspace, config.trash, in_box, config.box)


def kept(work: RunningIntent, repo: Repo) -> EndingSettings:
    """As they were when it began; spawns that failed, and older releases, did not keep them."""
    settled = work.data.get("settings", {}).get(repo.id)
    if settled is not None:
        return shapes.convert(settled, EndingSettings)
    return _of(settings.usable(work.context.folders.home, repo.root))


def commands(work: RunningIntent, agent: Agent, repo: Repo) -> WorkspaceSettings:
    """The commands around the workspace of an agent that is ended.

    A box runs a repository's own at once; outside of one they count once the person accepts them.
    """
    known = kept(work, repo)
    if agent.isolation != "box":
        return known.workspace
    return known.boxed or settings.usable(work.context.folders.home, repo.root).at("box").workspace


def _of(known: Usable) -> EndingSettings:
    return EndingSettings.of(known.config, boxed=known.at("box"))


def passed_over(known: Usable) -> list[str]:
    """What is said of a configuration that was used without what is wrong in it."""
    return [f"passed over in the configuration: {wrong.error.message}" for wrong in known.problems]


def of_repos(
    context: Context, agents: list[Agent]
) -> tuple[dict[RepoId, EndingSettings], list[str]]:
    """The settings of each repository that agents are of, and what was passed over."""
    configured = {}
    notes: list[str] = []
    for repo in dict.fromkeys(agent.repo for agent in agents):
        known = settings.usable(context.folders.home, repos.by_id(context, repo).root)
        configured[repo] = _of(known)
        notes += passed_over(known)
    return configured, list(dict.fromkeys(notes))


def stamp(now: float) -> str:
    """A moment as a name for refs and folders; to the millisecond, so that it stays unique."""
    whole = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return f"{whole}-{int(now * 1000) % 1000:03d}"
