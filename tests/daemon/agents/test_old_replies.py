"""Replies that an older release kept, told to whoever asks again under the same key."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import Any

import pytest
from tests.daemon.agents.test_merge_targets import commit, spawn
from tests.support.replies import as_declared
from tests.support.workshop import Workshop

from windlass.cli import ended
from windlass.cli.call import Call
from windlass.store import rows


def forget(workshop: Workshop, key: str, *words: str) -> None:
    """Has a kept reply be as a release wrote it that did not know these words yet."""
    intent = workshop.context.store.read(lambda c: rows.intent(c, f"person:{key}"))
    assert intent is not None
    assert intent.result is not None
    result = {word: said for word, said in intent.result.items() if word not in words}
    workshop.context.store.write(partial(rows.change_intent, key=intent.id, result=result))


@pytest.mark.parametrize("request_", [{"agents": ["fox"]}, {"agents": [], "tree": True}])
def test_an_ending_that_an_older_release_did_is_told_as_one_without_failures(
    workshop: Workshop, request_: dict[str, Any]
) -> None:
    spawn(workshop, "fox")
    done = workshop.ask("end", key="k", **request_)
    forget(workshop, "k", "failed", "notes")
    again = as_declared("end", workshop.ask("end", key="k", **request_))
    assert again == {**done, "failed": [], "notes": []}
    assert ended.tell(Call(Namespace(json=False, quiet=False)), again) == 0


@pytest.mark.parametrize("how", ["end", "reassign"])
def test_an_undo_that_an_older_release_did_is_told_as_one_without_failures(
    workshop: Workshop, how: str
) -> None:
    spawn(workshop, "lead", role="manager")
    spawn(workshop, "fox")
    if how == "end":
        workshop.ask("end", agents=["fox"])
    else:
        workshop.ask("reassign", agent="fox", parent="lead")
    done = workshop.ask("undo", key="k")
    forget(workshop, "k", "failed")
    assert as_declared("undo", workshop.ask("undo", key="k")) == done


def test_a_merge_that_an_older_release_did_is_told_as_one_without_failures(
    workshop: Workshop,
) -> None:
    commit(spawn(workshop, "fox"))
    done = workshop.ask("merge", agent="fox", key="k")
    forget(workshop, "k", "failed")
    assert as_declared("merge", workshop.ask("merge", agent="fox", key="k")) == done
