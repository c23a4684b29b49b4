"""A daemon that dies anywhere in a run is followed by one that ends it, once."""

from __future__ import annotations

import pytest
from tests.daemon.gate.gate_ground import GateGround, Killed

POINTS = [
    "job.gate.advance.before",
    "job.gate.advance.after",
    "gate.layer.make.before",
    "gate.layer.make.after",
    "gate.layer.finish.before",
    "gate.layer.finish.after",
    "gate.check.run.before",
    "gate.check.run.after",
    "gate.check.finish.before",
    "gate.check.finish.after",
    "gate.tell.tell.before",
    "gate.tell.finish.before",
]


@pytest.mark.parametrize("point", POINTS)
def test_the_next_daemon_ends_it(ground: GateGround, point: str) -> None:
    """With one verdict, whatever was done before: a green one is not run for twice."""
    reply = ground.begin()
    ground.dies_at = point
    with pytest.raises(Killed):
        ground.settle()
    ground.start_daemon()
    ground.settle()
    assert ground.ended(reply["job"])["outcome"] == "passed"
    assert ground.verdicts() == 1
    assert len(ground.told) == 1
    again = ground.prove()
    assert (again["cached"], again["outcome"]) == (True, "passed")
