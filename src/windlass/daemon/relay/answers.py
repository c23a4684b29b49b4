"""What the model's answers use, counted while they pass by; on the event loop.

An answer is booked as soon as it says what its question used, and again at its end. What lies
between is remembered here, so that it stops an agent before it is booked.
"""

from __future__ import annotations

from windlass.core.answer_meter import AnswerMeter
from windlass.core.ids import Uid
from windlass.core.usage import Usage
from windlass.daemon.kernel.pools import Pools
from windlass.daemon.relay.accounts import Account, Accounts

_DUST = 1e-9
"""USD by which sums may be wrong that are made in another order."""


class Purses:
    """What each agent may still spend, and what it has under way; of those alone who ask."""

    def __init__(self) -> None:
        self._room: dict[Uid, float | None] = {}
        self._under_way: dict[Uid, dict[object, float]] = {}

    def fill(self, uid: Uid, room: float | None) -> None:
        """Takes it that this is left, without what is under way."""
        self._room[uid] = room

    def note(self, uid: Uid, of: object, usd: float) -> None:
        """Takes it that something under way has come to so much."""
        self._under_way.setdefault(uid, {})[of] = usd

    def drop(self, uid: Uid, of: object) -> None:
        """Forgets something that is over."""
        known = self._under_way.get(uid, {})
        known.pop(of, None)
        if not known:
            self._under_way.pop(uid, None)

    def is_empty(self, uid: Uid) -> bool:
        """Returns whether what is under way uses up what was left."""
        room = self._room.get(uid)
        return room is not None and sum(self._under_way.get(uid, {}).values()) > room + _DUST

    def forget(self, uid: Uid) -> None:
        """Forgets an agent that asks nothing any more."""
        self._room.pop(uid, None)
        self._under_way.pop(uid, None)


class Answer:
    """One answer on its way to an agent."""

    def __init__(self, account: Account, accounts: Accounts, purses: Purses, pools: Pools) -> None:
        self._account = account
        self._accounts = accounts
        self._purses = purses
        self._pools = pools
        self._meter: AnswerMeter | None = None
        self._booked = Usage()

    @property
    def is_known(self) -> bool:
        """Whether it has said what its question used, or costs nothing."""
        return self._meter is None or self._meter.begun

    @property
    def is_cut_off(self) -> bool:
        """Whether its agent may spend no more."""
        return self._meter is not None and self._purses.is_empty(self._account.agent.uid)

    def count(self, *, streamed: bool) -> None:
        """Counts it from now on; one that is not counted is an error, or costs nothing."""
        self._meter = AnswerMeter(streamed=streamed)

    async def take(self, data: bytes) -> None:
        """Takes in the next piece of it."""
        if self._meter is None:
            return
        was_known = self._meter.begun
        self._meter.feed(data)
        if self._meter.begun and not was_known:
            await self.book()
        uid = self._account.agent.uid
        self._purses.note(uid, self, self._cost(self._meter.used()) - self._cost(self._booked))

    async def close(self) -> None:
        """Takes it that it is over, whole or not, and books what was not yet."""
        if self._meter is not None:
            self._meter.close()
            await self.book()
        self._purses.drop(self._account.agent.uid, self)

    async def book(self) -> None:
        """Books what has not been, and finds out what is left."""
        if self._meter is None or (now := self._meter.used()) == self._booked:
            return
        before, self._booked = self._booked, now
        account, uid = self._account, self._account.agent.uid
        booking = self._accounts.book, account, self._meter.model, before, now
        self._purses.fill(uid, await self._pools.for_agent("model", uid, *booking))

    def _cost(self, used: Usage) -> float:
        return self._account.prices.cost(self._meter.model, used) if self._meter else 0.0
