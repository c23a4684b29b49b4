"""Runs the real Claude Code against the scripted model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.claude import claude_binary, claude_environment

from windlass.model.server import Model

PATIENCE = 60.0
SESSION = "11111111-2222-4333-8444-555555555555"


class Run:
    """What one run of the real program printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.err = err
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results, one a turn."""
        return [line for line in self.lines if line["type"] == "result"]

    @property
    def result(self) -> dict[str, Any]:
        """The last result."""
        assert self.results, (self.code, self.lines, self.err)
        return self.results[-1]


class Claude:
    """Runs the real Claude Code against a model."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.binary = claude_binary()

    def remembers(self) -> bool:
        """Whether the transcript of the session was begun; before that nothing can be resumed."""
        kept = self.home.glob(f".claude/projects/*/{SESSION}.jsonl")
        return any('"user"' in path.read_text() for path in kept)

    def start(self, model: Model, *args: str, **env: str) -> subprocess.Popen[str]:
        """Starts it, with its streams as pipes."""
        formats = ("--output-format", "stream-json", "--verbose", "--allowedTools=Bash,Agent")
        return subprocess.Popen(
            [str(self.binary), "-p", *formats, *args],
            cwd=self.work,
            env=claude_environment(self.home, model.url) | env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, model: Model, *args: str, said: str = "", **env: str) -> Run:
        """Runs it to its end."""
        process = self.start(model, *args, **env)
        try:
            out, err = process.communicate(said, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError((out, err, model.requests)) from None
        return Run(process.returncode, out, err)


def line(text: str) -> str:
    """A message as the program reads it from its input."""
    content = [{"type": "text", "text": text}]
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command, **more}}
