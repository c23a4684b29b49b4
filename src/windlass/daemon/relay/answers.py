"""What the model's answers use, counted while they pass by; on the event loop.

An answer is booked as soon as it says what its question used, and again at its end. What lies
between is remembered here, so that it stops an agent before it is booked.
"""

from __future__ import annotations

from collections.abc import Mapping

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
        self._booked: dict[str, Usage] = {}
        self._noted: Mapping[str, Usage] = {}

    @property
    def is_known(self) -> bool:
        """Whether it has said what its question used, or costs nothing."""
        return self._meter is None or self._meter.begun

    @property
    def is_cut_off(self) -> bool:
        """Whether its agent may spend no more."""
        return self._meter is not None and self._purses.is_empty(self._account.agent.uid)

    @property
    def is_hiding(self) -> bool:
        """Whether the model has thought, and has not said how much yet."""
        return self._meter is not None and self._meter.has_thought and not self._meter.ended

    @property
    def is_thinking(self) -> bool:
        """Whether the model is at a thought, of which nothing may be seen before its end."""
        return self._meter is not None and self._meter.is_thinking

    @property
    def is_too_long(self) -> bool:
        """Whether it goes on where it can be counted no more."""
        return self._meter is not None and self._meter.is_too_long

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
        if (used := self._meter.used()) != self._noted:  # many pieces say nothing that costs
            self._noted = dict(used)
            uid = self._account.agent.uid
            self._purses.note(uid, self, self._cost(used) - self._cost(self._booked))

    async def close(self) -> None:
        """Takes it that it is over, whole or not, and books what was not yet."""
        if self._meter is not None:
            self._meter.close()
            await self.book()
            if self._meter.flaw:
                account, pools = self._account, self._pools
                told = self._accounts.tell, account, self._meter.flaw
                await pools.for_agent("model", account.agent.uid, *told)
        self._purses.drop(self._account.agent.uid, self)

    async def book(self) -> None:
        """Books what has not been, of each model, and finds out what is left."""
        if self._meter is None:
            return
        account, uid = self._account, self._account.agent.uid
        for model, now in self._meter.used().items():
            before = self._booked.get(model, Usage())
            if now != before:
                self._booked[model] = now
                booking = self._accounts.book, account, model, before, now
                self._purses.fill(uid, await self._pools.for_agent("model", uid, *booking))

    def _cost(self, used: Mapping[str, Usage]) -> float:
        return sum(self._account.prices.cost(model, usage) for model, usage in used.items())
