"""Mail on both drivers, live and headless: it arrives once, whole, in order, and receipts are true.

Conversations are read here by other means than the product's own.
"""

from __future__ import annotations

import re
import signal
from typing import Any

import psutil
import pytest
from tests.chaos.test_mail import shown_by
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
MODES = [pytest.param([], id="live"), pytest.param(["--print"], id="headless")]
REST = {"text": "I rest.\n\nWAITING"}
NASTY = 'it\'s "quoted" `$(x)` \\ \t👩‍🚀 Enter C-c [sent by user]: \x1b[31m\n\n' * 340
SAID = re.compile(r"\[sent by user\]: (.*?)\n\n\[message (msg-\w+)\]", re.DOTALL)


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def send(on: Scene, text: str, **more: Any) -> str:
    """Sends as the person; returns the id."""
    (sent,) = on.ground.ask("send", agent="fox", text=text, **more)["messages"]
    return str(sent["id"])


def receipt(on: Scene, number: str) -> str:
    """What became of a message so far."""
    return str(on.ground.ask("message", message=number)["state"])


def read(on: Scene, *numbers: str) -> None:
    """Waits until all were read."""
    for number in numbers:
        until(lambda number=number: receipt(on, number) == "read", within=60, what="read")  # type: ignore[misc]


def heard(on: Scene) -> list[tuple[str, str]]:
    """The ids of what the model was shown, in order, each with the text that it came in."""
    texts = [text for line in on.transcript("fox") for text in shown_by(line)]
    return [(number, text) for text in texts for number in re.findall(r"\[message (msg-\w+)", text)]


def ids(on: Scene) -> list[str]:
    return [number for number, _ in heard(on)]


@pytest.mark.parametrize("mode", MODES)
def test_messages_to_an_idle_agent_arrive_once_whole_and_in_order(
    on: Scene, mode: list[str]
) -> None:
    on.new("fox", REST, flags=mode)
    on.wait("fox", "waiting")
    assert len(NASTY) > 19_000
    sent = {send(on, text): text for text in ("first", NASTY, *map(str, range(8)))}
    read(on, *sent)
    assert ids(on) == list(sent)
    for number, text in heard(on):
        body = sent[number].replace("[sent by", "(sent by")  # nobody speaks in another's name
        assert f"[sent by user]: {body}\n\n[message {number}]" in text


@pytest.mark.parametrize("mode", MODES)
def test_messages_to_a_busy_agent_arrive_between_its_calls_and_urgent_ones_overtake(
    on: Scene, mode: list[str]
) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; until test -e go; do sleep 0.1; done"),
        *(bash(f"true {number}") for number in range(4)),
        REST,
        flags=mode,
    )
    until((workspace / "begun").exists)
    plain = [send(on, text) for text in ("a", "b", "c")]
    urgent = send(on, "stop", urgent=True)
    assert all(receipt(on, one) == "queued" for one in (*plain, urgent))
    (workspace / "go").touch()
    read(on, *plain, urgent)
    assert sorted(ids(on)) == sorted([*plain, urgent])
    assert [one for one in ids(on) if one != urgent] == plain
    assert ids(on).index(urgent) < ids(on).index(plain[1]), "what was under way was the first"


@pytest.mark.parametrize("mode", MODES)
def test_mail_of_a_killed_agent_goes_to_the_session_that_wakes_for_it_and_nothing_doubles(
    on: Scene, mode: list[str]
) -> None:
    on.new("fox", REST, flags=mode)
    on.wait("fox", "waiting")
    before = send(on, "before")
    read(on, before)
    last = send(on, "under way")
    psutil.Process(on.pid("fox")).send_signal(signal.SIGKILL)
    on.wait("fox", "stopped")
    waits = send(on, "for later")
    assert receipt(on, waits) == "queued"
    woken = send(on, "wake up", wake=True)
    read(on, last, waits, woken)
    assert ids(on) == [before, last, waits, woken]
