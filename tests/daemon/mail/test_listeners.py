"""Listening for notices: who is woken, and that none is lost or told twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any

import pytest
import sqlalchemy as sa
from tests.daemon.mail.news import HELD, PERSON, asked, post, take, texts
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import OTHER, REPO, Turned
from tests.support.ground import until

from windlass.api.wire.mail import ListenReply, ListenRequest
from windlass.core.errors import UserError
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.notice_queue import NoticeListener, NoticeQueue
from windlass.store import tables


def waits(board: Listeners, request: ListenRequest) -> asyncio.Task[ListenReply]:
    return asyncio.create_task(board.listen(PERSON, request))


async def waiting_are(board: Listeners, count: int) -> None:
    """Returns when so many wait for news of the shop."""

    def there() -> bool:
        queue = board._queues.get(REPO)  # noqa: SLF001 - who waits is nobody else's business
        return count == (len(queue.listeners) if queue else 0)

    await asyncio.to_thread(until, there, what=f"{count} who wait")


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test on an event loop of its own."""

    @wraps(test)  # pytest gives it the fixtures that the test names
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


@on_a_loop
async def test_who_waits_is_woken_by_the_commit(context: Context, board: Listeners) -> None:
    waiting = waits(board, asked(context, timeout=None))
    await waiting_are(board, 1)
    assert not waiting.done()
    await asyncio.to_thread(post, context, "news")
    answer = await asyncio.wait_for(waiting, 60)
    assert (answer["why"], texts(answer)) == ("notices", ["news"])


@on_a_loop
async def test_what_came_before_is_given_at_once_in_order(
    context: Context, board: Listeners
) -> None:
    for text in ("one", "two", "three"):
        post(context, text)
    assert texts(await board.listen(PERSON, asked(context, timeout=0))) == ["one", "two", "three"]


@on_a_loop
async def test_a_crowd_of_notices_comes_in_portions(context: Context, board: Listeners) -> None:
    for number in range(130):
        post(context, str(number))
    first = await board.listen(PERSON, asked(context))
    assert take(board, first) == 100
    second = await board.listen(PERSON, asked(context))
    assert texts(first) + texts(second) == [str(number) for number in range(130)]


@on_a_loop
async def test_news_of_another_repository_wake_nobody_here(
    context: Context, board: Listeners
) -> None:
    waiting = waits(board, asked(context, timeout=HELD))
    await waiting_are(board, 1)
    await asyncio.to_thread(partial(post, context, "theirs", repo=OTHER))
    assert (await waiting)["why"] == "timeout"
    cwd = str(context.folders.home / "bank" / ".git" / "below")
    assert texts(await board.listen(PERSON, asked(context, cwd=cwd))) == ["theirs"]


@on_a_loop
async def test_a_second_listener_is_told_who_is_the_first(
    context: Context, board: Listeners
) -> None:
    first = waits(board, asked(context, "a", pid=4711))
    await waiting_are(board, 1)
    second = await asyncio.wait_for(board.listen(PERSON, asked(context, "b", pid=4712)), 60)
    assert second == {"notices": [], "why": "busy", "pid": 4711}
    first.cancel()
    await waiting_are(board, 0)
    third = await board.listen(PERSON, asked(context, "c", timeout=0))
    assert third["why"] == "timeout"


def test_who_only_looks_keeps_nobody_from_waiting(context: Context) -> None:
    queue = NoticeQueue(context.clock)
    assert queue.enter(NoticeListener(asked(context, "looks", timeout=0))) is None
    waits = NoticeListener(asked(context, "waits"))
    assert queue.enter(waits) is None
    assert queue.is_first(waits)
    assert queue.enter(NoticeListener(asked(context, "looks too", timeout=0))) is waits


@on_a_loop
async def test_the_same_session_waits_once_and_of_several_the_last_is_woken(
    context: Context, board: Listeners
) -> None:
    older = waits(board, asked(context, "s1", route="rewake"))
    await waiting_are(board, 1)
    again = waits(board, asked(context, "s1", route="rewake"))
    told = await asyncio.wait_for(older, 60)
    assert (told["notices"], told["why"]) == ([], "replaced")
    other = waits(board, asked(context, "s2", route="rewake"))
    await waiting_are(board, 2)
    await asyncio.to_thread(post, context, "news")
    assert texts(await asyncio.wait_for(other, 60)) == ["news"]
    assert not again.done()
    again.cancel()


@on_a_loop
async def test_a_listener_goes_before_sessions(context: Context, board: Listeners) -> None:
    listener = waits(board, asked(context, "l"))
    await waiting_are(board, 1)
    session = waits(board, asked(context, "s", route="rewake"))
    await waiting_are(board, 2)
    await asyncio.to_thread(post, context, "first")
    answer = await asyncio.wait_for(listener, 60)
    assert texts(answer) == ["first"]
    take(board, answer)
    await asyncio.to_thread(post, context, "second")
    assert texts(await asyncio.wait_for(session, 60)) == ["second"]


@on_a_loop
async def test_who_hangs_up_leaves_its_turn_to_the_next(context: Context, board: Listeners) -> None:
    session = waits(board, asked(context, "s", route="rewake"))
    await waiting_are(board, 1)
    listener = waits(board, asked(context, "l"))
    await waiting_are(board, 2)
    listener.cancel()
    await waiting_are(board, 1)
    await asyncio.to_thread(post, context, "news")
    assert texts(await asyncio.wait_for(session, 60)) == ["news"]


@on_a_loop
async def test_who_hangs_up_just_as_it_is_woken_is_gone(context: Context, board: Listeners) -> None:
    for ticks in range(8):
        listener = waits(board, asked(context, timeout=None))
        await waiting_are(board, 1)
        await asyncio.to_thread(board._wake, REPO)  # noqa: SLF001 - news that are nothing to it
        for _ in range(ticks):
            await asyncio.sleep(0)
        listener.cancel()
        await asyncio.wait({listener}, timeout=60)
        assert listener.cancelled(), f"{ticks} turns of the loop after it was woken"


@on_a_loop
async def test_what_a_reader_does_not_take_is_held_back_and_then_offered_again(
    context: Context, board: Listeners
) -> None:
    post(context, "news")
    assert texts(await board.listen(PERSON, asked(context, "dies"))) == ["news"]
    early = await board.listen(PERSON, asked(context, "b", timeout=0))
    assert early["why"] == "timeout"
    began = asyncio.get_running_loop().time()
    answer = await board.listen(PERSON, asked(context, "c"))
    assert texts(answer) == ["news"]
    assert asyncio.get_running_loop().time() - began < 5


@on_a_loop
async def test_what_was_taken_is_gone_however_often_it_is_said(
    context: Context, board: Listeners
) -> None:
    post(context, "old")
    answer = await board.listen(PERSON, asked(context))
    assert [take(board, answer), take(board, answer)] == [1, 0]
    post(context, "new")
    assert texts(await board.listen(PERSON, asked(context, "b"))) == ["new"]
    kept = context.store.read(lambda c: c.execute(sa.select(tables.notices)).all())
    assert [(row.text, row.taken_by) for row in kept] == [("old", "listen"), ("new", None)]


@on_a_loop
async def test_the_next_daemon_offers_what_nobody_took(context: Context, board: Listeners) -> None:
    post(context, "news")
    await board.listen(PERSON, asked(context))
    after = Listeners(context)
    assert texts(await after.listen(PERSON, asked(context, timeout=0))) == ["news"]
    after.close()


@on_a_loop
async def test_news_is_heard_while_somebody_waits_and_a_moment_after(
    context: Context, board: Listeners
) -> None:
    assert not board.armed(REPO)
    waiting = waits(board, asked(context))
    await waiting_are(board, 1)
    assert board.armed(REPO)
    assert not board.armed(OTHER)
    await asyncio.to_thread(post, context, "news")
    take(board, await waiting)
    assert board.armed(REPO)
    await asyncio.to_thread(until, lambda: not board.armed(REPO), what="the moment's end")


def test_a_session_that_was_woken_counts_as_listening_while_it_works(context: Context) -> None:
    hasty = Listeners(context, held=0.0)
    for route, armed in (("listen", False), ("rewake", True)):
        post(context, "news")
        take(hasty, asyncio.run(hasty.listen(PERSON, asked(context, route=route))))
        assert hasty.armed(REPO) is armed
    hasty.close()


@on_a_loop
async def test_the_queue_of_a_repository_goes_with_its_last_listener(
    context: Context, board: Listeners
) -> None:
    queues = board._queues  # noqa: SLF001 - nobody sees from outside that one is left
    first, second = (waits(board, asked(context, name, route="rewake")) for name in ("s1", "s2"))
    await waiting_are(board, 2)
    first.cancel()
    await waiting_are(board, 1)
    assert list(queues) == [REPO]
    second.cancel()
    await asyncio.wait({second})
    assert list(queues) == []


@on_a_loop
async def test_a_queue_that_still_counts_as_listened_to_goes_when_somebody_leaves_after_that(
    context: Context, board: Listeners, clock: Turned
) -> None:
    queues = board._queues  # noqa: SLF001 - nobody sees from outside that one is left
    bank = str(context.folders.home / "bank")
    post(context, "news")
    await board.listen(PERSON, asked(context, route="rewake"))
    await board.listen(PERSON, asked(context, cwd=bank, timeout=0))
    assert (board.armed(REPO), set(queues)) == (True, {REPO, OTHER})
    clock.time += 3600
    await board.listen(PERSON, asked(context, cwd=bank, timeout=0))
    assert list(queues) == [OTHER]


@on_a_loop
async def test_waiting_can_be_ended_from_any_thread(context: Context, board: Listeners) -> None:
    waiting = [waits(board, asked(context)), waits(board, asked(context, "s", route="rewake"))]
    await waiting_are(board, 2)
    await asyncio.to_thread(board.end_waiting, REPO)
    assert [(await one)["why"] for one in waiting] == ["ended", "ended"]
    assert not board.armed(REPO)


@pytest.mark.parametrize(("how", "left", "why"), [
    ("nuke", False, "ended"), ("nuke", True, "timeout"), ("kill", False, "timeout"),
])  # fmt: skip
def test_only_the_end_of_everybody_ends_the_listener(
    context: Context, board: Listeners, *, how: str, left: bool, why: str
) -> None:
    if left:
        context.store.write(lambda w: whole_rows.put_agent(w, an_agent("hen", repo=REPO)))
    ending = Operation("end", (), lambda _: [], lambda _: {})
    intents = Intents(context, (ending,))
    begun = IntentDraft(REPO, None, lambda _: {"agents": {}, "how": how})

    async def test() -> None:
        waiting = waits(board, asked(context, timeout=1.0))
        await waiting_are(board, 1)
        await asyncio.to_thread(intents.perform, "end", "k", lambda: begun)
        assert (await waiting)["why"] == why

    asyncio.run(test())


@on_a_loop
async def test_who_listens_is_in_a_repository(context: Context, board: Listeners) -> None:
    with pytest.raises(UserError, match="not in a repository"):
        await board.listen(PERSON, asked(context, cwd="/"))
