"""Agents can run what they are gated by: what its checks need is in their workspaces."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GateGround
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import GitError
from windlass.core.policy.tool_calls import ToolCall
from windlass.daemon.gate import agent_layers
from windlass.daemon.policy import decisions
from windlass.daemon.states import reports

SETUP = """
set -e
mkdir -p deps packages/a/modules
echo one >deps/one; echo two >deps/two; ln -s one deps/link; pwd >deps/where
echo kept >"$HOME/kept"
echo more >packages/a/modules/more
"""
CHECK = "test two = $(cat deps/two) && test -e packages/a/modules/more && sh ./count.sh"
CONFIG = f"""
[gate]
setup = "sh ./setup.sh"
setup_network = false
deps = ["deps", "**/modules"]
commands = ["{CHECK}"]
"""
FILES = {
    **CODE,
    "setup.sh": SETUP,
    "count.sh": "ls deps | wc -l\n",
    "packages/a/file": "",
    ".windlass/config.toml": CONFIG,
}


@pytest.fixture
def ground(workshop: Workshop, tmp_path: Path) -> GateGround:
    """A repository whose gate has a setup."""
    return gate_ground.make(workshop.context, tmp_path / "shop", FILES)


def start(workshop: Workshop, ground: GateGround, name: str, level: str) -> dict[str, Any]:
    """Starts an agent; what the person is told of it."""
    asked = {"goal": "g", "name": name, "driver": "standin", "isolation": level}
    return dict(workshop.ask("spawn", cwd=str(ground.root), **asked))


def run(workshop: Workshop, ground: GateGround, line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line as `wl exec fox -- sh -c LINE` does."""
    place = workshop.ask("place", cwd=str(ground.root), agent="fox")
    words = [*place["box"], "/bin/sh", "-c", line]
    env: dict[str, str] | None = {} if place["box"] else None
    cwd = place["path"]
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def kept(workshop: Workshop, ground: GateGround, agent: Agent) -> list[str]:
    """Ends an agent; the names of its files that were kept and are not the base's."""
    workshop.ask("end", cwd=str(ground.root), agents=["fox"], force=True)
    *_, ref = git(ground.root, "for-each-ref", "--format=%(refname)", "refs/windlass/trash").split()
    names = git(ground.root, "ls-tree", "-r", "--name-only", ref).split()
    files = {name.removeprefix("files/") for name in names if name.startswith("files/")}
    return sorted(files - set(git(ground.root, "ls-tree", "-r", "--name-only", agent.base).split()))


def test_a_boxed_agent_can_run_the_gates_command_at_once(
    workshop: Workshop, ground: GateGround
) -> None:
    """Where main is green, it is: with a layer that is made for it, at the gate's own path."""
    made = start(workshop, ground, "fox", "box")
    assert made["lacks"] == ""
    done = run(workshop, ground, CHECK)
    assert (done.returncode, done.stdout.strip()) == (0, "4"), done
    look = 'cat deps/where "$HOME/kept" /windlass/home/kept; ls /windlass/tree'
    seen = run(workshop, ground, look)
    assert seen.stdout.split()[:3] == ["/windlass/tree", "kept", "kept"]
    assert "calc.py" in seen.stdout
    clean = run(workshop, ground, "git status --porcelain")
    assert clean.stdout == "", "it would be committed by mistake"


def test_it_is_none_of_the_agents_work_until_it_is_changed(
    workshop: Workshop, ground: GateGround
) -> None:
    """Neither counted nor kept; what it changes and adds there is."""
    made = start(workshop, ground, "fox", "box")
    agent = workshop.agent(made["uid"])
    assert reports.uncommitted(workshop.context, agent).files == 0
    run(workshop, ground, "echo mine >deps/one; echo new >deps/new; echo work >work.txt")
    assert set(reports.uncommitted(workshop.context, agent).names) == {
        "deps/new",
        "deps/one",
        "work.txt",
    }
    assert kept(workshop, ground, agent) == ["deps/new", "deps/one", "work.txt"]


def test_an_agent_that_comes_back_has_it_as_a_new_one_has(
    workshop: Workshop, ground: GateGround
) -> None:
    """And its work in there as it was, which is its work still."""
    made = start(workshop, ground, "fox", "box")
    agent = workshop.agent(made["uid"])
    run(workshop, ground, "echo mine >deps/one; echo new >deps/new; echo work >work.txt")
    mine = ["deps/new", "deps/one", "work.txt"]
    assert kept(workshop, ground, agent) == mine
    done = workshop.ask("undo", cwd=str(ground.root))
    assert [each["id"] for each in done["restored"]] == ["fox"]
    assert done["notes"] == []
    ran = run(workshop, ground, f"{CHECK} && cat deps/one deps/new deps/where")
    assert ran.stdout.split() == ["5", "mine", "new", "/windlass/tree"], ran
    assert set(reports.uncommitted(workshop.context, agent).names) == set(mine)
    assert kept(workshop, ground, agent) == mine


def test_without_a_box_the_gates_setup_is_the_workspaces(
    workshop: Workshop, ground: GateGround
) -> None:
    """Once the person has accepted it: it runs outside of a box."""
    made = start(workshop, ground, "fox", "hooks")
    assert not (Path(made["workspace"]) / "deps").exists()
    workshop.ask("end", cwd=str(ground.root), agents=["fox"], force=True)
    home = workshop.context.folders.home
    (home / "config.toml").write_text(CONFIG)
    made = start(workshop, ground, "fox", "hooks")
    agent = workshop.agent(made["uid"])
    assert run(workshop, ground, CHECK).returncode == 0
    assert reports.uncommitted(workshop.context, agent).files == 0
    assert kept(workshop, ground, agent) == []


def test_where_it_cannot_be_made_the_agent_starts_all_the_same_and_it_is_told(
    workshop: Workshop, ground: GateGround
) -> None:
    """With the reason."""
    ground.commit({"setup.sh": "echo wrong; exit 3\n"})
    made = start(workshop, ground, "fox", "box")
    assert "gate.setup ended with 3" in made["lacks"]


def test_a_link_or_a_file_of_the_trees_own_is_left_alone(
    workshop: Workshop, ground: GateGround, tmp_path: Path
) -> None:
    """What an agent begins with may lead anywhere, and a dependency is not put there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ground.git("checkout", "-q", "-b", "odd")
    ground.git("rm", "-rq", "packages")
    (ground.root / "packages").symlink_to(elsewhere)
    (ground.root / "deps").write_text("a file\n")
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "odd")
    made = start(workshop, ground, "fox", "box")
    assert list(elsewhere.iterdir()) == []
    assert (Path(made["workspace"]) / "deps").read_text() == "a file\n"


def test_workers_are_told_the_gates_commands_and_may_run_them(
    workshop: Workshop, ground: GateGround
) -> None:
    """Those of the target, whatever stands in the checkout."""
    (workshop.context.folders.home / "config.toml").write_text(CONFIG)
    (ground.root / ".windlass" / "config.toml").write_text("")
    made = start(workshop, ground, "fox", "hooks")
    agent = workshop.agent(made["uid"])
    told = workshop.context.folders.instructions(agent.uid).read_text()
    assert f"`{CHECK}`" in told
    call = ToolCall(tool="Bash", input={"command": CHECK}, cwd=agent.workspace)
    assert decisions.decide_for_agent(workshop.context, agent, call).verdict == "allow"


@pytest.mark.parametrize("made", ["link", "pipe", "folder that is a link"])
def test_what_git_leaves_alone_is_written_into_the_clone_and_nowhere_else(
    tmp_path: Path, made: str
) -> None:
    """The git folder may have come back from the trash, as its agent left it."""
    workspace, outside = tmp_path / "fox", tmp_path / "outside"
    (workspace / ".git").mkdir(parents=True)
    outside.mkdir()
    info = workspace / ".git" / "info"
    if made == "folder that is a link":
        info.symlink_to(outside)
        with pytest.raises(GitError):
            agent_layers.exclude(workspace, ["deps"])
    else:
        info.mkdir()
        if made == "pipe":
            os.mkfifo(info / "exclude")
        else:
            (info / "exclude").symlink_to(outside / "exclude")
        agent_layers.exclude(workspace, ["deps"])
        agent_layers.exclude(workspace, ["more"])
        lines = (info / "exclude").read_text().splitlines()
        assert [line for line in lines if line[0] == "/"] == ["/deps", "/more"]
    assert list(outside.iterdir()) == []
