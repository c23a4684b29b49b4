"""What a boxed agent's commits add to the repository has an end, whatever it takes back.

Real git and real boxes, with the services of a daemon in the test's own process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from tests.git import bombs
from tests.support.contexts import NoSockets
from tests.support.workshop import WITHOUT_A_GATE, Workshop, git

from windlass.core import config
from windlass.core.config import BoxSettings, Config
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.states import State
from windlass.daemon.launch import commit_fetcher
from windlass.daemon.services import Services
from windlass.daemon.spend.disk import Disk
from windlass.git import homecoming, quarantine
from windlass.git.arrival import TooLarge
from windlass.store import kept, rows

MIB = 1 << 20


class Killed(BaseException):
    """The daemon ends here."""


def configure(workshop: Workshop, **limits: int) -> None:
    lines = [f"{name} = {value}" for name, value in limits.items()]
    (workshop.context.folders.home / "config.toml").write_text(
        "\n".join([WITHOUT_A_GATE, "[box]", *lines, ""])
    )


def boxed(workshop: Workshop) -> Agent:
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="box")
    fox = workshop.agent(made["uid"])
    git(Path(fox.workspace), "commit", "-q", "--allow-empty", "-m", "its own")
    workshop.services.fetcher.fetch(fox)
    return fox


def rewrite(fox: Agent) -> None:
    """Writes the agent's branch anew with a MiB of noise, and forgets what was there before."""
    clone = Path(fox.workspace)
    (clone / "noise").write_bytes(os.urandom(MIB))
    git(clone, "add", "noise")
    git(clone, "commit", "-q", "--amend", "-m", "noise")
    git(clone, "reflog", "expire", "--expire=now", "--all")
    git(clone, "prune", "--expire=now")


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def brought(workshop: Workshop, fox: Agent) -> int:
    return workshop.context.store.read(lambda c: kept.of(c, fox.uid)).brought


def events(workshop: Workshop, kind: str) -> list[Any]:
    found = workshop.context.store.read(lambda c: rows.events(c, kind=kind, limit=100))
    return [event.data for event in found]


def check(workshop: Workshop) -> None:
    Disk(workshop.context, workshop.services.intents, workshop.services.fetcher).check()


def rewrite_to_the_end(workshop: Workshop, fox: Agent) -> None:
    for _ in range(170):
        rewrite(fox)
        workshop.services.fetcher.try_to_fetch(fox)
        check(workshop)
        if not workshop.session(fox).alive:
            return
    raise AssertionError("it was never paused")


def test_who_writes_its_branch_anew_again_and_again_is_paused_at_the_limit(
    workshop: Workshop,
) -> None:
    configure(workshop, home_mb=5)
    fox = boxed(workshop)
    mirror = workshop.context.folders.mirror(fox.repo)
    before = size_of(workshop.repo / ".git"), size_of(mirror)
    rewrite_to_the_end(workshop, fox)
    grown = (
        size_of(workshop.repo / ".git") - before[0],
        size_of(mirror) - before[1],
    )
    assert 4 * MIB < grown[0] <= 5 * MIB
    assert 4 * MIB < grown[1] <= 5 * MIB
    assert size_of(Path(fox.workspace)) < 3 * MIB
    assert workshop.state(fox) is State.PAUSED
    why = (
        "what fox committed does not come home: it adds more than there is room for;"
        " box.home_mb is 5, of which 5 are used"
    )
    (told,) = events(workshop, "agent.overgrown")
    assert told["why"] == f"paused: {why}"
    (stuck,) = events(workshop, "branch.stuck")
    assert stuck["error"] == why
    step = "wl config set box.home_mb 10, then wl resume fox"
    (notice,) = events(workshop, "notice.posted")
    assert why in notice["text"]
    assert step in notice["text"]
    (listed,) = workshop.ask("agents")
    assert listed["evidence"] == f"paused: {why}"
    assert listed["stuck"] == f"{why}; raise it: {step}"
    assert workshop.ask("why", agent="fox")["stuck"] == listed["stuck"]
    assert workshop.ask("status", agent="fox")["agents"][0]["stuck"] == listed["stuck"]


def test_what_was_counted_is_not_forgotten_by_the_next_daemon(workshop: Workshop) -> None:
    configure(workshop, home_mb=3)
    fox = boxed(workshop)
    rewrite_to_the_end(workshop, fox)
    workshop.services = Services(workshop.context, NoSockets())
    with pytest.raises(TooLarge, match="of which 3 are used"):
        workshop.services.fetcher.fetch(fox)


def test_what_a_daemon_died_of_bringing_home_is_counted_once(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = boxed(workshop)
    before = brought(workshop, fox)

    def die(*_: object) -> None:
        raise Killed

    rewrite(fox)
    with monkeypatch.context() as patch:
        patch.setattr(quarantine.Quarantine, "release", die)
        with pytest.raises(Killed):
            workshop.services.fetcher.fetch(fox)
    counted = brought(workshop, fox) - before
    assert counted > MIB, "it is counted before it is kept"
    workshop.services = Services(workshop.context, NoSockets())
    workshop.services.fetcher.fetch(fox)
    assert brought(workshop, fox) - before == counted
    rewrite(fox)
    workshop.services.fetcher.fetch(fox)
    assert brought(workshop, fox) - before > 2 * MIB


def test_it_goes_on_as_soon_as_the_person_raises_the_limit(workshop: Workshop) -> None:
    configure(workshop, home_mb=3)
    fox = boxed(workshop)
    rewrite_to_the_end(workshop, fox)
    configure(workshop, home_mb=6)
    workshop.ask("resume", agent="fox")
    check(workshop)
    again = workshop.agent(fox.uid)
    assert workshop.session(again).alive, "what was too much may come now"
    workshop.services.fetcher.try_to_fetch(again)
    tip = git(Path(fox.workspace), "rev-parse", "HEAD")
    assert git(workshop.repo, "rev-parse", "agent/fox") == tip
    assert "stuck" not in workshop.ask("agents")[0]


def test_who_is_resumed_without_that_is_paused_again(workshop: Workshop) -> None:
    configure(workshop, home_mb=3)
    fox = boxed(workshop)
    rewrite_to_the_end(workshop, fox)
    workshop.ask("resume", agent="fox")
    again = workshop.agent(fox.uid)
    assert workshop.session(again).alive
    check(workshop)
    assert not workshop.session(again).alive


def test_who_is_at_the_limit_is_ended_and_comes_back_with_all_of_its_work(
    workshop: Workshop,
) -> None:
    configure(workshop, home_mb=3)
    fox = boxed(workshop)
    rewrite_to_the_end(workshop, fox)
    tip = git(Path(fox.workspace), "rev-parse", "HEAD")
    noise = (Path(fox.workspace) / "noise").read_bytes()
    (Path(fox.workspace) / "untracked").write_text("mine\n")
    workshop.ask("end", agents=["fox"])
    assert not Path(fox.workspace).exists()
    workshop.ask("undo")
    assert (Path(fox.workspace) / "noise").read_bytes() == noise
    assert (Path(fox.workspace) / "untracked").read_text() == "mine\n"
    assert git(Path(fox.workspace), "rev-parse", "HEAD") == tip


def test_an_agent_with_a_bomb_is_paused_and_ended_and_its_objects_are_kept(
    workshop: Workshop,
) -> None:
    configure(workshop, disk_mb=40)
    fox = boxed(workshop)
    bombs.unfolding(Path(fox.workspace), files=20, times=4)
    before = size_of(workshop.repo / ".git")
    workshop.services.fetcher.try_to_fetch(fox)
    check(workshop)
    assert workshop.state(fox) is State.PAUSED
    (told,) = events(workshop, "agent.overgrown")
    assert told["why"].endswith("it unfolds to 81 MiB; box.disk_mb is 40")
    (ended,) = workshop.ask("end", agents=["fox"])["ended"]
    assert "objects.tar" in git(workshop.repo, "ls-tree", "--name-only", ended["trash"]["ref"])
    assert size_of(workshop.repo / ".git") - before < 3 * MIB


def test_a_merge_of_what_may_not_come_home_says_so_and_how_it_may(workshop: Workshop) -> None:
    configure(workshop, home_mb=1)
    fox = boxed(workshop)
    rewrite(fox)
    rewrite(fox)
    with pytest.raises(WindlassError, match=r"box\.home_mb is 1") as told:
        workshop.ask("merge", agent="fox")
    assert "wl config set box.home_mb 2" in told.value.hint


@pytest.mark.parametrize(
    ("box", "most"),
    [
        (BoxSettings(), 2048),
        (BoxSettings(disk_mb=500), 50),
        (BoxSettings(disk_mb=5), 1),
        (BoxSettings(disk_mb=0), 0),
        (BoxSettings(disk_mb=500, home_mb=300), 300),
        (BoxSettings(home_mb=0), 0),
    ],
)
def test_the_limit_is_a_tenth_of_that_of_the_disk_unless_it_is_set(
    box: BoxSettings, most: int
) -> None:
    assert config.home_mb(Config(box=box)) == most


def test_a_fetch_that_takes_long_holds_up_no_other_agent_and_no_list(workshop: Workshop) -> None:
    """Whatever keeps git busy in one clone: here its lock is held, as a fetch holds it."""
    fox = boxed(workshop)
    made = workshop.ask("spawn", goal="g", name="owl", driver="standin", isolation="box")
    owl = workshop.agent(made["uid"])
    for agent in (fox, owl):
        git(Path(agent.workspace), "commit", "-q", "--allow-empty", "-m", "more")
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with workshop.services.fetcher.halted(fox):
            held.set()
            over.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    try:
        workshop.services.fetcher.fetch(owl)
        assert "more" in git(workshop.repo, "log", "-1", "agent/owl")
        assert [shown["id"] for shown in workshop.ask("agents")] == ["fox", "owl"]
        assert not over.is_set()
    finally:
        over.set()
        holder.join()


def test_a_fetch_that_the_system_refuses_is_told_once_and_paused_after(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = boxed(workshop)
    fetcher = workshop.services.fetcher
    git(Path(fox.workspace), "commit", "-q", "--allow-empty", "-m", "more")
    tried = []

    def refuse(*_: object, **__: object) -> None:
        tried.append(1)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(homecoming, "fetch", refuse)
    for _ in range(3):
        fetcher.try_to_fetch(fox)
    assert len(tried) == 1
    assert fetcher.failures[fox.uid].error.message == "Too many open files"
    assert [event["error"] for event in events(workshop, "branch.stuck")] == ["Too many open files"]


def test_who_has_more_to_do_waits_for_a_fetch_no_longer_than_it_says(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many may look at once: while one fetches, the others come back without."""
    fox = boxed(workshop)
    fetcher = workshop.services.fetcher
    git(Path(fox.workspace), "commit", "-q", "--allow-empty", "-m", "more")
    monkeypatch.setattr(commit_fetcher, "_PATIENCE", 0.1)
    under_way, may_end = threading.Event(), threading.Event()

    def take_long(*_: object, **__: object) -> None:
        under_way.set()
        assert may_end.wait(60)

    monkeypatch.setattr(homecoming, "fetch", take_long)
    both_probed = threading.Barrier(2)

    def meet(agent: Agent) -> object:
        # Both have seen that nobody fetches; or one is alone, because the other does not get here.
        with contextlib.suppress(threading.BrokenBarrierError):
            both_probed.wait(1)
        return agent.uid

    monkeypatch.setattr(fetcher, "_seen", meet)
    with ThreadPoolExecutor(2) as threads:
        looks = [threads.submit(fetcher.try_to_fetch, fox) for _ in range(2)]
        assert under_way.wait(60)
        done, _ = wait(looks, timeout=60, return_when=FIRST_COMPLETED)
        may_end.set()
    assert len(done) == 1, "both wait"
