"""Changes land on a remote's branch by a push that expects where it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GATE
from tests.daemon.landing.upstream_ground import UpstreamGround

from windlass.daemon.kernel.context import Context


@pytest.fixture
def ground(context: Context, tmp_path: Path) -> UpstreamGround:
    """Its tests are green on main, here and on the remote."""
    (tmp_path / "home").mkdir()
    files = {**CODE, ".windlass/config.toml": GATE}
    made = gate_ground.make_as(UpstreamGround, context, tmp_path / "shop", files)
    made.begin_remote()
    return made


def test_a_change_lands_by_a_push_and_the_checkout_goes_along(ground: UpstreamGround) -> None:
    """On the remote's tip as it is then, whoever pushed meanwhile."""
    head = ground.commit({"more.py": "more = 1\n"}, branch="mine")
    theirs = ground.commit_upstream("theirs.txt")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "landed", shown
    assert ground.remote("rev-parse", "main") == shown["commit"]
    assert ground.remote("log", "-1", "--format=%P", "main").split() == [theirs, head]
    assert ground.git("rev-parse", "main") == shown["commit"]
    assert (ground.root / "theirs.txt").read_text() == "theirs\n"
    assert ground.git("status", "--porcelain") == ""
    assert shown["why"] == ""
