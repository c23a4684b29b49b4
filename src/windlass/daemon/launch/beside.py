"""Programs that Windlass starts in a workspace beside its session: their marks, and their end.

A setup, a command of `wl exec`, git that moves a clone's checkout. Each carries a mark by which
whoever ends the agent finds it, with all that it has started. What the person starts there by
themselves, an editor or a shell, carries none and is never ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from windlass.core.crew import Agent
from windlass.core.errors import Unavailable
from windlass.daemon.kernel.context import Context

What = Literal["setup", "teardown", "exec", "commit", "changing"]
CHANGING: What = "changing"
_ALL: tuple[What, ...] = ("setup", "teardown", "exec", "commit", CHANGING)


def mark(agent: Agent, what: What) -> str:
    """What marks the processes of one kind that run for an agent."""
    return f"{agent.uid}-{what}"


def marked(context: Context, agent: Agent, what: What) -> Mapping[str, str]:
    """What a program has in its environment that is started without `Commands.run`."""
    return context.commands.marked(mark(agent, what))


def marked_line(context: Context, agent: Agent, what: What, line: list[str]) -> list[str]:
    """A command line whose program carries the mark, whoever runs it and with what environment."""
    assigned = (f"{name}={text}" for name, text in marked(context, agent, what).items())
    return ["/usr/bin/env", *assigned, *line]


def interrupt_changes(context: Context, agents: Sequence[Agent]) -> None:
    """Ends git that changes workspaces of agents, so that they can be ended without waiting for it.

    It moves checkouts, and commits what a step of a run left. Boxes of the first have a folder,
    which is made before the first and stays until the agent has ended: for agents that have neither
    that nor a run, no process of the machine has to be looked at.
    """
    changed = (agent for agent in agents if (context.folders.boxes(agent.uid) / CHANGING).exists())
    marks = [mark(agent, CHANGING) for agent in changed]
    marks += [mark(agent, "commit") for agent in agents if agent.run]
    if marks and context.commands.running(*marks):
        context.commands.end_run(*marks)


def end(context: Context, agents: Sequence[Agent]) -> None:
    """Ends everything that runs for agents beside their sessions, proven gone."""
    marks = [mark(agent, what) for agent in agents for what in _ALL]
    if not context.commands.running(*marks):
        return  # one look costs an ending little, and there is hardly ever one
    report = context.commands.end_run(*marks)
    if report.survivors:
        names = ", ".join(agent.id for agent in agents)
        raise Unavailable(
            f"programs in the workspace of {names} would not end: {', '.join(report.survivors)}",
            "nothing was removed; end them and try again",
        )
