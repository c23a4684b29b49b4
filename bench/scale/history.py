"""A store with ten thousand ended agents and a million events, beside an empty one."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from uuid import UUID

import psutil
import sqlalchemy as sa
from bench.crew import command
from bench.scale.beside import beside
from bench.table import Row, timed
from tests.support.agents import an_agent
from tests.support.ground import Ground

from windlass.core.ids import RepoId, Uid
from windlass.core.usage import Usage
from windlass.daemon.kernel.clock import SystemClock
from windlass.store import rows, spending, tables
from windlass.store.rows import Session
from windlass.store.store import Store, Writing

AGENTS, EVENTS_EACH = 10_000, 100
_YEAR = 365 * 86_400
_RUNS = 7
_AT_ONCE = 100
_WORKED = 600.0
"""Seconds that each of them was at work."""
_ASKED = "e5000"


def measure(ground: Ground) -> list[Row]:
    """The commands that read what was, on both stores turn by turn."""
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    empty = Ground(folder)
    empty.repository()
    empty.unbox()
    try:
        _fill(ground, AGENTS, EVENTS_EACH)
        _fill(empty, 1, EVENTS_EACH)
        return [*_commands(ground, empty), _memory(ground, empty)]
    finally:
        empty.leave()
        shutil.rmtree(folder, ignore_errors=True)


def _fill(ground: Ground, agents: int, events: int) -> None:
    """Adds agents that came, worked and went over a year, among them the one that is asked for."""
    ground.wl("repo", "add").ok()
    (repo,) = ground.ask("repos")
    ground.wl("daemon", "stop").ok()
    # Nothing is too old for this table: what is kept for ever is what it is about.
    (ground.state / "retention.json").write_text(json.dumps({"at": time.time()}))
    store = Store(ground.state / "windlass.db", clock=SystemClock())
    store.open()
    head = ground.git("rev-parse", "HEAD").strip()
    try:
        for first in range(0, agents, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, agents))
            store.write(partial(_add, repo=repo["id"], head=head, numbers=numbers, events=events))
    finally:
        store.close()
    ground.agents()


def _add(writing: Writing, *, repo: str, head: str, numbers: range, events: int) -> None:
    now, told = time.time(), []
    for number in numbers:
        name = _ASKED if len(numbers) == 1 else f"e{number}"
        ended = now - 3600 - (_YEAR - 7200) * (1 - number / AGENTS)
        uid = Uid(f"{number:08x}aaaa")
        _add_agent(writing, uid, name, repo=RepoId(repo), head=head, ended=ended)
        for step in range(events):
            data = {"tool_name": "Bash", "summary": f"make step {step}"}
            of = {"repo": repo, "agent": uid, "subject": f"agent:{uid}"}
            at = ended - _WORKED * (1 - step / events)
            told.append({**of, "at": at, "kind": "hook.PostToolUse", "data": data})
    writing.connection.execute(sa.insert(tables.events), told)


def _add_agent(
    writing: Writing, uid: Uid, name: str, *, repo: RepoId, head: str, ended: float
) -> None:
    began = ended - _WORKED
    where = {"workspace": f"/nowhere/{name}", "branch": f"agent/{name}", "base": head}
    times = {"created_at": began, "state_at": ended, "ended_at": ended, "ended_by": "user"}
    rows.add_agent(writing, an_agent(uid, id=name, repo=repo, **where, **times))
    marker = str(UUID(int=int(uid, 16)))
    session = Session(agent=uid, number=1, marker=marker, started_at=began, ended_at=ended)
    rows.add_session(writing, session)
    spending.add(
        writing,
        uid,
        1,
        day=time.strftime("%Y-%m-%d", time.localtime(ended)),
        model="claude",
        source="transcript",
        used=Usage(input_tokens=1000, output_tokens=1000),
        cost=0.1,
        notional=False,
    )


def _commands(old: Ground, empty: Ground) -> list[Row]:
    found = []
    asked = (("list",), (), ("costs",), ("why", _ASKED), ("log", _ASKED))
    for words in asked:
        one, other = command(old, *words), command(empty, *words)
        ours, plain = [], []
        for _ in range(_RUNS):
            plain += timed(other, runs=1)
            ours += timed(one, runs=1)
        what = f"wl {' '.join(words)}, old store"
        found.append(beside(what, ours, plain, times=1.5, more=0, by="empty store"))
    return found


def _memory(old: Ground, empty: Ground) -> Row:
    """What the daemon of the old store keeps in memory once it has answered."""
    kept = [psutil.Process(one.daemon_pid()).memory_info().rss / 1e6 for one in (old, empty)]
    note = f"empty store {kept[1]:.0f} MB"
    return Row("daemon's memory after these, old store", kept[:1], kept[1] * 1.5, note, "MB")
