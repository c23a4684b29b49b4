"""What the daemon tells a driver about a session, and what a driver says it can do."""

from __future__ import annotations

import re

import msgspec

from windlass.core.launch import Mode


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent CLI offers, so that nobody has to ask for its name."""

    live: bool = True
    headless: bool = True
    resume: bool = True
    hooks: bool = True
    rewake: bool = False
    scripts: bool = False
    models: bool = False


class SessionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One session to start.

    `folder` is the agent's own (settings, prompt and conversation go there), `workspace` its
    checkout; both are absolute. `prompt` is None when a resumed session shall just go on. `env` is
    the environment to start from and `extra_env` what wins over everything. `hook` is the absolute
    argv of the observing hook; `rewake`, where given, of one that waits while the session is idle
    and wakes it by exiting with 2.
    """

    agent: str
    folder: str
    workspace: str
    session_id: str
    mode: Mode
    hook: tuple[str, ...]
    rewake: tuple[str, ...] = ()
    prompt: str | None = None
    resume: bool = False
    system_prompt_file: str | None = None
    model: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    yolo: bool = False
    script: str | None = None
    env: dict[str, str] = {}
    extra_env: dict[str, str] = {}
    columns: int = 120
    lines: int = 40


def transcript_name(cwd: str, session_id: str) -> str:
    """Returns where, under its configuration folder, a session keeps its conversation.

    `cwd` must be canonical: the CLI names the folder after the real path.
    """
    return f"projects/{re.sub(r'[^A-Za-z0-9]', '-', cwd)}/{session_id}.jsonl"
