"""`wl refresh`: agents at rest are rebased onto what is proven, and nothing of theirs is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.gate.gate_ground import BROKEN
from tests.daemon.landing.crew_ground import CrewGround
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.daemon.kernel import settings
from windlass.store import mailbox


@pytest.fixture
def crew(workshop: Workshop) -> CrewGround:
    """Nobody is there yet."""
    return CrewGround(workshop)


def land(crew: CrewGround, files: dict[str, str], branch: str = "mine") -> str:
    """Lands files by a branch of the person's; where main is then."""
    git(crew.root, "checkout", "-q", "-B", branch, "main")
    crew.write(crew.root, files)
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", branch)
    git(crew.root, "checkout", "-q", "main")
    name = crew.workshop.ask("submit", change=branch)["id"]
    crew.settle()
    assert crew.change(name)["state"] == "landed"
    return crew.main()


def refresh(crew: CrewGround, agent: Agent) -> dict[str, Any]:
    """What `wl refresh` says of one agent."""
    return dict(crew.workshop.ask("refresh", agent=agent.id))


def at(agent: Agent, *words: str) -> str:
    """What git says in an agent's workspace."""
    return git(Path(agent.workspace), *words).strip()


def told(crew: CrewGround, agent: Agent) -> list[str]:
    """What Windlass has said to an agent."""
    ours = partial(mailbox.inbox, recipient=agent.uid, topic="refresh")
    return [message.body for message in crew.workshop.context.store.read(ours)]


def resting(crew: CrewGround, name: str = "api", **more: Any) -> Agent:
    """An agent that has ended its turn."""
    agent = crew.worker(name, **more)
    crew.complete(agent)
    return crew.workshop.agent(agent.uid)


def test_the_commits_of_an_agent_at_rest_are_made_anew_upon_the_proven_tip(
    crew: CrewGround,
) -> None:
    """Author, message and files are as they were; where it was is kept; it is told by mail."""
    agent = resting(crew)
    crew.commit(agent, {"api.py": "api = 1\n"})
    was = crew.commit(agent, {"api.py": "api = 2\n"})
    subjects = at(agent, "log", "-2", "--format=%an %s")
    tip = land(crew, {"more.py": "more = 1\n"})
    done = refresh(crew, agent)
    assert (done["outcome"], done["onto"], done["was"], done["commits"]) == ("rebased", tip, was, 2)
    assert at(agent, "rev-parse", "HEAD") == done["tip"] == at(agent, "rev-parse", "agent/api")
    assert at(agent, "rev-list", "--merges", f"{tip}..HEAD") == ""
    assert at(agent, "rev-parse", "HEAD~2") == tip
    assert at(agent, "log", "-2", "--format=%an %s") == subjects
    assert (Path(agent.workspace) / "more.py").exists()
    assert at(agent, "status", "--porcelain") == ""
    assert at(agent, "rev-parse", done["kept"]) == was
    (text,) = told(crew, agent)
    assert tip[:10] in text
    assert was[:10] in text
    shown = crew.workshop.ask("status", agent="api")
    assert len(shown["agents"][0]["commits"] if "agents" in shown else shown["commits"]) == 2
    again = refresh(crew, agent)
    assert (again["outcome"], again["tip"]) == ("there", done["tip"])
    assert len(told(crew, agent)) == 1


def test_what_was_proven_last_counts_and_not_what_came_after(crew: CrewGround) -> None:
    """A commit that nobody has judged is no ground to stand on."""
    agent = resting(crew)
    tip = land(crew, {"more.py": "more = 1\n"})
    crew.write(crew.root, {"unproven.py": "x = 1\n"})
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", "by hand")
    done = refresh(crew, agent)
    assert (done["outcome"], done["tip"], done["commits"]) == ("rebased", tip, 0)
    assert not (Path(agent.workspace) / "unproven.py").exists()


def test_what_is_proven_is_known_by_its_verdicts_too(crew: CrewGround) -> None:
    """The ref is gone; the newest commit that nobody has judged is no ground all the same."""
    agent = resting(crew)
    tip = land(crew, {"more.py": "more = 1\n"})
    crew.write(crew.root, {"unproven.py": "x = 1\n"})
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", "by hand")
    git(crew.root, "update-ref", "-d", "refs/windlass/green")
    assert refresh(crew, agent)["onto"] == tip


def test_nobody_is_rebased_onto_a_red_target(crew: CrewGround) -> None:
    """It is known to be red, and nothing of it is proven."""
    agent = resting(crew)
    crew.write(crew.root, BROKEN)
    git(crew.root, "commit", "-q", "-am", "by hand")
    git(crew.root, "branch", "other")
    git(crew.root, "checkout", "-q", "other")
    crew.write(crew.root, {"more.py": "more = 1\n"})
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", "more")
    git(crew.root, "checkout", "-q", "main")
    crew.workshop.ask("submit", change="other")
    crew.settle()
    assert crew.change("c1")["state"] == "held"
    done = refresh(crew, agent)
    assert (done["outcome"], done["why"]) == (
        "busy", "the target is red, and no commit of it is proven",
    )  # fmt: skip


def test_whose_change_waits_for_the_person_is_left_alone(crew: CrewGround) -> None:
    """They look at that very revision, and it lands as it is."""
    agent = resting(crew)
    head = crew.commit(agent, {"api.py": "api = 1\n"})
    land(crew, {"more.py": "more = 1\n"})
    name = crew.workshop.ask("submit", change="api")["id"]
    crew.workshop.ask("block", change=name)
    crew.settle()
    done = refresh(crew, agent)
    assert (done["outcome"], done["why"]) == (
        "busy", f"{name} of it is held, and waits as it was proposed",
    )  # fmt: skip
    assert at(agent, "rev-parse", "HEAD") == head


def test_who_is_at_work_is_left_alone(crew: CrewGround) -> None:
    """So is one whose change is in the queue: what is proven would be another commit."""
    agent = resting(crew)
    head = crew.commit(agent, {"api.py": "api = 1\n"})
    land(crew, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="api")
    queued = refresh(crew, agent)
    assert queued["outcome"] == "busy"
    assert "in the queue" in queued["why"]
    crew.workshop.ask("drop", change="api")
    crew.settle()
    crew.workshop.session(agent).hook("UserPromptSubmit", prompt="go on")
    crew.workshop.state(agent)
    done = refresh(crew, agent)
    assert (done["outcome"], done["why"]) == ("busy", "it is running")
    assert at(agent, "rev-parse", "HEAD") == head
    assert told(crew, agent) == []


def test_uncommitted_work_stays_where_it_is(crew: CrewGround) -> None:
    """Whatever it is: nothing is carried over, and nothing moved."""
    agent = resting(crew)
    head = crew.commit(agent, {"api.py": "api = 1\n"})
    land(crew, {"more.py": "more = 1\n"})
    (Path(agent.workspace) / "new.py").write_text("mine\n")
    done = refresh(crew, agent)
    assert done["outcome"] == "uncommitted"
    assert "new.py" in done["why"]
    assert at(agent, "rev-parse", "HEAD") == head
    assert (Path(agent.workspace) / "new.py").read_text() == "mine\n"


@pytest.mark.parametrize("merges", [False, True])
def test_what_conflicts_is_left_untouched(crew: CrewGround, *, merges: bool) -> None:
    """Also where only a merge of the agent's own decided what its commits do not say."""
    agent = resting(crew)
    crew.commit(agent, {"calc.py": "def add(a, b):\n    return b + a\n"})
    if merges:
        land(crew, {"calc.py": "def add(a, b):\n    return sum((a, b))\n"})
        at(agent, "merge", "-q", "-X", "ours", "--no-edit", "main")
        land(crew, {"more.py": "more = 1\n"}, "other")
    else:
        land(crew, {"calc.py": "def add(a, b):\n    return sum((a, b))\n"})
    head = at(agent, "rev-parse", "HEAD")
    done = refresh(crew, agent)
    assert (done["outcome"], done["kept"]) == ("conflict", None), done
    assert done["why"]
    assert at(agent, "rev-parse", "HEAD") == head
    assert at(agent, "status", "--porcelain") == ""


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_who_goes_on_after_it_has_landed_has_its_new_commits_alone(
    crew: CrewGround, method: str
) -> None:
    """What landed of it is not made once more, also where it was squashed."""
    file = crew.workshop.context.folders.home / settings.USER_FILE
    settings.put(file, "landing.method", method)
    agent = resting(crew)
    crew.commit(agent, {"api.py": "api = 1\n"})
    crew.workshop.ask("submit", change="api", keep=True)
    crew.settle()
    land(crew, {"api.py": "api = 2\n"})
    crew.commit(agent, {"web.py": "web = 1\n"})
    done = refresh(crew, agent)
    assert (done["outcome"], done["commits"]) == ("rebased", 1), done
    assert (Path(agent.workspace) / "api.py").read_text() == "api = 2\n"
    assert at(agent, "diff", "--name-only", "main") == "web.py"


def test_a_clone_in_a_box_goes_along(crew: CrewGround) -> None:
    """Its own branch, its files, and the branch here are at the same commit."""
    agent = resting(crew, isolation="box")
    assert agent.isolation == "box"
    was = crew.commit(agent, {"api.py": "api = 1\n"})
    tip = land(crew, {"more.py": "more = 1\n"})
    done = refresh(crew, agent)
    assert (done["outcome"], done["was"], done["onto"]) == ("rebased", was, tip), done
    assert at(agent, "rev-parse", "HEAD") == done["tip"]
    assert git(crew.root, "rev-parse", "agent/api").strip() == done["tip"]
    assert (Path(agent.workspace) / "more.py").exists()
    assert at(agent, "status", "--porcelain") == ""
    head = crew.commit(agent, {"api.py": "api = 3\n"})
    crew.workshop.ask("submit", change="api")
    crew.settle()
    assert git(crew.root, "merge-base", "--is-ancestor", head, "main") == ""


def test_who_works_for_a_manager_follows_that_ones_branch(crew: CrewGround) -> None:
    """Rebased, it would have copies of what its manager has not landed."""
    boss = crew.worker("boss", role="manager")
    child = resting(crew, "child", parent="boss")
    land(crew, {"more.py": "more = 1\n"})
    done = refresh(crew, child)
    assert done["outcome"] == "elsewhere"
    assert boss.id in done["why"]


def test_what_landed_and_was_taken_back_stays_on_the_branch(crew: CrewGround) -> None:
    """Upon the target's tip it would be gone; merged again it lands whole, and then it goes on."""
    agent = resting(crew)
    tip = crew.commit(agent, {"api.py": "api = 1\n"})
    name = crew.workshop.ask("submit", change="api", keep=True)["id"]
    crew.settle()
    land(crew, {"more.py": "more = 1\n"})
    revert = crew.workshop.ask("change.undo", change=name)["id"]
    crew.settle()
    assert crew.change(revert)["state"] == "landed"
    done = refresh(crew, agent)
    assert (done["outcome"], done["tip"]) == ("undone", tip)
    assert f"{name} of it was taken back by {revert}: wl merge api" in done["why"]
    assert (Path(agent.workspace) / "api.py").exists()
    again = crew.workshop.ask("submit", change="api", keep=True)["id"]
    crew.settle()
    assert crew.change(again)["state"] == "landed"
    assert refresh(crew, agent)["outcome"] == "rebased"
    assert (Path(agent.workspace) / "api.py").exists()
