"""What ends agents or deletes their work is not done to one that a letter or two happen to mean."""

from __future__ import annotations

import pytest
from tests.daemon.agents.test_merge import commit, worker
from tests.support.workshop import Workshop

from windlass.core.errors import UserError


def test_three_letters_or_the_whole_id_are_needed(workshop: Workshop) -> None:
    fox = worker(workshop, "foxglove")
    commit(fox, "work.txt")
    for verb, request in (
        ("end", {"agents": ["fo"]}),
        ("end", {"agents": ["fo"], "tree": True}),
        ("merge", {"agent": "fo"}),
    ):
        with pytest.raises(UserError, match="'fo' is foxglove, but too short"):
            workshop.ask(verb, **request)
    assert workshop.ask("status", agent="fo")["agents"][0]["id"] == "foxglove"
    (ended,) = workshop.ask("end", agents=["fox"])["ended"]
    entry = ended["trash"]["id"]
    with pytest.raises(UserError, match=f"'f' is {entry}"):
        workshop.ask("trash.empty", entries=["f"])
    assert workshop.ask("trash.empty", entries=["foxglove"])["emptied"] == [entry]


def test_an_id_of_one_letter_is_whole(workshop: Workshop) -> None:
    worker(workshop, "f")
    assert workshop.ask("end", agents=["f"])["ended"][0]["id"] == "f"
