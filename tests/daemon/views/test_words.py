"""What people are shown and told by the real services, on real git, where something is missing."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.replies import as_declared
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import NotFound, UserError
from windlass.core.printable import without_escapes
from windlass.core.sessions import EARLIER_SCREEN, SCREEN


@pytest.fixture
def fox(workshop: Workshop) -> Agent:
    """An agent that has committed one file."""
    (workshop.repo / "base.txt").write_text("base\n")
    git(workshop.repo, "add", "-A")
    git(workshop.repo, "commit", "-q", "-m", "base")
    made = workshop.ask(
        "spawn", goal="say hello", name="fox", driver="standin", isolation="hooks", mode="live"
    )
    agent = workshop.agent(made["uid"])
    (Path(agent.workspace) / "hello.txt").write_text("hello\n")
    git(Path(agent.workspace), "add", "-A")
    git(Path(agent.workspace), "commit", "-q", "-m", "says hello")
    return agent


def test_what_a_vanished_workspace_had_committed_is_its_difference(
    workshop: Workshop, fox: Agent
) -> None:
    """Not a deletion of every file that there ever was."""
    shutil.rmtree(fox.workspace)
    shutil.rmtree(workshop.repo / ".git" / "worktrees")
    shown = as_declared("diff", workshop.ask("diff", agent="fox"))
    patch = base64.b64decode(shown["committed"]).decode()
    assert shown["gone"]
    assert "+hello" in patch
    assert "base.txt" not in patch
    folders = workshop.ask("diff", agent="fox", folders=True)
    names = [path.name for path in Path(folders["folder"]).rglob("*.txt")]
    shutil.rmtree(folders["folder"])
    assert names == ["hello.txt"]


@pytest.mark.usefixtures("fox")
def test_another_repository_has_nobody_and_outside_of_any_everybody_is_shown(
    workshop: Workshop, tmp_path: Path
) -> None:
    def shown(folder: Path) -> list[list[str]]:
        status = workshop.ask("status", cwd=str(folder))["agents"]
        listed = workshop.ask("agents", cwd=str(folder))
        return [[agent["id"] for agent in some] for some in (status, listed)]

    other = tmp_path / "other"
    other.mkdir()
    assert shown(other) == [["fox"], ["fox"]]
    git(other, "init", "-q")
    assert shown(other) == [[], []]


def test_a_branch_that_is_gone_is_told_from_one_without_commits(
    workshop: Workshop, fox: Agent
) -> None:
    (before,) = as_declared("status", workshop.ask("status", agent="fox"))["agents"]
    assert (before["branch_gone"], len(before["commits"])) == (False, 1)
    git(workshop.repo, "update-ref", "-d", f"refs/heads/{fox.branch}")
    (after,) = as_declared("status", workshop.ask("status", agent="fox"))["agents"]
    assert after["branch_gone"]


def test_who_ends_an_agent_without_a_repository_is_told_where_its_work_is(
    workshop: Workshop, fox: Agent
) -> None:
    shutil.rmtree(workshop.repo)
    workshop.repo.mkdir()
    done = as_declared("end", workshop.ask("end", agents=["fox"], cwd=""))
    (ended,) = done["ended"]
    assert ended["trash"] is None
    assert (Path(ended["archived"]) / "hello.txt").read_text() == "hello\n"
    assert not Path(fox.workspace).exists()


@pytest.mark.usefixtures("fox")
@pytest.mark.parametrize(
    ("verb", "request_", "kind", "said"),
    [
        ("merge-check", {"agent": "fox", "into": "new"}, NotFound, "no branch and no agent 'new'"),
        ("merge", {"agent": "fox", "into": "new"}, NotFound, "no branch and no agent 'new'"),
        ("log", {"last": 0}, UserError, "the newest 0 events are none"),
        ("log", {"last": -3}, UserError, "the newest -3 events are none"),
        ("note", {"agent": "fox", "text": " \n"}, UserError, "the text is empty"),
        ("answer", {"question": "fo", "text": "yes"}, NotFound, "fox has no open question"),
        ("answer", {"question": "owl", "text": "yes"}, NotFound, "no question 'owl'"),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_words_of_who_asked(
    workshop: Workshop, verb: str, request_: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        workshop.ask(verb, **request_)


@pytest.mark.parametrize("colour", [False, True])
def test_the_last_screen_of_a_stopped_agent_is_shown_and_not_all_that_it_drew(
    workshop: Workshop, fox: Agent, colour: bool
) -> None:
    folder = workshop.context.folders.session(fox.uid, fox.session)
    frames = "".join(f"\r\x1b[1A\x1b[J\x1b[32mframe {number}\x1b[0m\r\n" for number in range(9))
    (folder / SCREEN).write_text(f"hello\r\n\r\n{frames}> ")
    workshop.ask("pause", agent="fox")
    screen = workshop.ask("look", agent="fox", colour=colour)["screen"]
    assert without_escapes(screen).split() == ["hello", "frame", "8", ">"]
    assert ("\x1b[32m" in screen) is colour


def test_what_a_stopped_agent_drew_before_its_record_was_begun_anew_is_shown_too(
    workshop: Workshop, fox: Agent
) -> None:
    folder = workshop.context.folders.session(fox.uid, fox.session)
    (folder / EARLIER_SCREEN).write_text("hello\r\n")
    (folder / SCREEN).write_text("again\r\n")
    workshop.ask("pause", agent="fox")
    assert workshop.ask("look", agent="fox")["screen"].split() == ["hello", "again"]


def test_of_a_screen_with_a_colour_for_every_cell_the_last_rows_are_shown(
    workshop: Workshop, fox: Agent
) -> None:
    """All of it would be tens of megabytes, read letter by letter while others wait."""
    row = "".join(f"\x1b[38;2;{number};9;9mx" for number in range(120))
    workshop.session(fox).screen = "\n".join([row] * 5000) + "\nthe last"
    shown = workshop.ask("look", agent="fox", lines=None, colour=True)["screen"]
    assert shown.startswith("(the rows before these are left out)\n")
    assert "the last" in shown
    assert len(shown) < 2 << 20
