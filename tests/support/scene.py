"""A ground on which agents of one driver play scripts: the stand-in, or the real Claude Code.

The same script goes to a stand-in as a file and to Claude Code through the scripted model, so one
test can say what both have to do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.claude import claude_binary, claude_environment
from tests.support.ground import Done, Ground, until

from windlass.core.mail import messages
from windlass.model.server import Model

Turn = Mapping[str, Any]
_SWITCHES = ("CLAUDE_CODE_", "DISABLE_", "ANTHROPIC_")


class Scene:
    """One driver, one ground, and the model that it asks if it asks one."""

    def __init__(self, ground: Ground, driver: str, model: Model | None) -> None:
        self.ground = ground
        self.driver = driver
        self._model = model

    @property
    def model(self) -> Model:
        """The scripted model; only where there is one."""
        assert self._model is not None
        return self._model

    def wl(self, *args: str, **how: Any) -> Done:
        """Runs `wl` as a person would."""
        return self.ground.wl(*args, **how)

    def script(self, name: str, *turns: Turn, on: Sequence[Any] = ()) -> list[str]:
        """Sees to it that the agent of that name plays this; returns the flags that it takes."""
        if self._model is None:
            return ["--script", self.ground.script(name, *turns, on=on)]
        self._model.for_prompt(f"be {name}\\b", {"turns": list(turns), "on": list(on)})
        return []

    def new(
        self, name: str, *turns: Turn, on: Sequence[Any] = (), flags: Sequence[str] = ()
    ) -> Path:
        """Starts an agent on its script and returns its workspace."""
        chosen = self.script(name, *turns, on=on) if turns or on else []
        made = self.wl(
            *("new", "--driver", self.driver, "--name", name, *chosen, *flags, "--json"),
            f"be {name}",
        )
        return Path(made.ok().json()["workspace"])

    def wait(self, name: str, states: str = "complete,waiting,stopped") -> None:
        """Waits until an agent reaches one of the states; tells what it did where it never does."""
        try:
            self.ground.wait(name, states=states)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._account(name)}") from None

    def history(self, name: str) -> list[tuple[str, str]]:
        """Every state that an agent has been in, with the source of each."""
        history = self.ground.ask("why", agent=name, history=True)["history"]
        return [(change["state"], change["source"]) for change in history]

    def evidence(self, name: str) -> str:
        """What the present state is believed on."""
        return str(self.ground.ask("why", agent=name)["winner"]["evidence"])

    def wait_for_history(self, name: str, expected: Sequence[tuple[str, str]]) -> None:
        """Waits until the history is exactly this; where it never is, shows what came instead."""
        end = list(expected)
        try:
            until(lambda: self.history(name) == end)
        except AssertionError:
            assert self.history(name) == end, self._account(name)

    def _account(self, name: str) -> str:
        """What is known of an agent, for the report of a test that failed."""
        parts = {
            "its screen": self.wl("look", name).out,
            "its events": self.wl("log", name).out,
            "asked of the model": "\n".join(map(str, self._model.requests if self._model else [])),
            "its transcript": "\n".join(json.dumps(o)[:400] for o in self.transcript(name)),
        }
        return "\n".join(f"{title}:\n{text}" for title, text in parts.items())

    def press(self, name: str, *keys: str) -> None:
        """Presses keys in an agent's terminal, as a person who is attached would."""
        session = self.wl("info", name, "--json").ok().json()["tmux"]
        for key in keys:
            assert self.ground.tmux("send-keys", "-t", f"={session}:0.0", key).returncode == 0

    def pid(self, name: str) -> int:
        """The process of an agent's CLI."""
        return int(self.ground.ask("info", agent=name)["pid"])

    def transcript(self, name: str) -> list[dict[str, Any]]:
        """An agent's conversation, line by line."""
        path = Path(self.ground.ask("info", agent=name)["transcript"])
        if not path.exists():
            return []
        lines = path.read_bytes().split(b"\n")[:-1]  # not at what else ends a line in text
        return [json.loads(line) for line in lines]

    def await_texts(self, name: str, *last: str) -> None:
        """Waits until a conversation ends with these: it is written a moment after its turns."""
        end = list(last)
        try:
            until(lambda: self.texts(name)[-len(end) :] == end)
        except AssertionError:
            assert self.texts(name)[-len(end) :] == end

    def texts(self, name: str) -> list[str]:
        """What was said to an agent and by it, in order."""
        bodies = []
        for line in self.transcript(name):
            content = line.get("message", {}).get("content", [])
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            said = [str(part["text"]) for part in parts if part.get("type") == "text"]
            bodies += [body for text in said for body in bare(text)]
        return bodies


def bare(text: str) -> list[str]:
    """What was sent with a text, without what mail puts around it."""
    return [body for _, body in messages.bodies(text)] or [text]


@contextmanager
def scene(ground: Ground, driver: str) -> Iterator[Scene]:
    """Prepares a ground for a driver."""
    if driver != "claude":
        yield Scene(ground, driver, None)
        return
    programs = ground.folder / "bin"
    programs.mkdir()
    (programs / "claude").symlink_to(claude_binary())
    with Model() as model:
        built = claude_environment(ground.home, model.url)
        ground.env |= {name: text for name, text in built.items() if name.startswith(_SWITCHES)}
        ground.env["PATH"] = os.pathsep.join((str(programs), ground.env["PATH"]))
        with (ground.state / "config.toml").open("a") as file:
            file.write('[claude]\nconfig = "own"\n')
        try:
            yield Scene(ground, driver, model)
        finally:
            # Sessions end before the model: none of them shall see an address that is gone.
            ground.leave()
