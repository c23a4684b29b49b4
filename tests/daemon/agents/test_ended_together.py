"""Several agents that end or come back together: each by itself, whatever is with another."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import GitError, Internal
from windlass.daemon.kernel.pools import POOLS


def crew(workshop: Workshop, *names: str, isolation: str = "hooks") -> list[Agent]:
    """Agents with a file of their own each."""
    made = []
    for name in names:
        said = workshop.ask("spawn", goal="g", name=name, driver="standin", isolation=isolation)
        made.append(workshop.agent(said["uid"]))
        (Path(made[-1].workspace) / "work.txt").write_text(f"{name}\n")
    return made


def test_one_that_cannot_be_ended_is_told_of_and_the_others_end(workshop: Workshop) -> None:
    fox, owl, elk = crew(workshop, "fox", "owl", "elk")
    git(workshop.repo, "update-ref", "refs/windlass/trash/fox", "HEAD")  # no place for its work
    stuck = workshop.session(owl)
    stuck.unkillable = ("7 cat (disk-sleep)",)
    done = workshop.ask("end", agents=[], tree=True)
    assert [agent["id"] for agent in done["ended"]] == ["elk"]
    why = {agent["id"]: (agent["kind"], agent["message"]) for agent in done["failed"]}
    assert why["fox"][0] == "git"
    assert "7 cat" in why["owl"][1]
    assert [workshop.agent(agent.uid).ended_at is None for agent in (fox, owl, elk)] == [
        True,
        True,
        False,
    ]
    assert (Path(fox.workspace) / "work.txt").exists(), "what cannot be kept is not removed"

    git(workshop.repo, "update-ref", "-d", "refs/windlass/trash/fox")
    stuck.unkillable = ()
    done = workshop.ask("end", agents=[], tree=True)
    assert sorted(agent["id"] for agent in done["ended"]) == ["fox", "owl"]


def test_one_that_cannot_come_back_is_told_of_and_can_be_undone_again(workshop: Workshop) -> None:
    fox, owl = crew(workshop, "fox", "owl")
    workshop.ask("end", agents=["fox", "owl"])
    (kept,) = [entry for entry in workshop.ask("trash") if entry["agent"] == "owl"]
    commit = git(workshop.repo, "rev-parse", kept["ref"]).strip()
    git(workshop.repo, "update-ref", kept["ref"], "HEAD")  # holds no work any more
    done = workshop.ask("undo")
    assert [agent["id"] for agent in done["restored"]] == ["fox"]
    assert [(agent["id"], agent["kind"]) for agent in done["failed"]] == [("owl", "git")]
    assert (Path(fox.workspace) / "work.txt").read_text() == "fox\n"
    assert workshop.agent(owl.uid).ended_at is not None

    git(workshop.repo, "update-ref", kept["ref"], commit)
    done = workshop.ask("undo")
    assert [agent["id"] for agent in done["restored"]] == ["owl"]
    assert (Path(owl.workspace) / "work.txt").read_text() == "owl\n"


def test_a_folder_however_deep_comes_back_with_its_agent(workshop: Workshop) -> None:
    (fox,) = crew(workshop, "fox")
    here = os.open(workshop.context.folders.agent(fox.uid), os.O_RDONLY)
    for _ in range(700):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    workshop.ask("end", agents=["fox"])
    done = workshop.ask("undo")
    assert done["notes"] == []
    place = workshop.context.folders.agent(fox.uid)
    assert not list(place.parent.glob("*.half"))
    assert (place / "/".join(["deep"] * 200)).is_dir()


def test_what_failed_with_one_alone_is_refused(workshop: Workshop) -> None:
    crew(workshop, "fox")
    git(workshop.repo, "update-ref", "refs/windlass/trash/fox", "HEAD")
    with pytest.raises(GitError):
        workshop.ask("end", agents=["fox"])


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Has the system refuse to make a file larger than that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill_folder(workshop: Workshop, agent: Agent) -> None:
    """Has an agent's own folder hold a file that `files_of_at_most` 16 MiB has no place for."""
    with (workshop.context.folders.agent(agent.uid) / "large").open("wb") as file:
        file.truncate(17 << 20)


def things_of(workshop: Workshop, agent: Agent) -> list[str]:
    """What there is of an agent: its workspace, its branch and base, its folder, whole or not."""
    folder = workshop.context.folders.agent(agent.uid)
    places = [Path(agent.workspace), folder, folder.with_suffix(".half")]
    refs = git(workshop.repo, "for-each-ref", "--format=%(refname)").split()
    named = [ref for ref in refs if ref.endswith(f"/{agent.id}")]
    return [str(place) for place in places if place.exists()] + named


@pytest.mark.parametrize("isolation", ["hooks", "box"])
def test_an_agent_whose_folder_cannot_come_back_leaves_nothing_and_can_be_undone_again(
    workshop: Workshop, isolation: str
) -> None:
    (fox,) = crew(workshop, "fox", isolation=isolation)
    fill_folder(workshop, fox)
    workshop.ask("end", agents=["fox"])
    with files_of_at_most(16 << 20), pytest.raises(Internal):
        workshop.ask("undo")
    assert things_of(workshop, fox) == []
    assert workshop.agent(fox.uid).ended_at is not None

    assert [agent["id"] for agent in workshop.ask("undo")["restored"]] == ["fox"]
    assert (Path(fox.workspace) / "work.txt").read_text() == "fox\n"
    assert (workshop.context.folders.agent(fox.uid) / "large").exists()


def test_one_whose_folder_cannot_come_back_keeps_no_other_from_it(workshop: Workshop) -> None:
    fox, owl = crew(workshop, "fox", "owl")
    fill_folder(workshop, owl)
    workshop.ask("end", agents=["fox", "owl"])
    with files_of_at_most(16 << 20):
        done = workshop.ask("undo")
    assert [agent["id"] for agent in done["restored"]] == ["fox"]
    assert [agent["id"] for agent in done["failed"]] == ["owl"]
    assert things_of(workshop, owl) == []
    assert workshop.agent(owl.uid).ended_at is not None
    assert (Path(fox.workspace) / "work.txt").read_text() == "fox\n"


def test_a_crew_that_ends_together_has_all_of_its_work_in_the_trash(workshop: Workshop) -> None:
    """Some at a time: what each has told and kept is recorded once, whoever is done first."""
    names = [f"a{number}" for number in range(9)]
    agents = crew(workshop, *names)
    done = workshop.ask("end", agents=[], tree=True)
    assert [agent["id"] for agent in done["ended"]] == names
    shown = [workshop.ask("trash.show", entries=[one["trash"]["id"]]) for one in done["ended"]]
    paths = [[change["path"] for change in each["contents"]["changes"]] for each in shown]
    assert paths == [["work.txt"]] * len(names)
    for agent in agents:
        told = workshop.ask("log", agent=agent.id, last=1000)
        assert [event["kind"] for event in told].count("agent.salvaged") == 1


def test_nobody_waits_behind_the_endings_of_the_person(workshop: Workshop) -> None:
    """These may hang in a teardown; what an agent ends, and looks at all of them, do not then."""
    made = workshop.ask("spawn", goal="g", name="lead", driver="standin", role="manager")
    lead = workshop.agent(made["uid"])
    for name in ("hand", "foot"):
        workshop.ask_as(lead, "spawn", goal="g", name=name, driver="standin", key=name)
    over, pools = threading.Event(), workshop.context.pools
    bound = next(pool.bound for pool in POOLS if pool.name == "crew")
    patience = threading.Timer(30, over.set)
    patience.start()
    try:
        for _ in range(bound):
            assert pools.begin("crew", over.wait)
        assert len(workshop.ask("status")["agents"]) == 3
        done = workshop.ask_as(lead, "end", agents=["hand", "foot"], force=True, key="end")
        assert [agent["id"] for agent in done["ended"]] == ["hand", "foot"]
        assert not over.is_set(), "it was waited for"
    finally:
        patience.cancel()
        over.set()
