"""What the daemon tells a driver about a session, and what a driver says it can do."""

from __future__ import annotations

import msgspec

from windlass.core.box_spec import BoxView
from windlass.core.session_launch import Mode

OF_PERSON = "person"
"""In an agent's folder: copies of what a boxed session has of the person's own."""
WAYS = "ways"
"""In there: what is seen in the place of the same names in the agent's configuration folder."""


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent CLI offers, so that nobody has to ask for its name."""

    live: bool = True
    headless: bool = True
    resume: bool = True
    hooks: bool = True
    rewake: bool = False
    scripts: bool = False
    models: bool = False
    fork: bool = False
    limits: bool = False


class HookChannels(msgspec.Struct, frozen=True, kw_only=True):
    """How a session reports and asks: absolute argv of command hooks, and an address for http ones.

    `observe` records any event; `policy` records a PreToolUse or PermissionRequest and prints what
    was decided; `url` records any event, within a millisecond, for requests that carry `token`.
    """

    observe: tuple[str, ...]
    policy: tuple[str, ...]
    url: str
    token: str
    events: str


class ModelAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How a boxed session's model is asked on its behalf: the session itself has no key.

    `url` is where the API begins, `headers` are those that pay and what the person adds.
    """

    url: str
    headers: dict[str, str]


class SessionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One session to start.

    `folder` is the agent's own (settings, prompt and conversation go there), `workspace` its
    checkout of `repo`, below `trusted_root`; all are absolute. A session that is to
    `resume` goes on by itself with its last turn where that `was_cut_off`, and waits otherwise.
    `fork_of` is the transcript of a conversation to begin with. `options` are the driver's own
    configuration, `env` the environment to start from and `extra_env` what wins over everything. A
    `boxed` session sees nothing of the person's home but what the driver copies for it: the `ways`
    of theirs and the definitions of the `servers` that are named, found by `person_env`, the
    environment that a session of theirs starts from; `view` is what its programs find then. With
    `relay_token`, which means nothing outside of it, it may ask its model through the daemon.
    `rewake`, where given, is the argv of a hook that waits while the session is idle and wakes it
    by exiting with 2.
    """

    agent: str
    folder: str
    workspace: str
    session_id: str
    mode: Mode
    hooks: HookChannels
    rewake: tuple[str, ...] = ()
    prompt: str | None = None
    resume: bool = False
    was_cut_off: bool = False
    system_prompt_file: str | None = None
    model: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    yolo: bool = False
    script: str | None = None
    fork_of: str | None = None
    max_turns: int | None = None
    max_usd: float | None = None
    trusted_root: str | None = None
    repo: str | None = None
    boxed: bool = False
    relay_token: str = ""
    ways: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    person_env: dict[str, str] = {}
    view: BoxView = BoxView()
    options: dict[str, str] = {}
    env: dict[str, str] = {}
    extra_env: dict[str, str] = {}
    columns: int = 120
    lines: int = 40
