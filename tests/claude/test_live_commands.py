"""The slash commands that the plugin brings, typed by a person at a live agent's prompt."""

from __future__ import annotations

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
REST = {"text": "I rest.\n\nWAITING"}
COMMANDS = {
    "refresh": ("Read your instructions again", "wl info --prompt"),
    "status": ("Say how you and the crew are", "wl status"),
    "workers": ("Say what each of the agents below you does", "wl tree"),
    "messages": ("Go through what was sent to you", "wl inbox"),
}


def type_in(on: Scene, text: str) -> None:
    """Types as a person does."""
    session = on.ground.ask("info", agent="fox")["tmux"]
    assert on.ground.tmux("send-keys", "-t", f"={session}:0", "-l", text).returncode == 0


def press(on: Scene, key: str) -> None:
    session = on.ground.ask("info", agent="fox")["tmux"]
    assert on.ground.tmux("send-keys", "-t", f"={session}:0", key).returncode == 0


def shows(on: Scene, typed: str, first: str = "") -> str:
    """Waits until the prompt holds this and this command is the first offered; what is offered."""
    menu = ""

    def seen() -> bool:
        nonlocal menu
        _, _, prompt = on.ground.ask("look", agent="fox")["screen"].rpartition("\n\u276f")
        held, _, menu = prompt.partition("\n")
        offers = [line.split()[0] for line in menu.splitlines() if line.startswith("/")]
        return held.strip() == typed and offers[:1] == ([first] if first else [])

    until(seen, what=f"{typed or 'nothing'} at the prompt, with {first or 'nothing'} offered")
    return menu


def enter(on: Scene, ran: str) -> None:
    """Sends off what was typed; an Enter that comes before it is drawn is lost, so once more."""

    def taken() -> bool:
        if any(f"Run `{ran}`" in text for one in on.model.requests for text in one.texts):
            return True
        press(on, "Enter")
        return False

    until(taken, what=f"the model to be asked for {ran}")


def test_every_command_is_offered_and_runs_what_it_says(on: Scene) -> None:
    answers = [
        {
            "match": f"Run `{ran}`",
            "turns": [
                {"tool": "Bash", "input": {"command": f"{ran} > {name}.out 2>&1; true"}},
                {"text": f"That was {name}.\n\nWAITING"},
            ],
        }
        for name, (_, ran) in COMMANDS.items()
    ]
    workspace = on.new("fox", REST, on=answers, flags=["--manager"])
    on.wait("fox", "waiting")
    type_in(on, "/windlass:")
    menu = shows(on, "/windlass:", "/crew")
    assert all(f"/windlass:{name}" in menu for name in COMMANDS)
    assert "/kanban" in menu
    press(on, "C-u")
    for name, (about, ran) in COMMANDS.items():
        shows(on, "")
        type_in(on, f"/windlass:{name}")
        assert about in shows(on, f"/windlass:{name}", f"/windlass:{name}")
        enter(on, ran)
        until(lambda name=name: f"That was {name}.\n\nWAITING" in on.texts("fox"), what=name)  # type: ignore[misc]
    assert "You are a Windlass manager agent." in (workspace / "refresh.out").read_text()
    assert "fox" in (workspace / "status.out").read_text()
    assert "fox" in (workspace / "workers.out").read_text()
    assert "no command" not in (workspace / "messages.out").read_text()
