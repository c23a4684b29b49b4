"""What somebody writes to a workspace while its agent is being ended is kept, to the last file."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.agents.test_crashes import die, go_on
from tests.daemon.agents.test_merge_targets import spawn
from tests.daemon.agents.test_writers import running
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.git import removal, salvage
from windlass.git.manifest import TRASH

_EDITOR = """
import os, sys
place, most = sys.argv[1], int(sys.argv[2])
print("begun", flush=True)
for number in range(most):
    try:
        with open(f"{place}/late{number}.txt", "x") as file:
            file.write(f"{number}\\n")
    except OSError:
        break
    print(number, flush=True)
"""


def editor(agent: Agent, place: str, most: int) -> AbstractContextManager[subprocess.Popen[str]]:
    """A program of the person's that writes file after file, for as long as it can."""
    return running([sys.executable, "-c", _EDITOR, place, str(most)], cwd=agent.workspace)


def kept(workshop: Workshop, agent: str) -> dict[str, str]:
    """Every file in any salvage of an agent, with what is in it."""
    refs = git(workshop.repo, "for-each-ref", "--format=%(refname)", f"{TRASH}{agent}/").split()
    found: dict[str, str] = {}
    for ref in refs:
        argv = ["git", "archive", f"{ref}:files"]
        packed = subprocess.run(argv, cwd=workshop.repo, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for entry in archive:
                if (file := archive.extractfile(entry)) is not None:
                    found[entry.name] = file.read().decode()
    return found


def left(workshop: Workshop, agent: Agent) -> dict[str, str]:
    """The files that stay, because somebody goes on writing beside them."""
    places = workshop.context.folders.ending(agent.repo).glob("*/*.txt")
    return {path.name: path.read_text() for path in places}


def end(workshop: Workshop) -> None:
    """Ends the agent."""
    workshop.ask("end", agents=["fox"])


def end_by_two_daemons(workshop: Workshop) -> None:
    """Ends the agent; the daemon dies once its work is kept, and the next one goes on."""
    die(workshop, "end.remove.before", "end", agents=["fox"])
    assert go_on(workshop).status == "done"


def end_beside_an_editor(
    workshop: Workshop,
    isolation: str,
    *,
    by_path: bool,
    most: int,
    do: Callable[[Workshop], None] = end,
) -> None:
    """Ends an agent while somebody writes to its workspace, and looks for every file of theirs."""
    fox = spawn(workshop, "fox", isolation=isolation)
    with editor(fox, fox.workspace if by_path else ".", most) as program:
        assert program.stdout is not None
        program.stdout.readline()
        do(workshop)
        written = ["0", *program.stdout.read().split()]
    found = kept(workshop, "fox") | left(workshop, fox)
    lost = [number for number in written if found.get(f"late{number}.txt") != f"{number}\n"]
    assert lost == []
    assert len(written) > 1
    assert not Path(fox.workspace).exists()


@pytest.mark.parametrize("isolation", ["hooks", "box"])
@pytest.mark.parametrize("by_path", [True, False])
def test_what_an_editor_writes_while_an_agent_ends_is_kept(
    workshop: Workshop, isolation: str, by_path: bool
) -> None:
    end_beside_an_editor(workshop, isolation, by_path=by_path, most=2_000)


@pytest.mark.soak
@pytest.mark.parametrize("isolation", ["hooks", "box"])
@pytest.mark.parametrize("by_path", [True, False])
@pytest.mark.parametrize("most", range(500, 1_000, 100))
def test_over_twenty_endings_no_file_of_an_editor_is_lost(
    workshop: Workshop, isolation: str, by_path: bool, most: int
) -> None:
    end_beside_an_editor(workshop, isolation, by_path=by_path, most=most)


@pytest.mark.parametrize("isolation", ["hooks", "box"])
def test_what_an_editor_writes_while_no_daemon_lives_is_kept(
    workshop: Workshop, isolation: str
) -> None:
    end_beside_an_editor(workshop, isolation, by_path=False, most=2_000, do=end_by_two_daemons)


@pytest.mark.soak
@pytest.mark.parametrize("isolation", ["hooks", "box"])
@pytest.mark.parametrize("by_path", [True, False])
@pytest.mark.parametrize("most", range(500, 1_000, 100))
def test_over_twenty_dead_daemons_no_file_of_an_editor_is_lost(
    workshop: Workshop, isolation: str, by_path: bool, most: int
) -> None:
    end_beside_an_editor(workshop, isolation, by_path=by_path, most=most, do=end_by_two_daemons)


@pytest.fixture
def late(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has something be done right after the work was kept, by one who works in the workspace."""

    def arrange(do: Any) -> None:
        original = salvage.salvage

        def then(repo: Any, *, path: str, **more: Any) -> Any:
            done = original(repo, path=path, **more)
            if not more.get("after"):
                do(Path(path))
            return done

        monkeypatch.setattr(salvage, "salvage", then)

    assert workshop
    return arrange


@contextmanager
def shell(agent: Agent) -> Iterator[None]:
    """Somebody works in a workspace."""
    with subprocess.Popen(["cat"], cwd=agent.workspace, stdin=subprocess.PIPE) as program:
        try:
            yield
        finally:
            program.kill()


@pytest.mark.parametrize("isolation", ["hooks", "box"])
def test_what_is_written_after_the_work_was_kept_is_kept_apart(
    workshop: Workshop, late: Any, isolation: str
) -> None:
    fox = spawn(workshop, "fox", isolation=isolation)
    (Path(fox.workspace) / "old.txt").write_text("old\n")

    def write(place: Path) -> None:
        (place / "old.txt").write_text("new\n")
        (place / "more.txt").write_text("more\n")

    late(write)
    with shell(fox):
        (ended,) = workshop.ask("end", agents=["fox"])["ended"]
    (apart,) = ended["late"]
    first, then = (
        git(workshop.repo, "show", f"{entry['ref']}:files/old.txt")
        for entry in (ended["trash"], apart)
    )
    assert (first, then) == ("old\n", "new\n")
    names = git(workshop.repo, "ls-tree", "-r", "--name-only", f"{apart['ref']}:files").split()
    assert names == ["more.txt", "old.txt"]
    back = workshop.ask("trash.restore", entries=[apart["id"]])["restored"][0]
    assert (Path(workshop.agent(back["uid"]).workspace) / "more.txt").read_text() == "more\n"


def test_a_commit_that_is_made_after_the_work_was_kept_is_kept(
    workshop: Workshop, late: Any
) -> None:
    spawn(workshop, "fox")
    made: list[str] = []

    def commit(place: Path) -> None:
        git(place, "commit", "-q", "--allow-empty", "-m", "late")
        made.append(git(place, "rev-parse", "HEAD").strip())

    late(commit)
    (ended,) = workshop.ask("end", agents=["fox"])["ended"]
    (apart,) = ended["late"]
    git(workshop.repo, "merge-base", "--is-ancestor", made[0], apart["ref"])
    assert git(workshop.repo, "branch", "--list", "agent/fox") == ""


def test_a_file_that_somebody_has_open_for_writing_is_left(workshop: Workshop) -> None:
    fox = spawn(workshop, "fox")
    path = Path(fox.workspace) / "log.txt"
    with path.open("w") as file:
        with shell(fox):
            reply = workshop.ask("end", agents=["fox"])
        (note,) = reply["notes"]
        assert "still writes to" in note
        file.write("after\n")
    assert left(workshop, fox) == {"log.txt": "after\n"}
    assert workshop.ask("undo")["restored"][0]["id"] == "fox"


def test_a_workspace_that_nobody_works_in_is_not_compared(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn(workshop, "fox")
    monkeypatch.setattr(removal, "look", lambda _: pytest.fail("there is nobody"))
    (ended,) = workshop.ask("end", agents=["fox"])["ended"]
    assert ended["late"] == []


def test_what_was_written_between_two_daemons_is_kept(workshop: Workshop) -> None:
    fox = spawn(workshop, "fox")
    (Path(fox.workspace) / "old.txt").write_text("old\n")

    die(workshop, "end.remove.before", "end", agents=["fox"])
    (place,) = workshop.context.folders.ending(fox.repo).iterdir()
    (place / "gap.txt").write_text("gap\n")
    assert go_on(workshop).status == "done"
    assert kept(workshop, "fox")["gap.txt"] == "gap\n"
    assert not place.exists()


def test_a_salvage_that_fails_leaves_the_workspace_where_it_was(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = spawn(workshop, "fox")
    (Path(fox.workspace) / "work.txt").write_text("work\n")
    with monkeypatch.context() as patch:
        patch.setattr(salvage, "_keep", lambda *_, **__: 1 / 0)
        with pytest.raises(Exception, match="ZeroDivisionError"):
            workshop.ask("end", agents=["fox"])
    assert (Path(fox.workspace) / "work.txt").read_text() == "work\n"
    assert git(Path(fox.workspace), "status", "--porcelain") == "?? work.txt\n"
    workshop.ask("end", agents=["fox"])
    assert kept(workshop, "fox")["work.txt"] == "work\n"
