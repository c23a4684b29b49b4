"""Mail without sockets: the verbs of a daemon, and a crew in the store to send it to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import OTHER, REPO, NoSockets
from tests.support.replies import as_declared

from windlass.api.verbs import Caller, refuse_stranger
from windlass.core import shapes
from windlass.core.crew import Agent
from windlass.core.events import SessionStarted
from windlass.core.ids import Uid
from windlass.core.mail.messages import Message, Offer, Route
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request
from windlass.daemon.mail import receipts
from windlass.daemon.routes import routes
from windlass.daemon.services import Services
from windlass.store import mailbox, rows, tables
from windlass.store.rows import Session
from windlass.store.store import Writing

CREW: dict[str, dict[str, Any]] = {
    "boss": {"role": "manager"},
    "ann": {"parent": "boss"},
    "bob": {"parent": "boss"},
    "eve": {},
}


class Post:
    """The mail of a crew of four in the shop and of one agent in the bank."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store = context.store
        self.shop, self.bank = (context.folders.home / name for name in ("shop", "bank"))
        self.services = Services(context, NoSockets())
        self._table = routes(self.services)
        for name, more in CREW.items():
            self.put(an_agent(name, repo=REPO, **more))
        self.put(an_agent("far", repo=OTHER))

    def close(self) -> None:
        """Ends what delivers."""
        self.services.delivery.close()

    def put(self, agent: Agent) -> Agent:
        """Keeps an agent."""
        self.store.write(lambda w: whole_rows.put_agent(w, agent))
        return agent

    def agent(self, name: str) -> Agent:
        """One that lives."""
        found = self.store.read(lambda c: rows.agent(c, Uid(name)))
        assert found is not None
        return found

    def ask(self, verb: str, who: str | None = None, **request: Any) -> Any:
        """Asks as an agent, or as the person."""
        caller = Caller(Uid(who) if who else None)
        refuse_stranger(self._table[verb], caller)
        return as_declared(
            verb, self._table[verb].answer(caller, {"cwd": str(self.shop), **request})
        )

    def send(self, to: str, text: str = "hello", who: str | None = None, **more: Any) -> Any:
        """Sends; returns the messages."""
        return self.ask("send", who, agent=to, text=text, **more)["messages"]

    def config(self, text: str) -> None:
        """Sets the repository's configuration."""
        path = self.shop / ".windlass" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def message(self, number: str) -> Message:
        """A message as it is kept now."""
        found = self.store.read(lambda c: mailbox.find(c, number))
        assert found is not None
        return found

    def arrives(self, number: str, route: Route = "rewake") -> None:
        """As if a conversation had told so."""
        message = self.message(number)
        self.change(lambda w: receipts.delivered(w, message, route))

    def lives(self, name: str, number: int = 1, **more: Any) -> Path:
        """Gives an agent a session that runs; returns its conversation."""
        home = str(self.context.folders.home)
        agent = msgspec.structs.replace(self.agent(name), session=number, workspace=home, **more)
        session = Session(agent=agent.uid, number=number, marker=f"m{number}", started_at=1.0)

        def start(writing: Writing) -> None:
            whole_rows.put_agent(writing, agent)
            whole_rows.put_session(writing, session)
            started = SessionStarted(session=number, mode=agent.mode, driver=agent.driver)
            writing.emit(started, repo=agent.repo, agent=agent.uid)

        self.change(start)
        path = Path(session_request.transcript(self.context, agent))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    def change(self, change: Callable[[Writing], Any]) -> Any:
        """Changes the store."""
        return self.store.write(change)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What was told of that kind."""
        query = sa.select(tables.events).where(tables.events.c.kind == kind)
        return [row.data for row in self.store.read(lambda c: c.execute(query).all())]


def an_offer(**more: Any) -> Offer:
    """A delivery under way."""
    made = {"route": "context", "session": 1, "at": 0.0, "path": "/nowhere", "offset": 0, **more}
    return shapes.convert(made, Offer)
