"""Merges through the service: what an earlier one left, and what is told when only half is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import Conflict, GitError, Internal, Unavailable, WindlassError
from windlass.daemon.agents import endings
from windlass.daemon.agents.removal import Removals
from windlass.daemon.kernel import repos
from windlass.daemon.launch import boxes
from windlass.git import checkout, merges, runner
from windlass.git.environment import Dirs


class Killed(BaseException):
    """Stands for kill -9."""


def worker(workshop: Workshop, name: str, *, isolation: str = "hooks") -> Agent:
    """An agent that is there."""
    made = workshop.ask("spawn", goal="g", name=name, driver="standin", isolation=isolation)
    return workshop.agent(made["uid"])


def commit(agent: Agent, name: str) -> None:
    """Has an agent commit a file."""
    folder = Path(agent.workspace)
    (folder / name).write_text("work\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", f"writes {name}")


def begin_with_a_file(workshop: Workshop) -> None:
    """Has main hold a file before there is any agent."""
    (workshop.repo / "kept.txt").write_text("old\n")
    git(workshop.repo, "add", "-A")
    git(workshop.repo, "commit", "-q", "-m", "keeps")


def killed_merge(workshop: Workshop, agent: Agent, into: str, box: list[str]) -> None:
    """A merge whose daemon died after git had moved the files, and before the index."""
    repo = repos.git(repos.by_id(workshop.context, agent.repo))
    plan = merges.prepare(
        repo,
        source=agent.branch or "",
        target_branch=into,
        message="Merge\n",
        author=("Ann", "ann@example.org"),
        time=1,
    )

    def die(_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windlass.git.checkout.Follower._publish", die)
        with pytest.raises(Killed):
            merges.apply(repo, plan, box=box)


def test_a_merge_puts_a_checkout_right_that_another_one_left_half_moved(
    workshop: Workshop,
) -> None:
    begin_with_a_file(workshop)
    fox, owl = worker(workshop, "fox"), worker(workshop, "owl")
    commit(fox, "kept.txt")
    commit(fox, "fox.txt")
    commit(owl, "owl.txt")
    killed_merge(workshop, fox, "main", [])
    assert git(workshop.repo, "status", "--porcelain") != ""
    workshop.ask("merge", agent="owl")
    assert git(workshop.repo, "status", "--porcelain") == ""
    assert (workshop.repo / "kept.txt").read_text() == "old\n"
    workshop.ask("merge", agent="fox")
    assert git(workshop.repo, "status", "--porcelain") == ""
    assert (workshop.repo / "kept.txt").read_text() == "work\n"


def test_a_merge_puts_a_boxed_agents_clone_right_that_another_one_left_half_moved(
    workshop: Workshop,
) -> None:
    begin_with_a_file(workshop)
    boss = worker(workshop, "boss", isolation="box")
    fox, owl = worker(workshop, "fox"), worker(workshop, "owl")
    commit(fox, "kept.txt")
    commit(fox, "fox.txt")
    commit(owl, "owl.txt")
    clone = Path(boss.workspace)
    killed_merge(workshop, fox, boss.branch or "", boxes.changing_prefix(workshop.context, boss))
    assert (clone / "fox.txt").exists()
    workshop.ask("merge", agent="owl", into="boss")
    assert git(clone, "status", "--porcelain") == ""
    assert not (clone / "fox.txt").exists()
    assert (clone / "owl.txt").exists()
    assert (clone / "kept.txt").read_text() == "old\n"


def test_git_looks_at_the_clone_that_is_merged_into_in_a_box(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent can keep git waiting there, and wrote the objects that it reads."""
    boss, fox = worker(workshop, "boss", isolation="box"), worker(workshop, "fox")
    commit(fox, "fox.txt")
    looked: list[bool] = []

    def run(*args: Any, dirs: Dirs, **more: Any) -> Any:
        if dirs.work_tree == boss.workspace:
            looked.append(bool(dirs.box))
        return runner.run(*args, dirs=dirs, **more)

    monkeypatch.setattr(checkout, "run", run)
    (Path(boss.workspace) / "kept.txt").write_text("not committed\n")
    git(Path(boss.workspace), "add", "kept.txt")
    with pytest.raises(Conflict, match=r"uncommitted changes in kept\.txt"):
        workshop.ask("merge", agent="fox", into="boss")
    assert looked
    assert all(looked)


def file_for_the_archive(workshop: Workshop, agent: Agent, _: pytest.MonkeyPatch) -> None:
    assert agent.uid
    workshop.context.folders.archive.write_text("in the way\n")


def full_disk(workshop: Workshop, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    assert workshop.agent(agent.uid)
    monkeypatch.setattr(
        endings, "_new_file", lambda _: os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb")
    )


@pytest.mark.parametrize(
    ("spoil", "kind"), [(file_for_the_archive, Internal), (full_disk, Unavailable)]
)
def test_whatever_keeps_an_agent_from_being_ended_it_is_told_that_it_is_merged(
    workshop: Workshop,
    monkeypatch: pytest.MonkeyPatch,
    spoil: object,
    kind: type[WindlassError],
) -> None:
    fox = worker(workshop, "fox")
    commit(fox, "fox.txt")
    assert callable(spoil)
    spoil(workshop, fox, monkeypatch)
    with pytest.raises(kind, match=r"is merged into main, but fox could not be ended") as told:
        workshop.ask("merge", agent="fox")
    assert told.value.hint.endswith("; what is left to do is wl kill fox")
    assert (workshop.repo / "fox.txt").exists()


def test_what_is_left_to_do_is_told_also_where_there_is_no_other_hint(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GitError("no")

    commit(worker(workshop, "fox"), "fox.txt")
    monkeypatch.setattr(Removals, "keep", fail)
    with pytest.raises(GitError, match="is merged into main") as told:
        workshop.ask("merge", agent="fox")
    assert told.value.hint == "what is left to do is wl kill fox"
