"""A board that is worked off through usage limits and refusals: nobody types anything."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED
from tests.support.contexts import Turned

from windlass.core import limit_reset
from windlass.core.crew import Agent
from windlass.core.states import State
from windlass.store import mailbox, rows

TASKS = "## TASKS\n\n" + "".join(
    f"- [ ] **[TT-{n}]** Do {n}\n  - Priority: LOW\n  - Dependencies: none\n" for n in range(1, 9)
)
TICK = 30.0
TURN = 150.0
"""Seconds between two turns that end well."""


class Weather:
    """An account with three usage limits, and a minute in which every call is refused."""

    def __init__(self, began: float) -> None:
        # A limit is said to be over at a whole minute.
        start = (began // 60 + 1) * 60
        self.limits = [(start + n * 1200.0, start + n * 1200.0 + 600.0) for n in range(3)]
        self.refuses = (start + 780.0, start + 840.0)

    def said(self, at: float) -> str:
        """How a call fails at a moment; nothing where it does not."""
        for begin, end in self.limits:
            if begin <= at < end:
                resets = datetime.fromtimestamp(end, UTC)
                return f"You've hit your session limit · resets {resets:%H:%M} (UTC)"
        begin, end = self.refuses
        return "API Error: Request rejected (429) · Rate limited" if begin <= at < end else ""


class Crew:
    """Agents that do their task as soon as they are told something, if the account lets them."""

    def __init__(self, board: RunGround) -> None:
        self.board = board
        clock = board.workshop.context.clock
        assert isinstance(clock, Turned)
        self.clock = clock
        self.weather = Weather(clock.time)
        self.heard: dict[str, tuple[int, int]] = {}
        self.ended = clock.time
        self.failures: dict[str, int] = {"limit": 0, "429": 0}

    def tick(self) -> None:
        """Lets a moment pass: who is told to begin or to go on does."""
        board = self.board
        board.later(TICK)
        board.workshop.services.limit_waits.look()
        board.settle()
        for agent in board.workshop.context.store.read(rows.agents):
            told = (agent.session, self._told(agent))
            if self.heard.get(agent.uid) == told or not agent.session:
                continue
            now = self.clock.time
            if not self.weather.said(now):
                if now - self.ended < TURN:
                    continue  # it is at work for longer
                self.ended = now
            self.heard[agent.uid] = told
            self._play(agent)

    def _told(self, agent: Agent) -> int:
        inbox = self.board.workshop.context.store.read(
            lambda c: mailbox.inbox(c, recipient=agent.uid)
        )
        return sum(message.topic == limit_reset.TOPIC for message in inbox)

    def _play(self, agent: Agent) -> None:
        board, failure = self.board, self.weather.said(self.clock.time)
        if not failure:
            board.commit(agent, {f"{agent.id}.py": "x = 1\n"})
            board.speak(agent.id, PASSED)
            return
        self.failures["429" if "429" in failure else "limit"] += 1
        session = board.workshop.session(agent)
        session.hook("SessionStart", source="startup")
        session.hook("UserPromptSubmit", prompt="go on")
        session.hook("StopFailure", error="rate_limit", last_assistant_message=failure)
        assert board.workshop.state(agent) is State.RATE_LIMITED
        board.settle()


def test_eight_tasks_land_through_three_usage_limits_and_a_minute_of_refusals(
    board: RunGround,
) -> None:
    """Who is at a limit is parked with all that it has, and goes on when that is over.

    Nothing more is begun meanwhile, nobody fails, and the run says what it waits for.
    """
    board.board_file.write_text(TASKS)
    board.run(workers=2)
    crew = Crew(board)
    waited = held = False
    for _ in range(400):
        crew.tick()
        shown = board.workshop.ask("runs")
        waited |= any("limit" in task["why"] for task in shown["tasks"] if not task["is_over"])
        held |= "window" in shown["held"]
        if shown["is_over"]:
            break
    assert set(board.markers().values()) == {"x"}
    assert crew.failures["limit"] >= 3
    assert crew.failures["429"] >= 1
    assert (waited, held) == (True, True)
    tries = crew.failures["limit"] + crew.failures["429"]
    assert tries <= 2 * 4 + 2, "a limit is met once by each who is at work"
