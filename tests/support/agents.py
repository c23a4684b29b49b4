"""An agent for tests that need one in the store or in their hands, and no session."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.core.crew import Agent, Policy
from windlass.core.ids import AgentId, RepoId, Uid
from windlass.core.roles import MANAGER, WORKER
from windlass.core.states import State


def an_agent(name: str, **more: Any) -> Agent:
    """A headless worker in its first session, but for what is given; managers may start agents."""
    made = Agent(
        uid=Uid(name),
        repo=RepoId("0" * 8),
        id=AgentId(name),
        role=WORKER,
        spawns=more.get("role") == MANAGER,
        parent=None,
        goal="g",
        driver="standin",
        model=None,
        mode="headless",
        branch=None,
        workspace="/w",
        base="0" * 40,
        base_from="HEAD",
        policy=Policy(),
        script=None,
        slot=0,
        conversation="c",
        session=1,
        state=State.RUNNING,
        state_at=0.0,
        created_at=0.0,
    )
    return msgspec.structs.replace(made, **more)
