"""What endings left of workspaces because somebody still wrote there: kept, and deleted at last.

Such a rest lies among the workspaces that are on their way out. Once nobody has anything of it
open, what of it no earlier salvage holds becomes a salvage of its own, and it goes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import AgentSalvaged
from windlass.daemon.agents import ending_settings
from windlass.daemon.agents.restore import row_of
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes, homecomings
from windlass.daemon.retention import needs
from windlass.daemon.retention.ended_agents import Over, Trash, bytes_in
from windlass.git import removal, salvage
from windlass.git.trash import TrashEntry
from windlass.store.rows import Repo


def old_workspaces(context: Context, trash: list[Trash], *, removes: bool) -> Iterator[Over]:
    """Finds what endings left, and removes it where nobody needs it any more."""
    left = {kept.repo.id: sorted(context.folders.ending(kept.repo.id).glob("*")) for kept in trash}
    # After the look: whose ending is under way has been recorded before its workspace was moved.
    needed = context.store.read(needs.of_intents)
    for kept in trash:
        for place in left[kept.repo.id]:
            entry = _salvage_of(place, kept.entries)
            if needed.names(_stamp(place)) or not os.path.lexists(place):
                continue
            size = bytes_in(place)
            stays = _why_it_stays(context, place, entry)
            if entry is not None and removes and not stays:
                stays = _removed(context, kept, entry, place)
            yield Over(str(place), size, stays)
        if removes:
            with contextlib.suppress(OSError):  # something is in it, or nothing ever was
                context.folders.ending(kept.repo.id).rmdir()


def _stamp(place: Path) -> str:
    """The moment of the ending that a folder there is of: the names of all begin with it."""
    return "-".join(place.name.split("-")[:2])


def _salvage_of(place: Path, entries: list[TrashEntry]) -> TrashEntry | None:
    """The first salvage of what lay there; beside it may lie what was being deleted of it."""
    names = (place.name, place.name.rpartition(".")[0])
    found = (entry for entry in entries if f"{entry.stamp}-{entry.agent}" in names)
    return next(found, None)


def _why_it_stays(context: Context, place: Path, entry: TrashEntry | None) -> str:
    if entry is None or "problem" in entry.meta:
        return "there is no salvage of it in the trash; delete it by hand"
    if users := context.commands.users(place):
        return f"{', '.join(users)} has something of it open"
    if os.path.lexists(place / ".git"):
        return "a part of its git folder is left; look at that, and delete it by hand"
    return ""


def _removed(context: Context, kept: Trash, entry: TrashEntry, place: Path) -> str:
    """Keeps what no salvage has yet, then deletes it as it was kept; says why it stays."""
    try:
        agent = row_of(entry)
        seen = removal.look(str(place))
        _keep(context, kept, agent, entry, place)
        left = removal.clear(str(place), seen)
    except WindlassError as error:
        return error.message
    except OSError as error:
        return error.strerror or str(error)
    return "somebody has written to it again" if left else ""


def _keep(context: Context, kept: Trash, agent: Agent, first: TrashEntry, place: Path) -> None:
    configured, _ = ending_settings.of_repos(context, [agent])
    settings = configured[agent.repo]
    of_agent = [entry.commit for entry in kept.entries if _is_of(entry, agent)]
    after = [first.commit, *(commit for commit in of_agent if commit != first.commit)]
    done = salvage.salvage(
        repos.git(kept.repo),
        path=str(place),
        known_as=agent.workspace,
        agent=agent.id,
        stamp=ending_settings.stamp(context.clock.now()),
        after=after,
        meta={"how": first.meta.get("how", ""), "row": msgspec.to_builtins(agent)},
        ignored_cap=settings.trash.ignored_mb << 20,
        ignored_files_cap=settings.trash.ignored_files,
        allowed=homecomings.at_an_end(settings.box),
        box=boxes.keeping(context, agent, str(place)),
    )
    if done.commit not in after:
        _tell(context, kept.repo, agent, done)


def _is_of(entry: TrashEntry, agent: Agent) -> bool:
    row = entry.meta.get("row")
    return isinstance(row, dict) and row.get("uid") == agent.uid


def _tell(context: Context, repo: Repo, agent: Agent, done: salvage.Salvaged) -> None:
    summary: dict[str, Any] = msgspec.to_builtins(done.summary)
    event = AgentSalvaged(ref=done.ref, **summary)
    context.store.write(lambda w: w.emit(event, repo=repo.id, agent=agent.uid))
