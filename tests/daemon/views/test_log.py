"""Events as faces see them: agents by the names that people know."""

from __future__ import annotations

import pytest
from tests.support.workshop import Workshop

from windlass.core import log_kinds
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


def test_the_newest_of_what_people_want_to_read_are_as_many_as_were_asked_for(
    workshop: Workshop,
) -> None:
    """How Windlass went about it takes no place among them."""
    workshop.ask(
        "spawn", goal="count", name="fox", driver="standin", isolation="hooks", mode="live"
    )
    workshop.ask("end", agents=["fox"])
    assert not all(log_kinds.is_news(event["kind"]) for event in workshop.ask("log", last=4))
    news = [event["kind"] for event in workshop.ask("log", last=4, plain=True)]
    assert len(news) == 4
    assert all(log_kinds.is_news(kind) for kind in news)
    assert news[-1] == "agent.ended"
