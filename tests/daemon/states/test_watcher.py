"""Parts of the daemon with a real store and real files, at moments that no session can be made to.

What depends on the order of two clocks, or on minutes that pass.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import NOW, REPO, Turned
from tests.support.ticks import tick

from windlass.core.crew import Agent
from windlass.core.errors import Unavailable
from windlass.core.ids import Uid
from windlass.core.policy.tool_calls import Decision
from windlass.core.reasons import words
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel import line_reader
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.states.output_source import OutputSource, Printed
from windlass.daemon.states.watcher import AgentWatcher
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Event

UID = Uid("0123456789ab")
DENIED = Decision(verdict="deny", reason="a test", rule="deny")


@pytest.fixture
def clock() -> Turned:
    """It stands still: what is tested is the order of moments."""
    return Turned()


def agent(context: Context, **more: Any) -> tuple[Agent, Session]:
    """A headless agent in its first session."""
    workspace = context.folders.workspace(REPO, "fox")
    workspace.mkdir(parents=True)
    made = an_agent(
        "fox",
        uid=UID,
        repo=REPO,
        branch="agent/fox",
        workspace=str(workspace),
        state_at=NOW,
        created_at=NOW,
        **more,
    )
    session = Session(agent=UID, number=1, marker="m", started_at=NOW)
    context.store.write(lambda w: whole_rows.put_agent(w, made))
    context.store.write(lambda w: whole_rows.put_session(w, session))
    return made, session


class NoResults:
    """Nobody counts."""

    def take_result(self, *_: Any) -> None:
        """Takes none."""


def hook_said(context: Context, value: State, *, at: float) -> None:
    seen = Observation(source=Source.HOOK, value=value, at=at, reason=words("a hook"), session=1)
    context.store.write(lambda w: rows.put_observation(w, UID, seen))


def hear(context: Context, fox: Agent, session: Session, *lines: str, printed_at: float) -> None:
    folder = context.folders.session(UID, 1)
    folder.mkdir(parents=True)
    text = "".join(line.rstrip("\n") + "\n" for line in lines)
    (folder / "output").write_text(text)
    hearing = OutputSource(context, NoResults(), lambda _agent, _call: DENIED)
    hearing.read_on(fox, session, Printed(len(text), printed_at, printed_at))


def state_of_fox(context: Context) -> State:
    now = context.store.read(lambda c: rows.agent(c, UID))
    assert now is not None
    return now.state


def test_a_request_is_in_the_history_though_its_file_seems_older_than_the_hook_before_it(
    context: Context, clock: Turned
) -> None:
    """Files are stamped by a coarser clock than hooks: by some milliseconds."""
    fox, session = agent(context)
    hook_said(context, State.RUNNING, at=NOW + 1)
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}
    line = json.dumps({"type": "control_request", "request_id": "r", "request": request}) + "\n"
    clock.time = NOW + 1.01
    hear(context, fox, session, line, printed_at=NOW + 0.996)
    assert state_of_fox(context) is State.ASKING


def test_the_end_of_a_turn_that_is_read_late_says_nothing_about_the_next(
    context: Context, clock: Turned
) -> None:
    """Both are printed by then, and the file tells the time of its last line alone."""
    fox, session = agent(context)
    hook_said(context, State.RUNNING, at=NOW + 1)
    said = (
        {"type": "result", "subtype": "success", "result": "I HAVE COMPLETED THE GOAL"},
        {"type": "system", "subtype": "init"},
    )
    clock.time = NOW + 1.01
    hear(context, fox, session, *map(json.dumps, said), printed_at=NOW + 1.005)
    assert state_of_fox(context) is State.RUNNING
    assert len(context.store.read(lambda c: rows.events(c, kind="turn.ended", limit=9))) == 1


def test_an_answer_that_is_read_after_the_end_of_its_turn_does_not_begin_another(
    context: Context, clock: Turned
) -> None:
    """A file gets its time before it gets the line: here that of the result, which is not there."""
    fox, session = agent(context)
    hook_said(context, State.WAITING, at=NOW + 1)
    clock.time = NOW + 1.01
    answer = json.dumps({"type": "assistant", "message": {"model": "m", "content": []}})
    hear(context, fox, session, answer, printed_at=NOW + 1.005)
    assert state_of_fox(context) is State.WAITING


def test_an_answer_that_was_not_there_when_its_turn_had_ended_is_of_another_turn(
    context: Context, clock: Turned
) -> None:
    """A hook of the person's may have it go on, and no hook of ours tells of that."""
    fox, session = agent(context)
    source = OutputSource(context, NoResults(), lambda _agent, _call: DENIED)
    hook_said(context, State.WAITING, at=NOW + 1)
    clock.time = NOW + 2
    assert not source.has_unread(fox, session)
    path = context.folders.session(UID, 1) / "output"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"type": "assistant", "message": {"content": []}}) + "\n")
    clock.time = NOW + 3
    source.read_on(fox, session, source.printed(fox, session))
    assert state_of_fox(context) is State.RUNNING


def test_an_output_line_without_end_is_passed_over_once_and_told_once(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of one that kept a daemon busy; nearly all of it is a hole in the file."""
    fox, _ = agent(context)
    folder = context.folders.session(UID, 1)
    folder.mkdir(parents=True)
    path = folder / "output"
    path.write_bytes(b"x" * 10)
    os.truncate(path, 120_000_000)
    read: list[int] = []
    pread = os.pread
    output = os.open(path, os.O_RDONLY)

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        if os.path.sameopenfile(descriptor, output):  # the store reads its own files as well
            read.append(size)
        return pread(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", counted)
    source = OutputSource(context, NoResults(), lambda _agent, _call: DENIED)

    def pulse() -> int:
        read.clear()
        before, now = None, context.store.read(lambda c: rows.session(c, UID, 1))
        while before is not now and source.has_unread(fox, now):
            before, now = now, source.read_on(fox, now, source.printed(fox, now))
        return sum(read)

    pulse()
    assert max(read) <= line_reader.LONGEST_LINE + 1
    assert pulse() == 0
    with path.open("ab") as file:
        file.write(b"the end of it\n" + json.dumps({"type": "result"}).encode() + b"\n")
    assert pulse() < 8 << 20
    (told,) = context.store.read(lambda c: rows.events(c, kind="line.skipped", limit=9))
    assert told.data == {"file": "output", "offset": 0, "longest": line_reader.LONGEST_LINE}
    assert len(context.store.read(lambda c: rows.events(c, kind="turn.ended", limit=9))) == 1
    assert not context.store.read(lambda c: rows.events(c, kind="output.garbage", limit=9))
    os.close(output)


def test_lines_that_are_no_output_are_told_together(context: Context) -> None:
    fox, session = agent(context)
    hear(context, fox, session, *["garbage"] * 1000, printed_at=NOW)
    (told,) = context.store.read(lambda c: rows.events(c, kind="output.garbage", limit=9))
    assert told.data == {"line": "garbage", "lines": 1000}


def test_what_does_not_come_home_is_tried_ever_more_seldom_until_its_clone_changes(
    context: Context, clock: Turned
) -> None:
    for name in ("HEAD", "config"):
        (context.folders.home / "shop" / ".git" / name).touch()
    fox, _ = agent(context, isolation="box")
    fetcher = CommitFetcher(context)
    tried = []
    for second in range(300):
        clock.time = NOW + second
        fetcher.try_to_fetch(fox)
        if fetcher.failures[UID].at == clock.time:
            tried.append(second)
    assert tried == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]
    git_dir = Path(fox.workspace) / ".git"
    git_dir.mkdir()
    (git_dir / "packed-refs").touch()
    fetcher.try_to_fetch(fox)
    assert fetcher.failures[UID].at == clock.time
    assert fetcher.failures[UID].pause == 1.0
    told = context.store.read(lambda c: rows.events(c, kind="branch.stuck", limit=100))
    assert len(told) == 1  # always for the same reason


def test_who_looks_with_an_old_session_in_hand_hears_nothing_twice(context: Context) -> None:
    made, session = agent(context, mode="live", state=State.CREATING)
    events = context.folders.events(UID, 1)
    events.parent.mkdir(parents=True)
    told = [
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit"},
        {"hook_event_name": "PreToolUse", "tool_name": "Bash"},
    ]
    lines = [json.dumps({"at": NOW, "event": event}) + "\n" for event in told]
    watching = AgentWatcher(context, sources=None)  # type: ignore[arg-type]  # only hooks are read
    for count in (2, 3):
        events.write_text("".join(lines[:count]))
        watching._drain(made, session)  # noqa: SLF001 - the rest of a look needs a session
    found = context.store.read(rows.events)
    assert [one.kind for one in found if one.kind.startswith("hook.")] == [
        "hook.SessionStart", "hook.UserPromptSubmit", "hook.PreToolUse",
    ]  # fmt: skip
    assert [one.data["now"] for one in found if one.kind == "agent.state"] == ["running"]


def test_hook_lines_are_kept_a_few_at_a_time_so_that_others_write_in_between(
    context: Context,
) -> None:
    made, session = agent(context, mode="live", state=State.RUNNING)
    events = context.folders.events(UID, 1)
    events.parent.mkdir(parents=True)
    call = json.dumps({"at": NOW, "event": {"hook_event_name": "PreToolUse"}}) + "\n"
    events.write_text(120 * call + 70 * "garbage\n" + 20 * call)
    commits: list[int] = []

    def committed(told: list[Event]) -> None:
        commits.append(sum(one.kind == "hook.PreToolUse" for one in told))

    context.store.listen(committed)
    watching = AgentWatcher(context, sources=None)  # type: ignore[arg-type]  # only hooks are read
    watching._drain(made, session)  # noqa: SLF001 - the rest of a look needs a session
    assert commits == [50, 50, 40]
    garbage = [one for one in context.store.read(rows.events) if one.kind == "hook.garbage"]
    assert [one.data["lines"] for one in garbage] == [70]


@pytest.mark.parametrize("at", ['"nan"', '"inf"', "1e308", "-1", "null", '"soon"'])
def test_a_line_from_no_moment_that_could_be_is_garbage_and_the_next_one_is_read(
    context: Context, at: str
) -> None:
    made, session = agent(context, mode="live", state=State.RUNNING)
    events = context.folders.events(UID, 1)
    events.parent.mkdir(parents=True)
    stop = '{"at": %s, "event": {"hook_event_name": "Stop"}}\n'
    events.write_text(stop % at + stop % NOW)
    watching = AgentWatcher(context, sources=None)  # type: ignore[arg-type]  # only hooks are read
    watching._drain(made, session)  # noqa: SLF001 - the rest of a look needs a session
    kinds = [event.kind for event in context.store.read(rows.events)]
    assert (kinds.count("hook.garbage"), kinds.count("hook.Stop")) == (1, 1)


def fill(context: Context) -> None:
    """Has the store be as full as a disk may be: not even the smallest event fits."""
    context.store.write(lambda w: w.connection.exec_driver_sql("PRAGMA max_page_count=1"))
    for size in (10_000, 100, 0):
        with suppress(Unavailable):
            while True:
                context.store.write(partial(tick, text="x" * size))


def test_who_cannot_even_record_that_an_agent_was_not_seen_goes_on(context: Context) -> None:
    """On a full disk a daemon has to start all the same, or nobody could look at anything."""
    agent(context)
    fill(context)
    AgentWatcher(context, sources=None).look_at_all()  # type: ignore[arg-type]  # it fails at once
