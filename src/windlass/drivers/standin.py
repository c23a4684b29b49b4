"""The driver of the stand-in agent: our own program, which needs no model and no account."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from windlass import __version__
from windlass.core.claude import transcript
from windlass.core.claude.dialect import ClaudeDialect
from windlass.core.claude.input_lines import user_line
from windlass.core.driver_request import Abilities, SessionRequest
from windlass.core.errors import UserError
from windlass.core.script.format import parse
from windlass.core.session_launch import Launch
from windlass.drivers import session_hooks
from windlass.drivers.files import write

LONGEST_PROMPT = 100_000
FOREIGN = re.compile(r"(CLAUDE|ANTHROPIC|TMUX)")


class StandinDriver:
    """Builds the command of a stand-in session and the files that it reads."""

    name = "standin"
    dialect = ClaudeDialect()
    abilities = Abilities(rewake=True, scripts=True, models=True)
    pinned = ()
    variables = ()
    token_command = ()

    def check(self) -> str:
        """Returns the version: the stand-in comes with Windlass."""
        return __version__

    def require_ready(self, request: SessionRequest) -> None:
        """The stand-in needs no login and no trust, so nothing is refused."""

    def reaches(self, request: SessionRequest) -> tuple[str, ...]:  # noqa: ARG002 - as below
        """The stand-in asks no model, so it needs no host."""
        return ()

    def token_problem(self, token: str) -> str:  # noqa: ARG002 - it takes none
        """The stand-in takes no token."""
        return "the stand-in takes none"

    def can_log_in(self, request: SessionRequest) -> bool:  # noqa: ARG002 - as above
        """The stand-in logs in nowhere."""
        return True

    def model_access(self, request: SessionRequest) -> None:
        """The stand-in asks no model."""

    def trusts(self, request: SessionRequest) -> bool:  # noqa: ARG002 - the same for every session
        """The stand-in trusts every folder."""
        return True

    def asks_for_trust(self, request: SessionRequest) -> Launch | None:  # noqa: ARG002 - as above
        """The stand-in never asks whether to trust a folder."""
        return None

    def metered(self, request: SessionRequest) -> bool:  # noqa: ARG002 - the same for every session
        """Counts what a script says it spends, so that budgets can be tried without an account."""
        return True

    def credential(self, request: SessionRequest) -> str:  # noqa: ARG002 - as above
        """The stand-in needs nothing that pays."""
        return "none"

    def status_file(self, request: SessionRequest, pid: int) -> str | None:
        """Returns where a live session tells its status, as the real program does."""
        return str(_config(request) / "sessions" / f"{pid}.json")

    def launch(self, request: SessionRequest) -> Launch:
        """Checks the script, writes settings, and returns how to start the session."""
        script = _script(request)
        folder = Path(request.folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = folder / "settings.json"
        write(settings, _settings(request))
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
            receiver=session_hooks.receiver(request.hooks, settings),
            stdin=_first_words(request),
        )

    def transcript(self, request: SessionRequest) -> str:
        """Returns where the session's conversation is kept."""
        cwd = os.path.realpath(request.workspace)
        return str(_config(request) / transcript.file_name(cwd, request.session_id))


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
        if request.max_turns is not None:
            arguments += ["--max-turns", str(request.max_turns)]
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
    if request.prompt is not None and request.mode == "live":
        if len(request.prompt.encode()) > LONGEST_PROMPT:
            raise UserError(
                f"the prompt of {request.agent} is longer than {LONGEST_PROMPT} bytes",
                "put the details in a file of the repository and name it in the goal",
            )
        arguments += ["--", request.prompt]
    return arguments


def _first_words(request: SessionRequest) -> str:
    if request.prompt is None or request.mode == "live":
        return ""
    return user_line(request.prompt)


def _settings(request: SessionRequest) -> dict[str, Any]:
    return {
        "hooks": session_hooks.settings(request.hooks, request.rewake),
        "permissions": {"allow": [*request.allow], "deny": [*request.deny]},
    }


def _environment(request: SessionRequest) -> dict[str, str]:
    env = {key: value for key, value in request.env.items() if not FOREIGN.match(key)}
    env["CLAUDE_CONFIG_DIR"] = str(_config(request))
    env["WINDLASS_AGENT"] = request.agent
    if request.resume and request.was_cut_off:
        env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
    if request.yolo:
        # Without it the stand-in, like the real program, refuses to skip permissions as root.
        env["IS_SANDBOX"] = "1"
    return {**env, **request.extra_env}


def _config(request: SessionRequest) -> Path:
    return Path(request.folder) / "config"
