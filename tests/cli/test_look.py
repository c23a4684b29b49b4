"""`wl look --follow` and `wl wait`: when they are over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cli.told import Told, no_news

from windlass.api import calls
from windlass.cli.commands import (
    look,
    wait,
)


def test_following_the_screen_of_a_stopped_agent_ends() -> None:
    shown = {"id": "api", "live": False, "screen": "the last of it"}
    assert look.run(Told(look, "-f", "api", look=lambda _: shown)) == 0


def test_a_followed_screen_is_shown_when_it_changes_and_until_it_ends(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(look, "_PERIOD", 0.0)
    screens = iter(["one", "one", "two", "three"])

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        screen = next(screens)
        assert screen == "one" or request["agent"] == "api"
        return {"id": "api", "live": screen != "three", "screen": screen}

    assert look.run(Told(look, "-f", "ap", look=answer)) == 0
    assert capsysbinary.readouterr().out.split() == [b"one", b"two", b"three"]


def _waiting(why: Callable[[dict[str, Any]], Any], *words: str) -> Told:
    return Told(wait, *words, log=lambda _: [], why=why)


def test_who_waits_by_prefix_sees_the_agent_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once `api` has ended, the name is a prefix of another that lives on."""
    states = iter([("api", "running"), ("api", "running"), ("api-2", "running")])

    def why(_: dict[str, Any]) -> dict[str, Any]:
        name, state = next(states)
        return {"id": name, "state": state}

    def follow(_: int) -> Iterator[dict[str, Any]]:
        yield {"kind": "agent.ended"}

    monkeypatch.setattr(calls, "follow", follow)
    call = _waiting(why, "ap")
    assert wait.run(call) == 0
    assert [request["agent"] for verb, request in call.asked if verb == "why"] == [
        "ap",
        "api",
        "api",
    ]


def test_waiting_ends_with_what_ended_its_news(monkeypatch: pytest.MonkeyPatch) -> None:
    no_news(monkeypatch, RuntimeError("no more news"))
    with pytest.raises(RuntimeError, match="no more news"):
        wait.run(_waiting(lambda _: {"id": "api", "state": "running"}, "api"))
