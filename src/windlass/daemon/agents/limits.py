"""The limits that an agent gets: those asked for, and no more than an agent that asks has left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from windlass import drivers
from windlass.api.wire.agents import ResumeRequest, SpawnRequest
from windlass.api.wire.request import AgentRequest
from windlass.core import allowances as core_allowances
from windlass.core.crew import Agent, Limits
from windlass.core.errors import Denied, UserError
from windlass.core.session_launch import Mode
from windlass.daemon.kernel.context import Context
from windlass.daemon.spend import allowances


def of_new(
    context: Context, request: SpawnRequest, *, driver: str, mode: Mode, givers: Sequence[Agent]
) -> Limits:
    """The limits of a new agent; `givers` are the agents that it has its rights from."""
    asked = Limits(
        turns=request.get("max_turns"),
        usd=request.get("max_usd"),
        seconds=request.get("max_seconds"),
    )
    _refuse_nonsense(asked)
    countable = mode == "headless" and drivers.get(driver).abilities.limits
    if asked.turns is not None and not countable:
        raise UserError(
            f"only a headless session can be limited in turns, and not every driver's ({driver})",
            "add --print, or limit its time or budget: --time-limit 30m, --max-budget 2",
        )
    limits = core_allowances.given(asked, [allowances.of(context, agent) for agent in givers])
    if limits.turns is not None and not countable:
        raise Denied(
            f"those above it are limited to {limits.turns} turns, and only a headless session"
            f" can be, of some drivers ({driver})",
            "add --print, or ask the person",
        )
    return limits


def of_resumed(
    context: Context, agent: Agent, request: AgentRequest | ResumeRequest, caller: Agent | None
) -> Limits:
    """The limits that an agent has, but for those that are asked for."""
    wanted = cast("ResumeRequest", request)  # who pauses asks for none
    asked = Limits(usd=wanted.get("max_usd"), seconds=wanted.get("max_seconds"))
    _refuse_nonsense(asked)
    values = msgspec.structs.asdict(asked)
    named = {name: limit for name, limit in values.items() if limit is not None}
    limits = msgspec.structs.replace(agent.limits, **named)
    if caller is None or limits == agent.limits:
        return limits
    if caller.uid == agent.uid:
        raise Denied("an agent cannot raise its own limits", "ask the person, or its manager")
    raised = {name: limit for name, limit in named.items() if _raises(agent, name, limit)}
    core_allowances.refuse_more(Limits(**raised), [allowances.of(context, caller, beside=agent)])
    return limits


def _raises(agent: Agent, name: str, limit: float) -> bool:
    own = getattr(agent.limits, name)
    return own is None or limit > own


def _refuse_nonsense(limits: Limits) -> None:
    for name, limit in (("turns", limits.turns), ("budget", limits.usd), ("time", limits.seconds)):
        if limit is not None and not 0 < limit < 1e9:
            raise UserError(f"a limit of {limit:g} for {name} makes no sense", "give more than 0")
