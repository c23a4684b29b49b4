"""What an agent's box is made of: nothing that the agent could exchange meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.workshop import Workshop

from windlass.box import bwrap
from windlass.core.box_spec import BoxSpec
from windlass.core.config import WAYS
from windlass.core.crew import Agent
from windlass.daemon.launch import boxes, session_request
from windlass.store import rows


@pytest.fixture
def fox(workshop: Workshop) -> Agent:
    """An agent with a folder of its own."""
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    return workshop.agent(made["uid"])


def spec(workshop: Workshop, fox: Agent) -> BoxSpec:
    session = workshop.context.store.read(lambda c: rows.newest_session(c, fox.uid))
    assert session is not None
    workshop.context.folders.mirror(fox.repo).mkdir(parents=True, exist_ok=True)
    request = session_request.session_request(workshop.context, fox, session)
    return boxes._box_spec(workshop.context, fox, request)  # noqa: SLF001 - a box takes long


def settings(workshop: Workshop, fox: Agent) -> Path:
    return workshop.context.folders.agent(fox.uid) / "config" / "remote-settings.json"


def mounted(made: BoxSpec, place: Path) -> list[str]:
    """How a place is shown, and from where."""
    words = bwrap.arguments(made)
    (at,) = [
        n for n in range(2, len(words)) if words[n] == str(place) and words[n - 2].endswith("bind")
    ]
    return words[at - 2 : at]


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_folder(path: Path) -> None:
    (path / "deep").mkdir(parents=True)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def forged(path: Path) -> None:
    path.write_text('{"disableAllHooks": true}')


def nothing(path: Path) -> None:
    assert not path.exists()


@pytest.mark.parametrize("make", [a_link, a_folder, a_pipe, forged, nothing])
def test_the_settings_of_an_organisation_are_an_empty_file_where_no_agent_can_write(
    workshop: Workshop, fox: Agent, make: Callable[[Path], None]
) -> None:
    place = settings(workshop, fox)
    place.parent.mkdir(exist_ok=True)
    make(place)
    made = spec(workshop, fox)
    how, source = mounted(made, place)
    assert how == "--ro-bind"
    assert not any(source.startswith(f"{writable}/") for writable in made.writable)
    assert Path(source).read_bytes() == b""
    assert place.is_file()
    assert not place.is_symlink()


def test_what_an_agent_puts_there_as_its_box_begins_is_never_shown_in_it(
    workshop: Workshop, fox: Agent
) -> None:
    """Whatever it is by then: the box is told of a file of ours, and refuses a link above it."""
    place = settings(workshop, fox)
    made = spec(workshop, fox)
    before = mounted(made, place)
    place.unlink()
    forged(place)
    assert mounted(made, place) == before


def test_a_box_that_begins_takes_nothing_away_from_one_that_runs(
    workshop: Workshop, fox: Agent
) -> None:
    place = settings(workshop, fox)
    source = Path(mounted(spec(workshop, fox), place)[1])
    files = [path.stat().st_ino for path in (place, source)]
    spec(workshop, fox)
    assert [path.stat().st_ino for path in (place, source)] == files


@pytest.mark.parametrize("make", [a_link, a_folder, a_pipe, forged, nothing])
def test_the_ways_of_the_person_are_seen_in_the_agents_own_folder_whatever_it_put_there(
    workshop: Workshop, fox: Agent, make: Callable[[Path], None]
) -> None:
    folder = workshop.context.folders.agent(fox.uid)
    (folder / "person/ways/skills/dig").mkdir(parents=True)
    (folder / "person/ways/CLAUDE.md").write_text("theirs")
    (folder / "config").mkdir(exist_ok=True)
    for name in ("skills", "CLAUDE.md"):
        make(folder / "config" / name)
    made = spec(workshop, fox)
    for name in ("skills", "CLAUDE.md"):
        ours = str(folder / "person/ways" / name)
        assert mounted(made, folder / "config" / name) == ["--ro-bind", ours]
    assert (folder / "config/skills").is_dir()
    assert (folder / "config/CLAUDE.md").is_file()


def test_all_boxes_of_an_agent_cover_the_same_names_of_the_same_kinds(
    workshop: Workshop, fox: Agent
) -> None:
    """One with a name uncovered could put a link there while another box is being set up."""
    before = {place: Path(ours).is_dir() for ours, place in spec(workshop, fox).covers}
    folder = workshop.context.folders.agent(fox.uid)
    for name in WAYS:
        (folder / "person/ways" / name).mkdir(parents=True)  # also one that is to be a file
    after = {place: Path(ours).is_dir() for ours, place in spec(workshop, fox).covers}
    assert after == before
    covered = {Path(place).relative_to(folder / "config").as_posix() for place in before}
    assert covered == {"remote-settings.json", *WAYS}
