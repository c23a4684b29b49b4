"""A wrong configuration stops what would begin by it, and nothing that has begun or must end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import ConfigError
from windlass.core.states import State
from windlass.daemon.kernel import settings


@pytest.fixture
def fox(workshop: Workshop) -> Agent:
    """An agent that has begun to work."""
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    agent = workshop.agent(made["uid"])
    session = workshop.session(agent)
    session.hook("SessionStart", source="startup", session_id=agent.conversation)
    session.hook("PreToolUse", tool_name="Write")
    assert workshop.state(agent) is State.RUNNING
    return agent


def users(workshop: Workshop) -> Path:
    return workshop.context.folders.home / "config.toml"


def projects(workshop: Workshop) -> Path:
    path = workshop.repo / settings.PROJECT_FILE
    path.parent.mkdir(exist_ok=True)
    return path


FILES = pytest.mark.parametrize("file", [users, projects])
WRONG = pytest.mark.parametrize("text", ["drvier = 1\n", "max_agents = 'many'\n", "[[["])


@FILES
@WRONG
def test_an_agent_is_ended_and_that_something_was_passed_over_is_said(
    workshop: Workshop, fox: Agent, file: Callable[[Workshop], Path], text: str
) -> None:
    (Path(fox.workspace) / "draft.txt").write_text("not yet\n")
    file(workshop).write_text(text)
    done = workshop.ask("end", agents=["fox"])
    assert done["ended"][0]["trash"]["summary"]["untracked"] == 1
    assert workshop.agent(fox.uid).ended_at is not None
    (note,) = done["notes"]
    assert note.startswith(f"passed over in the configuration: {file(workshop)}")


@FILES
@WRONG
def test_a_merge_is_refused_before_anything_is_touched(
    workshop: Workshop, fox: Agent, file: Callable[[Workshop], Path], text: str
) -> None:
    git(Path(fox.workspace), "commit", "-q", "--allow-empty", "-m", "work")
    before = git(workshop.repo, "rev-parse", "main")
    file(workshop).write_text(text)
    with pytest.raises(ConfigError, match=str(file(workshop))):
        workshop.ask("merge", agent="fox")
    assert workshop.session(fox).alive
    assert git(workshop.repo, "rev-parse", "main") == before


def test_a_merge_that_brings_in_a_wrong_configuration_goes_to_its_end_by_the_one_before(
    workshop: Workshop, fox: Agent
) -> None:
    brought = Path(fox.workspace) / settings.PROJECT_FILE
    brought.parent.mkdir()
    brought.write_text("drvier = 1\n")
    git(Path(fox.workspace), "add", "-A")
    git(Path(fox.workspace), "commit", "-q", "-m", "configures")
    done = workshop.ask("merge", agent="fox")
    assert workshop.agent(fox.uid).ended_at is not None
    assert projects(workshop).read_text() == "drvier = 1\n"
    (note,) = done["notes"]
    assert "unknown key 'drvier'" in note


def test_a_merge_salvages_by_the_caps_of_when_it_began(workshop: Workshop, fox: Agent) -> None:
    brought = Path(fox.workspace) / settings.PROJECT_FILE
    brought.parent.mkdir()
    brought.write_text("[trash]\nignored_files = 0\n")
    (Path(fox.workspace) / ".gitignore").write_text("*.log\n")
    git(Path(fox.workspace), "add", "-A")
    git(Path(fox.workspace), "commit", "-q", "-m", "configures")
    (Path(fox.workspace) / "run.log").write_text("ran\n")
    (ended,) = workshop.ask("merge", agent="fox")["ended"]
    assert ended["trash"]["summary"]["ignored"] == 1


@FILES
def test_a_wrong_key_keeps_nobody_from_sending_and_resuming(
    workshop: Workshop, fox: Agent, file: Callable[[Workshop], Path]
) -> None:
    workshop.converse(fox, "g")
    file(workshop).write_text("drvier = 1\n")
    workshop.ask("send", agent="fox", text="hello")
    workshop.ask("send", agent="worker", text="hello")
    workshop.ask("pause", agent="fox")
    assert workshop.ask("resume", agent="fox")["session"] == 2


@pytest.mark.parametrize("text", ["isolation = 'requird'\n", "[budget]\nrepo = 'ten'\n", "[[["])
def test_what_a_session_must_know_before_it_resumes_refuses_that_where_it_is_wrong(
    workshop: Workshop, fox: Agent, text: str
) -> None:
    workshop.converse(fox, "g")
    workshop.ask("pause", agent="fox")
    projects(workshop).write_text(text)
    with pytest.raises(ConfigError, match=str(projects(workshop))):
        workshop.ask("resume", agent="fox")
    assert workshop.agent(fox.uid).state is State.PAUSED
