"""The Bash tool: a real shell in the workspace, in front or in the background."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from windlass.standin.children import Child, Children
from windlass.standin.files import ToolResult, clipped, failed

TIMEOUT_MS = 120_000


class Task(msgspec.Struct):
    """A command that runs in the background."""

    id: str
    call: str
    description: str
    output: str
    child: Child


class Shell:
    """Runs commands; `ended` is told of each background command that exits."""

    def __init__(
        self,
        children: Children,
        *,
        cwd: Path,
        env: Mapping[str, str],
        outputs: Path,
        ended: Callable[[Task], None],
    ) -> None:
        self._children = children
        self._cwd = cwd
        self._env = env
        self._outputs = outputs
        self._ended = ended
        self.tasks: dict[str, Task] = {}

    def run(self, tool_input: dict[str, Any], call: str) -> ToolResult:
        """Runs a command; a failing one is a result too."""
        if tool_input.get("run_in_background"):
            return self._start(tool_input, call)
        limit = tool_input.get("timeout", TIMEOUT_MS)
        seconds = (limit if isinstance(limit, int | float) else TIMEOUT_MS) / 1000
        child = Child(self._children, self._argv(tool_input), cwd=str(self._cwd), env=self._env)
        in_time = child.wait(seconds)
        if not in_time:
            child.end()
        out = clipped(_text(child.stdout))
        err = clipped(_text(child.stderr))
        both = "\n".join(part for part in (out, err) if part)
        if not in_time:
            return failed(f"Command timed out after {seconds:g}s\n{both}".rstrip())
        if child.returncode:
            code = child.returncode if child.returncode > 0 else 128 - child.returncode
            return failed(f"Exit code {code}\n{both}".rstrip())
        return ToolResult(both, _response(out, err))

    def running(self) -> list[dict[str, str]]:
        """Lists the background commands as hooks are told of them."""
        return [
            {
                "id": task.id,
                "type": "shell",
                "status": "running",
                "description": task.description,
            }
            for task in self.tasks.values()
        ]

    def _start(self, tool_input: dict[str, Any], call: str) -> ToolResult:
        name = "b" + os.urandom(4).hex()
        self._outputs.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._outputs / f"{name}.output"
        with path.open("wb") as output:
            child = Child(
                self._children,
                self._argv(tool_input),
                cwd=str(self._cwd),
                env=self._env,
                output=output,
            )
        description = str(tool_input.get("description") or tool_input["command"])
        task = Task(name, call, description, str(path), child)
        self.tasks[name] = task
        child.on_exit = lambda _: self._exited(task)
        return ToolResult(
            f"Command running in background with ID: {name}. Output is being written to: {path}",
            {**_response("", ""), "backgroundTaskId": name},
        )

    def _exited(self, task: Task) -> None:
        del self.tasks[task.id]
        self._ended(task)

    def _argv(self, tool_input: dict[str, Any]) -> list[str]:
        return [_shell(self._env.get("SHELL", "")), "-c", tool_input["command"]]


def notification(task: Task) -> str:
    """Words the end of a background command as the model is told of it: not its output."""
    code = task.child.returncode
    status = "completed" if code == 0 else "failed"
    said = f"completed (exit code {code})" if code == 0 else f"failed with exit code {code}"
    return (
        f"<task-notification>\n<task-id>{task.id}</task-id>\n"
        f"<tool-use-id>{task.call}</tool-use-id>\n<output-file>{task.output}</output-file>\n"
        f"<status>{status}</status>\n"
        f'<summary>Background command "{task.description}" {said}</summary>\n</task-notification>'
    )


def _shell(preferred: str) -> str:
    """Returns the person's shell if it speaks what models write, else one that does."""
    if preferred.endswith(("/bash", "/zsh")) and Path(preferred).exists():
        return preferred
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


def _response(out: str, err: str) -> dict[str, Any]:
    return {
        "stdout": out,
        "stderr": err,
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "replace").rstrip("\n")
