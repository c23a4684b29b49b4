"""Things that go wrong around conversations: hostile output, lost files, silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

from windlass.core import states
from windlass.core.reasons import words
from windlass.core.states import Observation, Source, State

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
REST = {"text": "I rest.\n\nWAITING"}
SPENT = {"usage": {"input_tokens": 20_000, "output_tokens": 100}}
HEADLESS = ["--print"]
MODES = [pytest.param([], id="live"), pytest.param(HEADLESS, id="headless")]
HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e\x00\x08"


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def transcript(on: Scene, name: str) -> Path:
    """Where a conversation is kept."""
    return Path(on.wl("info", name, "--json").ok().json()["transcript"])


def spent(on: Scene) -> float:
    """What all agents have cost."""
    return float(on.wl("costs", "--json").ok().json()["total"]["usd"])


@pytest.mark.parametrize("mode", MODES)
def test_huge_and_hostile_input_and_output_is_shown_without_harm(
    on: Scene, mode: list[str]
) -> None:
    (on.ground.folder / "hostile").write_bytes(HOSTILE.encode() + bytes(range(256)) * 40)
    on.new(
        "fox",
        bash("head -c 1000000 /dev/zero | tr '\\0' x"),
        bash(f"cat {on.ground.folder / 'hostile'}"),
        bash(f"true '{HOSTILE.replace(chr(0), '')}' {'y' * 100_000}"),
        {"text": f"{HOSTILE.replace(chr(0), '')} It is done.\n\nI HAVE COMPLETED THE GOAL"},
        flags=mode,
    )
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    for command in (["look", "fox"], ["log", "fox"], ["why", "fox"], ["status"], ["info", "fox"]):
        shown = on.wl(*command).ok().out
        bad = {c for c in shown if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160}
        assert not bad - {"\x1b"}, command
        assert "\x1b" not in shown, command
        assert "\u202e" not in shown, command
        assert len(shown) < 1_000_000, command
    assert len(on.wl("log", "fox", "--json").ok().out) < 100_000


@pytest.mark.parametrize(
    ("mode", "left"),
    [
        pytest.param([], None, id="live"),
        pytest.param(HEADLESS, None, id="headless"),
        pytest.param(
            [], '{"type":"permission-mode","permissionMode":"default"}\n', id="no-message"
        ),
    ],
)
def test_a_conversation_that_is_gone_starts_anew_with_its_goal(
    on: Scene, mode: list[str], left: str | None
) -> None:
    on.new("fox", bash("true"), DONE, flags=mode)
    on.wait("fox", "complete")
    on.wl("pause", "fox").ok()
    gone = transcript(on, "fox")
    gone.unlink()
    if left is not None:
        gone.write_text(left)
    on.wl("resume", "fox").ok()
    on.wait("fox", "complete,waiting")
    states = [("complete", "hook"), ("paused", "windlass"), ("creating", "windlass")]
    assert on.history("fox")[2:6] == [*states, ("running", "hook")]
    until(lambda: on.texts("fox") != [], what="its transcript, which may come after the end")
    assert on.texts("fox")[0] == "be fox"
    assert on.texts("fox").count("be fox") == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_conversation_that_was_cut_off_goes_on_and_is_counted_right(
    on: Scene, mode: list[str]
) -> None:
    on.new(
        "fox",
        SPENT,
        bash("true"),
        DONE,
        on=[{"match": "^more$", "turns": [SPENT, REST]}],
        flags=mode,
    )
    on.wait("fox", "complete")
    until(lambda: spent(on) > 0.1, what="the cost of the first turn")
    on.wl("pause", "fox").ok()
    cut = transcript(on, "fox")
    cut.write_bytes(cut.read_bytes()[:-40])
    on.wl("resume", "fox").ok()
    on.wait("fox", "waiting,complete")
    on.wl("send", "fox", "more").ok()
    until(lambda: on.evidence("fox") == "WAITING", what="the answer")
    assert on.history("fox")[-2:] == [("running", "hook"), ("waiting", "hook")]
    until(lambda: spent(on) > 0.2, what="the cost of the second turn")
    assert spent(on) == pytest.approx(0.205)


def test_a_session_that_says_nothing_for_long_is_unknown() -> None:
    begun = Observation(
        source=Source.WINDLASS, value=State.CREATING, at=100.0, reason=words("begun"), session=1
    )
    soon, late = 100.0 + states.FADES_AFTER, 101.0 + states.FADES_AFTER
    assert states.fold([begun], now=soon).state is State.CREATING
    assert states.fold([begun], now=late).state is State.UNKNOWN
