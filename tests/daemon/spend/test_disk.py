"""Disk, with a session to pause: real files, counted as the daemon counts them."""

from __future__ import annotations

import pytest
from tests.daemon.spend.cost_bench import Bench
from tests.daemon.spend.test_budgets import start
from tests.support.contexts import NoSockets
from tests.support.fake_sessions import FakeSession, FakeSessions
from tests.support.privileges import unprivileged

from windlass.core.crew import Agent
from windlass.core.states import State
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.kernel import disk_use
from windlass.daemon.kernel.context import session_name
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.spend.disk import Disk
from windlass.store import rows


def overgrown(bench: Bench) -> tuple[Disk, Agent, FakeSession]:
    """An agent with more files than it may have, whose session runs."""
    (bench.folder / "config.toml").write_text("[box]\ndisk_mb = 2\n")
    workspace = bench.folder / "fox"
    workspace.mkdir()
    (workspace / "big").write_bytes(b"x" * (3 << 20))
    fox = bench.agent("fox", isolation="box", workspace=str(workspace), branch=None)
    bench.context.folders.agent(fox.uid).mkdir(parents=True)
    start(bench, fox)
    assert isinstance(bench.context.sessions, FakeSessions)
    fetcher = CommitFetcher(bench.context)
    life = SessionLife(bench.context, NoSockets(), fetcher, lambda _: None)
    intents = Intents(bench.context, PauseResume(bench.context, life).operations())
    session = bench.context.sessions[session_name(fox)]
    return Disk(bench.context, intents, fetcher), fox, session


def state(bench: Bench, agent: Agent) -> State:
    kept = bench.store.read(lambda c: rows.agent(c, agent.uid))
    assert kept is not None
    return kept.state


def test_a_pause_of_who_takes_too_much_disk_is_tried_again_and_told_once(bench: Bench) -> None:
    disk, fox, session = overgrown(bench)
    session.unkillable = ("7 cat (disk-sleep)",)
    disk.check()
    disk.check()
    assert (session.alive, state(bench, fox)) == (True, State.UNKNOWN)
    session.unkillable = ()
    disk.check()
    assert (session.alive, state(bench, fox)) == (False, State.PAUSED)
    disk.check()
    (told,) = bench.events("agent.overgrown")
    assert told.data["why"].endswith("MiB of disk, and box.disk_mb is 2")


def test_a_pause_of_who_takes_too_much_disk_is_not_tried_for_ever(bench: Bench) -> None:
    disk, _, session = overgrown(bench)
    session.unkillable = ("7 cat (disk-sleep)",)
    for _ in range(5):
        disk.check()
    assert len(bench.events("intent.failed")) == 3
    assert session.alive


def test_what_an_agent_leaves_in_its_own_folder_is_part_of_what_it_takes(bench: Bench) -> None:
    """All of that is in its archive once it has ended."""
    disk, fox, session = overgrown(bench)
    own = bench.context.folders.agent(fox.uid) / "home"
    own.mkdir()
    (bench.folder / "fox" / "big").rename(own / "big")
    disk.check()
    assert (session.alive, state(bench, fox)) == (False, State.PAUSED)


def test_deleted_files_that_are_held_open_are_part_of_what_an_agent_takes(bench: Bench) -> None:
    disk, fox, session = overgrown(bench)
    (bench.folder / "fox" / "big").unlink()
    disk.check()
    assert session.alive
    session.nameless = 5 << 20
    disk.check()
    assert (session.alive, state(bench, fox)) == (False, State.PAUSED)
    (told,) = bench.events("agent.overgrown")
    assert "5 of them in deleted files that it holds open, and box.disk_mb is 2" in told.data["why"]


def test_files_with_nothing_in_them_are_part_of_what_an_agent_takes(bench: Bench) -> None:
    """A disk has room for so many, and they take no blocks."""
    disk, fox, session = overgrown(bench)
    (bench.folder / "fox" / "big").unlink()
    for number in range(300):
        (bench.folder / "fox" / f"link{number}").symlink_to("nothing")
    disk.check()
    assert session.alive
    for number in range(300):
        (bench.folder / "fox" / str(number)).touch()
    disk.check()
    assert (session.alive, state(bench, fox)) == (False, State.PAUSED)


def test_who_has_more_files_than_are_counted_in_time_is_paused_after_some_looks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing would limit it any more; one look may be slow for other reasons."""
    disk, fox, session = overgrown(bench)
    (bench.folder / "fox" / "big").unlink()
    monkeypatch.setattr(disk_use, "_PATIENCE", 0.0)
    disk.check()
    disk.check()
    assert session.alive
    monkeypatch.undo()
    disk.check()
    monkeypatch.setattr(disk_use, "_PATIENCE", 0.0)
    disk.check()
    disk.check()
    assert session.alive
    disk.check()
    assert (session.alive, state(bench, fox)) == (False, State.PAUSED)
    (told,) = bench.events("agent.overgrown")
    assert "too many to be counted in time" in told.data["why"]


def test_what_an_agent_closed_is_part_of_what_it_takes(bench: Bench) -> None:
    """It can write into a folder that nobody may list."""
    disk, fox, session = overgrown(bench)
    closed = bench.folder / "fox" / "closed"
    closed.mkdir()
    (bench.folder / "fox" / "big").rename(closed / "big")
    closed.chmod(0o300)
    try:
        unprivileged(disk.check, closed=closed)
    finally:
        closed.chmod(0o700)
    assert (session.alive, state(bench, fox)) == (False, State.PAUSED)
