"""Things that go wrong around agents: deleted folders, dead servers, stale sockets, full disks."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest
from tests.support.ground import Done, Ground, until

import windlass

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]


@pytest.fixture(autouse=True)
def cold(ground: Ground) -> None:
    """`wl` starts every daemon itself."""
    ground.warm = False


NEW = ("new", "--driver", "standin")
STAY = {"text": "WAITING"}


def test_a_workspace_deleted_by_hand_still_ends_with_its_branch_in_the_trash(
    ground: Ground,
) -> None:
    workspace = ground.new("a1")
    ground.wait("a1")
    shutil.rmtree(workspace)
    assert ground.agents()[0]["state"] == "complete"
    assert "gone" in ground.wl("status", "a1").ok().out
    ground.wl("path", "a1").failed(8)
    ground.wl("kill", "a1", "--force").ok()
    ground.wl("undo").ok()
    assert (workspace / "notes" / "a1.md").exists()


def test_a_workspace_deleted_and_pruned_is_made_again_by_resume(ground: Ground) -> None:
    workspace = ground.new("a1", {"tool": "Bash", "input": {"command": "exit 0"}}, STAY)
    ground.wait("a1", states="waiting")
    ground.wl("pause", "a1").ok()
    shutil.rmtree(workspace)
    ground.git("worktree", "prune")
    ground.wl("resume", "a1").ok()
    assert (workspace / "README").exists()
    ground.wl("kill", "a1", "--force").ok()


def test_a_repository_that_was_moved_is_known_again_with_its_agents(ground: Ground) -> None:
    workspace = ground.new("a1")
    ground.wait("a1")
    (ground.folder / "repo").rename(ground.folder / "moved")
    moved = ground.folder / "moved"
    (ground.folder / "repo" / ".git" / "windlass").mkdir(parents=True)  # a git of somebody late
    assert [a["id"] for a in ground.wl("list", "--json", cwd=moved).ok().json()] == ["a1"]
    assert ground.git("status", "--porcelain", cwd=workspace) == ""
    ground.wl("merge", "a1", "--force", cwd=moved).ok()
    assert "Merge agent a1" in ground.git("log", "-1", "--format=%s", cwd=moved)


def test_a_copy_of_a_repository_is_another_one(ground: Ground) -> None:
    ground.new("a1", STAY)
    shutil.copytree(ground.folder / "repo", ground.folder / "copy", symlinks=True)
    assert ground.wl("list", "--json", cwd=ground.folder / "copy").ok().json() == []
    assert len(ground.agents()) == 1


def test_a_target_branch_checked_out_elsewhere_is_brought_along(ground: Ground) -> None:
    elsewhere = ground.folder / "elsewhere"
    ground.git("worktree", "add", "-q", "-b", "release", str(elsewhere))
    ground.new("a1")
    ground.wait("a1")
    ground.wl("merge", "a1", "--into", "release", "--force").ok()
    assert (elsewhere / "notes" / "a1.md").exists()
    assert ground.git("status", "--porcelain", cwd=elsewhere) == ""


def test_an_agents_branch_checked_out_elsewhere_does_not_stop_its_ending(ground: Ground) -> None:
    workspace = ground.new("a1")
    ground.wait("a1")
    ground.git("checkout", "-q", "--detach", cwd=workspace)
    ground.git("checkout", "-q", "agent/a1")
    ground.wl("kill", "a1", "--force").ok()
    ground.git("checkout", "-q", "main")
    ground.wl("undo").ok()


def test_a_killed_tmux_server_is_noticed_at_once_and_agents_can_be_resumed(ground: Ground) -> None:
    for name in ("a1", "a2"):
        ground.new(name, STAY)
    ground.wait("a1", "a2", states="waiting")
    ground.tmux("kill-server")
    ground.wl("wait", "a1", "a2", "--for", "stopped", "--timeout", "10").ok()
    assert "session 1" in ground.wl("why", "a1").ok().out
    ground.wl("resume", "a1", "a2").ok()
    ground.wait("a1", "a2", states="waiting")


def test_an_agent_killed_minus_nine_is_noticed_at_once_and_resumed_where_it_was(
    ground: Ground,
) -> None:
    count = {"tool": "Bash", "input": {"command": "echo once >> count.txt"}}
    workspace = ground.new("a1", count, STAY, {"await": "message"}, {"text": "WAITING"})
    ground.wait("a1", states="waiting")
    pid = ground.wl("info", "a1", "--json").ok().json()["pid"]
    psutil.Process(pid).send_signal(signal.SIGKILL)
    ground.wl("wait", "a1", "--for", "stopped", "--timeout", "5").ok()
    assert "137" in ground.wl("why", "a1").ok().out
    ground.wl("resume", "a1").ok()
    ground.wait("a1", states="waiting")
    assert (workspace / "count.txt").read_text() == "once\n"


def test_what_happened_while_no_daemon_ran_is_known_afterwards(ground: Ground) -> None:
    wait = {"tool": "Bash", "input": {"command": "while [ ! -e go ]; do read -t 0.1 x; done"}}
    gate = ground.new("a1", wait, {"text": "I HAVE COMPLETED THE GOAL"}) / "go"
    until(lambda: ground.state_of("a1") == "running", what="a1 running")
    log = Path(ground.wl("info", "a1", "--json").ok().json()["folder"]) / "sessions/1/events.jsonl"
    ground.kill_daemon()
    gate.touch()
    until(lambda: '"Stop"' in log.read_text(), what="the Stop hook")
    assert ground.state_of("a1") == "complete"
    kinds = [event["kind"] for event in ground.events("a1")]
    assert kinds.count("hook.Stop") == 1
    ground.kill_daemon()
    assert [event["kind"] for event in ground.events("a1")].count("hook.Stop") == 1


def is_over(process: psutil.Process) -> bool:
    """Whether a process has ended, though nobody may have asked how."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_an_agent_that_ended_while_no_daemon_ran_is_stopped_afterwards(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    pid = ground.wl("info", "a1", "--json").ok().json()["pid"]
    ground.kill_daemon()
    process = psutil.Process(pid)
    process.kill()
    until(lambda: is_over(process), what="its end")
    ground.wl("wait", "a1", "--for", "stopped", "--timeout", "10").ok()


def test_many_commands_racing_to_start_the_daemon_get_one(ground: Ground) -> None:
    ground.wl("init").ok()
    ground.wl("daemon", "stop").ok()
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: ground.wl("list", "--json"), range(8)))
    assert all(one.ok().json() == [] for one in done)
    daemons = [p for p in ground.processes() if "windlass.daemon" in p.cmdline()]
    assert len(daemons) == 1


def test_a_stale_socket_is_replaced(ground: Ground) -> None:
    ground.wl("list").ok()
    ground.kill_daemon()
    (left,) = ground.runtime.glob("windlass/*/person.sock")
    assert left.exists()
    ground.wl("list").ok()
    ground.wl("daemon", "stop").ok()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(left))
    ground.wl("list").ok()


def test_a_daemon_whose_socket_was_tidied_away_is_replaced(ground: Ground) -> None:
    ground.new("a1", STAY)
    first = ground.daemon_pid()
    (path,) = ground.runtime.glob("windlass/*/person.sock")
    path.unlink()
    ground.wl("list").ok()
    assert ground.daemon_pid() != first
    ground.wait("a1", states="waiting")


def test_a_runtime_folder_that_was_tidied_away_is_made_again_around_living_agents(
    ground: Ground,
) -> None:
    ground.new("a1", {"text": "still here\n\nWAITING"})
    ground.wait("a1", states="waiting")
    pid = ground.wl("info", "a1", "--json").ok().json()["pid"]
    shutil.rmtree(ground.runtime / "windlass")
    assert "still here" in ground.wl("look", "a1").ok().out
    assert ground.wl("info", "a1", "--json").ok().json()["pid"] == pid
    ground.wl("send", "a1", "and you?").ok()
    ground.wl("kill", "a1", "--force").ok()


def test_the_socket_is_for_its_owner_and_short_whatever_the_state_folder_is(
    ground: Ground,
) -> None:
    deep = ground.folder / ("deep" * 20) / ("er" * 40)
    env = {"WINDLASS_HOME": str(deep)}
    told = ground.wl("daemon", "status", "--json", env=env).ok().json()
    ground.wl("list", env=env).ok()
    path = Path(told["socket"])
    assert len(str(path)) < 100
    assert path.stat().st_mode & 0o177 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    ground.wl("daemon", "stop", env=env).ok()


def test_a_database_of_a_newer_windlass_is_named_and_kept(ground: Ground) -> None:
    ground.wl("init").ok()
    ground.wl("daemon", "stop").ok()
    path = ground.state / "windlass.db"
    connection = sqlite3.connect(path)
    connection.execute("UPDATE schema_version SET version = 99")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    done = ground.wl("list").failed(3)
    assert "windlass.db" in done.err
    assert path.read_bytes() == before


def test_a_daemon_of_another_version_is_replaced_and_agents_stay(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    agent = ground.wl("info", "a1", "--json").ok().json()["pid"]
    first = ground.daemon_pid()
    other = ground.folder / "other"
    shutil.copytree(Path(windlass.__file__).parent, other / "windlass")
    init = other / "windlass" / "__init__.py"
    init.write_text(init.read_text().replace(windlass.__version__, "9.9.9"))
    done = subprocess.run(
        [sys.executable, "-m", "windlass", "list", "--json"],
        cwd=ground.folder / "repo",
        env={**ground.env, "PYTHONPATH": str(other)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert '"a1"' in done.stdout
    second = ground.daemon_pid()
    assert second != first
    assert ground.wl("info", "a1", "--json").ok().json()["pid"] == agent
    assert psutil.pid_exists(agent)


@pytest.mark.parametrize("count", [32, pytest.param(64, marks=pytest.mark.soak)])
def test_many_spawns_at_once_all_succeed(ground: Ground, count: int) -> None:
    script = ground.script("idle", STAY)
    ground.wl("init").ok()

    def spawn(number: int) -> Done:
        return ground.wl(
            *NEW, "--script", script, "--name", f"n{number}", "--json", "x", timeout=300
        )

    with ThreadPoolExecutor(count) as pool:
        made = [done.ok().json() for done in pool.map(spawn, range(count))]
    assert len({one["workspace"] for one in made}) == count
    listed = ground.agents()
    assert len(listed) == count
    assert sorted(one["slot"] for one in listed) == list(range(count))
    assert len(list(ground.state.glob("workspaces/*/*"))) == count
    ground.wl("nuke", "--force", timeout=300).ok()
    assert ground.agents() == []
    assert list(ground.state.glob("workspaces/*/*")) == []


def test_a_setup_that_hangs_is_ended_with_everything_it_started(ground: Ground) -> None:
    lines = ["[workspace]", "timeout = 1.5", 'setup = "echo preparing; sleep 600 & sleep 601"']
    ground.configure("\n".join(lines))
    done = ground.wl(*NEW, "--name", "a1", "x").failed(5)
    assert "took longer than 1.5 s" in done.err
    assert "preparing" in done.err
    assert ground.agents() == []
    assert "agent/a1" not in ground.git("branch", "--list")
    sleeping = [p for p in ground.processes() if p.name() == "sleep"]
    assert sleeping == []


def test_setup_and_teardown_run_in_the_workspace_and_know_the_agent(ground: Ground) -> None:
    ground.unbox()  # to see from outside what a teardown did
    kept = ground.folder / "teardown"
    ground.configure(
        "[workspace]\n"
        'setup = "env | grep ^WINDLASS_ | sort > told.txt"\n'
        f'teardown = "cp told.txt {kept}"\n'
    )
    workspace = ground.new("a1", STAY)
    told = (workspace / "told.txt").read_text()
    for name in ("AGENT=a1", "SLOT=0", "PORT_BASE=20000", f"REPO={ground.folder / 'repo'}"):
        assert f"WINDLASS_{name}" in told
    ground.wl("kill", "a1", "--force").ok()
    assert kept.read_text() == told


@contextlib.contextmanager
def small_disk(ground: Ground) -> Iterator[Path]:
    """A file system with no room for what is to be kept; only root may mount one."""
    small = ground.folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)]
    subprocess.run(mount, capture_output=True, check=True)
    try:
        yield ground.repository("small/repo")
    finally:
        ground.wl("daemon", "stop").ok()
        subprocess.run(["umount", "-l", str(small)], check=True)


@contextlib.contextmanager
def small_files(ground: Ground) -> Iterator[Path]:
    """A daemon that, like the git that it runs, cannot write a file past three megabytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ground.wl("daemon", "stop").ok()
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, before[1]))
    try:
        ground.wl("daemon", "start").ok()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    yield ground.folder / "repo"


@pytest.mark.parametrize("full", [small_files, small_disk] if os.geteuid() == 0 else [small_files])
def test_a_full_disk_while_salvaging_removes_nothing(
    ground: Ground, full: Callable[[Ground], AbstractContextManager[Path]]
) -> None:
    with full(ground) as repo:
        script = ground.script("s", STAY)
        ground.wl(*NEW, "--name", "a1", "--script", script, "x", cwd=repo).ok()
        ground.wl("wait", "a1", "--for", "waiting", "--timeout", "30", cwd=repo).ok()
        workspace = Path(ground.wl("path", "a1", cwd=repo).ok().out.strip())
        (workspace / "big.bin").write_bytes(os.urandom(8 << 20))
        done = ground.wl("kill", "a1", "--force", cwd=repo)
        assert done.code != 0
        assert "Traceback" not in done.err
        assert (workspace / "big.bin").stat().st_size == 8 << 20
        assert ground.wl("list", "--json", cwd=repo).ok().json()[0]["id"] == "a1"
        assert "agent/a1" in ground.git("branch", "--list", cwd=repo)
        (workspace / "big.bin").unlink()
        ground.wl("kill", "a1", "--force", cwd=repo).ok()


@contextlib.contextmanager
def small_state(ground: Ground) -> Iterator[Path]:
    """A state folder on a disk of its own; what is given back takes all that is left of it."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(ground.state)]
    subprocess.run(mount, capture_output=True, check=True)
    ground.unbox()
    filler = ground.state / "filler"
    try:
        yield filler
    finally:
        filler.unlink(missing_ok=True)
        ground.wl("nuke", "--force").ok()
        ground.wl("daemon", "stop").ok()
        subprocess.run(["umount", "-l", str(ground.state)], check=True)


def fill(filler: Path) -> None:
    """Takes all the room that there is."""
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_daemon_that_starts_on_a_full_disk_answers_and_changes_nothing(
    ground: Ground, end: str
) -> None:
    with small_state(ground) as filler:
        ground.new("a1", STAY)
        ground.wait("a1", states="waiting")
        ground.wl("daemon", "stop").ok() if end == "stop" else ground.kill_daemon()
        fill(filler)
        assert "a1" in ground.wl("list").ok().out
        assert "free some disk space" in ground.wl("doctor").out
        assert "a1" in ground.wl().ok().out
        refused = ground.wl("note", "--agent", "a1", "hello").failed(6)
        assert "no room left to write" in refused.err
        filler.unlink()
        ground.wl("note", "--agent", "a1", "hello").ok()
