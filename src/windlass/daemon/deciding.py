"""Deciding about calls of tools: the verb that the policy hook asks, and its file for without us.

Who asks is known by the socket. What is decided is `core.policy`'s; here is which agent, which
policy and which places. Nothing is written: denials are recorded by the hook, in the session's
events, so that those made without a daemon are told of in the same way.
"""

from __future__ import annotations

import json
import os
import unicodedata
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from windlass.api.server import Caller
from windlass.api.wire import HookInput
from windlass.core import policy, toolcalls
from windlass.core.crew import Agent
from windlass.core.errors import Denied
from windlass.core.toolcalls import Decision
from windlass.daemon.context import Context
from windlass.store import rows

_OURS = ("settings.json", "plugin", "sessions")
"""In an agent's folder, but not the agent's to touch: what it may do, and what it did."""


class Places(NamedTuple):
    """Where an agent may work and where not; the deepest place around a path decides."""

    roots: tuple[str, ...]
    closed: tuple[str, ...]


class Deciding:
    """Answers the policy hook."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def decide(self, caller: Caller, request: HookInput) -> dict[str, Any]:
        """Decides about one call, in the form that the hook prints."""
        uid = caller.agent
        if uid is None:
            raise Denied("only the hooks of an agent ask this", "`wl info` shows what one may use")
        agent = self._context.store.read(lambda c: rows.agent(c, uid))
        if agent is None or agent.ended_at is not None:
            raise Denied("the calling agent has ended", "its socket means nothing any more")
        call = toolcalls.read(request)
        if call is None:
            decision = Decision(verdict="deny", reason="this is no call of a tool", rule="unclear")
        else:
            around = places(self._context, agent)
            decision = policy.decide(
                call, agent.policy, inside=partial(inside, around), role=agent.role
            )
        return toolcalls.answer(request, decision)


def places(context: Context, agent: Agent) -> Places:
    """An agent's workspace, its folder and the temporary one; not the crew's, nor the main tree."""
    folder = context.folders.agent(agent.uid)
    repos = context.store.read(rows.repos)
    return Places(
        roots=(agent.workspace, str(folder), context.env.get("TMPDIR") or "/tmp"),  # noqa: S108
        closed=(
            str(context.folders.home),
            *(repo.root for repo in repos),
            *(str(folder / name) for name in _OURS),
            str(context.folders.policy(agent.uid)),
        ),
    )


def inside(around: Places, path: str) -> bool:
    """Whether a path is in one of the places, whatever links and `..` it goes through."""
    # Agent CLIs may compose accents before they open: both names have to be inside.
    names = {path} if path.isascii() else {path, unicodedata.normalize("NFC", path)}
    return all(_inside(around, name) for name in names)


def write_policy_file(context: Context, agent: Agent) -> Path:
    """Writes what the policy hook decides by when no daemon answers it."""
    around = places(context, agent)
    path = context.folders.policy(agent.uid)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    told = {
        "workspace": agent.workspace,
        **around._asdict(),
        **msgspec.to_builtins(agent.policy),
    }
    fresh = path.with_name(f"{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        # msgspec refuses the surrogates that stand for bytes that are no UTF-8.
        json.dump(told, file, indent=1)
    fresh.replace(path)
    return path


def _inside(around: Places, path: str) -> bool:
    try:
        real = _components(path)
    except (OSError, ValueError):  # a NUL, or a name that this system cannot have
        return False
    allowed = _deepest(around.roots, real)
    return allowed >= 0 and allowed >= _deepest(around.closed, real)


def _deepest(among: tuple[str, ...], real: list[str]) -> int:
    found = [len(place) for place in map(_components, among) if real[: len(place)] == place]
    return max(found, default=-1)


def _components(path: str) -> list[str]:
    """Of a path with every link followed, also through folders that do not exist."""
    return [part for part in os.path.realpath(path).split("/") if part]
