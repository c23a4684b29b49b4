"""The project's own commands around a workspace: setup before its session, teardown after."""

from __future__ import annotations

from pathlib import Path

from windlass.core.config import WorkspaceSettings
from windlass.core.crew import Agent
from windlass.core.errors import DriverError, WindlassError
from windlass.core.events import TeardownFailed, WorkspaceCommand
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import beside, boxes, session_request
from windlass.store.rows import Repo


def run(work: RunningIntent, agent: Agent, what: beside.What, command: str, timeout: float) -> None:
    """Runs one, its output kept in the agent's folder; a failure carries its last lines.

    What an earlier try left running, before a daemon died, is ended first. That it ran is told with
    the next record of the intent that it is part of.
    """
    context = work.context
    context.commands.end_run(beside.mark(agent, what))
    log = context.folders.agent(agent.uid) / f"{what}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    request = session_request.beside_session(context, agent)
    with boxes.way_out(context, agent):
        prefix = boxes.prefix(context, agent, request, what=what)
        done = context.commands.run(
            command,
            cwd=Path(agent.workspace),
            env={} if prefix else {**request.env, **request.extra_env},
            log=log,
            timeout=timeout,
            mark=beside.mark(agent, what),
            prefix=prefix,
        )
    ran = WorkspaceCommand(what=what, code=done.code, timed_out=done.timed_out)
    work.with_next_record(lambda w: w.emit(ran, repo=agent.repo, agent=agent.uid))
    if done.code == 0 and not done.timed_out:
        return
    how = f"took longer than {timeout:g} s" if done.timed_out else f"ended with {done.code}"
    tail = "\n".join(f"  | {line}" for line in done.tail.splitlines()[-8:])
    raise DriverError(
        f"[workspace] {what} of {agent.id} {how}: {command}\n{tail}".rstrip(),
        f"mend it in {settings.PROJECT_FILE}, or raise workspace.timeout",
    )


def interrupt_setup(context: Context, agent: Agent) -> None:
    """Ends a setup that is under way, so that its agent can be ended without waiting for it."""
    context.commands.end_run(beside.mark(agent, "setup"))


def teardown(work: RunningIntent, agent: Agent, repo: Repo, commands: WorkspaceSettings) -> None:
    """Runs teardown, and ends what it leaves running; its failure is on record, no more."""
    if not commands.teardown or not Path(agent.workspace).is_dir():
        return
    try:
        run(work, agent, "teardown", commands.teardown, commands.timeout)
    except WindlassError as error:
        failed = TeardownFailed(error=error.message)
        work.with_next_record(lambda w: w.emit(failed, repo=repo.id, agent=agent.uid))
    work.context.commands.end_run(beside.mark(agent, "teardown"))
