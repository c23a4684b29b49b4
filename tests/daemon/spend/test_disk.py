"""Disk, with a session to pause: real files, counted as the daemon counts them."""

from __future__ import annotations

from tests.daemon.spend.cost_bench import Bench
from tests.daemon.spend.test_budgets import start
from tests.support.contexts import NoSockets
from tests.support.fake_sessions import FakeSession, FakeSessions

from windlass.core.crew import Agent
from windlass.core.states import State
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.session_life import SessionLife
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
