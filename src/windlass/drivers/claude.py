"""The driver of Claude Code: its command line, its files, and what it asks of the person.

Two ways with the person's configuration. *Inherit*: their login, memory, skills and servers; what
is ours comes in through `--plugin-dir` and `--settings`, and no file of theirs is written. *Own*:
a folder of ours per agent, with a token or a key that the person names; in a box it has copies of
the person's ways besides.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from windlass import __version__
from windlass.core.claude import transcript
from windlass.core.claude.dialect import ClaudeDialect
from windlass.core.claude.input_lines import user_line
from windlass.core.driver_request import OF_PERSON, WAYS, Abilities, ModelAccess, SessionRequest
from windlass.core.errors import ConfigError, DriverError, UserError
from windlass.core.session_launch import Launch, Remark
from windlass.drivers import (
    claude_config,
    claude_login,
    claude_servers,
    claude_variables,
    claude_ways,
    session_hooks,
)
from windlass.drivers.files import write

OLDEST = (2, 1, 150)
INSTALL = "install it: npm install -g @anthropic-ai/claude-code"
LONGEST_PROMPT = 60_000
"""A longer one goes by file: neither an argument nor a pipe is sure to hold it."""
QUESTION = "AskUserQuestion"
PLUGIN = "windlass"
_SERVERS = "mcp.json"
HOOKS_STAY = {
    "disableAllHooks": False,
    "enabledPlugins": {f"{PLUGIN}@inline": True},
}
"""Each of these, in a file that an agent can write, would turn our hooks off, some at once.

What is given with `--settings` wins over them, and over nothing that an organisation manages.
"""
_TURNED_OFF = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SHELL_PREFIX")
"""Variables that would turn our hooks off, or have another program answer for them."""
_AS_BEGUN = ("LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables that would do so too, and that somebody may need: they stay as the session has them."""
_WAYS_TO_THE_MODEL = {
    claude_login.ADDRESS: claude_login.API,
    claude_login.HEADERS: "",
    "NODE_EXTRA_CA_CERTS": "",
    "NODE_TLS_REJECT_UNAUTHORIZED": "",
}
"""Variables that say where the model is asked, and who is believed to be it: a repository that
sets them would be told the token. What they are where a session has none of its own."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_VERSION_TIMEOUT = 30.0


class ClaudeDriver:
    """Builds the command of a Claude Code session and the files that it reads."""

    name = "claude"
    dialect = ClaudeDialect()
    abilities = Abilities(rewake=True, models=True, fork=True, limits=True)
    pinned = ("config",)
    token_command = ("claude", "setup-token")
    variables = claude_variables.IN_BOXES

    def check(self) -> str:
        """Returns the version of the `claude` on PATH; refuses one that is too old."""
        program = shutil.which("claude")
        if program is None:
            raise DriverError("Claude Code is not installed: no `claude` on PATH", INSTALL)
        info = Path(program).stat()
        return _version(program, info.st_mtime_ns, info.st_ino)

    def require_ready(self, request: SessionRequest) -> None:
        """Refuses what would stop at a dialog: no login, nobody's trust, nothing to pay with."""
        if claude_config.is_own(request):
            claude_login.require(request)
            return
        if request.mode == "live":
            self._require_trust(request)

    def reaches(self, request: SessionRequest) -> tuple[str, ...]:
        """Returns where the model is asked, unless the daemon does."""
        if claude_login.is_relayed(request):
            return ()
        base = urlsplit(request.env.get("ANTHROPIC_BASE_URL") or claude_login.API)
        port = base.port or (80 if base.scheme == "http" else 443)
        host = base.hostname or ""
        return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}",)

    def token_problem(self, token: str) -> str:
        """Returns why this is no token that Claude Code takes."""
        return claude_login.token_problem(token)

    def can_log_in(self, request: SessionRequest) -> bool:
        """Returns whether there is a token, a key or a cloud for a folder of its own."""
        return not claude_config.is_own(request) or claude_login.is_there(request)

    def model_access(self, request: SessionRequest) -> ModelAccess | None:
        """Returns how the daemon asks the model: for boxed sessions that a key pays for."""
        return claude_login.access(request)

    def _require_onboarding(self, request: SessionRequest) -> None:
        if not claude_config.is_onboarded(request):
            path = claude_config.global_file(request)
            raise ConfigError(
                f"Claude Code has never been set up here: {path} knows of no onboarding",
                "run `claude` once and log in; or give agents a folder of their own:"
                " wl config set claude.config own --global",
            )

    def _require_trust(self, request: SessionRequest) -> None:
        self._require_onboarding(request)
        if self.trusts(request):
            return
        if request.trusted_root is None:
            raise ConfigError(
                f"Claude Code has not been told to trust {request.workspace}",
                f"start it there once and accept: cd {request.workspace} && claude",
            )
        raise ConfigError(
            f"Claude Code has not been told to trust {request.trusted_root}, where agents work",
            "let Windlass accept it for you, once: wl drivers trust claude",
        )

    def trusts(self, request: SessionRequest) -> bool:
        """Returns whether the workspace is trusted; what is ours alone is seeded so."""
        return claude_config.is_own(request) or claude_config.trusts(request)

    def asks_for_trust(self, request: SessionRequest) -> Launch | None:
        """Returns the plain command: it asks at its start."""
        if claude_config.is_own(request):
            return None
        self._require_onboarding(request)
        return Launch(
            argv=(_program(request),), cwd=request.workspace, env=_environment(request), mode="live"
        )

    def metered(self, request: SessionRequest) -> bool:
        """Returns whether a key pays; a login or a long-lived token is a subscription's."""
        paying = (claude_login.KEY, claude_login.BEARER, *claude_login.CLOUDS)
        if any(request.env.get(name) for name in paying):
            return True
        if claude_config.is_own(request):
            return claude_login.KEY in claude_login.secrets(request)
        return claude_config.pays_by_key(request)

    def credential(self, request: SessionRequest) -> str:
        """Returns what pays for a session, as people call it."""
        is_own = claude_config.is_own(request)
        if named := claude_login.credential(request, is_own=is_own):
            return named
        return "API key" if not is_own and claude_config.pays_by_key(request) else "login"

    def launch(self, request: SessionRequest) -> Launch:
        """Writes plugin, settings and prompt, and returns how to start the session."""
        folder = Path(request.folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A tool that is denied by its bare name is not offered at all. A question is: the hook that
        # denies it says what to do instead.
        denied = [pattern for pattern in request.deny if pattern != QUESTION]
        permissions = {"allow": [*request.allow], "deny": denied}
        env = _environment(request)
        settings = {
            "permissions": permissions,
            **HOOKS_STAY,
            "env": _pinned(request, env),
            **claude_config.mcp_settings(request),
        }
        if claude_config.is_own(request):
            # Otherwise a list of the agent's could leave our hooks out; here nobody has another.
            settings["allowedHttpHookUrls"] = ["*"]
        write(folder / "settings.json", settings)
        hooks = _write_plugin(folder / "plugin", request)
        if claude_config.is_own(request):
            _seed(folder / "config", request)
        remarks = _bring(folder / OF_PERSON, request) if request.boxed else ()
        said = _first_words(folder, request)
        return Launch(
            argv=(_program(request), *_arguments(request, folder, said)),
            cwd=request.workspace,
            env=env,
            mode=request.mode,
            columns=request.columns,
            lines=request.lines,
            receiver=session_hooks.receiver(request.hooks, hooks),
            secrets=claude_login.handed_over(request) if claude_config.is_own(request) else {},
            relayed=claude_login.is_relayed(request),
            stdin=user_line(said) if said and request.mode == "headless" else "",
            remarks=remarks,
        )

    def transcript(self, request: SessionRequest) -> str:
        """Returns where the session's conversation is kept."""
        cwd = os.path.realpath(request.workspace)
        return str(claude_config.folder(request) / transcript.file_name(cwd, request.session_id))

    def status_file(self, request: SessionRequest, pid: int) -> str | None:
        """Returns where a live session tells its status; undocumented, so never the only source."""
        return str(claude_config.folder(request) / "sessions" / f"{pid}.json")


@lru_cache(maxsize=8)
def _version(program: str, _changed: int, _inode: int) -> str:
    """Asks once per installed binary, so an upgrade under us is noticed and a spawn stays cheap."""
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DriverError(f"`{program} --version` does not answer: {error}", INSTALL) from None
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
    if numbers is None:
        said = (done.stdout + done.stderr).strip()[:200]
        raise DriverError(f"`{program}` is no Claude Code: {said or 'no output'}", INSTALL)
    version = numbers[0]
    if tuple(int(part) for part in numbers.groups()) < OLDEST:
        oldest = ".".join(str(part) for part in OLDEST)
        raise DriverError(
            f"Claude Code {version} is too old: {oldest} or newer is needed",
            "upgrade it: claude update, or npm install -g @anthropic-ai/claude-code",
        )
    return version


def _program(request: SessionRequest) -> str:
    program = shutil.which("claude", path=request.env.get("PATH"))
    if program is None:
        raise DriverError("Claude Code is gone: no `claude` on PATH any more", INSTALL)
    return program


def _write_plugin(folder: Path, request: SessionRequest) -> Path:
    """Writes the plugin anew, hooks last; returns the file that needs the receiver's port."""
    about = {"name": PLUGIN, "version": __version__, "description": "This agent's crew."}
    write(folder / ".claude-plugin" / "plugin.json", about)
    shipped = resources.files("windlass") / "data" / "claude"
    with resources.as_file(shipped) as source:
        shutil.copytree(source, folder, dirs_exist_ok=True)
    path = folder / "hooks" / "hooks.json"
    write(path, {"hooks": session_hooks.settings(request.hooks, request.rewake)})
    return path


def _seed(config: Path, request: SessionRequest) -> None:
    """Answers, in a folder of ours, what the CLI would ask a person at its first start.

    The folder is the agent's to write: what is there is not trusted to be as we left it.
    """
    path = config / ".claude.json"
    before = claude_config.read_made_by_agent(path)
    known = {"theme": "dark", **before, "hasCompletedOnboarding": True}
    projects, place = known.get("projects"), os.path.realpath(request.workspace)
    projects = dict(projects) if isinstance(projects, dict) else {}
    project = projects.get(place)
    projects[place] = {
        **(project if isinstance(project, dict) else {}),
        "hasTrustDialogAccepted": True,
        # As somebody would answer who lets nothing in from outside of the workspace.
        "hasClaudeMdExternalIncludesApproved": False,
        "hasClaudeMdExternalIncludesWarningShown": True,
    }
    known["projects"] = projects
    if key := claude_login.approved_key(request):
        # As the CLI itself remembers an approved key: by its end.
        known["customApiKeyResponses"] = {"approved": [key[-20:]], "rejected": []}
    if known != before:
        write(path, known)


def _bring(folder: Path, request: SessionRequest) -> tuple[Remark, ...]:
    """Copies anew what a boxed session has of the person's: their ways, and servers to start."""
    shutil.rmtree(folder, ignore_errors=True)
    remarks = claude_ways.bring(request, folder / WAYS)
    servers, more = claude_servers.chosen(request)
    if servers:
        write(folder / _SERVERS, {"mcpServers": servers})
    return (*remarks, *more)


def _first_words(folder: Path, request: SessionRequest) -> str | None:
    """The prompt; one that no argument could carry goes by file."""
    if request.prompt is None:
        return None
    if "\0" in request.prompt:
        raise UserError(f"the goal of {request.agent} has a NUL in it", "take it out")
    path = folder / "prompt.md"
    path.write_text(request.prompt, encoding="utf-8")
    path.chmod(0o600)
    if len(request.prompt.encode()) > LONGEST_PROMPT:
        return f"Your goal is in the file {path}. Read all of it, then do what it says."
    return request.prompt


def _arguments(request: SessionRequest, folder: Path, said: str | None) -> list[str]:
    arguments = ["--plugin-dir", str(folder / "plugin")]
    arguments += ["--settings", str(folder / "settings.json"), "--permission-mode", "default"]
    if claude_config.is_own(request):
        # Nobody approved a server here, and an agent could name some in its folder by itself.
        arguments.append("--strict-mcp-config")
    servers = folder / OF_PERSON / _SERVERS
    if request.boxed and servers.exists():
        arguments += ["--mcp-config", str(servers)]
    if request.mode == "headless":
        arguments += ["--print", "--verbose", "--replay-user-messages"]
        arguments += ["--input-format", "stream-json", "--output-format", "stream-json"]
        arguments += ["--permission-prompt-tool", "stdio"]
        if request.max_turns is not None:
            arguments += ["--max-turns", str(request.max_turns)]
        if request.max_usd is not None:
            arguments += ["--max-budget-usd", f"{request.max_usd:.4f}"]
    if request.fork_of is not None and not request.resume:
        arguments += ["--resume", request.fork_of, "--fork-session"]
    arguments += ["--resume" if request.resume else "--session-id", request.session_id]
    for flag, value in (
        ("--model", request.model),
        ("--append-system-prompt-file", request.system_prompt_file),
    ):
        if value is not None:
            arguments += [flag, value]
    if said is not None and request.mode == "live":
        arguments += ["--", said]
    return arguments


def _pinned(request: SessionRequest, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that no file of a repository or an agent has a say in."""
    pinned = {**dict.fromkeys(_TURNED_OFF, ""), **{name: env.get(name, "") for name in _AS_BEGUN}}
    if claude_config.is_own(request):
        # Where the person's own settings are in force, these may say it too.
        pinned |= {name: env.get(name) or value for name, value in _WAYS_TO_THE_MODEL.items()}
    if claude_login.is_relayed(request):
        # The port is not known yet, and there is no token to be told.
        pinned.pop(claude_login.ADDRESS)
    return pinned


def _environment(request: SessionRequest) -> dict[str, str]:
    env = dict(request.env)
    if request.boxed:
        for name in claude_login.CLOUDS:  # their credentials are in the person's home
            env.pop(name, None)
        env = claude_login.environment(request, env)
    if claude_config.is_own(request):
        env["CLAUDE_CONFIG_DIR"] = str(claude_config.folder(request))
    for name in ("NO_PROXY", "no_proxy"):
        there = [part for part in env.get(name, "").split(",") if part]
        env[name] = ",".join(dict.fromkeys([*there, *_LOOPBACK]))
    if temporary := env.get("TMPDIR"):
        # Else a folder that all sessions share, if the person has one set: the output of background
        # commands goes there, and is read from there.
        env["CLAUDE_CODE_TMPDIR"] = temporary
    env["DISABLE_AUTOUPDATER"] = "1"  # a crew is upgraded by a person, between sessions
    env["WINDLASS_AGENT"] = request.agent
    if request.resume and request.was_cut_off:
        env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
    return {**env, **request.extra_env}
