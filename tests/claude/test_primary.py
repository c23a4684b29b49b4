"""The person's own Claude Code, with hooks of `wl hooks install`: woken, told, reminded.

It runs where a person would start it, in the repository, in a tmux of its own; only what its model
says is scripted.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude import claude_environment, seed
from tests.support.ground import WL, Ground, until
from tests.support.scene import Scene, scene

from windlass.core.person.briefing import REMINDER
from windlass.model.log import Request

pytestmark = pytest.mark.slow
SETTINGS = '{\n    "permissions": {"allow": ["Bash"]},\r\n\t"model" : "opus"}'
"""A person's own, laid out by hand."""
DRAFT = "please have a look at"
CREW = "[windlass] Your crew in"
QUESTION = '"type":"question"'
COMPLETE = '"type":"complete"'
READ_OUTPUT = (
    "echo '${MESSAGE}' | sed -n 's:.*<output-file>\\(.*\\)</output-file>.*:\\1:p' | xargs cat"
)


@pytest.fixture
def on(unboxed: Ground) -> Iterator[Scene]:
    """A ground whose crew are stand-ins, and a model for the person's own session."""
    with scene(unboxed, "claude") as made:
        yield made


def bash(command: str, **more: Any) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command, **more}}


def rule(match: str, *turns: dict[str, Any]) -> dict[str, Any]:
    """What the model says once it hears of something."""
    return {"match": match, "turns": list(turns)}


class Primary:
    """A terminal with Claude Code in the repository, as a person has it."""

    def __init__(self, on: Scene) -> None:
        self.on = on
        self.root = on.ground.folder / "repo"
        self.settings = self.root / ".claude" / "settings.local.json"
        self.settings.parent.mkdir()
        self.settings.write_text(SETTINGS, newline="")
        seed(on.ground.home, trusted=[on.ground.folder])
        on.wl("hooks", "install").ok()

    def start(self, *turns: dict[str, Any], rules: list[dict[str, Any]]) -> None:
        """Starts it, and has it take a first prompt, which decides what its model says."""
        self.on.script("primary", *turns, on=rules)
        ours = ("WINDLASS_HOME", "XDG_RUNTIME_DIR", "GIT_CONFIG_NOSYSTEM")
        env = {
            **claude_environment(self.on.ground.home, self.on.model.url),
            **{name: self.on.ground.env[name] for name in ours},
            "PATH": f"{Path(WL).parent}:{self.on.ground.env['PATH']}",
        }
        size = ("-x", "120", "-y", "40")
        self._tmux("new-session", "-d", "-s", "p", *size, "-c", str(self.root), "claude", env=env)
        self.shows("? for shortcuts")
        self.say("be primary")
        self.said(turns[-1]["text"])

    def type_in(self, text: str) -> None:
        """Types, and leaves it at that."""
        self._tmux("send-keys", "-t", "p", "-l", text)
        self.shows(text)

    def say(self, text: str) -> None:
        """Types a prompt and sends it off."""
        self.type_in(text)
        self._tmux("send-keys", "-t", "p", "Enter")

    def screen(self) -> str:
        """What a person sees."""
        return self._tmux("capture-pane", "-t", "p", "-p")

    def shows(self, text: str) -> None:
        """Waits until a person sees a text."""
        until(lambda: text in self.screen(), what=f"{text!r} on the screen")

    def said(self, text: str) -> None:
        """Waits until it has said something and is idle."""
        until(lambda: self._says(text), within=40, what=f"{text!r}")

    def requests(self) -> list[Request]:
        """What its model was asked."""
        return [one for one in self.on.model.requests if one.kind == "main"]

    def heard(self, text: str) -> list[Request]:
        """The requests with which its model was told of something."""
        return [
            one for one in self.requests() if any(text in t for t in (*one.texts, *one.contexts))
        ]

    def results(self) -> str:
        """What its tools gave."""
        return "\n".join(result.text for one in self.requests() for result in one.results)

    def _says(self, text: str) -> bool:
        seen = self.screen()
        return text in seen and "esc to interrupt" not in seen

    def _tmux(self, *args: str, env: dict[str, str] | None = None) -> str:
        socket = str(self.on.ground.folder / "person")
        argv = ["tmux", "-S", socket, "-f", "/dev/null", *args]
        given = env or self.on.ground.env
        done = subprocess.run(argv, env=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{args}: {done.stderr}"
        return done.stdout


def test_it_is_woken_by_a_completion_and_a_question_and_answers(on: Scene) -> None:
    primary = Primary(on)
    answering = bash("wl questions && wl answer asker 'paint it blue'")
    primary.start(
        {"text": "I am ready."},
        rules=[
            rule(QUESTION, answering, {"text": "I have answered."}),
            rule(COMPLETE, {"text": "I have seen it."}),
        ],
    )
    primary.type_in(DRAFT)
    on.ground.new("doer", bash("true"), {"text": "Done.\n\nI HAVE COMPLETED THE GOAL"})
    primary.said("I have seen it.")
    assert DRAFT in primary.screen()
    (woken,) = primary.heard(COMPLETE)
    assert "doer" in "".join((*woken.texts, *woken.contexts))
    assert [one.tool for one in primary.requests()] == ["", ""]
    on.ground.new(
        "asker",
        bash("wl ask 'which colour?'"),
        {"text": "I asked.\n\nWAITING"},
        {"await": "message"},
        bash("echo '${MESSAGE}' > answer"),
        {"text": "I know.\n\nI HAVE COMPLETED THE GOAL"},
    )
    primary.said("I have answered.")
    assert len(primary.heard(QUESTION)) == 1
    assert "which colour?" in primary.results()
    assert [one.tool for one in primary.requests() if one.tool] == ["Bash"]
    on.ground.wait("asker", states="complete")
    workspace = Path(on.ground.ask("info", agent="asker")["workspace"])
    assert (workspace / "answer").read_text() == "paint it blue\n"
    assert on.ground.ask("questions") == []
    assert DRAFT in primary.screen()
    on.wl("hooks", "uninstall").ok()
    assert primary.settings.read_bytes() == SETTINGS.encode()


def test_it_is_told_what_changed_and_reminded_where_nothing_waits_for_it(on: Scene) -> None:
    primary = Primary(on)
    held = json.loads(primary.settings.read_text())
    for groups in held["hooks"].values():
        for group in groups:
            group["hooks"] = [one for one in group["hooks"] if not one.get("asyncRewake")]
    primary.settings.write_text(json.dumps(held))
    primary.start(
        {"text": "I am ready."},
        rules=[
            rule("^work$", bash("true"), {"text": "I have worked."}),
            rule("^listen$", bash("wl listen", run_in_background=True), {"text": "I listen."}),
            rule("^(one|two|three)$", {"text": "I take ${MESSAGE}."}),
            rule("<task-notification>", bash(READ_OUTPUT), {"text": "I have read it."}),
        ],
    )
    workspace = on.ground.new("bee", bash("until [ -e go ]; do sleep 0.05; done"))
    on.ground.wait("bee", states="running")
    told = []
    for prompt in ("one", "two"):
        primary.say(prompt)
        primary.said(f"I take {prompt}.")
        told.append([len(primary.heard(CREW)), len(primary.heard(REMINDER))])
    assert told == [[1, 0], [1, 0]]
    primary.say("work")
    primary.said("I have worked.")
    assert len(primary.heard(REMINDER)) == 1
    assert len(primary.heard(CREW)) == 1
    primary.say("listen")
    primary.said("I listen.")
    reminded = len(primary.heard(REMINDER))
    on.wl("notify", "the build is green").ok()
    primary.said("I have read it.")
    assert "the build is green" in primary.results()
    assert len(primary.heard("<task-notification>")) == 1
    assert reminded <= 2
    (workspace / "go").touch()
    on.ground.wait("bee", states="waiting,complete")
    primary.say("three")
    primary.said("I take three.")
    assert len(primary.heard(CREW)) == 2
