"""Agents whose conversations a test writes, and what counts them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO, NoSockets, Turned, opened

from windlass.api.verbs import Caller
from windlass.api.wire.spend import CostsReply
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.spend.costs import ConversationSource, Costs
from windlass.store import rows, spending
from windlass.store.rows import Session
from windlass.store.store import Event, Store, Writing

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
TENTH = 20_000
"""Input tokens of claude-opus-4-8 that cost a tenth of a dollar."""


class Bench:
    """A store, folders, and agents whose conversations a test writes."""

    def __init__(self, context: Context, clock: Turned) -> None:
        self.context = context
        self.clock = clock
        self.folder = context.folders.home
        self.repo = self.folder / "shop"
        self.metered = True
        self.costs = Costs(context, self.find)

    @property
    def store(self) -> Store:
        """The database in use."""
        return self.context.store

    def close(self) -> None:
        """Ends the database in use."""
        self.store.close()

    def restart(self) -> None:
        """What was only in memory is gone."""
        self.store.close()
        self.context = opened(self.folder, self.clock, self.context.sessions)
        self.costs = Costs(self.context, self.find)

    def find(self, _context: Context, agent: Agent, _session: Session) -> ConversationSource:
        """Where the test keeps conversations."""
        return ConversationSource(str(self.transcript(agent)), self.metered)

    def transcript(self, agent: Agent) -> Path:
        """An agent's conversation."""
        return self.folder / "projects" / f"{agent.uid}.jsonl"

    def agent(self, name: str, **more: Any) -> Agent:
        """A live agent with a running first session."""
        given = {
            "uid": Uid(f"uid{name}"),
            "repo": REPO,
            "workspace": str(self.repo),
            "state_at": NOON,
            "created_at": NOON - 3600,
        }
        agent = an_agent(name, **given | more)
        self.store.write(lambda w: whole_rows.put_agent(w, agent))
        self.session(agent, 1)
        return agent

    def session(self, agent: Agent, number: int) -> Session:
        """A session of an agent, begun as the daemon does, and running."""
        if number > 1:
            SessionLife(
                self.context, NoSockets(), CommitFetcher(self.context), lambda _: None
            ).begin(agent)
        else:
            first = Session(agent=agent.uid, number=1, marker=f"marker-{agent.uid}")
            self.store.write(lambda w: whole_rows.put_session(w, first))

        def start(writing: Writing) -> Session:
            begun = rows.session(writing.connection, agent.uid, number)
            started = msgspec.structs.replace(begun, started_at=writing.now)
            whole_rows.put_session(writing, started)
            return started

        return self.store.write(start)

    def newest(self, agent: Agent) -> Session:
        """Its session as it is now."""
        return self.store.read(lambda c: rows.sessions(c, agent.uid))[0]

    def say(self, agent: Agent, *lines: bytes, where: str = "") -> Path:
        """Appends to its conversation, or to that of a subagent."""
        path = self.transcript(agent)
        if where:
            path = path.with_suffix("") / "subagents" / f"agent-{where}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.writelines(lines)
        return path

    def count(self, agent: Agent) -> bool:
        """Counts what is new."""
        return self.costs.count(agent, self.newest(agent)).anything

    def result(self, agent: Agent, result: dict[str, Any]) -> None:
        """Hands in a result line, as whoever reads the output does."""
        session = self.newest(agent)
        self.store.write(lambda w: self.costs.take_result(w, agent, session, result))

    def spent(self, agent: Agent) -> float:
        """What it owes, in cents, whole: floats do not add up."""
        found = self.store.read(lambda c: spending.total(c, agent=agent.uid, notional=False))
        return round(found * 100, 3)

    def view(self, **asked: Any) -> CostsReply:
        """What `wl costs` gets."""
        asked.setdefault("all_repos", True)
        return self.costs.view(Caller(None), asked)  # type: ignore[arg-type]

    def events(self, kind: str) -> list[Event]:
        """What was told, of one kind."""
        return [one for one in self.store.read(rows.events) if one.kind == kind]


def line(
    name: str, *, tokens: int = TENTH, model: str = "claude-opus-4-8", at: float = NOON - 60
) -> bytes:
    """An answer, as a line of a conversation."""
    stamp = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    used = {"input_tokens": tokens, "output_tokens": 0}
    message = {"id": name, "model": model, "usage": used, "content": []}
    said = {"type": "assistant", "timestamp": stamp, "message": message}
    return json.dumps(said).encode() + b"\n"
