"""`wl pause`, `resume` and `interrupt`: of whom, in which order, and what is said."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.told import Told

from windlass.cli import steered
from windlass.cli.commands import (
    interrupt,
    pause,
    resume,
)
from windlass.core.errors import NotFound, Unavailable, UserError


@pytest.mark.parametrize(
    ("module", "verb"), [(pause, "pause"), (resume, "resume"), (interrupt, "interrupt")]
)
def test_nothing_is_done_to_one_agent_if_another_is_not_there(module: Any, verb: str) -> None:
    def info(request: dict[str, Any]) -> dict[str, Any]:
        if request["agent"] == "nosuch":
            raise NotFound("no agent 'nosuch'", "")
        return {"id": "lead", "ended_at": 5.0 if request["agent"] == "past" else None}

    for absent in ("nosuch", "past"):
        call = Told(module, "lead", absent, info=info)
        with pytest.raises(NotFound):
            module.run(call)
    done = {"id": "lead", "state": "paused"}
    call = Told(module, "lead", "le", info=info, **{verb: lambda _: done})
    module.run(call)
    assert [asked for asked, _ in call.asked] == ["info", "info", verb], "each once"


def test_all_are_paused_or_resumed_each_in_its_turn_and_one_failure_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    states = {"ant": "running", "bee": "paused", "cat": "stopped", "dog": "waiting"}
    listed = [{"id": name, "uid": f"u-{name}", "state": state} for name, state in states.items()]
    naps: list[float] = []
    monkeypatch.setattr("windlass.cli.steered.time.sleep", naps.append)

    def does(request: dict[str, Any]) -> dict[str, Any]:
        if request["agent"] in ("ant", "bee"):
            raise Unavailable("no", "try again")
        return {"id": request["agent"], "state": "done"}

    for module, verb, whom in ((pause, "pause", "ant dog"), (resume, "resume", "bee cat")):
        call = Told(module, "--all", agents=lambda _: listed, **{verb: does})
        assert module.run(call) == Unavailable.exit_code
        asked = [request["agent"] for name, request in call.asked if name == verb]
        assert asked == whom.split()
        assert "try again" in capsys.readouterr().out
    assert naps == [steered.STAGGER], "only who begins to work"
    with pytest.raises(UserError):
        pause.run(Told(pause, "ant", "--all"))
    with pytest.raises(UserError):
        pause.run(Told(pause))


def test_who_is_resumed_is_not_said_to_be_created(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    resume.run(Told(resume, "fox", resume=lambda _: {"id": "fox", "state": "creating"}))
    assert capsysbinary.readouterr().out == b"fox goes on: its session is starting\n"
