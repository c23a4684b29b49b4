"""The siege from within a gate: the attacker is what a change has for tests.

It has no session, no tools and no socket, and nothing of its tree is left afterwards: what came of
its attacks is read from the log of its run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.redteam.siege import Siege

_CHECK = """
[[gate.check]]
name = "attack"
run = "python3 -m tests.redteam.inside; echo FINDINGS; cat findings.json"
tests = "none"
timeout = 300
"""
_LOOKS = (("gate",), ("list",), ("doctor",))


class GateSiege(Siege):
    """The attacker in a gate's box, and what came of it."""

    def lay(self) -> dict[str, Any]:
        """Everything, in its order; returns what came of it."""
        try:
            self.world.build()
            config = self.ground.state / "config.toml"
            config.write_text(config.read_text() + _CHECK)
            self._prove()
            self._afterwards()
            self._see("24 survivor", self._left())
            for look in _LOOKS:
                self.said += self._text(*look)
            self._see("18 at the end", self.world.sung())
        finally:
            self.world.leave()
        return {"found": self.found, "denied": {}, "controls": [], "slow": self.slow}

    def _prove(self) -> None:
        """Has the tree proven that the attacker lies in."""
        self.workspace = self.world.main
        (check,) = self.ground.wl("gate", "run", "--json", timeout=400).json()["checks"]
        said = Path(check["log"]).read_text(errors="replace")
        _, mark, found = said.rpartition("FINDINGS\n")
        assert mark, f"{check['outcome']}: {check['why']}\n{said[-2000:]}"
        self.found |= json.loads(found)
        for one in self.found.values():
            self._look_for_planted(one)
