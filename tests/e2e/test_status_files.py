"""The daemon keeps the status of a crew in a person's files by itself."""

from __future__ import annotations

import pytest
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow


def test_a_crew_is_told_in_the_files_of_the_checkout_as_it_comes_and_goes(unboxed: Ground) -> None:
    with (unboxed.state / "config.toml").open("r+") as file:
        rest = file.read()
        file.seek(0)
        file.write(f"status_file = true\n{rest}[status_node]\nenabled = true\n")
        file.write("update_interval = 0.1\n")
    node = unboxed.folder / "repo" / "CLAUDE.md"
    status = unboxed.folder / "repo" / ".windlass" / "STATUS.md"
    node.write_text("<windlass>\n</windlass>\n")
    unboxed.new("kit", {"text": "WAITING"})
    until(lambda: '"state": "waiting"' in node.read_text(), what="a node")
    until(lambda: status.exists() and "`kit`: waiting" in status.read_text(), what="a status")
    unboxed.wl("kill", "kit", "--force").ok()
    until(lambda: "No active agents" in node.read_text(), what="a node without agents")
    until(lambda: "No active agents" in status.read_text(), what="a status without agents")
