"""A person at an agent's terminal: their draft, the size of their window, what they clear."""

from __future__ import annotations

import pytest
from tests.support.ground import until
from tests.support.scene import Scene, bare

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
TURN = [("running", "hook"), ("waiting", "hook")]
REST = {"text": "I rest.\n\nWAITING"}
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}


def tmux(on: Scene, name: str, command: str, *args: str) -> None:
    """Does something to an agent's terminal that only a person would."""
    session = on.wl("info", name, "--json").ok().json()["tmux"]
    assert on.ground.tmux(command, "-t", f"={session}:0", *args).returncode == 0


def shows(on: Scene, name: str, text: str) -> None:
    """Waits until an agent's screen shows a text."""
    until(lambda: text in on.wl("look", name).ok().out, what=f"{text!r} on the screen of {name}")


def test_a_draft_of_a_person_is_left_alone_and_still_theirs_to_send(on: Scene) -> None:
    on.new("fox", REST)
    on.wait("fox", "waiting")
    tmux(on, "fox", "send-keys", "-l", "dear fox, I")
    shows(on, "fox", "dear fox, I")
    on.wl("send", "fox", "hurry up").ok()
    on.wait_for_history("fox", [*BEGUN, ("waiting", "hook"), *TURN])
    tmux(on, "fox", "send-keys", "-l", " thank you")
    shows(on, "fox", "dear fox, I thank you")
    tmux(on, "fox", "send-keys", "Enter")
    on.wait_for_history("fox", [*BEGUN, ("waiting", "hook"), *TURN, *TURN])
    until(lambda: "dear fox, I thank you" in on.texts("fox"), what="it in the transcript")
    assert on.texts("fox").count("hurry up") == 1


def test_states_are_right_in_a_terminal_of_60_by_20(on: Scene) -> None:
    on.new(
        "fox",
        REST,
        {"await": "message"},
        {"tool": "Bash", "input": {"command": "true"}},
        {"error": {"status": 429, "retry_after": 5, "times": 1}},
        {"tool": "Bash", "input": {"command": "true"}},
        REST,
        {"await": "message"},
        {"tool": "Bash", "input": {"command": "sleep 60"}},
    )
    on.wait("fox", "waiting")
    tmux(on, "fox", "resize-window", "-x", "60", "-y", "20")
    on.wl("send", "fox", "a long message that goes over several lines of a narrow box").ok()
    limited = [
        *BEGUN,
        ("waiting", "hook"),
        ("running", "hook"),
        ("rate_limited", "screen"),
        ("running", "hook"),
        ("waiting", "hook"),
    ]
    on.wait_for_history("fox", limited)
    on.wl("send", "fox", "go on").ok()
    on.wait_for_history("fox", [*limited, ("running", "hook")])
    shows(on, "fox", "sleep 60")
    on.wl("interrupt", "fox").ok()
    on.wait_for_history("fox", [*limited, ("running", "hook"), ("waiting", "status")])


def test_a_conversation_that_a_person_clears_is_followed_and_resumed(on: Scene) -> None:
    again = [{"match": "again", "turns": [{"text": "Again.\n\nWAITING"}]}]
    on.new("fox", {"text": "Before.\n\nWAITING"}, on=again)
    on.script("cleared", {"text": "After.\n\nWAITING"}, on=again)
    on.wait("fox", "waiting")
    before = on.wl("info", "fox", "--json").ok().json()
    tmux(on, "fox", "send-keys", "-l", "/clear")
    shows(on, "fox", "/clear")
    tmux(on, "fox", "send-keys", "Enter")

    def conversation() -> str:
        return str(on.wl("info", "fox", "--json").ok().json()["conversation"])

    until(lambda: conversation() != before["conversation"], what="a new conversation")
    on.wl("send", "fox", "be cleared").ok()
    until(lambda: "After.\n\nWAITING" in on.texts("fox"), what="an answer in the transcript")
    # While it clears, its screen may say for a moment that it is busy, which it is.
    until(lambda: on.history("fox")[-2:] == list(TURN), what="the end of that turn")
    on.await_texts("fox", "be cleared", "After.\n\nWAITING")
    assert "Before.\n\nWAITING" not in on.texts("fox")
    cleared = conversation()
    on.wl("pause", "fox").ok()
    on.wl("resume", "fox").ok()
    on.wait("fox", "waiting")
    assert conversation() == cleared
    on.wl("send", "fox", "again").ok()
    until(lambda: on.texts("fox")[-1:] == ["Again.\n\nWAITING"], what="an answer")
    assert "After.\n\nWAITING" in on.texts("fox")
    heard = [one for one in on.model.requests if any("again" in bare(t) for t in one.texts)]
    assert {one.session for one in heard} == {cleared}
