"""Several commands at once on the same agents: one of them wins, and nothing is torn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tests.support.ground import Done, Ground, until

from windlass.api import client

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]

STAY = {"text": "WAITING"}


def at_once(ground: Ground, *commands: tuple[str, ...]) -> list[Done]:
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda args: ground.wl(*args), commands))


def test_two_reassigns_at_once_make_no_cycle(ground: Ground) -> None:
    ground.new("ma", STAY, flags=["--manager"])
    ground.new("mb", STAY, flags=["--manager"])
    for _ in range(3):
        done = at_once(ground, ("reassign", "ma", "mb"), ("reassign", "mb", "ma"))
        assert sorted(one.code for one in done) == [0, 1]
        assert len(ground.agents()) == 2
        ground.wl("reassign", "ma", "--none").ok()
        ground.wl("reassign", "mb", "--none").ok()


def test_a_restore_and_a_new_agent_do_not_share_a_name(ground: Ground) -> None:
    ground.new("rr", STAY)
    ground.wl("kill", "rr", "--force").ok()
    script = ground.script("s", STAY)
    new = ("new", "--driver", "standin", "--name", "rr", "--script", script, "x")
    done = at_once(ground, ("trash", "restore", "rr"), new)
    assert done[0].code == 0, done[0].err
    assert done[1].code in (0, 1)
    assert "defect" not in done[1].err
    listed = ground.agents()
    assert len({one["id"] for one in listed}) == len(listed) == 2 - done[1].code


@pytest.mark.parametrize(
    "commands",
    [
        (("kill", "a1", "--force"), ("kill", "a1", "--force")),
        (("merge", "a1", "--force"), ("kill", "a1", "--force")),
        (("merge", "a1", "--force"), ("merge", "a1", "--force")),
        (("pause", "a1"), ("kill", "a1", "--force")),
    ],
)
def test_two_endings_at_once_end_it_once(
    ground: Ground, commands: tuple[tuple[str, ...], ...]
) -> None:
    ground.new("a1")
    ground.wait("a1")
    done = at_once(ground, *commands)
    assert 0 in {one.code for one in done}
    assert all("defect" not in one.err for one in done)
    assert ground.agents() == []
    assert [e["kind"] for e in ground.events()].count("agent.ended") == 1
    ground.wl("undo").ok()
    assert len(ground.agents()) == 1


def test_resuming_twice_at_once_starts_one_session(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    ground.wl("pause", "a1").ok()
    at_once(ground, ("resume", "a1"), ("resume", "a1"))
    started = [e for e in ground.events("a1") if e["kind"] == "session.started"]
    assert len(started) == 2


def test_messages_sent_at_once_arrive_each_once_and_apart(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    texts = [f"message {n} AAA" for n in range(6)]
    for done in at_once(ground, *[("send", "a1", text) for text in texts]):
        done.ok()
    path = Path(ground.wl("info", "a1", "--json").ok().json()["transcript"])
    until(lambda: all(text in path.read_text() for text in texts), what="six messages")
    for text in texts:
        assert path.read_text().count(f"[sent by user]: {text}\\n\\n[message msg-") == 1


def test_values_added_to_a_list_at_once_are_all_kept(ground: Ground) -> None:
    ground.wl("init").ok()
    key = "permissions.worker.allow"
    for done in at_once(ground, *[("config", "add", key, f"T{n}") for n in range(8)]):
        done.ok()
    kept = ground.wl("config", "get", key, "--json").ok().json()
    assert sorted(kept) == [f"T{n}" for n in range(8)]


@pytest.mark.parametrize("verb", ["note", "send", "reassign"])
def test_the_same_request_sent_again_under_its_key_happens_once(ground: Ground, verb: str) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    ground.new("lead", STAY, flags=["--manager"])
    told = ground.wl("daemon", "status", "--json").ok().json()["socket"]
    request = {
        "note": {"agent": "a1", "text": "once"},
        "send": {"agent": "a1", "text": "once"},
        "reassign": {"agent": "a1", "parent": "lead"},
    }[verb]
    asked = {**request, "cwd": str(ground.folder / "repo"), "key": "the-same-key"}
    answers = [client.ask(verb, asked, path=told) for _ in range(2)]
    assert answers[0] == answers[1]
    kind = {"note": "note", "send": "message.received", "reassign": "agent.reassigned"}[verb]
    until(lambda: kind in [e["kind"] for e in ground.events("a1")], what=kind)
    assert [e["kind"] for e in ground.events("a1")].count(kind) == 1
    assert verb != "send" or len(ground.wl("inbox", "a1", "--all", "--json").ok().json()) == 1
    if verb == "reassign":
        ground.wl("undo").ok()
        assert ground.wl("info", "a1", "--json").ok().json()["parent"] is None


def test_an_agent_can_be_ended_while_its_setup_runs(ground: Ground) -> None:
    ground.wl("config", "set", "workspace.setup", "echo begun > begun.txt; sleep 300").ok()
    starting = ground.start("new", "--driver", "standin", "--name", "a1", "x")
    until(lambda: list(ground.state.glob("workspaces/*/a1/begun.txt")) != [], what="the setup")
    assert ground.wl("why", "a1", "--json").ok().json()["state"] == "creating"
    assert "queued" in ground.wl("send", "a1", "hello").ok().out
    ground.wl("kill", "a1", "--force").ok()
    assert starting.wait(20) != 0
    starting.communicate()
    assert ground.agents() == []
    assert [p for p in ground.processes() if p.name() == "sleep"] == []


def test_a_setup_does_not_run_twice_at_once_after_the_daemon_died(ground: Ground) -> None:
    ground.unbox()  # beside the workspace, because that is made anew
    setup = "echo $$ >> ../pids; while [ ! -e ../go ]; do sleep 0.05; done"
    ground.wl("config", "set", "workspace.setup", setup).ok()
    starting = ground.start("new", "--driver", "standin", "--name", "a1", "x")

    def pids() -> list[str]:
        return [p for f in ground.state.glob("workspaces/*/pids") for p in f.read_text().split()]

    until(lambda: len(pids()) == 1, what="the setup")
    ground.kill_daemon()
    until(lambda: len(pids()) == 2, what="the second setup")
    assert not _lives(int(pids()[0]))
    (folder,) = {f.parent for f in ground.state.glob("workspaces/*/pids")}
    (folder / "go").touch()
    assert starting.wait(30) == 0
    starting.communicate()


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_one_agents_broken_files_do_not_stop_the_daemon(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.new("a2", STAY)
    ground.wait("a1", "a2", states="waiting")
    folder = Path(ground.wl("info", "a1", "--json").ok().json()["folder"])
    ground.wl("daemon", "stop").ok()
    log = folder / "sessions/1/events.jsonl"
    log.unlink()
    log.mkdir()
    assert len(ground.agents()) == 2
    ground.wait("a1", states="paused")
    assert "no plain file" in ground.wl("why", "a1").ok().out
    ground.wl("kill", "a1", "a2", "--force").ok()
