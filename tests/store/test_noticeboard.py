"""What nobody has read of an agent is found by the notices themselves, not in all that it did."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from tests.support.agents import an_agent
from tests.support.contexts import REPO, Turned, lent

from windlass.daemon.mail import notices
from windlass.store import noticeboard
from windlass.store.store import Writing


def test_the_unread_notices_of_an_agent_are_found_without_going_through_its_events() -> None:
    asked: list[tuple[str, Any]] = []

    def look(_: Any, __: Any, statement: str, values: Any, *___: Any) -> None:
        asked.append((statement, values))

    gull = an_agent("gull", repo=REPO)
    with lent(Turned()) as context:

        def post(writing: Writing) -> None:
            notices.post(writing, REPO, "gull", "waiting", "idle", agent=gull.uid)

        context.store.write(post)

        def plan(connection: sa.Connection) -> list[str]:
            sa.event.listen(connection, "before_cursor_execute", look)
            unread = noticeboard.unread_of(connection, gull)
            sa.event.remove(connection, "before_cursor_execute", look)
            assert [item.notice.text for item in unread] == ["idle"]
            return [
                str(step[3])
                for statement, values in asked
                for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            ]

        steps = context.store.read(plan)
    assert any("events_of_a_subject" in step for step in steps), steps
    assert not any("events_of_an_agent" in step for step in steps), steps
