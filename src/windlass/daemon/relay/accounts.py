"""Who may ask the model through the relay, with which key, for how much; and what it came to.

All of it blocks: it is done in the relay's pool. The key is read anew for each question, and is
kept nowhere.
"""

from __future__ import annotations

import hmac
import os
import socket
import ssl
from typing import NamedTuple
from urllib.parse import urlsplit

from windlass import drivers
from windlass.core import pricing
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import UsageReckoned
from windlass.core.ids import Uid
from windlass.core.pricing import Table
from windlass.core.usage import Usage
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request
from windlass.daemon.relay.questions import Refused, unreachable
from windlass.daemon.spend import budgets as spent_budgets
from windlass.daemon.spend.budgets import Budgets
from windlass.daemon.spend.costs import Costs
from windlass.store import rows
from windlass.store.rows import Session

_PORTS = {"http": 80, "https": 443}
_NO_ADDRESS = "the model's address is none that can be asked"
_EXTRA_CERTIFICATES = "NODE_EXTRA_CA_CERTS"
"""Where the agent CLI itself finds those of a company's own."""


class Place(NamedTuple):
    """Where the model's API is, and what pays for it there."""

    host: str
    port: int
    addresses: list[str]
    tls: ssl.SSLContext | None
    path: str
    headers: dict[str, str]


class Account(NamedTuple):
    """What one question of an agent may cost, and at which prices."""

    agent: Agent
    session: int
    place: Place
    prices: Table
    room: float | None


class Accounts:
    """Opens an account for a question, and books what it used."""

    def __init__(self, context: Context, costs: Costs, budgets: Budgets) -> None:
        self._context = context
        self._costs = costs
        self._budgets = budgets
        self._tls: ssl.SSLContext | None = None

    def require_known(self, uid: Uid, token: str) -> tuple[Agent, Session]:
        """Finds out who asks; refuses whoever has not the word that the session was given."""
        pair = self._context.store.read(lambda c: rows.live_session(c, uid))
        if pair is None or pair[1].ended_at is not None or pair[0].isolation != "box":
            raise Refused(403, "no session in a box asks here")
        agent, session = pair
        if not hmac.compare_digest(token.encode(), session_request.relay_token(session).encode()):
            raise Refused(403, "this key is not the one that the session was given")
        return agent, session

    def open(self, uid: Uid, token: str) -> Account:
        """Finds out who asks and with what; refuses whoever has no key, or has spent it all."""
        agent, session = self.require_known(uid, token)
        context = self._context
        try:
            place = self._place(agent)
            room, exceeded = spent_budgets.room(context, agent)
            prices = self._costs.prices_in_force()
        except WindlassError as error:
            why = "the person's configuration does not let it be asked: the daemon's log says why"
            raise Refused(403, why, cause=f"{error.message}; {error.hint}") from None
        if exceeded:
            raise Refused(403, pricing.sentences(exceeded))
        return Account(agent, session.number, place, prices, room)

    def book(self, account: Account, model: str, before: Usage, now: Usage) -> float | None:
        """Counts what a question has used since it was booked last; returns what is left.

        Who has nothing left is paused, as whoever spends it otherwise.
        """
        cost = account.prices.cost(model, now) - account.prices.cost(model, before)
        agent, session = account.agent, account.session
        self._costs.add_relayed(agent, session, model, before, now, cost=max(0.0, cost))
        pair = self._context.store.read(lambda c: rows.live_session(c, agent.uid))
        if pair is not None:
            self._budgets.judge(*pair)
        return spent_budgets.room(self._context, agent)[0]

    def tell(self, account: Account, why: str) -> None:
        """Says in the log that an answer was counted by its size, and why."""
        agent, event = account.agent, UsageReckoned(why=why)
        self._context.store.write(lambda w: w.emit(event, repo=agent.repo, agent=agent.uid))

    def _place(self, agent: Agent) -> Place:
        context = self._context
        root = repos.by_id(context, agent.repo).root
        config = settings.usable(context.folders.home, root).config
        workspaces = str(context.folders.workspaces)
        draft = session_request.draft(
            context, agent.driver, mode=agent.mode, root=workspaces, config=config, boxed=True
        )
        access = drivers.get(agent.driver).model_access(draft)
        if access is None:
            raise Refused(403, "there is no API key any more to ask the model with")
        url = urlsplit(access.url)
        host = url.hostname
        if not host or not host.isascii() or url.scheme not in _PORTS or url.query or url.fragment:
            raise Refused(403, _NO_ADDRESS, cause=f"{_NO_ADDRESS}: {url.scheme}://{host}")
        try:
            port = url.port or _PORTS[url.scheme]
        except ValueError as error:
            raise Refused(403, _NO_ADDRESS, cause=f"{_NO_ADDRESS}: {error}") from None
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise unreachable(f"{host} cannot be resolved: {error}") from None
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        tls = self._certificates() if url.scheme == "https" else None
        return Place(host, port, addresses, tls, url.path.rstrip("/"), access.headers)

    def _certificates(self) -> ssl.SSLContext:
        """Made once: reading what this machine trusts takes a while."""
        if self._tls is None:
            made = ssl.create_default_context()
            extra = self._context.env.get(_EXTRA_CERTIFICATES)
            if extra and os.path.isfile(extra):  # noqa: PTH113 - as the person wrote it
                made.load_verify_locations(extra)
            self._tls = made
        return self._tls
