"""Agents that have ended long ago cost nothing when those that live are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.contexts import REPO, Turned, lent

from windlass.core.ids import Uid
from windlass.store import rows

QUESTIONS: dict[str, Callable[[sa.Connection], Any]] = {
    "agents": rows.agents,
    "agents of a repository": lambda connection: rows.agents(connection, repo=REPO),
    "open sessions": rows.open_sessions,
    "observations": rows.all_observations,
    "open intents": rows.open_intents,
    "the last of a kind": lambda connection: rows.events(connection, kind="store.replaced", last=1),
    "names": lambda connection: rows.names(connection, (Uid("fox"), Uid("owl"))),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_who_lives_is_found_without_going_through_all_who_ever_lived(question: str) -> None:
    """A table that is gone through whole grows with every agent; an index of the few does not."""
    asked: list[tuple[str, Any]] = []

    def look(_: Any, __: Any, statement: str, values: Any, *___: Any) -> None:
        asked.append((statement, values))

    with lent(Turned()) as context:

        def plans(connection: sa.Connection) -> list[str]:
            sa.event.listen(connection, "before_cursor_execute", look)
            QUESTIONS[question](connection)
            sa.event.remove(connection, "before_cursor_execute", look)
            return [
                str(step[3])
                for statement, values in asked
                for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            ]

        steps = context.store.read(plans)
    assert steps
    assert [step for step in steps if step.startswith("SCAN") and "INDEX" not in step] == []
