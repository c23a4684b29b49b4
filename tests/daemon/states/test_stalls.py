"""Agents that cannot go on by themselves: who is told, once, and with which line."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.contexts import NoSockets, Turned
from tests.support.workshop import Workshop

from windlass.core import events
from windlass.core.crew import Agent
from windlass.core.errors import Unavailable
from windlass.core.events import BranchMoved, NoticePosted, PolicyDecision
from windlass.core.mail import messages
from windlass.core.mail.stalls import LONG
from windlass.core.states import State
from windlass.daemon.launch.commit_fetcher import FailedFetch
from windlass.daemon.services import Services
from windlass.store import mailbox, rows
from windlass.store.store import Writing


@pytest.fixture
def lead(workshop: Workshop) -> Agent:
    return spawned(workshop, "lead", role="manager")


@pytest.fixture
def fox(workshop: Workshop, lead: Agent) -> Agent:
    """A worker below the manager, at work."""
    return spawned(workshop, "fox", parent=lead.id)


def spawned(workshop: Workshop, name: str, **more: Any) -> Agent:
    made = workshop.ask(
        "spawn", goal="g", name=name, driver="standin", isolation="hooks", mode="live", **more
    )
    agent = workshop.agent(made["uid"])
    workshop.session(agent).hook("SessionStart", source="startup", session_id=agent.conversation)
    workshop.session(agent).hook("UserPromptSubmit")
    assert workshop.state(agent) is State.RUNNING
    return agent


def denied(workshop: Workshop, agent: Agent, command: str, tool: str = "Bash") -> None:
    denial = PolicyDecision(
        by="daemon",
        hook="PreToolUse",
        reason=f"{command} is not allowed",
        tool_name=tool,
        tool_input={"command": command},
        cwd=agent.workspace,
    )
    workshop.context.store.write(lambda w: w.emit(denial, repo=agent.repo, agent=agent.uid))


def rests(workshop: Workshop, agent: Agent, said: str = "I may not.") -> None:
    workshop.session(agent).hook("Stop", last_assistant_message=said)
    assert workshop.state(agent) is State.WAITING


def to_manager(workshop: Workshop, lead: Agent, about: Agent) -> list[str]:
    inbox = workshop.context.store.read(lambda c: mailbox.inbox(c, recipient=lead.uid))
    return [one.body for one in inbox if one.topic == messages.stall_of(about.uid)]


def to_person(workshop: Workshop, about: Agent) -> list[str]:
    posted = workshop.context.store.read(
        lambda c: rows.events(c, agent=about.uid, kind=NoticePosted.kind)
    )
    texts = [events.read(NoticePosted, event).text for event in posted]
    return [text for text in texts if "To go on" in text]


def test_who_rests_after_a_denial_is_told_of_once(
    workshop: Workshop, lead: Agent, fox: Agent
) -> None:
    denied(workshop, fox, "git push")
    workshop.services.stalls.look()
    assert to_person(workshop, fox) == []
    rests(workshop, fox)
    for _ in range(3):
        workshop.services.stalls.look()
    (notice,) = to_person(workshop, fox)
    assert to_manager(workshop, lead, fox) == [notice]
    assert "git push is not allowed" in notice
    assert 'wl send fox "..."' in notice
    assert "wl denials fox numbers what was denied, and with --allow N" in notice


def test_it_is_told_again_after_a_denial_in_later_work(
    workshop: Workshop, lead: Agent, fox: Agent
) -> None:
    for command in ("git push", "npm publish"):
        denied(workshop, fox, command)
        rests(workshop, fox)
        workshop.services.stalls.look()
        workshop.session(fox).hook("UserPromptSubmit")
        assert workshop.state(fox) is State.RUNNING
    rests(workshop, fox, "well")
    workshop.services.stalls.look()
    assert len(to_person(workshop, fox)) == 2
    assert "npm publish" in to_manager(workshop, lead, fox)[-1]


def test_who_is_denied_the_same_again_and_again_is_told_of_while_it_works(
    workshop: Workshop, lead: Agent, fox: Agent
) -> None:
    for command in ("npm test", "cargo build", "npm test -- one"):
        denied(workshop, fox, command)
    workshop.services.stalls.look()
    assert to_person(workshop, fox) == []
    denied(workshop, fox, "npm test -- two")
    workshop.services.stalls.look()
    (notice,) = to_person(workshop, fox)
    assert "3 times: npm test -- two is not allowed" in notice
    (view,) = [agent for agent in workshop.ask("agents") if agent["id"] == "fox"]
    assert "npm test" in view["denied"]
    rests(workshop, fox)
    workshop.services.stalls.look()
    assert len(to_manager(workshop, lead, fox)) == 1


def test_who_waits_for_others_is_not_told_of(workshop: Workshop, lead: Agent, fox: Agent) -> None:
    """What becomes of them sets it going."""
    assert workshop.state(fox) is State.RUNNING
    denied(workshop, lead, "git push")
    rests(workshop, lead, "WAITING")
    workshop.services.stalls.look()
    assert to_person(workshop, lead) == []


def test_a_dialog_that_became_a_question_is_no_stall(workshop: Workshop, fox: Agent) -> None:
    denied(workshop, fox, "which one?", tool="AskUserQuestion")
    rests(workshop, fox)
    workshop.services.stalls.look()
    assert to_person(workshop, fox) == []


def test_a_setup_without_end_is_told_of_once(
    workshop: Workshop, clock: Turned, lead: Agent
) -> None:
    owl = workshop.ask(
        "spawn", goal="g", name="owl", driver="standin", isolation="hooks", parent=lead.id
    )
    owl = workshop.agent(owl["uid"])
    assert workshop.state(owl) is State.CREATING
    workshop.services.stalls.look()
    clock.time += LONG["setup"] - 1
    workshop.services.stalls.look()
    assert to_person(workshop, owl) == []
    clock.time += 1
    workshop.services.stalls.look()
    workshop.services.stalls.look()
    (notice,) = to_person(workshop, owl)
    assert to_manager(workshop, lead, owl) == [notice]
    assert "owl is still being set up" in notice
    assert "wl kill owl" in notice


def test_a_clock_that_is_set_forward_makes_no_stall(workshop: Workshop, lead: Agent) -> None:
    """How long something lasts is not read from the time of day."""
    made = workshop.ask("spawn", goal="g", name="owl", driver="standin", isolation="hooks")
    owl = workshop.agent(made["uid"])
    assert lead.id == "lead"
    workshop.context.store.write(lambda w: rows.change_agent(w, owl.uid, state_at=1.0))
    workshop.services.stalls.look()
    assert to_person(workshop, owl) == []


def test_commits_that_do_not_come_home_are_told_of_once_until_some_do(
    workshop: Workshop, clock: Turned, lead: Agent, fox: Agent
) -> None:
    workshop.context.store.write(lambda w: rows.change_agent(w, fox.uid, isolation="box"))
    error = Unavailable("git was killed", "look at the disk")
    fails = FailedFetch(error, None, clock.now(), 1.0)
    fetcher = workshop.services.fetcher
    fetcher.failures[fox.uid] = fails
    workshop.services.stalls.look()
    assert to_person(workshop, fox) == []
    for _ in range(2):
        clock.time += LONG["homecoming"]
        workshop.services.stalls.look()
    (notice,) = to_person(workshop, fox)
    assert to_manager(workshop, lead, fox) == [notice]
    assert "cannot bring its commits home: git was killed. To go on: look at the disk" in notice

    def moved(writing: Writing) -> None:
        writing.emit(BranchMoved(id=fox.id, tip="0" * 40), repo=fox.repo, agent=fox.uid)

    del fetcher.failures[fox.uid]
    workshop.context.store.write(moved)
    workshop.services.stalls.look()
    fetcher.failures[fox.uid] = fails
    workshop.services.stalls.look()
    assert len(to_person(workshop, fox)) == 1
    clock.time += LONG["homecoming"]
    workshop.services.stalls.look()
    assert len(to_person(workshop, fox)) == 2


def test_the_next_daemon_does_not_tell_it_again(workshop: Workshop, fox: Agent) -> None:
    denied(workshop, fox, "git push")
    rests(workshop, fox)
    workshop.services.stalls.look()
    Services(workshop.context, NoSockets()).stalls.look()
    assert len(to_person(workshop, fox)) == 1
