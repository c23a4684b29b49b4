"""Events as faces see them: agents by the names that people know."""

from __future__ import annotations

import pytest

from windlass.core.ids import Uid
from windlass.daemon.views.log import event_view
from windlass.store.store import Event

NAMES = {Uid("u1"): "fox"}


@pytest.mark.parametrize(
    ("subject", "shown"),
    [
        ("agent:u1", "agent:fox"),
        ("agent:u2", "agent:u2"),
        ("task:PB-1", "task:PB-1"),
        (None, None),
    ],
)
def test_what_an_event_is_about_is_shown_and_an_agent_by_its_name(
    subject: str | None, shown: str | None
) -> None:
    event = Event(id=1, at=1.0, kind="note", repo=None, agent=None, data={}, subject=subject)
    assert event_view(event, NAMES)["subject"] == shown
