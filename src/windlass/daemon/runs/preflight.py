"""What a board needs to be worked off, looked at before any agent starts, and told all at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from windlass import drivers
from windlass.core.box_spec import Isolation, Network
from windlass.core.config import Config, confinement
from windlass.core.errors import ConfigError, NotFound, WindlassError
from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import Inline, Pipeline
from windlass.core.printable import printable_line
from windlass.core.roles import USUAL
from windlass.core.runs import planning
from windlass.core.runs.schedule import ScheduleState
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes, session_request
from windlass.daemon.runs import markers, run_roles, task_pipelines
from windlass.daemon.spend import budgets
from windlass.project import boards, role_files
from windlass.project.boards import BoardFile
from windlass.store.rows import Repo

T = TypeVar("T")
_SHOWN = 20


class Ready(NamedTuple):
    """What was looked at, and is fine."""

    gate: Gate
    board: BoardFile
    only: tuple[str, ...]
    """The wanted tasks, as the board spells them."""
    pays: str
    """What pays for its sessions, as each of them records it."""


def require(context: Context, repo: Repo, state: ScheduleState, config: Config) -> Ready:
    """Refuses what could not be worked off, with everything that is in the way."""
    problems: list[WindlassError] = []
    gate = _tried(problems, lambda: gates.landing(gates.read(context, repo)))
    _tried(problems, partial(gates.require_unsigned, context, repo))
    _tried(problems, partial(budgets.refuse_spent, context, repo.id))
    _tried(problems, context.sessions.terminal.require_version)
    pays = _tried(problems, partial(_require_driver, context, repo, state, config))
    board = _tried(problems, partial(sound_board, repo))
    _tried(problems, partial(_require_writable, repo))
    only: tuple[str, ...] = ()
    live_steps = False
    if board is not None:
        only = _tried(problems, partial(_on_board, board, state.only)) or ()
        for task in board.board.tasks:
            field = task.fields.get("Agent")
            if field is not None and field.value and task.marker not in "xN":
                named = partial(_require_role, repo, config, field.value, of=task.id)
                _tried(problems, named)
        for pipeline in _pipelines(problems, board, state, config):
            _tried(problems, partial(_require_roles, repo, config, pipeline))
            said = partial(run_roles.of_run, pipeline, "", board.folder, config, state.overrides)
            roles = _tried(problems, said)
            live_steps = live_steps or (roles is not None and roles.any_live)
            _tried(problems, partial(_require_steps, pipeline, state))
    if live_steps and state.mode != "live":
        live = msgspec.structs.replace(state, mode="live")
        _tried(problems, partial(_require_driver, context, repo, live, config))
    if gate is None or board is None or problems:
        raise _together(problems)
    return Ready(gate, board, only, pays or "")


def require_planning(context: Context, repo: Repo, state: ScheduleState, config: Config) -> str:
    """Refuses where no task could be planned, with everything that is in the way; says what pays.

    Nothing is proven and nothing lands by that, so neither a gate nor a sound board is asked for.
    """
    problems: list[WindlassError] = []
    _tried(problems, partial(budgets.refuse_spent, context, repo.id))
    _tried(problems, context.sessions.terminal.require_version)
    pays = _tried(problems, partial(_require_driver, context, repo, state, config))
    _tried(problems, partial(_require_roles, repo, config, planning.alone()))
    if problems:
        raise _together(problems, "nothing can be planned yet", "wl plan TASK --agent")
    return pays or ""


def board_file(repo: Repo) -> BoardFile:
    """The board of a repository, as it is."""
    path = markers.board_of(repo)
    if not os.path.lexists(path):
        raise NotFound(f"there is no board {path}", "`wl board add` makes one, with its first task")
    return boards.read(path)


def sound_board(repo: Repo) -> BoardFile:
    """The board of a repository, where nothing is wrong with it."""
    file = board_file(repo)
    errors = file.board.errors
    if errors:
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise ConfigError(
            f"the board cannot be worked off: {errors[0]}{more}", "`wl board validate` lists them"
        )
    return file


def _require_writable(repo: Repo) -> None:
    """A board that cannot be marked would have its tasks done without anybody seeing it."""
    path = Path(markers.board_of(repo))
    if path.is_symlink() or path.parent.is_symlink():
        raise ConfigError(f"{path} is a symbolic link, and is not written", "put the file there")
    if path.exists() and not os.access(path, os.W_OK):
        raise ConfigError(f"{path} is read-only", f"chmod u+w {path}")


def _tried(problems: list[WindlassError], check: Callable[[], T]) -> T | None:
    try:
        return check()
    except WindlassError as error:
        problems.append(error)
        return None


def _require_driver(context: Context, repo: Repo, state: ScheduleState, config: Config) -> str:
    """An agent CLI that is there, and that would not stop at a question; returns what pays."""
    driver = drivers.get(state.driver)
    driver.check()
    isolation: Isolation
    network: Network
    isolation, network = confinement(config, USUAL)
    draft = partial(
        session_request.draft,
        context,
        state.driver,
        mode=state.mode,
        root=str(context.folders.workspaces),
        config=config,
    )
    choice = boxes.choose(
        wanted=isolation, network=network, driver=state.driver, draft=draft(boxed=True), repo=repo
    )
    request = draft(boxed=choice.level == "box")
    if choice.level != "box":
        driver.require_ready(request)
    return driver.credential(request)


def _on_board(board: BoardFile, wanted: Iterable[str]) -> tuple[str, ...]:
    """The tasks by their ids, in any case."""
    known = {name.upper(): name for name in board.board.by_id}
    missing = [name for name in wanted if name.upper() not in known]
    if missing:
        names = ", ".join(map(printable_line, missing))
        raise NotFound(f"no task {names} on the board", "`wl board list`")
    return tuple(known[name.upper()] for name in wanted)


def _pipelines(
    problems: list[WindlassError], file: BoardFile, state: ScheduleState, config: Config
) -> Iterable[Pipeline]:
    """The pipelines of the tasks that may be begun, each once."""
    found: dict[str, Pipeline] = {}
    broken: set[str] = set()
    for task in file.board.tasks:
        if file.board.finished(task) or task.marker == "N":
            continue
        try:
            chosen = task_pipelines.chosen(task.id, file, state, config)
        except WindlassError as error:
            if error.message not in broken:
                problems.append(error)
                broken.add(error.message)
        else:
            found.setdefault(chosen.origin, chosen.pipeline)
    return found.values()


def _require_roles(repo: Repo, config: Config, pipeline: Pipeline) -> None:
    """Every role that its steps name."""
    wanted = dict.fromkeys(step.agent for step in pipeline.steps)
    for step in pipeline.steps:
        inline = (each for each in step.on_result.values() if isinstance(each, Inline))
        wanted |= dict.fromkeys(each.agent for each in inline)
    for name in wanted:
        _require_role(repo, config, name, of=f"the pipeline {pipeline.name}")


def _require_role(repo: Repo, config: Config, name: str, *, of: str) -> None:
    """Who names a role that is not there is what has to be mended."""
    try:
        role_files.find(config, repo.root, name)
    except NotFound as error:
        raise ConfigError(f"{of}: {error.message}", error.hint) from error


def _require_steps(pipeline: Pipeline, state: ScheduleState) -> None:
    if engine.start(pipeline, frozenset(state.enabled)).outcome:
        wanted = ", ".join(sorted({step.enabled_by for step in pipeline.steps}))
        raise ConfigError(
            f"no step of the pipeline {pipeline.name} runs: they ask for {wanted}",
            "wl run --enable VARIABLE",
        )


def _together(
    problems: list[WindlassError],
    what: str = "the board cannot be worked off yet",
    then: str = "wl run",
) -> WindlassError:
    if len(problems) == 1:
        return problems[0]
    lines = [f"  {error.message}" + f"; {error.hint}" * bool(error.hint) for error in problems]
    more = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    told = "\n".join([*lines[:_SHOWN], *more])
    return ConfigError(f"{what}:\n{told}", f"mend these, then: {then}")
