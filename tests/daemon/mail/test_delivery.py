"""Delivery, by every way but a real session, on conversations that the test writes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from tests.daemon.mail.post_office import Post
from tests.support import whole_rows
from tests.support.fake_sessions import FakeSessions
from tests.support.ground import until

from windlass.api.verbs import Caller
from windlass.api.wire.hooks import HookInput
from windlass.core.ids import Uid
from windlass.core.mail.messages import Message
from windlass.core.session_launch import Launch
from windlass.core.states import State
from windlass.daemon.kernel import line_reader
from windlass.daemon.launch import keyboard
from windlass.daemon.mail import confirmation, delivery
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.policy.decisions import Decisions
from windlass.store import mailbox
from windlass.store.rows import Session
from windlass.store.store import Writing

BUSY: dict[str, Any] = {"mode": "live", "state": State.RUNNING}
IDLE: dict[str, Any] = {"mode": "live", "state": State.WAITING}
CALL = {"hook_event_name": "PreToolUse", "tool_use_id": "toolu_1"}
ANSWER = {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": []}}


def write(path: Path, *lines: dict[str, Any]) -> None:
    """Goes on with a conversation."""
    with path.open("ab") as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines)


def added(text: str) -> dict[str, Any]:
    """The line about what a hook added to the answer about a call."""
    return {
        "type": "attachment",
        "attachment": {"type": "hook_additional_context", "content": [text]},
    }


def result(call: str) -> dict[str, Any]:
    """The line about the result of a call."""
    block = {"type": "tool_result", "tool_use_id": call, "content": "ok"}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


@pytest.fixture
def desk(post: Post, monkeypatch: pytest.MonkeyPatch) -> Delivery:
    """The service, which waits for mail that is to go with a call however busy the machine is."""
    monkeypatch.setattr(delivery, "_ATTACHED_WITHIN", 60.0)
    return post.services.delivery


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs a test on an event loop of its own, with deliveries under way."""

    @wraps(test)  # pytest gives it the fixtures that the test names
    def run(*, desk: Delivery, **more: Any) -> None:
        async def whole() -> None:
            desk.open()
            await test(desk=desk, **more)

        asyncio.run(whole())

    return run


async def when(true: Callable[[], bool], what: str = "it") -> None:
    """Waits for something that offers no event, without holding up the loop."""
    await asyncio.to_thread(until, true, what=what)


async def added_to(desk: Delivery, call: str) -> str | None:
    """What is added to the answer about a call of ann's."""
    return await asyncio.to_thread(desk.context_for, Uid("ann"), call)


async def offered(desk: Delivery, call: str = "toolu_1") -> str:
    """The same, as soon as there is something."""
    found: list[str] = []

    def there() -> bool:
        text = desk.context_for(Uid("ann"), call)
        found.extend([text] if text else [])
        return bool(found)

    await when(there, "an offer")
    return found[0]


@on_a_loop
async def test_mail_for_a_busy_agent_goes_with_its_next_call_and_is_read_when_it_goes_on(
    post: Post, desk: Delivery
) -> None:
    path = post.lives("ann", **BUSY)
    sent = [post.send("ann", text)[0]["id"] for text in ("one", "two")]
    text = await offered(desk)
    assert text.index("one") < text.index("two")
    assert await added_to(desk, "toolu_2") is None
    write(path, result("toolu_1"), added(text))
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent[1]).state == "delivered", "the receipt")
    assert [post.message(one).route for one in sent] == ["context", "context"]
    write(path, ANSWER)
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent[1]).state == "read", "the receipt")


@on_a_loop
async def test_a_subagent_and_other_events_get_no_mail(post: Post, desk: Delivery) -> None:
    post.lives("ann", **BUSY)
    (sent,) = post.send("ann")
    decide = Decisions(post.context, desk.context_for).decide
    for event in (
        {**CALL, "agent_id": "sub"},
        {**CALL, "hook_event_name": "PermissionRequest"},
        {**CALL, "tool_use_id": ""},
        {**CALL, "tool_use_id": 7},
    ):
        request = cast("HookInput", {"tool_use_id": "toolu_1", **event})
        answer = await asyncio.to_thread(decide, Caller(Uid("ann")), request)
        assert "additionalContext" not in answer.get("hookSpecificOutput", {})
    assert post.message(sent["id"]).offer is None
    assert await offered(desk)


@on_a_loop
async def test_mail_that_its_call_went_without_is_queued_again_when_the_model_went_on(
    post: Post, desk: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "_AFTERWARDS", 0.0)
    path = post.lives("ann", **BUSY)
    (sent,) = post.send("ann")
    await offered(desk)
    write(path, result("toolu_1"))
    for _ in range(3):
        await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).offer is not None, "what goes with a call comes after it"
    write(path, ANSWER)
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: len(post.events("message.requeued")) == 1, "the way back")
    text = await offered(desk, "toolu_2")
    write(path, result("toolu_2"), added(text))
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent["id"]).state == "delivered", "the receipt")


@on_a_loop
async def test_what_a_dead_session_had_is_not_offered_to_the_next_however_long_it_talked(
    post: Post, desk: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "_READ_AT_ONCE", 64)
    path = post.lives("ann", **BUSY)
    (sent,) = post.send("ann")
    text = await offered(desk)
    # Nobody looks but this test: whoever watches the conversation already goes before it goes on.
    monkeypatch.setattr(Delivery, "_confirm_and_offer", lambda *_: (False, False))
    await when(lambda: Uid("ann") not in desk._working)  # noqa: SLF001
    write(path, *[result(f"toolu_{number}") for number in range(1000)], added(text))
    post.lives("ann", 2, **BUSY)
    await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).state == "queued", "a thread of all is not kept for long"
    while post.message(sent["id"]).state == "queued":
        await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).state == "delivered"
    assert post.events("message.requeued") == []


@on_a_loop
async def test_what_a_dead_session_had_not_goes_to_the_next_once_that_has_started(
    post: Post, desk: Delivery
) -> None:
    path = post.lives("ann", **BUSY)
    (sent,) = post.send("ann")
    text = await offered(desk)
    ended = Session(agent=Uid("ann"), number=1, marker="m1", started_at=1.0, ended_at=2.0)
    post.change(lambda w: whole_rows.put_session(w, ended))
    path.write_bytes(json.dumps(added(text)).encode()[:-9])  # killed as it wrote
    post.change(
        lambda w: whole_rows.put_session(w, Session(agent=Uid("ann"), number=2, marker="m2"))
    )
    await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).offer is not None, "the old one may not be gone yet"
    with path.open("ab") as file:
        file.write(b"\n")
    post.lives("ann", 2, **BUSY)
    again = await offered(desk, "toolu_9")
    assert again == text
    assert post.message(sent["id"]).offer is not None


@on_a_loop
async def test_mail_to_an_agent_without_a_session_is_offered_to_its_first(
    post: Post, desk: Delivery
) -> None:
    (sent,) = post.send("ann")
    uid = Uid("ann")
    await when(lambda: uid not in desk._busy and uid not in desk._working)  # noqa: SLF001
    post.lives("ann", **BUSY)
    assert sent["id"] in await offered(desk)


@on_a_loop
async def test_mail_that_comes_as_the_last_is_settled_is_not_forgotten(
    post: Post, desk: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.lives("ann", **BUSY)
    watched = mailbox.watched
    asked: list[Any] = []

    def slow(connection: sa.Connection, recipient: str) -> list[Message]:
        found = watched(connection, recipient)
        asked.append(found)
        if len(asked) == 2:  # nothing is queued and nothing watched: and just now something is
            with ThreadPoolExecutor(1) as somebody_else:
                somebody_else.submit(post.send, "ann").result()
        return found

    monkeypatch.setattr(mailbox, "watched", slow)
    desk.stir(Uid("ann"))
    await when(lambda: len(asked) > 1 and Uid("ann") not in desk._working, "the end")  # noqa: SLF001
    assert await offered(desk)


@on_a_loop
async def test_the_answer_about_a_call_waits_only_a_moment_for_mail_which_then_goes_with_the_next(
    post: Post, desk: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody holds the writer; the offer that is written down too late is taken back."""
    path = post.lives("ann", **BUSY)
    (sent,) = post.send("ann")
    await when(lambda: Uid("ann") not in desk._working, "quiet")  # noqa: SLF001 - no event tells
    held, go = threading.Event(), threading.Event()

    def hold(_: Writing) -> None:
        held.set()
        go.wait(30)

    holding = asyncio.create_task(asyncio.to_thread(post.store.write, hold))
    await asyncio.to_thread(held.wait, 30)
    decide = Decisions(post.context, desk.context_for).decide
    call = {**CALL, "tool_name": "Read", "tool_input": {"file_path": "x"}, "cwd": "/"}
    with monkeypatch.context() as changed:
        changed.setattr(delivery, "_ATTACHED_WITHIN", 0.2)
        answer = await asyncio.to_thread(decide, Caller(Uid("ann")), cast("HookInput", call))
    assert answer["hookSpecificOutput"]["permissionDecision"]
    assert "additionalContext" not in answer["hookSpecificOutput"]
    assert not go.is_set()
    go.set()
    await holding
    again = "message.requeued"
    await when(lambda: bool(post.events(again)), "the offer that is taken back")
    assert [one["why"] for one in post.events(again)] == [
        "the answer about the call went without it"
    ]
    text = await offered(desk, "toolu_2")
    write(path, result("toolu_2"), added(text))
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent["id"]).state == "delivered", "the receipt")
    assert await added_to(desk, "toolu_3") is None


@on_a_loop
async def test_what_is_outdated_as_it_is_taken_is_not_offered(post: Post, desk: Delivery) -> None:
    post.lives("ann", **BUSY)
    (old,) = post.send("ann", "red", topic="build")
    seen = post.message(old["id"])
    (new,) = post.send("ann", "green", topic="build")
    reach = confirmation.recipient_of(post.context, Uid("ann"))
    assert reach is not None
    taken = desk._offer(reach, [seen, post.message(new["id"])], "context")  # noqa: SLF001
    assert [one.id for one in taken] == [new["id"]]
    assert post.message(old["id"]).offer is None
    assert desk._offer(reach, [seen], "context") == []  # noqa: SLF001


@on_a_loop
async def test_a_headless_session_that_does_not_read_yet_is_offered_nothing(
    post: Post, desk: Delivery
) -> None:
    post.lives("ann")
    (sent,) = post.send("ann")
    desk.stir(Uid("ann"))
    await when(lambda: Uid("ann") not in desk._working, "the end")  # noqa: SLF001
    assert post.message(sent["id"]).offer is None


@on_a_loop
async def test_mail_for_a_headless_session_is_written_to_its_input(
    post: Post, desk: Delivery
) -> None:
    post.lives("ann")
    sessions = post.context.sessions
    folder = post.context.folders.session(Uid("ann"), 1)
    launch = Launch(argv=("agent",), cwd="/", env={}, mode="headless")
    sessions.start(folder=folder, name="ann", launch=launch, wake=None, marker="m1")
    assert isinstance(sessions, FakeSessions)
    (sent,) = post.send("ann", "mind the gap")
    desk.stir(Uid("ann"))
    await when(lambda: b"mind the gap" in sessions["ann"].received, "the message")
    line = json.loads(sessions["ann"].received)
    assert line["type"] == "user"
    assert sent["id"] in line["message"]["content"][0]["text"]
    offer = post.message(sent["id"]).offer
    assert offer is not None
    assert offer.route == "stdin"


@on_a_loop
async def test_what_was_typed_into_a_terminal_that_went_is_judged_by_the_conversation(
    post: Post, desk: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.lives("ann", **IDLE)
    (sent,) = post.send("ann")
    reach = confirmation.recipient_of(post.context, Uid("ann"))
    assert reach is not None
    monkeypatch.setattr(keyboard, "is_free", lambda *_: True)  # a moment before its tmux was gone
    assert desk._by_typing(reach, [post.message(sent["id"])])  # noqa: SLF001
    offer = post.message(sent["id"]).offer
    assert offer is not None
    assert offer.route == "paste"


def waits(desk: Delivery, arm: str, session: int = 1) -> asyncio.Task[Any]:
    """A hook that waits for ann's mail."""
    asked: Any = {"session": session, "arm": arm}
    return asyncio.create_task(desk.wait(Caller(Uid("ann")), asked))


async def armed(desk: Delivery, arm: str) -> None:
    """Returns when that hook is the one that waits."""

    def there() -> bool:
        waiter = desk._waiting.get(Uid("ann"))  # noqa: SLF001 - who waits is nobody else's business
        return waiter is not None and waiter.arm == arm

    await when(there, f"{arm} waiting")


@on_a_loop
async def test_a_waiting_hook_is_given_mail_at_once(post: Post, desk: Delivery) -> None:
    post.lives("ann", **IDLE)
    hook = waits(desk, "a")
    await armed(desk, "a")
    (sent,) = await asyncio.to_thread(post.send, "ann", "x" * 20_000)
    assert "x" * 20_000 in (await asyncio.wait_for(hook, 60))["text"]
    offer = post.message(sent["id"]).offer
    assert offer is not None
    assert (offer.route, offer.arm) == ("rewake", "a")
    later = waits(desk, "b")
    await armed(desk, "b")
    assert not later.done(), "what is under way is not offered twice"
    later.cancel()


@on_a_loop
async def test_a_hook_that_asks_again_has_not_had_what_it_was_given(
    post: Post, desk: Delivery
) -> None:
    post.lives("ann", **IDLE)
    (sent,) = await asyncio.to_thread(post.send, "ann")
    first = await asyncio.wait_for(waits(desk, "a"), 60)
    again = await asyncio.wait_for(waits(desk, "a"), 60)
    assert first == again
    assert len(post.events("message.requeued")) == 1
    assert post.message(sent["id"]).offer is not None


@on_a_loop
async def test_a_hook_that_hung_up_is_given_nothing(post: Post, desk: Delivery) -> None:
    post.lives("ann", **IDLE)
    gone = waits(desk, "a")
    await armed(desk, "a")
    gone.cancel()
    with suppress(asyncio.CancelledError):
        await gone
    (sent,) = await asyncio.to_thread(post.send, "ann")
    answer = await asyncio.wait_for(waits(desk, "b"), 60)
    assert sent["id"] in answer["text"]


@on_a_loop
async def test_hooks_of_no_or_another_session_and_older_ones_are_let_go(
    post: Post, desk: Delivery
) -> None:
    post.lives("ann", **IDLE)
    assert await waits(desk, "a", session=2) == {"text": None}
    older = waits(desk, "b")
    await armed(desk, "b")
    newer = waits(desk, "c")
    assert await asyncio.wait_for(older, 60) == {"text": None}
    await armed(desk, "c")
    newer.cancel()
