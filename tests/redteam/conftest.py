"""One siege per level, shared by every worker that asks what came of it."""

from __future__ import annotations

import fcntl
import json
import subprocess
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.redteam.gate_siege import GateSiege
from tests.redteam.siege import Siege
from tests.support.ground import Ground

Outcome = dict[str, Any]


@pytest.fixture(scope="session")
def siege(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Callable[[str], Outcome]:
    """What came of the siege at a level; whoever asks first lays it, the others wait."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    known: dict[str, Outcome] = {}

    def outcome(level: str) -> Outcome:
        if level not in known:
            known[level] = _once(shared / f"siege-{level}.json", level)
        return known[level]

    return outcome


def _once(kept: Path, level: str) -> Outcome:
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(_lay(level)))
    found: Outcome = json.loads(kept.read_text())
    return found


def _lay(level: str) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    ground = Ground(folder)
    ground.repository()
    try:
        laid = GateSiege if level == "gate" else Siege
        return laid(ground, level).lay()
    except Exception as error:  # noqa: BLE001 - told by every test that asks
        # The others shall not try again what failed: each would wait as long.
        return {"failed": "".join(traceback.format_exception(error))}
    finally:
        ground.leave()
        # Not by our own Python: what agents dig is deeper than it can call itself.
        subprocess.run(["rm", "-rf", folder], check=True)
