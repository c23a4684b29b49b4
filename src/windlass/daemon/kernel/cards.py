"""Cards: what is needed to take a live agent in again, kept outside of the store.

One small file for each in the folder `crew` of the state folder, which no box shows and no policy
opens. They follow the store: a card is written after the commit that it tells of and before anybody
is answered, and is gone once its agent has ended. Each says how far the log was by then; one that
is ahead of the store was written by a store that is lost.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import msgspec
import sqlalchemy as sa

from windlass import whole_file
from windlass.core import shapes
from windlass.core.crew import Agent
from windlass.core.events import AgentState
from windlass.core.ids import Uid
from windlass.core.states import State
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Event

log = logging.getLogger(__name__)
_TELLING = frozenset(
    {
        "agent.created",
        "agent.conversation",
        "agent.ended",
        "agent.gone",
        "agent.limited",
        "agent.reassigned",
        "agent.restored",
        "agent.taken_in",
        "session.anew",
        "session.started",
    }
)
"""The events with which something on a card changes."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """An agent and its repository, as they were when the log had come to `event`."""

    agent: Agent
    repo: Repo
    event: int


class Cards:
    """The cards of one state folder."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = context.folders.crew

    def all(self) -> list[Card]:
        """Every card that can be read, oldest agent first."""
        files = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        cards = [card for path in files if (card := _read(path)) is not None]
        return sorted(cards, key=lambda card: (card.agent.created_at, card.agent.id))

    def heed(self, events: list[Event]) -> None:
        """Brings the cards in step with a commit; a listener of the store."""
        told = {event.agent for event in events if event.agent and _changes_a_card(event)}
        moved = {event.repo for event in events if event.kind == "repo.moved"}
        if moved:
            live = self._context.store.read(rows.agents)
            told |= {agent.uid for agent in live if agent.repo in moved}
        for uid in told:
            self._keep(uid)

    def bring_in_step(self) -> None:
        """Has a card for every live agent, as it is now, and none for those that have ended.

        One that cannot be read, or whose agent the store does not know, stays: nothing else may
        tell of that agent. On a full disk all stay as they are: a daemon starts there, too.
        """
        try:
            self._bring_in_step()
        except OSError as error:
            log.warning("cards could not be written: %s", error)

    def _bring_in_step(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.glob("*.json"):
            agent = self._context.store.read(partial(rows.agent, uid=Uid(path.stem)))
            if agent is not None and agent.ended_at is not None:
                path.unlink()
        for agent in self._context.store.read(rows.agents):
            self._keep(agent.uid)

    def _keep(self, uid: Uid) -> None:
        path = self._folder / f"{uid}.json"
        card = self._context.store.read(lambda c: _card(c, uid))
        if card is None:
            path.unlink(missing_ok=True)
        else:
            whole_file.replace(path, msgspec.json.encode(card))


def _changes_a_card(event: Event) -> bool:
    """Whether something that is on a card is told; of states only that somebody is paused."""
    if event.kind == AgentState.kind:
        return State.PAUSED in (event.data["was"], event.data["now"])
    return event.kind in _TELLING


def _card(connection: sa.Connection, uid: Uid) -> Card | None:
    agent = rows.agent(connection, uid)
    if agent is None or agent.ended_at is not None:
        return None
    repo = next(repo for repo in rows.repos(connection) if repo.id == agent.repo)
    return Card(agent=agent, repo=repo, event=rows.newest_event(connection))


def _read(path: Path) -> Card | None:
    try:
        card = shapes.decode(path.read_bytes(), Card)
    except (OSError, msgspec.DecodeError) as error:
        log.warning("%s is no card: %s", path, error)
        return None
    return card if card.agent.uid == path.stem else None
