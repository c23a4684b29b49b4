"""What changes setup, asked for again under the same key: the answer of the first time, once done.

A client whose daemon dies before it has answered asks the next one so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import NoSockets
from tests.support.workshop import Workshop

from windlass.core.errors import NotFound
from windlass.core.events import ConfigAccepted, ConfigRevoked, RepoRemoved
from windlass.daemon.kernel.failpoints import Failpoints
from windlass.daemon.services import Services
from windlass.store import rows


class Died(BaseException):
    """The daemon, where the test wants it to."""


class Deadly(Failpoints):
    """Points of which one is the end."""

    def __init__(self, point: str) -> None:
        super().__init__(None)
        self._point = point

    def reached(self, name: str) -> None:
        """Dies at that point."""
        if name == self._point:
            raise Died(name)


def count(workshop: Workshop, kind: str) -> int:
    return len(workshop.context.store.read(lambda c: rows.events(c, kind=kind)))


@pytest.fixture
def widening(workshop: Workshop) -> Path:
    """A repository's own file with a line that waits for the person."""
    file = workshop.repo / ".windlass" / "config.toml"
    file.parent.mkdir()
    file.write_text('diff_tool = "meld"\n')
    return file


def waits(workshop: Workshop) -> list[str]:
    return [line["digest"] for line in workshop.ask("trust")["waiting"]]


def test_a_repository_that_was_removed_is_told_as_removed(workshop: Workshop) -> None:
    added = workshop.ask("repo.add", repo=".", key="a")
    assert workshop.ask("repo.add", repo=".", key="a") == added
    removed = workshop.ask("repo.remove", repo=".", key="r")
    assert workshop.ask("repo.remove", repo=".", key="r") == removed == added
    assert count(workshop, RepoRemoved.kind) == 1
    with pytest.raises(NotFound):
        workshop.ask("repo.remove", repo=".", key="another")


def test_consent_that_was_given_is_told_as_given(workshop: Workshop, widening: Path) -> None:
    assert widening.exists()
    digests = waits(workshop)
    first = workshop.ask("trust.accept", digests=digests, key="t")
    assert workshop.ask("trust.accept", digests=digests, key="t") == first
    assert first["waiting"] == []
    assert count(workshop, ConfigAccepted.kind) == 1
    first = workshop.ask("trust.revoke", keys=["diff_tool"], key="v")
    assert workshop.ask("trust.revoke", keys=["diff_tool"], key="v") == first
    assert first["accepted"] == []
    assert count(workshop, ConfigRevoked.kind) == 1
    with pytest.raises(NotFound):
        workshop.ask("trust.revoke", keys=["diff_tool"], key="another")


def test_a_repository_that_was_set_up_is_told_as_set_up(workshop: Workshop) -> None:
    (workshop.repo / "Makefile").touch()
    first = workshop.ask("init", accept=True, key="i")
    assert first["made"]
    assert first["proposed"] == ["Bash(make:*)", "Bash(cc:*)"]
    assert workshop.ask("init", accept=True, key="i") == first
    assert not workshop.ask("init", key="another")["made"]


@pytest.mark.parametrize("verb", ["trust.accept", "trust.revoke", "init"])
def test_a_daemon_that_dies_with_it_is_followed_by_one_that_says_what_was_done(
    workshop: Workshop, widening: Path, verb: str
) -> None:
    """It dies when the file is written, before that is on record."""
    requests: dict[str, dict[str, Any]] = {
        "trust.accept": {"digests": waits(workshop)},
        "trust.revoke": {"keys": ["diff_tool"]},
        "init": {"accept": True},
    }
    if verb == "trust.revoke":
        workshop.ask("trust.accept", digests=waits(workshop))
    if verb == "init":
        widening.unlink()
        (workshop.repo / "Makefile").touch()
    kind = verb.partition(".")[0]
    workshop.context.failpoints = Deadly(f"{kind}.write.after")
    with pytest.raises(Died):
        workshop.ask(verb, key="k", **requests[verb])
    workshop.context.failpoints = Failpoints(None)
    after = Services(workshop.context, NoSockets())
    for intent in workshop.context.store.read(rows.open_intents):
        after.intents.resume(intent)
    reply = workshop.ask(verb, key="k", **requests[verb])
    if verb == "init":
        assert reply["made"]
    else:
        assert bool(reply["accepted"]) is (verb == "trust.accept")
