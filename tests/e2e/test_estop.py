"""`wl estop` on a crew whose daemon is dead, or is just being brought back: nobody survives it."""

from __future__ import annotations

import psutil
import pytest
from tests.support.ground import Ground, end, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]
AGENTS = 5
BUSY = {"tool": "Bash", "input": {"command": "touch begun; (trap '' TERM HUP; sleep 600) & wait"}}


@pytest.mark.parametrize("comes_back", [True, False])
def test_an_emergency_stop_without_a_daemon_leaves_no_survivor(
    ground: Ground, *, comes_back: bool
) -> None:
    ground.warm = False  # `wl` starts the daemon, so that holders know how to bring it back
    workspaces = [ground.new(f"a{number}", BUSY) for number in range(AGENTS)]
    for workspace in workspaces:
        until((workspace / "begun").exists, what=f"work in {workspace}")
    if not comes_back:
        (ground.state / "daemon.start").unlink()
    daemon = ground.living_daemon()
    assert daemon is not None
    end([daemon])
    told = ground.wl("estop", "--json").ok().json()
    assert {**told, "seconds": 0} == {"stopped": AGENTS, "seconds": 0, "survivors": []}
    assert [process for process in ground.processes() if is_of_a_session(process)] == []
    assert ground.living_daemon() is None
    # What was about to start a daemon sees that none is wanted, and ends as well; the tmux server
    # stays, without a session.
    until(lambda: all(map(is_tmux, ground.processes())))
    assert ground.tmux("list-sessions").stdout == ""
    assert all((workspace / "begun").exists() for workspace in workspaces), "work is kept"


def is_of_a_session(process: psutil.Process) -> bool:
    """Whether a process carries the mark of a session."""
    try:
        return "WINDLASS_SESSION" in process.environ()
    except psutil.Error:
        return False


def is_tmux(process: psutil.Process) -> bool:
    """Whether a process is the tmux server, or has ended meanwhile."""
    try:
        return process.name().startswith("tmux")
    except psutil.Error:
        return True
