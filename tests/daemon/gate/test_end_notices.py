"""The person is told of a run that ended while nobody waited for it, once; of others they know."""

from __future__ import annotations

import asyncio

import pytest
from tests.daemon.gate.gate_ground import BROKEN, PERSON, GateGround, Killed

from windlass.api.wire.gate import GateRunReply


def test_a_green_run_in_the_background_is_told(ground: GateGround) -> None:
    """By the branch, and what was tested."""
    ground.prove()
    (told,) = ground.told
    assert told.startswith("main is green: 1 test in ")


def test_a_red_one_is_told_with_what_failed(ground: GateGround) -> None:
    """And where to look; a commit that is not the target's tip is called by its tree."""
    ground.commit(BROKEN, branch="change")
    tree = ground.prove("change")["tree"]
    (told,) = ground.told
    assert told.startswith(f"the tree {tree[:10]} is red: ")
    assert "test_adds" in told
    assert told.endswith("`wl gate` shows it")


def test_who_waits_for_it_needs_no_notice(ground: GateGround) -> None:
    reply = ground.begin()

    async def wait() -> GateRunReply:
        # Looked at before the first thread is done with: whoever waits is known by then.
        waiting = asyncio.create_task(ground.proofs.wait(PERSON, {"job": reply["job"]}))
        await asyncio.to_thread(ground.git, "status")
        await asyncio.to_thread(ground.settle)
        return await waiting

    assert asyncio.run(wait())["outcome"] == "passed"
    assert ground.told == []


def test_a_daemon_that_dies_before_it_has_told_is_followed_by_one_that_does(
    ground: GateGround,
) -> None:
    ground.begin()
    ground.dies_at = "gate.tell.tell.before"
    with pytest.raises(Killed):
        ground.settle()
    assert ground.told == []
    ground.start_daemon()
    ground.settle()
    assert len(ground.told) == 1


def test_one_that_was_cancelled_is_not_told(ground: GateGround) -> None:
    """Who cancelled it knows."""
    reply = ground.begin()
    job = ground.proofs._find(reply["job"])  # noqa: SLF001
    ground.context.store.write(lambda w: ground.jobs.cancel(w, job, "no longer wanted"))
    ground.settle()
    assert ground.ended(reply["job"])["outcome"] == "could-not-run"
    assert ground.told == []
