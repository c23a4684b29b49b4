"""Nothing that a queue does moves a branch, or ends an agent, that something halted is about."""

from __future__ import annotations

from typing import Any

import pytest
from tests.daemon.landing.crew_ground import CrewGround
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import REPO
from tests.support.workshop import Workshop

from windlass.core.errors import Conflict
from windlass.core.ids import RepoId
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing


def halt(store: Any, repo: RepoId, *, branch: str = "", agents: tuple[str, ...] = ()) -> None:
    """Something moved a branch, or was at work on agents, and no daemon survived it."""
    kept = {"branch": branch, "agents": list(agents)}
    error = {"kind": "conflict", "message": "merge is halted", "hint": "`wl retry k`"}
    intent = Intent(
        id="k", kind="merge", repo=repo, caller=None, data={"set_aside": kept}, step=0,
        status="halted", created_at=0.0, updated_at=0.0, tries=3, error=error,
    )  # fmt: skip
    store.write(lambda writing: rows.add_intent(writing, intent))


def decide(store: Any) -> None:
    """The person has decided."""

    def change(writing: Writing) -> None:
        rows.change_intent(writing, "k", status="failed")

    store.write(change)


@pytest.fixture
def crew(workshop: Workshop) -> CrewGround:
    """Nobody is there yet."""
    return CrewGround(workshop)


def test_a_halted_branch_is_moved_by_no_landing_before_the_person_has_decided(
    ground: LandingGround,
) -> None:
    """Where it is, nobody knows for sure; the change says what to type."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    before = ground.git("rev-parse", "main")
    halt(ground.context.store, REPO, branch="main")
    name = ground.submit("mine")
    ground.settle()
    assert ground.git("rev-parse", "main") == before
    shown = ground.change(name)
    assert (shown["state"], "merge is halted" in shown["why"]) == ("held", True)
    decide(ground.context.store)
    ground.judge("change.retry", name)
    ground.settle()
    assert ground.change(name)["state"] == "landed"


def test_an_agent_with_something_halted_is_not_ended_by_what_landed(crew: CrewGround) -> None:
    """What is attached to it is the person's to decide."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    halt(crew.workshop.context.store, fox.repo, branch="other", agents=(fox.uid,))
    crew.settle()
    shown = crew.change("c1")
    assert (shown["state"], crew.lives(fox)) == ("landed", True)
    assert shown["why"].startswith("fox could not be ended: merge of fox is halted")
    told = [event["data"].get("text", "") for event in crew.workshop.ask("log", last=100)]
    assert f"c1 has landed: {shown['why']}" in told


def test_a_halted_branch_is_not_taken_back_to_where_it_was(crew: CrewGround) -> None:
    """`wl undo c1` says why, and what to type."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    crew.settle()
    landed = crew.main()
    halt(crew.workshop.context.store, fox.repo, branch="main")
    with pytest.raises(Conflict, match="merge is halted"):
        crew.workshop.ask("change.undo", change="c1")
    assert crew.main() == landed
