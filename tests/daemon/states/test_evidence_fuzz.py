"""Hostile evidence at random: whatever an agent writes of itself, it tells about that agent alone.

No reader fails or takes long, nothing of anybody else changes, nothing outside is read, common
budgets stay whole, every face goes on, and the agent can be ended.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from tests.daemon.states import hostile_evidence as hostile
from tests.daemon.states.hostile_evidence import Names
from tests.support import whole_rows
from tests.support.contexts import Turned, lent
from tests.support.ground import until
from tests.support.replies import as_declared
from tests.support.workshop import Workshop

from windlass.core.crew import Agent, Limits
from windlass.core.events import AgentUnreadable
from windlass.core.ids import AgentId, Uid
from windlass.core.sessions import OUTPUT, Facts
from windlass.daemon.kernel.context import session_name
from windlass.daemon.launch import session_request
from windlass.daemon.mail import delivery
from windlass.daemon.spend import budgets
from windlass.store import mailbox, rows, spending, spending_groups
from windlass.store.rows import Session

SECRET = "what only the person knows"  # noqa: S105 - of this test
LURE = "lure"
"""The model of the person's own conversation: who counts it has read that."""
_AT_ONCE = 20
_LIMIT = 0.01
"""USD that a hostile agent may spend; all of them together stay far below `budget.day`."""
_CONFIG = "[budget]\nagent = 5.0\nday = 20.0\nrepo = 20.0\n[nudges]\nuncommitted = false\n"
_LONGEST = 2.0
"""Seconds of work of a thread that one look at an agent may take."""
_PID = 4711
_LARGEST_ANSWER = 256 << 10
"""Bytes that an agent can have a face say of it where the others are listed."""
_FACES = ("why", "info", "log", "look", "denials", "costs", "questions", "inbox")


class Stage:
    """A daemon's services, an agent at work, one that is paused, and a hostile one at a time."""

    def __init__(self, workshop: Workshop, clock: Turned) -> None:
        self.workshop = workshop
        self.context = workshop.context
        self.clock = clock
        home = self.context.folders.home
        (home / "config.toml").write_text(_CONFIG)
        self.outside = home / "outside" / "secret.jsonl"
        self.outside.parent.mkdir()
        self.outside.write_text(_conversation(LURE, SECRET))
        self.ann, self.bea = map(self._spawn, ("ann", "bea"))
        self.ask("pause", agent="bea")
        self.letter = self.ask("send", agent="bea", text="for bea alone")["messages"][0]["id"]
        self._begin_work()
        self._settled()

    def _spawn(self, name: str) -> Agent:
        kind = {"driver": "standin", "isolation": "hooks", "mode": "headless", "worktree": False}
        made = self.workshop.ask("spawn", goal="g", name=name, **kind)
        return self.workshop.agent(made["uid"])

    def _begin_work(self) -> None:
        session = self.workshop.session(self.ann)
        session.hook("PreToolUse", tool_name="Write")
        session.hook("Stop", last_assistant_message="WAITING")
        path = self.files(self.ann)["conversation"]
        path.parent.mkdir(parents=True)
        path.write_text(_conversation("claude-opus-4-8", "I work."))
        self.workshop.services.watcher.look(self.ann.uid)

    def names(self, agent: Agent) -> Names:
        """Whom a hostile agent may speak of."""
        others = (self.ann.uid, self.ann.id, self.ann.conversation, self.bea.uid)
        return Names(own=agent.uid, others=others, messages=(self.letter, "msg-0", self.letter))

    def rat(self, name: str, mode: Literal["live", "headless"]) -> Agent:
        """A hostile agent in its first session, with mail under way to it.

        Put there, and not started: that takes longer than all that is tried with it.
        """
        context, now = self.context, self.context.clock.now()
        rat = msgspec.structs.replace(
            self.ann,
            uid=context.new_uid(),
            id=AgentId(name),
            mode=mode,
            conversation=str(uuid.uuid4()),
            limits=Limits(usd=_LIMIT),
            created_at=now,
        )
        session = Session(agent=rat.uid, number=1, marker=name, started_at=now)
        folder, launch = context.folders.session(rat.uid, 1), self.workshop.session(self.ann).launch
        context.sessions.start(
            folder=folder,
            name=session_name(rat),
            launch=msgspec.structs.replace(launch, mode=mode),
            wake=None,
            marker=name,
        )
        self.workshop.session(rat).facts = Facts(alive=True, child_pid=_PID)
        context.store.write(lambda w: whole_rows.put_agent(w, rat))
        context.store.write(lambda w: whole_rows.put_session(w, session))
        self.ask("send", agent=name, text="hello")
        return rat

    def files(self, agent: Agent) -> dict[str, Path]:
        """What tells about an agent."""
        conversation = Path(session_request.transcript(self.context, agent))
        folder = self.context.folders.session(agent.uid, 1)
        files = {
            "events": self.context.folders.events(agent.uid, 1),
            "conversation": conversation,
            "subagent": conversation.with_suffix("") / "subagents" / "agent-a.jsonl",
        }
        if agent.mode == "headless":
            return {**files, "output": folder / OUTPUT}
        config = self.context.folders.agent(agent.uid) / "config"
        return {**files, "status": config / "sessions" / f"{_PID}.json"}

    def ask(self, verb: str, **request: Any) -> Any:
        """Asks as the person; the answer is of the type that was declared, and can be sent."""
        sent = msgspec.json.encode(self.workshop.ask(verb, **request))
        return as_declared(verb, msgspec.json.decode(sent))

    def innocent(self) -> object:
        """All that is known of the innocent agents."""

        def read(connection: Any) -> list[object]:
            return [
                (
                    rows.agent(connection, uid),
                    rows.sessions(connection, uid),
                    rows.observations(connection, uid),
                    len(rows.events(connection, agent=uid, limit=10_000)),
                    spending.total(connection, agent=uid, notional=False),
                    mailbox.find(connection, self.letter),
                )
                for uid in (self.ann.uid, self.bea.uid)
            ]

        return self.context.store.read(read)

    def look(self, agent: Agent) -> None:
        """Looks at an agent in every way that the daemon does by itself."""
        services = self.workshop.services
        self.clock.time += 2.0
        look = partial(services.watcher.look, agent.uid)
        timers = (services.watcher.pulse, services.delivery.pulse, services.watcher.refold)
        for work in (look, *timers):
            began = time.thread_time()
            work()
            assert time.thread_time() - began < _LONGEST, work
        self._settled()

    def _settled(self) -> None:
        pools = self.context.pools
        until(lambda: not (pools.under_way("budget") + pools.under_way("mail")), what="the rest")

    def faces(self, agent: Agent, *verbs: str) -> bytes:
        """What faces say of an agent; what lists it with others stays small."""
        listed = msgspec.json.encode(self.ask("agents"))
        assert len(listed) < _LARGEST_ANSWER
        said = [msgspec.json.encode(self.ask(verb, agent=agent.id)) for verb in verbs]
        return listed + b"".join(said)

    def end(self, agent: Agent) -> None:
        """Ends it."""
        self.ask("end", agents=[agent.id], force=True)
        assert agent.id not in [one["id"] for one in self.ask("agents")]
        self._settled()


def _conversation(model: str, text: str) -> str:
    usage = {"input_tokens": 7, "output_tokens": 7}
    message = {"id": model, "model": model, "usage": usage, "content": text}
    return json.dumps({"type": "assistant", "message": message}) + f"\n{text}\n"


@contextmanager
def staged() -> Iterator[Stage]:
    """A stage, and the event loop that its mail is delivered on; mail is watched by looks alone."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    clock = Turned(tick=0.001)
    try:
        with pytest.MonkeyPatch.context() as patched, lent(clock, {}) as context:
            workshop = Workshop(context)
            patched.setattr(delivery, "_WATCHED", 0.0)

            async def begin() -> None:
                workshop.services.delivery.open()

            asyncio.run_coroutine_threadsafe(begin(), loop).result(60)
            yield Stage(workshop, clock)
            workshop.close()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """One for many seeds: it takes longer to build than they do."""
    with staged() as made:
        yield made


_CONTENT: dict[str, tuple[hostile.Make, ...]] = {
    "events": (hostile.hook, hostile.hook, hostile.denial),
    "output": (hostile.result, hostile.request, hostile.printed),
    "conversation": (hostile.answer, hostile.told),
    "subagent": (hostile.answer, hostile.told),
    "status": (hostile.status,),
}


def scribble(stage: Stage, files: dict[str, Path], names: Names, dice: random.Random) -> None:
    """Writes hostile evidence, to one file of an agent or to several."""
    for name, path in files.items():
        if dice.random() < 0.5:
            continue
        with suppress(OSError):  # what was put in its place before leaves no way to write
            path.parent.mkdir(parents=True, exist_ok=True)
            if dice.random() < 0.15:
                hostile.exchange(dice, path, outside=stage.outside)
                continue
            content = hostile.lines(dice, names, *_CONTENT[name])
            if dice.random() < 0.01:
                content = hostile.flood(dice)
            if path.is_fifo():
                continue
            how = "wb" if name == "status" or dice.random() < 0.2 else "ab"
            with path.open(how) as file:
                file.write(content)


@contextmanager
def meddling(files: dict[str, Path], names: Names, dice: random.Random) -> Iterator[None]:
    """Has the files shrink, grow and be exchanged again and again while they are read."""
    over = threading.Event()
    contents = {name: hostile.lines(dice, names, *_CONTENT[name]) for name in files}

    def meddle() -> None:
        while not over.is_set():
            name = dice.choice(sorted(files))
            path = files[name]
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                other = path.with_name("other")
                other.write_bytes(contents[name])
                if dice.random() < 0.5:
                    other.replace(path)
                with path.open("r+b") as file:
                    file.truncate(dice.randrange(len(contents[name]) + 1))

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def unreadable(stage: Stage, uid: Uid) -> int:
    """How often looking at an agent has failed."""
    kind = AgentUnreadable.kind
    return len(stage.context.store.read(lambda c: rows.events(c, kind=kind, agent=uid, limit=99)))


def try_one(stage: Stage, seed: int) -> None:
    """Has an agent forge by a seed, looks at it, and ends it."""
    dice = random.Random(seed)  # noqa: S311 - to be the same again
    rat = stage.rat(f"rat{seed}", dice.choice(("live", "headless")))
    files, names = stage.files(rat), stage.names(rat)
    before = stage.innocent()
    for _ in range(dice.randint(1, 2)):
        scribble(stage, files, names, dice)
        stage.look(rat)
    assert unreadable(stage, rat.uid) == 0
    if seed % 20 == 0:
        with meddling(files, names, dice):
            for _ in range(3):
                stage.workshop.services.watcher.try_to_look(rat.uid)
    said = stage.faces(rat, *dice.sample(_FACES, 3))
    assert SECRET.encode() not in said
    spent = stage.context.store.read(
        lambda c: spending_groups.grouped(c, "model", repo=None, since=None)
    )
    assert LURE not in {row.name for row in spent}
    assert stage.innocent() == before
    budgets.refuse_spent(stage.context, rat.repo)
    stage.end(rat)
    assert stage.innocent() == before


def try_all(stage: Stage, seeds: range) -> None:
    """Tries some seeds, one after the other."""
    for seed in seeds:
        try:
            try_one(stage, seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("start", range(0, 200, _AT_ONCE))
def test_what_an_agent_forges_at_random_is_evidence_about_itself_alone(
    stage: Stage, start: int
) -> None:
    try_all(stage, range(start, start + _AT_ONCE))


@pytest.mark.soak
@pytest.mark.parametrize("start", range(200, 5200, 5 * _AT_ONCE))
def test_thousands_of_forgeries_are_evidence_about_their_own_agent_alone(start: int) -> None:
    with staged() as stage:
        try_all(stage, range(start, start + 5 * _AT_ONCE))
