"""The relay: boxed agents ask their model over a socket of their own, and the daemon pays.

A caller's credentials are dropped and the key is added here, so that no agent ever holds it. What
an answer uses is booked while it passes by, and it is cut off where a budget of the agent's is
spent: the agent is paused then, as by whatever else it spends. One question for a connection. On
the event loop, but for what `accounts` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import h11

from windlass.api import doors
from windlass.core.ids import Uid
from windlass.daemon.kernel.context import Context
from windlass.daemon.relay.accounts import Accounts, Place
from windlass.daemon.relay.answers import Answer, Purses
from windlass.daemon.relay.echoes import Echoes
from windlass.daemon.relay.questions import PIECE, Peer, Question, Refused, read, unreachable
from windlass.daemon.relay.refusals import LAST_WORDS, SPENT, TOO_LONG, refuse
from windlass.daemon.relay.strangers import Strangers

log = logging.getLogger(__name__)

MOST_OF_ONE = 32
"""Questions that one agent has under way at once: its own, and those of its subagents."""
MOST_OF_ALL = 256
_LET_IN_AT_ONCE, _QUEUE = 2, 64
_ASKS_WITHIN = 60.0
"""Seconds in which a question has to be said."""
_CONNECTS_WITHIN = 30.0
_ANSWERS_WITHIN = 3600.0
_THINKS_ON = 600.0
"""Seconds in which a thought is heard to its end, once nobody listens to the answer any more."""
_READ_ON = 10.0
"""Seconds that the rest of that answer has to say what the thought used."""
_PASSED_BACK = frozenset({"content-type", "retry-after", "request-id", "x-should-retry"})
_ONES_OWN = "anthropic-ratelimit-"


class Relay:
    """The sockets of all agents, and the questions that are under way."""

    def __init__(self, context: Context, accounts: Accounts) -> None:
        self._context = context
        self._accounts = accounts
        self._purses = Purses()
        self._doors: dict[Path, tuple[asyncio.AbstractServer, Uid]] = {}
        self._strangers = Strangers()
        self._words: dict[Uid, str] = {}
        """What each agent's session was seen to be known by."""
        self._asking: Counter[Uid] = Counter()
        self._noted: dict[Uid, str] = {}
        """What the person was told last of each agent's questions."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, path: Path, uid: Uid) -> None:
        """Opens the socket over which an agent asks; a stale file of that name is replaced."""
        if path in self._doors:
            return
        door = doors.bound(path)
        listening = await asyncio.start_unix_server(
            partial(self._admit, uid), sock=door, backlog=_LET_IN_AT_ONCE, limit=PIECE
        )
        self._doors[path] = listening, uid
        door.listen(_QUEUE)

    async def close(self, path: Path) -> None:
        """Closes the socket at that path, if it is open."""
        if path in self._doors:
            listening, uid = self._doors.pop(path)
            listening.close()
            path.unlink(missing_ok=True)
            self._words.pop(uid, None)
            self._noted.pop(uid, None)

    async def stop(self) -> None:
        """Ends everything, and books what was used; whoever follows opens the same sockets."""
        for path in list(self._doors):
            await self.close(path)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)

    def _admit(self, uid: Uid, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = Peer(h11.SERVER, reader, writer)
        task = asyncio.get_running_loop().create_task(self._attend(uid, caller))
        self._tasks.add(task)
        self._strangers.admit(uid, caller, task.cancel)
        task.add_done_callback(partial(self._part_with, uid, caller))

    def _part_with(self, uid: Uid, caller: Peer, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._strangers.part_with(uid, caller)
        caller.writer.close()

    async def _attend(self, uid: Uid, caller: Peer) -> None:
        """Answers one question, or says why not."""
        with contextlib.ExitStack() as turn:
            try:
                await self._attempt(uid, caller, turn)
            except Refused as refusal:
                self._note(uid, refusal.cause)
                with contextlib.suppress(OSError, TimeoutError):
                    await refuse(caller, refusal)
            except OSError:
                pass  # somebody has hung up
            except Exception:
                log.exception("a question to the model failed")

    def _note(self, uid: Uid, cause: str) -> None:
        """Tells the person why questions come to nothing; once, though they are asked again."""
        if cause and self._noted.get(uid) != cause:
            self._noted[uid] = cause
            log.warning("a question of agent %s to the model came to nothing: %s", uid, cause)

    async def _attempt(self, uid: Uid, caller: Peer, turn: contextlib.ExitStack) -> None:
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN):
                await self._answer(uid, caller, turn)
        except h11.RemoteProtocolError as error:
            raise Refused(400, f"this is no HTTP that is understood: {error}") from None
        except (h11.LocalProtocolError, UnicodeError):
            # What stands in such an error may be the key.
            raise Refused(502, "this question cannot be passed on") from None
        except TimeoutError:
            raise Refused(504, "that took too long") from None

    async def _meet(self, uid: Uid, token: str) -> None:
        """Refuses whoever has not shown the word of the agent's session.

        Who shows the one that was good before is known at once, however many others wait here to
        be told that theirs is none.
        """
        word = self._words.get(uid)
        if word is None or not hmac.compare_digest(token.encode(), word.encode()):
            await self._context.pools.for_agent(
                "model", uid, self._accounts.require_known, uid, token
            )
            self._words[uid] = token

    @contextlib.contextmanager
    def _turn(self, uid: Uid, caller: Peer) -> Iterator[None]:
        """Counts a question of somebody who is known, while it is under way."""
        if self._asking[uid] >= MOST_OF_ONE or self._asking.total() >= MOST_OF_ALL:
            raise Refused(503, "too many questions to the model are under way already")
        self._strangers.part_with(uid, caller)
        self._asking[uid] += 1
        try:
            yield
        finally:
            self._asking[uid] -= 1
            if not self._asking[uid]:
                del self._asking[uid]
                self._purses.forget(uid)

    async def _answer(self, uid: Uid, caller: Peer, turn: contextlib.ExitStack) -> None:
        async with asyncio.timeout(_ASKS_WITHIN):
            question = read(await caller.next())
        await self._meet(uid, question.token)
        turn.enter_context(self._turn(uid, caller))
        pools = self._context.pools
        account = await pools.for_agent("model", uid, self._accounts.open, uid, question.token)
        self._purses.fill(uid, account.room)
        if self._purses.is_empty(uid):
            raise Refused(403, SPENT)
        answer = Answer(account, self._accounts, self._purses, pools)
        async with _connected(account.place) as far:
            async with asyncio.timeout(_ASKS_WITHIN):
                await _ask(question, account.place, caller, far)
            self._noted.pop(uid, None)
            echoes = Echoes(account.place.headers)
            try:
                await _pass_back(answer, caller, far, echoes, is_free=question.counts_only)
            finally:
                await answer.close()


@contextlib.asynccontextmanager
async def _connected(place: Place) -> AsyncIterator[Peer]:
    """A connection to where the model's API is."""
    problem: Exception | None = None
    for address in place.addresses:
        try:
            async with asyncio.timeout(_CONNECTS_WITHIN):
                reader, writer = await asyncio.open_connection(
                    address,
                    place.port,
                    ssl=place.tls,
                    server_hostname=place.host if place.tls else None,
                    limit=PIECE,
                )
        except (OSError, TimeoutError) as error:
            problem = error
            continue
        try:
            yield Peer(h11.CLIENT, reader, writer)
        finally:
            writer.transport.abort()
        return
    raise unreachable(f"no connection to {place.host}: {problem or 'it has no address'}")


async def _ask(question: Question, place: Place, caller: Peer, far: Peer) -> None:
    """Says a question to the model, piece by piece as it comes in, with our key and not theirs."""
    kept = [(name, value) for name, value in question.headers if name not in place.headers]
    host = f"[{place.host}]" if ":" in place.host else place.host
    headers = [
        ("host", f"{host}:{place.port}"),
        ("content-length", str(question.length)),
        ("accept-encoding", "identity"),
        ("connection", "close"),
        *place.headers.items(),
        *kept,
    ]
    target = place.path + question.target
    await _tell(far, h11.Request(method="POST", target=target, headers=headers))
    while isinstance(event := await caller.next(), h11.Data):
        await _tell(far, h11.Data(data=bytes(event.data)))
    await _tell(far, h11.EndOfMessage())


async def _pass_back(
    answer: Answer, caller: Peer, far: Peer, echoes: Echoes, *, is_free: bool
) -> None:
    """Passes an answer on while it is counted.

    Who hangs up too soon pays as well: it is read on until it has said what its question used, and
    for a while until it has said how long its thoughts were.
    """
    while isinstance(response := await _hear(far), h11.InformationalResponse):
        pass
    if not isinstance(response, h11.Response):
        raise unreachable("the model's address hung up")
    said = {name.decode(): value.decode("latin-1") for name, value in response.headers}
    if said.get("content-encoding", "identity") != "identity":
        raise unreachable("the model's address answers in a form that cannot be counted")
    streamed = said.get("content-type", "").lower().startswith("text/event-stream")
    if response.status_code < 300 and not is_free:
        answer.count(streamed=streamed)
    await _say(caller, _head(response.status_code, said, echoes))
    patience = _Patience()
    while isinstance(event := await patience.hear(far), h11.Data):
        data = bytes(event.data)
        await answer.take(data)
        if answer.is_cut_off or answer.is_too_long:
            if streamed:
                last = LAST_WORDS if answer.is_cut_off else TOO_LONG
                await _say(caller, h11.Data(data=last), h11.EndOfMessage())
            return
        await _say(caller, h11.Data(data=echoes.without(data)))
        if caller.is_gone and answer.is_known and not patience.lasts(answer):
            return
    await _say(caller, h11.Data(data=echoes.rest()), h11.EndOfMessage())


class _Patience:
    """For how long an answer is read on to which nobody listens any more."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._thinking = False

    def lasts(self, answer: Answer) -> bool:
        """Whether to read on: a thought to its end, and a little more for what it used."""
        if not answer.is_hiding:
            return False
        if self._until is None or self._thinking is not answer.is_thinking:
            self._thinking = answer.is_thinking
            more = _THINKS_ON if self._thinking else _READ_ON
            self._until = asyncio.get_running_loop().time() + more
        return True

    async def hear(self, far: Peer) -> h11.Event | None:
        """Receives what is said next; None where it takes too long."""
        try:
            async with asyncio.timeout_at(self._until) as limit:
                return await _hear(far)
        except TimeoutError:
            if not limit.expired():
                raise
            return None


def _head(status: int, said: dict[str, str], echoes: Echoes) -> h11.Response:
    kept = [
        (name, value)
        for name, value in said.items()
        if (name in _PASSED_BACK or name.startswith(_ONES_OWN) or name == "content-length")
        and not echoes.is_in(value.encode("latin-1"))
    ]
    return h11.Response(status_code=status, headers=[*kept, ("connection", "close")])


async def _hear(far: Peer) -> h11.Event | None:
    try:
        return await far.next()
    except OSError as error:
        raise unreachable(f"the model's address broke off: {error}") from None
    except h11.RemoteProtocolError:
        # What stands in such an error is what came, which may be the key.
        raise unreachable("the model's address breaks off, or speaks no HTTP") from None


async def _tell(far: Peer, event: h11.Event) -> None:
    try:
        await far.say(event)
    except OSError as error:
        raise unreachable(f"the model's address hung up: {error}") from None


async def _say(caller: Peer, *events: h11.Event) -> None:
    """Says something to a caller, who may be gone."""
    if caller.is_gone:
        return
    with contextlib.suppress(OSError):
        await caller.say(*events)
