"""The ready order of large boards, beside a straightforward version; a lifecycle's event.

The straightforward version looks for each task at every other one, as a shell script over the file
would, on what we have read already: reading is not counted against it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib import resources
from pathlib import Path

from bench.crew import command
from bench.table import Row, timed
from tests.support.ground import Ground

from windlass.core.board import parser, priority
from windlass.core.board.board import Board
from windlass.core.board.tasks import PRIORITIES
from windlass.core.ids import RepoId
from windlass.core.landing.changes import Change, ChangeId
from windlass.core.lifecycle import machine, spec
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.landing import moves
from windlass.store import changes
from windlass.store.store import Store

_PREFIXES = ("API", "WEB", "DB", "OPS", "DOC", "AUTH", "MAIL", "BOX")
_EVENTS = 1_000
_DURABLE_EVENTS = 50
_NEXT = "board next"


def measure(ground: Ground) -> list[Row]:
    """In core and as commands, and what one event takes."""
    rows = []
    for count, core, whole in ((1_000, 50, 200), (10_000, 1_000, None)):
        text = board_of(count)
        path = ground.folder / f"board-{count}.md"
        path.write_text(text)
        what = f"{_NEXT}, {count} tasks"
        rows.append(Row(f"{what}, core", timed(lambda t=text: following(t), runs=5), core))  # type: ignore[misc]
        rows.append(Row(f"{what}, command", timed(_command(ground, path), runs=5), whole))
    board = parser.parse(board_of(1_000))
    if quadratic(board) != [rank.id for rank in _order(board)]:
        raise SystemExit("the straightforward version says another order")
    rows.append(
        Row(f"floor: quadratic {_NEXT}, 1000", timed(lambda: quadratic(board), runs=1), None)
    )
    return [*rows, _event(), _durable_event(ground)]


def board_of(count: int) -> str:
    """A board of so many tasks that depend on each other; the same at every call."""
    chance = random.Random(7)  # noqa: S311 - a board, no secret
    rows, names = ["# Board", "", "## TASKS", ""], list[str]()
    for number in range(count):
        name = f"{_PREFIXES[number % len(_PREFIXES)]}-{number % 10_000}"
        needs = (
            {chance.choice(names[-200:]) for _ in range(chance.randint(0, 3))} if names else set()
        )
        names.append(name)
        rows += [
            f"- [{chance.choice('      =Px*')}] **[{name}]** Task {number}",
            f"  - Priority: {chance.choice(('CRITICAL', 'HIGH', 'MEDIUM', 'LOW'))}",
            f"  - Dependencies: {', '.join(sorted(needs)) or 'none'}",
        ]
    return "\n".join(rows) + "\n"


def following(text: str) -> list[priority.Rank]:
    """What `wl board next` reckons, from the text on."""
    return _order(parser.parse(text))


def _order(board: Board) -> list[priority.Rank]:
    return priority.following(board, priority.ranks(board))


def _command(ground: Ground, path: Path) -> Callable[[], object]:
    return command(ground, "board", "next", str(path), "--json")


def quadratic(board: Board) -> list[str]:
    """The ready order, each task looked up among all others and its dependents by walking."""
    found = []
    for task in board.tasks:
        if task.marker != " ":
            continue
        waiting, seen = [task.id], set()
        while waiting:
            name = waiting.pop()
            for other in board.tasks:
                if name in other.dependencies and other.id not in seen:
                    seen.add(other.id)
                    waiting.append(other.id)
        dependents = sum(other.marker in " =P*" for other in board.tasks if other.id in seen)
        siblings = sum(
            other.marker in "=P*" and other.prefix == task.prefix and other.id != task.id
            for other in board.tasks
        )
        complete = {other.id for other in board.tasks if other.marker == "x"}
        value = priority.effective(
            base=PRIORITIES[task.priority],
            waits=0,
            plan=False,
            dependents=dependents,
            siblings=siblings,
        )
        found.append((not complete.issuperset(task.dependencies), value, task.id))
    return [name for _, _, name in sorted(found, key=lambda entry: entry[:2])]


def _event() -> Row:
    data = (resources.files("windlass.data") / "lifecycle.json").read_bytes()
    lifecycle = spec.parse(data, "ours")
    guards = machine.unless({"conflicts_with_waiting_changes": False})

    def events() -> None:
        for _ in range(_EVENTS):
            machine.step(lifecycle, "merging", "merge.conflict", guards)

    each = [whole / _EVENTS for whole in timed(events, runs=5)]
    return Row("one lifecycle event, core", each, 1)


def _durable_event(ground: Ground) -> Row:
    """A change that enters a queue and leaves it: each a commit, with what the queue hears."""
    change = Change(
        repo=RepoId("0" * 8),
        id=ChangeId(""),
        target="main",
        branch="a branch",
        head="0" * 40,
        title="a change",
        state="draft",
    )
    with closing(Store(ground.folder / "lifecycle.db", clock=SystemClock())) as store:
        store.open()
        known = store.write(partial(changes.add, change=change))

        def event() -> None:
            nonlocal known
            if known.state in ("draft", "held"):
                enter = partial(moves.enter, change=known, event="change.submitted")
                known = store.write(enter)
            else:
                leave = partial(moves.leave, change=known, event="merge.held", why="held")
                known = store.write(leave)

        return Row("one lifecycle event, durable", timed(event, runs=_DURABLE_EVENTS), 10)
