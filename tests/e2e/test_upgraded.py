"""After an upgrade, agents whose sessions began before it have the `wl` of the daemon that runs."""

from __future__ import annotations

import pytest
from tests.support.ground import WL, Ground

pytestmark = pytest.mark.slow


def test_wl_of_a_session_is_the_daemons_and_its_own_where_that_is_not_shown(ground: Ground) -> None:
    """A box shows what there was when it began; a link that leads nowhere is passed over."""
    ground.new("a1", {"text": "WAITING"})
    link = ground.state / "bin" / "wl"

    def found() -> str:
        return ground.wl("exec", "a1", "--", "sh", "-c", "command -v wl").ok().out.strip()

    assert found() == str(link)
    link.unlink()
    link.symlink_to(ground.folder / "another" / "bin" / "wl")
    assert found() == WL
    ground.wl("daemon", "stop").ok()
    ground.wl("list").ok()
    assert str(link.readlink()) == WL
