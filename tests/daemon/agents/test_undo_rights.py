"""What an agent takes back is what its own ending took, and nothing that others changed since."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.errors import Denied


def spawn(workshop: Workshop, name: str, *, by: Agent | None = None, **more: Any) -> Agent:
    """An agent with hooks alone, started by the person or by another agent."""
    request = {"goal": "g", "name": name, "driver": "standin", "isolation": "hooks", **more}
    made = workshop.ask_as(by, "spawn", **request) if by else workshop.ask("spawn", **request)
    return workshop.agent(made["uid"])


def test_undo_does_not_take_back_a_child_that_was_given_to_another_since(
    workshop: Workshop,
) -> None:
    top = spawn(workshop, "top", role="manager")
    other = spawn(workshop, "other", role="manager")
    middle = spawn(workshop, "middle", by=top, role="manager")
    child = spawn(workshop, "child", by=middle)
    workshop.ask_as(top, "end", agents=["middle"], force=True)
    assert workshop.agent(child.uid).parent == top.uid
    workshop.ask("reassign", agent="child", parent="other")
    workshop.ask_as(top, "undo")
    assert workshop.agent(middle.uid).ended_at is None
    assert workshop.agent(child.uid).parent == other.uid
    with pytest.raises(Denied):
        workshop.ask_as(top, "end", agents=["child"], force=True)


def test_agents_have_no_folders_made_for_a_diff(workshop: Workshop) -> None:
    lead = spawn(workshop, "lead", role="manager")
    with pytest.raises(Denied, match="of the person's"):
        workshop.ask_as(lead, "diff", folders=True)
