"""Notices with a real store: who is woken, who is not, and that none is lost or told twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.support.agents import an_agent
from tests.support.ground import until

from windlass.api.server import Caller
from windlass.api.wire import ListenRequest, NotifyRequest
from windlass.core import shapes
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, UserError
from windlass.core.ids import RepoId, Uid
from windlass.core.states import Observation, Source, State
from windlass.daemon import listening, notices, notifying, questions, receipts, watching
from windlass.daemon.context import Context, Folders, SystemClock
from windlass.daemon.failpoints import Failpoints
from windlass.daemon.flowing import Flowing
from windlass.daemon.intents import Begin, Intents, Operation, Step
from windlass.daemon.listening import Desk, Listening, Waiter
from windlass.daemon.receipts import PERSON as PARTY
from windlass.daemon.receipts import Party
from windlass.sessions.session import Facts, Sessions
from windlass.sessions.tmux import Tmux
from windlass.store import noticeboard, rows, tables
from windlass.store.rows import Session
from windlass.store.store import Event, Store, Writing

REPO, OTHER = RepoId("deadbeef"), RepoId("0badcafe")
PERSON = Caller(None)
HELD = 0.3


@pytest.fixture
def context() -> Iterator[Context]:
    """A daemon's context on folders of its own, with two repositories."""
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    store = Store(folder / "windlass.db", clock=SystemClock())
    store.open()
    for repo, name in ((REPO, "shop"), (OTHER, "bank")):
        git_dir = folder / name / ".git"
        git_dir.mkdir(parents=True)
        values = {"id": repo, "root": str(folder / name), "git_dir": str(git_dir), "added_at": 0.0}
        store.write(
            lambda w, values=values: w.connection.execute(sa.insert(tables.repos).values(values))  # type: ignore[misc]
        )
    yield Context(
        store=store,
        folders=Folders(folder, folder / "rt"),
        sessions=Sessions(Tmux(folder / "tmux")),
        clock=SystemClock(),
        dice=random.Random(1),  # noqa: S311 - names, not secrets
        failpoints=Failpoints(None),
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )
    store.close()
    shutil.rmtree(folder)


@pytest.fixture
def board(context: Context) -> Iterator[Listening]:
    """The service, which waits for readers a moment and not for seconds."""
    made = Listening(context, held=HELD)
    made.open()
    yield made
    made.close()


def post(context: Context, text: str, *, repo: RepoId = REPO) -> int:
    return context.store.write(lambda w: notices.post(w, repo, "fox", "complete", text)).number


def asked(context: Context, listener: str = "a", **more: Any) -> ListenRequest:
    cwd = str(context.folders.home / "shop")
    request = {"cwd": cwd, "route": "listen", "listener": listener, "timeout": 10.0, **more}
    return shapes.convert(request, ListenRequest)


def waits(board: Listening, request: ListenRequest) -> asyncio.Task[dict[str, Any]]:
    return asyncio.create_task(board.listen(PERSON, request))


async def waiting_are(board: Listening, count: int) -> None:
    """Returns when so many wait for news of the shop."""

    def there() -> bool:
        desk = board._desks.get(REPO)  # noqa: SLF001 - who waits is nobody else's business
        return count == (len(desk.waiters) if desk else 0)

    await asyncio.to_thread(until, there, what=f"{count} who wait")


def texts(answer: dict[str, Any]) -> list[str]:
    return [json.loads(one["line"])["msg"] for one in answer["notices"]]


def numbers(answer: dict[str, Any]) -> list[int]:
    return [one["number"] for one in answer["notices"]]


def take(board: Listening, answer: dict[str, Any]) -> int:
    request = {"numbers": numbers(answer), "listener": "a", "route": "listen"}
    return int(board.taken(PERSON, request)["taken"])  # type: ignore[arg-type]


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[[Context, Listening], None]:
    """Runs a test on an event loop of its own."""

    def run(context: Context, board: Listening) -> None:
        asyncio.run(test(context, board))  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@on_a_loop
async def test_who_waits_is_woken_by_the_commit(context: Context, board: Listening) -> None:
    waiting = waits(board, asked(context, timeout=None))
    await waiting_are(board, 1)
    assert not waiting.done()
    await asyncio.to_thread(post, context, "news")
    answer = await asyncio.wait_for(waiting, 5)
    assert (answer["why"], texts(answer)) == ("notices", ["news"])


@on_a_loop
async def test_what_came_before_is_given_at_once_in_order(
    context: Context, board: Listening
) -> None:
    for text in ("one", "two", "three"):
        post(context, text)
    assert texts(await board.listen(PERSON, asked(context, timeout=0))) == ["one", "two", "three"]


@on_a_loop
async def test_a_crowd_of_notices_comes_in_portions(context: Context, board: Listening) -> None:
    for number in range(130):
        post(context, str(number))
    first = await board.listen(PERSON, asked(context))
    assert take(board, first) == 100
    second = await board.listen(PERSON, asked(context))
    assert texts(first) + texts(second) == [str(number) for number in range(130)]


@on_a_loop
async def test_news_of_another_repository_wake_nobody_here(
    context: Context, board: Listening
) -> None:
    waiting = waits(board, asked(context, timeout=HELD))
    await waiting_are(board, 1)
    await asyncio.to_thread(partial(post, context, "theirs", repo=OTHER))
    assert (await waiting)["why"] == "timeout"
    cwd = str(context.folders.home / "bank" / ".git" / "below")
    assert texts(await board.listen(PERSON, asked(context, cwd=cwd))) == ["theirs"]


@on_a_loop
async def test_a_second_listener_is_told_who_is_the_first(
    context: Context, board: Listening
) -> None:
    first = waits(board, asked(context, "a", pid=4711))
    await waiting_are(board, 1)
    second = await asyncio.wait_for(board.listen(PERSON, asked(context, "b", pid=4712)), 5)
    assert second == {"notices": [], "why": "busy", "pid": 4711}
    first.cancel()
    await waiting_are(board, 0)
    third = await board.listen(PERSON, asked(context, "c", timeout=0))
    assert third["why"] == "timeout"


def test_who_only_looks_keeps_nobody_from_waiting(context: Context) -> None:
    desk = Desk()
    assert desk.enter(Waiter(asked(context, "looks", timeout=0))) is None
    waits = Waiter(asked(context, "waits"))
    assert desk.enter(waits) is None
    assert desk.is_first(waits)
    assert desk.enter(Waiter(asked(context, "looks too", timeout=0))) is waits


@on_a_loop
async def test_the_same_session_waits_once_and_of_several_the_last_is_woken(
    context: Context, board: Listening
) -> None:
    older = waits(board, asked(context, "s1", route="rewake"))
    await waiting_are(board, 1)
    again = waits(board, asked(context, "s1", route="rewake"))
    assert await asyncio.wait_for(older, 5) == {"notices": [], "why": "replaced"}
    other = waits(board, asked(context, "s2", route="rewake"))
    await waiting_are(board, 2)
    await asyncio.to_thread(post, context, "news")
    assert texts(await asyncio.wait_for(other, 5)) == ["news"]
    assert not again.done()
    again.cancel()


@on_a_loop
async def test_a_listener_goes_before_sessions(context: Context, board: Listening) -> None:
    listener = waits(board, asked(context, "l"))
    await waiting_are(board, 1)
    session = waits(board, asked(context, "s", route="rewake"))
    await waiting_are(board, 2)
    await asyncio.to_thread(post, context, "first")
    answer = await asyncio.wait_for(listener, 5)
    assert texts(answer) == ["first"]
    take(board, answer)
    await asyncio.to_thread(post, context, "second")
    assert texts(await asyncio.wait_for(session, 5)) == ["second"]


@on_a_loop
async def test_who_hangs_up_leaves_its_turn_to_the_next(context: Context, board: Listening) -> None:
    session = waits(board, asked(context, "s", route="rewake"))
    listener = waits(board, asked(context, "l"))
    await waiting_are(board, 2)
    listener.cancel()
    await waiting_are(board, 1)
    await asyncio.to_thread(post, context, "news")
    assert texts(await asyncio.wait_for(session, 5)) == ["news"]


@on_a_loop
async def test_what_a_reader_does_not_take_is_held_back_and_then_offered_again(
    context: Context, board: Listening
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
    context: Context, board: Listening
) -> None:
    post(context, "old")
    answer = await board.listen(PERSON, asked(context))
    assert [take(board, answer), take(board, answer)] == [1, 0]
    post(context, "new")
    assert texts(await board.listen(PERSON, asked(context, "b"))) == ["new"]
    kept = context.store.read(lambda c: c.execute(sa.select(tables.notices)).all())
    assert [(row.text, row.taken_by) for row in kept] == [("old", "listen"), ("new", None)]


@on_a_loop
async def test_the_next_daemon_offers_what_nobody_took(context: Context, board: Listening) -> None:
    post(context, "news")
    await board.listen(PERSON, asked(context))
    after = Listening(context)
    assert texts(await after.listen(PERSON, asked(context, timeout=0))) == ["news"]
    after.close()


@on_a_loop
async def test_news_is_heard_while_somebody_waits_and_a_moment_after(
    context: Context, board: Listening
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
    hasty = Listening(context, held=0.0)
    for route, armed in (("listen", False), ("rewake", True)):
        post(context, "news")
        take(hasty, asyncio.run(hasty.listen(PERSON, asked(context, route=route))))
        assert hasty.armed(REPO) is armed
    hasty.close()


@on_a_loop
async def test_waiting_can_be_ended_from_any_thread(context: Context, board: Listening) -> None:
    waiting = [waits(board, asked(context)), waits(board, asked(context, "s", route="rewake"))]
    await waiting_are(board, 2)
    await asyncio.to_thread(board.end_waiting, REPO)
    assert [(await one)["why"] for one in waiting] == ["ended", "ended"]
    assert not board.armed(REPO)


@pytest.mark.parametrize(("how", "left", "why"), [
    ("nuke", False, "ended"), ("nuke", True, "timeout"), ("kill", False, "timeout"),
])  # fmt: skip
def test_only_the_end_of_everybody_ends_the_listener(
    context: Context, board: Listening, *, how: str, left: bool, why: str
) -> None:
    if left:
        context.store.write(lambda w: rows.put_agent(w, an_agent("hen", repo=REPO)))
    ending = Operation("end", (), lambda _: [], lambda _: {})
    intents = Intents(context, (ending,))
    begun = Begin(REPO, None, lambda _: {"agents": {}, "how": how})

    async def test() -> None:
        waiting = waits(board, asked(context, timeout=1.0))
        await waiting_are(board, 1)
        await asyncio.to_thread(intents.perform, "end", "k", lambda: begun)
        assert (await waiting)["why"] == why

    asyncio.run(test())


@on_a_loop
async def test_agents_neither_listen_nor_take(context: Context, board: Listening) -> None:
    agent = Caller(Uid("fox"))
    with pytest.raises(Denied, match="agents do not listen"):
        await board.listen(agent, asked(context))
    with pytest.raises(Denied):
        board.taken(agent, {"numbers": [1], "listener": "a", "route": "listen"})
    with pytest.raises(UserError, match="not in a repository"):
        await board.listen(PERSON, asked(context, cwd="/"))


def notify(context: Context, board: Listening, caller: Caller, **more: Any) -> dict[str, Any]:
    request = {"cwd": str(context.folders.home / "shop"), "text": "done", **more}
    intents = Intents(context, (board.operation(),))
    asked = shapes.convert(request, NotifyRequest)
    return intents.perform("notify", more.get("key"), lambda: board.begin(caller, asked))


def test_an_agent_is_its_own_sender_and_a_person_may_name_one(
    context: Context, board: Listening
) -> None:
    context.store.write(lambda w: rows.put_agent(w, an_agent("fox", repo=REPO)))
    notify(context, board, Caller(Uid("fox")), sender="hen")
    notify(context, board, PERSON, sender="ci", type="question")
    notify(context, board, PERSON)
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=9))
    assert [(one.sender, one.type) for one in found] == [
        ("fox", "complete"), ("ci", "question"), ("user", "complete"),
    ]  # fmt: skip


def test_a_request_that_is_sent_again_posts_once(context: Context, board: Listening) -> None:
    first = notify(context, board, PERSON, key="k")
    assert notify(context, board, PERSON, key="k") == first
    assert context.store.read(lambda c: noticeboard.count_waiting(c, REPO)) == 1


def test_a_queue_that_nobody_reads_is_full_some_day(
    context: Context, board: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_MOST", 2)
    post(context, "one")
    notify(context, board, PERSON)
    with pytest.raises(Conflict, match="nobody listens"):
        notify(context, board, PERSON)
    post(context, "what states tell always has room")


def agent(context: Context, name: str = "fox", **more: Any) -> Agent:
    made = an_agent(name, repo=REPO, **{"mode": "live", **more})
    session = Session(agent=made.uid, number=1, marker=made.uid, started_at=1.0)
    context.store.write(lambda w: rows.put_agent(w, made))
    context.store.write(lambda w: rows.put_session(w, session))
    return made


def seen(context: Context, fox: Agent, *states: State, evidence: str = "") -> None:
    for number, value in enumerate(states):
        at = context.clock.now() + number / 1000
        one = Observation(source=Source.HOOK, value=value, at=at, evidence=evidence, session=1)
        context.store.write(partial(watching.observe, agent=fox, seen=one))


def told(context: Context) -> list[tuple[str, str]]:
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=99))
    return [(one.type, one.text) for one in found]


def types(context: Context) -> list[str]:
    return [kind for kind, _ in told(context)]


def test_a_root_s_states_become_notices_with_the_state_itself(context: Context) -> None:
    fox = agent(context)
    seen(context, fox, State.WAITING, evidence="WAITING")
    assert told(context) == [("waiting", "Agent fox is waiting for input")]
    seen(context, fox, State.RUNNING, State.COMPLETE)
    assert told(context) == [("complete", "Agent fox has completed its goal")]
    events = context.store.read(lambda c: rows.events(c, agent=fox.uid))
    kinds = [event.kind for event in events]
    assert kinds == ["agent.state", "notice.posted"] + ["agent.state"] * 2 + ["notice.posted"]


def test_a_state_that_wavers_is_told_once_until_there_was_work(context: Context) -> None:
    fox = agent(context)
    seen(context, fox, State.WAITING, State.COMPACTING, State.WAITING, State.UNKNOWN)
    seen(context, fox, State.WAITING, State.ASKING, State.WAITING, State.ASKING)
    assert posted(context) == 2  # of waiting and of asking
    seen(context, fox, State.RUNNING, State.WAITING)
    assert posted(context) == 3


def test_a_newer_state_takes_the_place_of_one_that_nobody_has_read(
    context: Context, board: Listening
) -> None:
    fox = agent(context)
    hen = agent(context, "hen")
    notify(context, board, Caller(fox.uid), text="half way")
    notify(context, board, PERSON, sender="fox", text="in its name")
    seen(context, hen, State.WAITING)
    seen(context, fox, State.WAITING)
    first = asyncio.run(board.listen(PERSON, asked(context)))
    take(board, {"notices": first["notices"][-1:]})  # that fox waits; the others stay
    seen(context, fox, State.RUNNING, State.WAITING)
    context.store.write(partial(left_behind, who=fox))
    seen(context, fox, State.RUNNING, State.COMPLETE)
    assert told(context) == [
        ("complete", "half way"),
        ("complete", "in its name"),
        ("waiting", "Agent hen is waiting for input"),
        ("complete", "Agent fox has completed its goal"),
    ]
    assert takers(context) == [None, None, None, "listen", "superseded", "superseded", None]


def test_what_was_told_of_an_agent_goes_with_it_and_what_it_said_stays(
    context: Context, board: Listening
) -> None:
    fox, hen = agent(context), agent(context, "hen")
    for one in (fox, hen):
        seen(context, one, State.COMPLETE)
        context.store.write(partial(questions.record, agent=one, text="which port?"))
        context.store.write(partial(left_behind, who=one))
    notify(context, board, Caller(fox.uid), text="half way")
    warned(context, Party(fox.uid, fox.id))
    before = len(events(context))
    context.store.write(partial(notices.forget, agent=fox))
    assert [(who, text) for who, text in senders(context) if who == "fox"] == [
        ("fox", "half way"), ("fox", "Agent fox warns: the disk is full"),
    ]  # fmt: skip
    assert len([who for who, _ in senders(context) if who == "hen"]) == 3
    assert takers(context).count("ended") == 3
    assert len(events(context)) == before


def test_a_root_that_waits_for_agents_at_work_below_it_is_not_told_of(context: Context) -> None:
    lead = agent(context, "lead", role="manager")
    sub = agent(context, "sub", role="manager", parent=lead.uid, state=State.WAITING)
    fox = agent(context, parent=sub.uid, state=State.RUNNING)
    seen(context, lead, State.WAITING)
    assert told(context) == []
    context.store.write(
        lambda w: rows.put_agent(w, msgspec.structs.replace(fox, state=State.COMPLETE))
    )
    seen(context, lead, State.RUNNING, State.WAITING)
    assert told(context) == [("waiting", "Manager lead is waiting for input")]


def test_what_the_person_says_to_itself_is_no_news(context: Context) -> None:
    warned(context, PARTY)
    assert told(context) == []
    warned(context, Party(Uid("fox"), "fox"))
    assert told(context) == [("waiting", "Agent fox warns: the disk is full")]


def left_behind(writing: Writing, who: Agent) -> None:
    """Posts what is told of uncommitted work."""
    text = f"{who.id} was ended with 2 uncommitted files"
    notices.post(writing, REPO, who.id, "waiting", text, agent=who.uid)


def warned(context: Context, sender: Party) -> None:
    """Has somebody warn the person."""

    def change(writing: Writing) -> None:
        text = "the disk is full"
        made = receipts.draft(REPO, sender, PARTY, text, kind="alert", now=writing.now)
        notices.on_message(writing, receipts.post(writing, made))

    context.store.write(change)


def events(context: Context) -> list[Event]:
    return context.store.read(rows.events)


def posted(context: Context) -> int:
    return len([event for event in events(context) if event.kind == "notice.posted"])


def senders(context: Context) -> list[tuple[str, str]]:
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=99))
    return [(one.sender, one.text) for one in found]


def takers(context: Context) -> list[str | None]:
    """Who has each notice, of all that ever were."""
    query = sa.select(tables.notices.c.taken_by).order_by(tables.notices.c.number)
    return [row[0] for row in context.store.read(lambda c: c.execute(query).all())]


def test_what_an_agent_says_itself_stands_for_no_state(context: Context, board: Listening) -> None:
    fox = agent(context)
    notify(context, board, Caller(fox.uid))
    seen(context, fox, State.COMPLETE)
    assert types(context) == ["complete", "complete"]


@pytest.fixture
def reports(context: Context) -> Iterator[Callable[[], None]]:
    """Has what becomes of agents told; called, it returns when all of it was."""
    made = Flowing(context)
    made.open(Intents(context, (made.operation(),)))
    yield lambda: until(lambda: not context.store.read(rows.open_intents), what="all told")
    made.close()


def test_an_agent_below_another_is_told_of_where_that_is_wanted(
    context: Context, reports: Callable[[], None]
) -> None:
    context.store.write(lambda w: rows.put_agent(w, an_agent("lead", repo=REPO)))
    fox = agent(context, parent=Uid("lead"))
    seen(context, fox, State.COMPLETE)
    reports()
    assert told(context) == []
    (context.folders.home / "config.toml").write_text('notices = "all"\n')
    seen(context, fox, State.RUNNING, State.COMPLETE)
    reports()
    assert told(context) == [
        ("complete", "Agent fox (worker of lead) has completed its goal"),
    ]


@pytest.mark.parametrize(("code", "count"), [(9, 1), (0, 0)])
def test_a_worker_s_session_that_fails_is_told_of_where_that_is_wanted(
    context: Context, reports: Callable[[], None], code: int, count: int
) -> None:
    context.store.write(lambda w: rows.put_agent(w, an_agent("lead", repo=REPO)))
    fox = agent(context, parent=Uid("lead"))
    (context.folders.home / "config.toml").write_text('notices = "all"\n')
    facts = Facts(alive=False, exit_code=code)
    context.store.write(lambda w: watching.record_end(w, fox, _session(context, fox), facts))
    reports()
    assert len(told(context)) == count
    assert all("fox (worker of lead) has stopped" in text for _, text in told(context))


def test_a_file_that_cannot_be_read_costs_no_state(
    context: Context, reports: Callable[[], None]
) -> None:
    context.store.write(lambda w: rows.put_agent(w, an_agent("lead", repo=REPO)))
    fox = agent(context, parent=Uid("lead"))
    (context.folders.home / "config.toml").write_text("notices = = \n")
    seen(context, fox, State.COMPLETE)
    reports()
    now = context.store.read(lambda c: rows.agent(c, fox.uid))
    assert now is not None
    assert now.state is State.COMPLETE
    (failure,) = context.store.read(lambda c: rows.events(c, kind="notify.failed"))
    assert "not valid TOML" in failure.data["how"]


@pytest.mark.parametrize(("code", "notices"), [(None, 1), (9, 1), (0, 0)])
def test_a_session_that_ends_by_itself_and_badly_is_told(
    context: Context, code: int | None, notices: int
) -> None:
    fox = agent(context)
    facts = Facts(alive=False, exit_code=code)
    context.store.write(lambda w: watching.record_end(w, fox, _session(context, fox), facts))
    assert len(told(context)) == notices
    assert all("wl resume fox" in text for _, text in told(context))


def test_a_session_that_we_end_is_no_news(context: Context) -> None:
    fox = agent(context)
    facts = Facts(alive=False, exit_code=143)
    end = partial(watching.record_end, agent=fox, session=_session(context, fox), facts=facts)
    stop = Step("stop", lambda _: context.store.write(end))
    intents = Intents(context, (Operation("end", (stop,), lambda _: [], lambda _: {}),))
    begun = Begin(REPO, None, lambda _: {"agents": {fox.uid: fox.id}, "how": "kill"})
    intents.perform("end", None, lambda: begun)
    now = context.store.read(lambda c: rows.agent(c, fox.uid))
    assert now is not None
    assert now.state is State.STOPPED
    assert told(context) == []


def _session(context: Context, fox: Agent) -> Session:
    return context.store.read(lambda c: rows.session(c, fox.uid, 1))


def configure(context: Context, command: str) -> None:
    path = context.folders.home / "config.toml"
    path.write_text(f"[notify]\ncommand = {json.dumps(command)}\n")


def failures(context: Context) -> list[Event]:
    return context.store.read(lambda c: rows.events(c, kind="notify.failed"))


@pytest.mark.usefixtures("board")
def test_the_command_gets_each_notice_once_in_words_and_as_json(context: Context) -> None:
    got = context.folders.home / "got"
    got.mkdir()
    variables = '"$WINDLASS_NOTICE_TYPE|$WINDLASS_NOTICE_FROM|$WINDLASS_NOTICE_TEXT|$WINDLASS_REPO"'
    configure(
        context, f'f=$(mktemp "{got}/XXXXXX"); cat >"$f"; echo {variables} >>"$f"; mv "$f" "$f.ok"'
    )
    post(context, 'it\'s \0 "done"')
    post(context, "x" * 30_000)
    until(lambda: len(list(got.glob("*.ok"))) == 2, what="two runs")
    read = sorted((path.read_text() for path in got.glob("*.ok")), key=len)
    line, words = read[0].splitlines()
    assert json.loads(line)["msg"] == 'it\'s \0 "done"'
    assert words == f'complete|fox|it\'s  "done"|{context.folders.home / "shop"}'
    assert json.loads(read[1].splitlines()[0])["msg"] == "x" * 30_000
    assert failures(context) == []


@pytest.mark.usefixtures("board")
def test_a_command_that_fails_is_on_record_with_its_last_words(context: Context) -> None:
    configure(context, "seq 20; echo no bell >&2; exit 3")
    number = post(context, "news")
    until(lambda: bool(failures(context)), what="the record")
    (one,) = failures(context)
    assert (one.data["notice"], one.data["code"], one.data["how"]) == (number, 3, "ended with 3")
    assert one.data["tail"].splitlines() == [*map(str, range(14, 21)), "no bell"]


def test_a_command_that_hangs_is_ended_with_what_it_started(context: Context) -> None:
    bell = notifying.Bell(context, limit=0.3)

    def ring(events: list[Event]) -> None:
        for event in events:
            if event.kind == "notice.posted":
                bell.ring(event)

    context.store.listen(ring)
    pids = context.folders.home / "pids"
    configure(context, f"sleep 600 & echo $! $$ >'{pids}'; wait")
    post(context, "news")
    until(lambda: bool(failures(context)), what="the record")
    assert failures(context)[0].data["how"] == "took longer than 0.3 s"
    for pid in pids.read_text().split():
        until(lambda pid=pid: not Path("/proc", pid).exists(), what="its end")  # type: ignore[misc]
    bell.close()


@pytest.mark.usefixtures("board")
def test_at_most_four_run_at_once_and_nobody_waits_for_them(context: Context) -> None:
    here = context.folders.home
    configure(
        context, f"mktemp '{here}/run.XXXXXX'; while [ ! -e '{here}/go' ]; do sleep 0.05; done"
    )
    for number in range(7):
        post(context, str(number))
    until(lambda: len(list(here.glob("run.*"))) == 4, what="four")
    assert context.store.read(lambda c: noticeboard.count_waiting(c, REPO)) == 7
    (here / "go").touch()
    until(lambda: len(list(here.glob("run.*"))) == 7, what="all")


def test_a_flood_runs_no_flood_of_commands(
    context: Context, board: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifying, "MOST_WAITING", 5)
    here = context.folders.home
    configure(
        context, f"mktemp '{here}/run.XXXXXX'; while [ ! -e '{here}/go' ]; do sleep 0.05; done"
    )
    for number in range(9):
        post(context, str(number))
    (here / "go").touch()
    until(lambda: len(list(here.glob("run.*"))) + len(failures(context)) == 9, what="all")
    assert len(failures(context)) == 4
    assert "left out" in failures(context)[0].data["how"]
    board.close()
    post(context, "after the end nothing is run, and nothing breaks")


@pytest.mark.usefixtures("board")
def test_a_repository_names_no_command(context: Context) -> None:
    project = context.folders.home / "shop" / ".windlass" / "config.toml"
    project.parent.mkdir()
    made = context.folders.home / "made"
    project.write_text(f"[notify]\ncommand = \"touch '{made}.theirs'\"\n")
    configure(context, f"touch '{made}.ours'")
    post(context, "news")
    until(lambda: Path(f"{made}.ours").exists(), what="ours")
    assert not Path(f"{made}.theirs").exists()
