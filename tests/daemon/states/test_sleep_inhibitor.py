"""The machine is held awake while agents work, by one program that ends with its owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from tests.daemon.states.first_session import begins
from tests.support.agents import an_agent
from tests.support.contexts import REPO, Turned
from tests.support.ground import until

from windlass.core.crew import Agent
from windlass.core.states import State
from windlass.daemon.kernel.context import Context
from windlass.daemon.states.sleep_inhibitor import SleepInhibitor
from windlass.store import rows


@pytest.fixture
def programs(context: Context) -> Path:
    """A folder of programs that comes first; `systemd-inhibit` there runs what it is given."""
    folder = context.folders.home / "programs"
    folder.mkdir()
    context.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    _install(folder / "systemd-inhibit", 'for last; do :; done; exec "$last"')
    return folder


def _install(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.fixture
def inhibitor(context: Context, programs: Path) -> Iterator[SleepInhibitor]:
    del programs
    made = SleepInhibitor(context)
    yield made
    made.close()


@pytest.fixture
def fox(context: Context) -> Agent:
    return begins(context, an_agent("fox", repo=REPO, state=State.RUNNING))


def _has_ended(pid: int) -> bool:
    """Whether it has, also while nobody has collected it."""
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def becomes(context: Context, agent: Agent, state: State) -> None:
    context.store.write(lambda w: rows.change_agent(w, agent.uid, state=state))


def test_one_program_holds_the_machine_awake_while_somebody_works(
    context: Context, inhibitor: SleepInhibitor, fox: Agent
) -> None:
    inhibitor.look()
    pid = inhibitor.pid()
    assert pid is not None
    assert psutil.pid_exists(pid)
    becomes(context, fox, State.RATE_LIMITED)
    inhibitor.look()
    assert inhibitor.pid() == pid
    becomes(context, fox, State.WAITING)
    inhibitor.look()
    assert inhibitor.pid() is None
    assert not psutil.pid_exists(pid)
    becomes(context, fox, State.RUNNING)
    inhibitor.look()
    assert inhibitor.pid() is not None


@pytest.mark.usefixtures("fox")
def test_it_ends_with_the_daemon_and_does_not_begin_again(inhibitor: SleepInhibitor) -> None:
    inhibitor.look()
    pid = inhibitor.pid()
    assert pid is not None
    inhibitor.close()
    assert not psutil.pid_exists(pid)
    inhibitor.look()
    assert inhibitor.pid() is None


@pytest.mark.usefixtures("fox")
def test_a_program_that_fails_is_not_started_at_every_look(
    inhibitor: SleepInhibitor, programs: Path, clock: Turned
) -> None:
    _install(programs / "systemd-inhibit", f"echo x >> {programs}/starts; exit 1")
    for _ in range(3):
        inhibitor.look()
        if (pid := inhibitor.pid()) is not None:
            until(partial(_has_ended, pid), what="its end")
    assert (programs / "starts").read_text() == "x\n"
    clock.time += 600
    inhibitor.look()
    until(lambda: (programs / "starts").read_text() == "x\nx\n", what="the next try")


@pytest.mark.usefixtures("fox")
def test_where_there_is_no_such_program_nothing_is_started(
    context: Context, inhibitor: SleepInhibitor
) -> None:
    context.env["PATH"] = "/nowhere"
    inhibitor.look()
    assert inhibitor.pid() is None
