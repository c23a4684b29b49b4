"""What becomes of the changes of agents that have ended, and of these when something comes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import BROKEN, CODE
from tests.daemon.landing.crew_ground import CrewGround
from tests.support.workshop import Workshop, git

from windlass.api.daemon_record import EMERGENCY
from windlass.core.states import State


@pytest.fixture
def crew(workshop: Workshop) -> CrewGround:
    """Nobody is there yet."""
    return CrewGround(workshop)


def tickets(crew: CrewGround, name: str) -> list[str]:
    """What an agent was told of its changes."""
    inbox = crew.workshop.ask("inbox", agent=name)
    return [m["text"] for m in inbox if (m["topic"] or "").startswith("change:")]


def notices(crew: CrewGround) -> list[str]:
    """What the person was told by Windlass itself, the newest last."""
    events = crew.workshop.ask("log", last=1000)
    return [e["data"]["text"] for e in events if e["kind"] == "notice.posted"]


def test_who_has_ended_is_brought_back_for_its_ticket_and_mends_what_it_had(
    crew: CrewGround,
) -> None:
    """With its branch, its workspace and what it had not committed; then it lands by itself."""
    crew.workshop.ask("config.set", config_key="landing.review", value="none", user=True)
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    (Path(fox.workspace) / "later.txt").write_text("later\n")
    crew.workshop.ask("submit", change="fox")
    crew.workshop.ask("end", agents=["fox"])
    assert not crew.lives(fox)
    crew.settle()
    assert (crew.change("c1")["state"], crew.lives(fox)) == ("rejected", True)
    assert (Path(fox.workspace) / "later.txt").read_text() == "later\n"
    (ticket,) = tickets(crew, "fox")
    assert "You had ended, and are back to mend it" in ticket
    assert "test_adds" in ticket
    assert crew.workshop.agent(fox.uid).session == fox.session + 1, "it works on it"
    crew.commit(fox, {"calc.py": CODE["calc.py"] + "# mended\n"})
    crew.complete(fox)
    crew.settle()
    assert (crew.change("c1")["state"], crew.change("c1")["revision"]) == ("landed", 2)


def test_whose_name_is_in_use_is_not_brought_back_and_the_person_is_told(crew: CrewGround) -> None:
    """Its change waits for the person; the other one hears nothing of it."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    crew.workshop.ask("submit", change="fox")
    crew.workshop.ask("end", agents=["fox"])
    other = crew.worker("fox")
    crew.settle()
    assert (crew.lives(fox), crew.lives(other)) == (False, True)
    assert tickets(crew, "fox") == []
    said = notices(crew)[-1]
    assert "c1 of fox did not land" in said
    assert "cannot be brought back: the name fox is in use by now" in said
    unfinished = crew.workshop.ask("unfinished", cwd=str(crew.root))
    assert unfinished["waiting"] == ["c1"]


def emergency(crew: CrewGround) -> None:
    """`wl estop`, now."""
    context = crew.workshop.context
    path, now = context.folders.home / EMERGENCY, context.clock.now()
    path.touch()
    os.utime(path, (now, now))


@pytest.mark.parametrize("how", ["nuke", "no trash", "too many", "estop"])
def test_nobody_is_brought_back_whom_nobody_expects(crew: CrewGround, how: str) -> None:
    """The person is told why, and what to type."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    crew.workshop.ask("submit", change="fox")
    crew.workshop.ask("end", agents=["fox"], tree=how == "nuke")
    if how == "no trash":
        refs = git(crew.root, "for-each-ref", "--format=%(refname)", "refs/windlass/trash/")
        for ref in refs.split():
            git(crew.root, "update-ref", "-d", ref)
    if how == "too many":
        crew.workshop.ask("config.set", config_key="max_agents", value="1", user=True)
        crew.worker("owl")
    if how == "estop":
        emergency(crew)
    crew.settle()
    assert crew.change("c1")["state"] == "rejected"
    assert not crew.lives(fox)
    assert "fox cannot be brought back: " in notices(crew)[-1]


def test_a_session_that_an_emergency_ended_is_not_begun_again(crew: CrewGround) -> None:
    """It has its ticket; who goes on after `wl estop` is the person's to say."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    crew.workshop.ask("submit", change="fox")
    emergency(crew)
    crew.workshop.session(fox).end(137)
    assert crew.workshop.state(fox) is State.STOPPED
    crew.settle()
    assert len(tickets(crew, "fox")) == 1
    assert crew.workshop.agent(fox.uid).session == fox.session
    assert "fox has a ticket and cannot be resumed: `wl estop`" in notices(crew)[-1]


def test_a_draft_goes_with_its_author_and_comes_back_with_it(crew: CrewGround) -> None:
    """What nobody will propose waits for nobody; `wl undo` brings back both."""
    fox = crew.worker("fox", land=True)
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("end", agents=["fox"])
    crew.settle()
    dropped = crew.change("c1")
    assert (dropped["state"], dropped["why"]) == ("dropped", "fox ended before it proposed this")
    assert notices(crew)[-1] == "fox's draft c1 is dropped with it: wl undo brings both back"
    crew.workshop.ask("undo")
    crew.settle()
    assert crew.change("c1")["state"] == "draft"
    crew.workshop.ask("drop", change="c1")
    crew.workshop.ask("end", agents=["fox"])
    crew.workshop.ask("undo")
    crew.settle()
    assert crew.change("c1")["state"] == "dropped", "the person has dropped it"


def test_what_was_proposed_lands_by_its_head_though_its_author_has_ended(crew: CrewGround) -> None:
    """Its branch is gone; the person was told so, and what happens if it comes back."""
    fox = crew.worker("fox")
    head = crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    crew.workshop.ask("end", agents=["fox"])
    git(crew.root, "reflog", "expire", "--expire=now", "--all")
    git(crew.root, "gc", "-q", "--prune=now")
    crew.settle()
    assert crew.change("c1")["state"] == "landed"
    assert head in git(crew.root, "log", "-1", "--format=%P", "main")
    (told,) = [said for said in notices(crew) if "c1" in said]
    assert "fox's change c1 lands as it is, and brings fox back if it cannot" in told


def test_what_its_author_left_unmended_waits_for_the_person(crew: CrewGround) -> None:
    """Nothing else would become of it."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    crew.workshop.ask("submit", change="fox")
    crew.settle()
    assert crew.workshop.ask("unfinished", cwd=str(crew.root))["waiting"] == []
    crew.workshop.ask("end", agents=["fox"])
    crew.settle()
    assert crew.workshop.ask("unfinished", cwd=str(crew.root))["waiting"] == ["c1"]
    assert notices(crew)[-1] == "fox ended before it mended c1: wl show c1"


def test_after_so_many_attempts_it_waits_for_the_person(crew: CrewGround) -> None:
    """And the agent is not asked once more."""
    crew.workshop.ask("config.set", config_key="landing.review", value="none", user=True)
    crew.workshop.ask("config.set", config_key="landing.max_attempts", value="2", user=True)
    fox = crew.worker("fox")
    for attempt in (1, 2):
        crew.commit(fox, {**BROKEN, "n.py": f"n = {attempt}\n"})
        crew.workshop.ask("submit", change="fox")
        crew.settle()
        assert crew.change("c1")["attempts"] == attempt
    assert len(tickets(crew, "fox")) == 1
    assert "c1 of fox came back 2 times and waits for you" in notices(crew)[-1]
    assert crew.workshop.ask("unfinished", cwd=str(crew.root))["waiting"] == ["c1"]


def test_a_ticket_says_on_what_it_was_tried_and_what_landed_where_it_conflicts(
    crew: CrewGround,
) -> None:
    """That is what its author has to look at."""
    fox, owl = (crew.worker(name) for name in ("fox", "owl"))
    for agent in (fox, owl):
        crew.commit(agent, {"more.py": f"more = '{agent.id}'\n"})
        crew.workshop.ask("submit", change=agent.id)
    crew.settle()
    ticket = crew.change("c2")["ticket"]
    (landed,) = ticket["landed"]
    assert landed.startswith(crew.main()[:10])
    assert "agent/fox: do fox" in landed
    assert ticket["base"] == crew.main()
    assert landed in tickets(crew, "owl")[0]
