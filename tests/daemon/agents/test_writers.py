"""What still writes to a workspace when its agent ends: it is ended first, proven, then kept."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.daemon.agents.test_merge_targets import commit, spawn
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.errors import Conflict, WindlassError
from windlass.daemon.kernel import requests
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes
from windlass.git import merges, salvage

_DEAF = "trap '' TERM; echo begun; while :; do echo x >> late.txt; read -t 0.05 x; done"


@contextmanager
def running(argv: list[str], *, cwd: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A program that has begun, and is gone afterwards."""
    with subprocess.Popen(
        argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "begun\n"
            yield program
        finally:
            program.kill()


def kept(workshop: Workshop, ended: Any) -> list[str]:
    """The files of an agent's work that its ending kept."""
    listed = workshop.ask("trash.show", entries=[ended["ended"][0]["trash"]["id"]])
    return [change["path"] for change in listed["contents"]["changes"]]


@pytest.mark.parametrize("isolation", ["box", "hooks"])
def test_a_command_of_wl_exec_is_ended_before_the_work_is_kept(
    workshop: Workshop, isolation: str
) -> None:
    spawn(workshop, "fox", isolation=isolation)
    place = workshop.ask("place", agent="fox")
    argv = [*place["box"], "bash", "-c", _DEAF]
    with running(argv, cwd=place["path"], env={} if place["box"] else place["mark"]) as program:
        ended = workshop.ask("end", agents=["fox"])
        assert program.poll() is not None
    assert kept(workshop, ended) == ["late.txt"]


def test_git_that_moves_a_clone_is_ended_before_the_work_is_kept(workshop: Workshop) -> None:
    fox = spawn(workshop, "fox", isolation="box")
    line = f"cd {fox.workspace}; {_DEAF}"
    argv = [*boxes.changing_prefix(workshop.context, fox), "bash", "-c", line]
    with running(argv, cwd=fox.workspace) as program:
        ended = workshop.ask("end", agents=["fox"])
        assert program.poll() is not None
    assert kept(workshop, ended) == ["late.txt"]


def test_nothing_begins_in_a_workspace_while_its_agent_ends_not_even_a_box_that_was_prepared(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn(workshop, "fox", isolation="box")
    commit(spawn(workshop, "hand"))
    place = workshop.ask("place", agent="fox")
    argv = [*place["box"], "touch", f"{place['path']}/late.txt"]
    codes: list[int] = []

    def meanwhile(*words: Any, **more: Any) -> Any:
        done = subprocess.run(argv, env={}, cwd=workshop.repo, check=False, capture_output=True)
        codes.append(done.returncode)
        for verb, named in (("place", "fox"), ("merge", "hand")):
            with pytest.raises(Conflict, match="fox is being ended"):
                workshop.ask(verb, agent=named, into="fox")
        checked = workshop.ask("merge-check", agent="hand", into="fox")
        assert checked["problems"] == ["fox is being ended"]
        return original(*words, **more)

    original = salvage.salvage
    monkeypatch.setattr(salvage, "salvage", meanwhile)
    workshop.ask("end", agents=["fox"])
    assert codes
    assert 0 not in codes


def test_an_ending_interrupts_git_that_moves_the_agents_checkout(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = spawn(workshop, "fox", isolation="box")
    commit(spawn(workshop, "hand"))
    begun = Path(fox.workspace).parent / "begun"
    os.mkfifo(begun)
    original = boxes.changing_prefix

    def stretched(context: Context, agent: Agent) -> list[str]:
        line = original(context, agent)
        cut = line.index("/bin/sh")  # behind the mark
        return [*line[:cut], "/bin/sh", "-c", f"echo > {begun}; exec sleep 1000", *line[cut:]]

    monkeypatch.setattr(boxes, "changing_prefix", stretched)
    with ThreadPoolExecutor(1) as pool:
        merging = pool.submit(workshop.ask, "merge", agent="hand", into="fox")
        begun.read_text()
        started = time.monotonic()
        workshop.ask("end", agents=["fox"])
        assert time.monotonic() - started < 30
        with pytest.raises(WindlassError):
            merging.result()


def test_what_a_setup_left_running_ends_with_its_agent(workshop: Workshop) -> None:
    (workshop.context.folders.home / "config.toml").write_text(
        "[workspace]\nsetup = 'sleep 1000 >/dev/null 2>&1 & echo $! > pid.txt'\n"
    )
    fox = spawn(workshop, "fox")
    left = psutil.Process(int((Path(fox.workspace) / "pid.txt").read_text()))
    workshop.ask("end", agents=["fox"])
    assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE


def test_a_program_that_windlass_did_not_start_is_left_alone(workshop: Workshop) -> None:
    fox = spawn(workshop, "fox")
    with running(["sh", "-c", "echo begun; read x"], cwd=fox.workspace) as editor:
        workshop.ask("end", agents=["fox"])
        assert editor.poll() is None


def lead_and_hand(workshop: Workshop) -> Agent:
    """A manager, and below it an agent with a commit."""
    lead = spawn(workshop, "lead", role="manager")
    commit(spawn(workshop, "hand", by=lead))
    return lead


@pytest.mark.parametrize(("verb", "step"), [("merge", "apply"), ("merge-check", "rehearse")])
def test_nothing_else_is_done_with_the_agent_whose_branch_is_merged_into(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, verb: str, step: str
) -> None:
    lead = lead_and_hand(workshop)
    original, free = getattr(merges, step), list[bool]()

    def look() -> None:
        with workshop.context.locks.trying(lead.uid) as is_free:
            free.append(is_free)

    def watched(*words: Any, **more: Any) -> Any:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return original(*words, **more)

    monkeypatch.setattr(merges, step, watched)
    workshop.ask(verb, agent="hand")
    assert free
    assert True not in free


def test_a_merge_waits_for_what_is_done_with_its_target_and_then_names_it(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead = lead_and_hand(workshop)
    commit(spawn(workshop, "other", by=lead), "other.txt")
    original, held, over = merges.apply, threading.Event(), threading.Event()

    def stretched(*words: Any, **more: Any) -> Any:
        held.set()
        over.wait(60)
        return original(*words, **more)

    monkeypatch.setattr(merges, "apply", stretched)
    with ThreadPoolExecutor(1) as pool:
        merging = pool.submit(workshop.ask, "merge", agent="hand")
        assert held.wait(60)
        monkeypatch.setattr(requests, "PATIENCE", 0.2)
        monkeypatch.setattr("windlass.daemon.agents.merge.PATIENCE", 0.2)
        try:
            with pytest.raises(Conflict, match="lead is busy: merge of hand is under way") as told:
                workshop.ask("merge", agent="other")
            checked = workshop.ask("merge-check", agent="other")
        finally:
            over.set()
        merging.result(60)
    assert (told.value.exit_code, "wl log lead" in told.value.hint) == (1, True)
    assert [problem[:32] for problem in checked["problems"]] == ["lead is busy: merge of hand is u"]
    monkeypatch.undo()
    workshop.ask("merge", agent="other")


@pytest.mark.parametrize("odd", ["pipe", "link"])
def test_an_ending_writes_its_archive_whatever_an_agent_has_put_there(
    workshop: Workshop, tmp_path: Path, odd: str
) -> None:
    """Without a box it reaches its own folder; a pipe there would hold the ending for ever."""
    fox = spawn(workshop, "fox")
    for name in ("events.jsonl", "agent.json"):
        path = workshop.context.folders.agent(fox.uid) / name
        if odd == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / name)
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(workshop.ask, "end", agents=["fox"])
        try:
            ended = ending.result(timeout=60)
        except TimeoutError:
            path.open("rb").close()  # lets it go
            raise
    assert [one["id"] for one in ended["ended"]] == ["fox"]
    assert list(tmp_path.glob("*.json*")) == []
