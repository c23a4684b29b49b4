"""What an ending leaves, because somebody still writes there, is kept later and goes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.agents.test_crashes import die, go_on
from tests.daemon.agents.test_late_writes import kept, shell
from tests.daemon.agents.test_merge_targets import spawn
from tests.daemon.retention.test_retention import sweep
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.git import removal


@contextmanager
def writer(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has a file open for writing, and writes one line for each that it is told."""
    argv = ["bash", "-c", 'exec 3>"$1"; echo begun; while read -r x; do echo "$x" >&3; done', "-"]
    with subprocess.Popen(
        [*argv, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "begun\n"
            yield program
        finally:
            program.kill()


def ended_under_a_writer(workshop: Workshop, isolation: str) -> Agent:
    """An agent that has ended while somebody wrote a log; the last line came after its end."""
    fox = spawn(workshop, "fox", isolation=isolation)
    (Path(fox.workspace) / "work.txt").write_text("work\n")
    with writer(Path(fox.workspace) / "log.txt") as program:
        (note,) = workshop.ask("end", agents=["fox"])["notes"]
        assert "still writes to" in note
        (place,) = places(workshop, fox)
        said = sweep(workshop.context)["workspaces"]
        assert said["removed"] == 0
        assert "has something of it open" in said["kept"][0]
        assert [path.name for path in place.iterdir()] == ["log.txt"]
        assert program.stdin is not None
        program.stdin.write("after\n")
        program.stdin.close()
        program.wait()
    return fox


def places(workshop: Workshop, agent: Agent) -> list[Path]:
    return sorted(workshop.context.folders.ending(agent.repo).glob("*"))


@pytest.mark.parametrize("isolation", ["hooks", "box"])
def test_it_is_kept_and_deleted_once_nobody_has_it_open(workshop: Workshop, isolation: str) -> None:
    fox = ended_under_a_writer(workshop, isolation)
    (place,) = places(workshop, fox)
    named = sweep(workshop.context, removes=False)["workspaces"]
    assert named["names"] == [str(place)]
    assert place.exists()
    assert sweep(workshop.context)["workspaces"]["removed"] == 1
    assert not place.parent.exists()
    assert kept(workshop, "fox") == {"work.txt": "work\n", "log.txt": "after\n"}
    entries = workshop.ask("trash")
    back = workshop.ask("trash.restore", entries=[entries[0]["id"]])["restored"][0]
    assert (Path(workshop.agent(back["uid"]).workspace) / "log.txt").read_text() == "after\n"


def test_what_is_in_the_trash_already_is_not_kept_twice(workshop: Workshop) -> None:
    fox = spawn(workshop, "fox")
    with writer(Path(fox.workspace) / "log.txt"):
        workshop.ask("end", agents=["fox"])
    before = [entry["id"] for entry in workshop.ask("trash")]
    assert sweep(workshop.context)["workspaces"]["removed"] == 1
    assert [entry["id"] for entry in workshop.ask("trash")] == before
    assert places(workshop, fox) == []


def test_what_is_written_while_it_is_being_kept_stays(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = ended_under_a_writer(workshop, "hooks")
    (place,) = places(workshop, fox)
    original = removal.clear

    def clear(root: str, seen: Any) -> list[bytes]:
        (place / "log.txt").write_text("again\n")
        return original(root, seen)

    with monkeypatch.context() as patch:
        patch.setattr(removal, "clear", clear)
        (said,) = sweep(workshop.context)["workspaces"]["kept"]
    assert said == f"{place}: somebody has written to it again"
    assert sweep(workshop.context)["workspaces"]["removed"] == 1
    assert kept(workshop, "fox")["log.txt"] == "again\n"


def test_an_ending_that_is_not_over_keeps_its_workspace(workshop: Workshop) -> None:
    fox = spawn(workshop, "fox")
    (Path(fox.workspace) / "work.txt").write_text("work\n")
    die(workshop, "end.remove.before", "end", agents=["fox"])
    (place,) = places(workshop, fox)
    assert sweep(workshop.context)["workspaces"] == {
        "kind": "workspaces", "limit": 0, "removed": 0, "bytes": 0, "names": [], "kept": []
    }  # fmt: skip
    assert (place / "work.txt").exists()
    assert go_on(workshop).status == "done"
    assert places(workshop, fox) == []


def test_a_rest_that_no_salvage_tells_of_or_with_a_part_of_a_git_folder_is_named_and_stays(
    workshop: Workshop,
) -> None:
    fox = spawn(workshop, "fox")
    with shell(fox), writer(Path(fox.workspace) / "log.txt"):
        workshop.ask("end", agents=["fox"])
    (place,) = places(workshop, fox)
    (place / ".git").mkdir()
    strange = place.parent / "20200101T000000-000-owl"
    strange.mkdir()
    said = sweep(workshop.context)["workspaces"]
    assert said["removed"] == 0
    assert [line.partition(": ")[2].split(";")[0] for line in said["kept"]] == [
        "there is no salvage of it in the trash",
        "a part of its git folder is left",
    ]
    assert strange.exists()
    assert place.exists()
