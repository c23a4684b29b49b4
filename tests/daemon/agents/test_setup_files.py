"""What a workspace's setup left is not an agent's work, until somebody changes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.daemon.agents.test_merge import commit, worker
from tests.support.workshop import WITHOUT_A_GATE, Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.daemon.states import reports

SETUP = "mkdir -p made; echo 1 > made/left.txt; ln -s left.txt made/link; echo set >> kept.txt"
LEFT = ["kept.txt", "made/left.txt", "made/link"]


@pytest.fixture
def fox(workshop: Workshop) -> Agent:
    """An agent whose setup left files that git sees, and changed one of the project's."""
    (workshop.repo / "kept.txt").write_text("old\n")
    git(workshop.repo, "add", "-A")
    git(workshop.repo, "commit", "-q", "-m", "keeps")
    home = workshop.context.folders.home
    (home / "config.toml").write_text(f'{WITHOUT_A_GATE}[workspace]\nsetup = "{SETUP}"\n')
    agent = worker(workshop, "fox")
    (Path(agent.workspace) / "work.txt").write_text("work\n")
    git(Path(agent.workspace), "add", "work.txt")
    git(Path(agent.workspace), "commit", "-q", "-m", "works")
    return agent


def test_it_is_neither_counted_nor_in_the_way_of_a_merge(workshop: Workshop, fox: Agent) -> None:
    assert reports.uncommitted(workshop.context, fox).files == 0
    (seen,) = workshop.ask("status", agent="fox")["agents"]
    assert seen["work"]["clean"]
    assert seen["work"]["setup"] == LEFT
    assert workshop.ask("merge-check", agent="fox")["problems"] == []
    workshop.ask("merge", agent="fox")
    assert (workshop.repo / "work.txt").exists()


def test_it_is_still_not_when_the_agent_comes_back_from_the_trash(
    workshop: Workshop, fox: Agent
) -> None:
    workshop.ask("end", agents=[fox.id], force=True)
    workshop.ask("undo")
    (seen,) = workshop.ask("status", agent="fox")["agents"]
    assert seen["work"]["setup"] == LEFT


@pytest.mark.parametrize("name", LEFT)
def test_what_is_changed_is_the_agents_and_the_merge_waits_for_it(
    workshop: Workshop, fox: Agent, name: str
) -> None:
    path = Path(fox.workspace) / name
    before = path.lstat()
    if path.is_symlink():
        path.unlink()
        path.symlink_to("else.txt")
    else:
        path.write_text(path.read_text().replace("1", "2").replace("set", "SET"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reports.uncommitted(workshop.context, fox).names == (name,)
    with pytest.raises(Conflict, match=name):
        workshop.ask("merge", agent="fox")


def test_a_file_of_the_agents_own_beside_it_counts(workshop: Workshop, fox: Agent) -> None:
    (Path(fox.workspace) / "made" / "more.txt").write_text("mine\n")
    assert reports.uncommitted(workshop.context, fox).names == ("made/more.txt",)


def test_a_pipe_or_a_link_in_its_place_is_looked_at_and_not_opened(
    workshop: Workshop, fox: Agent
) -> None:
    made = Path(fox.workspace) / "made"
    (made / "left.txt").unlink()
    os.mkfifo(made / "left.txt")
    assert "made/left.txt" not in workshop.ask("status", agent="fox")["agents"][0]["work"]["setup"]
    os.rename(made, made.with_name("moved"))  # noqa: PTH104 - one step
    made.symlink_to("moved")
    work = workshop.ask("status", agent="fox")["agents"][0]["work"]
    assert work["setup"] == ["kept.txt"]
    assert "made" in work["untracked"]


def test_without_a_setup_nothing_is_excused(workshop: Workshop) -> None:
    owl = worker(workshop, "owl")
    commit(owl, "owl.txt")
    (Path(owl.workspace) / "left.txt").write_text("mine\n")
    assert reports.uncommitted(workshop.context, owl).names == ("left.txt",)
