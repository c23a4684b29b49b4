"""The driver of the stand-in agent: our own program, which needs no model and no account."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from shlex import join
from typing import Any

import msgspec

from windlass import __version__
from windlass.core.driving import Abilities, SessionRequest, transcript_name
from windlass.core.errors import UserError
from windlass.core.launch import Launch
from windlass.core.script import parse

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Stop",
    "StopFailure",
    "SessionEnd",
    "Notification",
)
REWAKE_EVENTS = ("SessionStart", "Stop", "StopFailure")
OBSERVE_TIMEOUT = 10
REWAKE_TIMEOUT = 86_400
LONGEST_PROMPT = 100_000
FOREIGN = re.compile(r"(CLAUDE|ANTHROPIC|TMUX)")


class StandinDriver:
    """Builds the command of a stand-in session and the files that it reads."""

    name = "standin"
    abilities = Abilities(rewake=True, scripts=True)

    def check(self) -> str:
        """Returns the version: the stand-in comes with Windlass."""
        return __version__

    def launch(self, request: SessionRequest) -> Launch:
        """Checks the script, writes prompt and settings, and returns how to start the session."""
        script = _script(request)
        folder = Path(request.folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = folder / "settings.json"
        _write(settings, msgspec.json.format(msgspec.json.encode(_settings(request))))
        if request.prompt is not None:
            _write(folder / "prompt.md", request.prompt.encode())
        return Launch(
            argv=(
                # Isolated, so that nothing in the workspace or in PYTHONPATH shadows a module.
                *(sys.executable, "-I", "-m", "windlass.standin"),
                *_arguments(request, str(settings), script),
            ),
            cwd=request.workspace,
            env=_environment(request),
            mode=request.mode,
            columns=request.columns,
            lines=request.lines,
        )

    def transcript(self, request: SessionRequest) -> str:
        """Returns where the session's conversation is kept."""
        cwd = os.path.realpath(request.workspace)
        return str(_config(request) / transcript_name(cwd, request.session_id))


def _script(request: SessionRequest) -> str | None:
    """Checks the script before anything starts and returns its absolute path."""
    if request.script is None:
        return None
    path = Path(request.workspace) / request.script
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"script {path}: {error.strerror}",
            "give the path of a script file; docs/scripts.md describes the format",
        ) from None
    parse(data, f"script {path}")
    return str(path)


def _arguments(request: SessionRequest, settings: str, script: str | None) -> list[str]:
    arguments = ["--settings", settings]
    if request.mode == "headless":
        arguments += ["--print", "--verbose", "--replay-user-messages"]
        arguments += ["--input-format", "stream-json", "--output-format", "stream-json"]
    arguments += ["--resume" if request.resume else "--session-id", request.session_id]
    if request.yolo:
        arguments += ["--dangerously-skip-permissions"]
    for flag, value in (
        ("--model", request.model),
        ("--append-system-prompt-file", request.system_prompt_file),
        ("--script", script),
    ):
        if value is not None:
            arguments += [flag, value]
    if request.prompt is not None:
        if len(request.prompt.encode()) > LONGEST_PROMPT:
            raise UserError(
                f"the prompt of {request.agent} is longer than {LONGEST_PROMPT} bytes",
                "put the details in a file of the repository and name it in the goal",
            )
        arguments += ["--", request.prompt]
    return arguments


def _settings(request: SessionRequest) -> dict[str, Any]:
    hooks: dict[str, list[dict[str, Any]]] = {event: [] for event in EVENTS}
    if request.hook:
        observe = {"type": "command", "command": join(request.hook), "timeout": OBSERVE_TIMEOUT}
        for entries in hooks.values():
            entries.append(observe)
    if request.rewake:
        wait = {"type": "command", "command": join(request.rewake), "asyncRewake": True}
        for event in REWAKE_EVENTS:
            hooks[event].append({**wait, "timeout": REWAKE_TIMEOUT})
    return {
        "hooks": {event: [{"hooks": entries}] for event, entries in hooks.items() if entries},
        "permissions": {"allow": [*request.allow], "deny": [*request.deny]},
    }


def _environment(request: SessionRequest) -> dict[str, str]:
    env = {key: value for key, value in request.env.items() if not FOREIGN.match(key)}
    env["CLAUDE_CONFIG_DIR"] = str(_config(request))
    env["WINDLASS_AGENT"] = request.agent
    if request.resume and request.prompt is None:
        env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
    if request.yolo:
        # Without it the stand-in, like the real program, refuses to skip permissions as root.
        env["IS_SANDBOX"] = "1"
    return {**env, **request.extra_env}


def _config(request: SessionRequest) -> Path:
    return Path(request.folder) / "config"


def _write(path: Path, data: bytes) -> None:
    """Replaces a file at once, so that a session never reads half of it."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(data)
    fresh.chmod(0o600)
    fresh.replace(path)
