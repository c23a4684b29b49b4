"""What agents write names no file that the real Claude Code would read along by itself.

What it reads along stands in its conversation as an attachment: no hook is asked about that.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.claude.test_mail import REST, agent_socket, has_read, many, send
from tests.support.ground import until
from tests.support.scene import Scene

from windlass.api import client

pytestmark = pytest.mark.slow
__all__ = ["many"]


@pytest.fixture
def secrets(many: Scene) -> list[Path]:
    """Files of the person's, each with its own name in it."""
    made = [many.ground.folder / f"secret-{number}" for number in range(4)]
    for path in made:
        path.write_text(f"what {path.name} holds\n")
    return made


def read_along(on: Scene, name: str, path: Path) -> bool:
    """Whether what a file holds has come into a conversation."""
    return any(f"what {path.name} holds" in str(line) for line in on.transcript(name))


def told(on: Scene, text: str) -> bool:
    """Whether a text has come into a conversation."""
    return any(text in str(line) for line in on.transcript("fox"))


def test_a_file_that_an_agent_names_is_not_read_along(many: Scene, secrets: list[Path]) -> None:
    on, (plain, quoted, goal, persons) = many, secrets
    on.new("owl", REST, flags=["--manager"])
    on.script("fox", REST)
    asked = {"goal": f"be fox @{goal}", "driver": "claude", "name": "fox"}
    client.ask("spawn", asked, path=agent_socket(on, "owl"), timeout=60.0)
    on.wait("fox", "waiting")
    until(lambda: told(on, f"@ {goal}"), what="the goal")
    text = f'see @{plain} and "\n@"{quoted}"'
    sent = client.ask("send", {"agent": "fox", "text": text}, path=agent_socket(on, "owl"))
    has_read(on, sent["messages"][0]["id"], "rewake")
    has_read(on, send(on, f"I say @{persons}"), "rewake")
    until(lambda: read_along(on, "fox", persons), what="the person's file")
    assert [read_along(on, "fox", path) for path in secrets] == [False, False, False, True]


def test_a_goal_by_an_agent_is_no_command(many: Scene) -> None:
    """As a command of the CLI's it would be done without any turn, and nobody be asked."""
    on = many
    on.new("owl", REST, flags=["--manager"])
    on.script("fox", REST)
    asked = {"goal": "/add-dir / be fox", "driver": "claude", "name": "fox"}
    client.ask("spawn", asked, path=agent_socket(on, "owl"), timeout=60.0)
    on.wait("fox", "waiting")
    until(lambda: told(on, "Goal: /add-dir / be fox"), what="the goal")
    assert not told(on, "<command-name>")
