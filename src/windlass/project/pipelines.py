"""Pipelines as files: the ones that ship, a repository's, and any that is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

from windlass.core.board import FILE
from windlass.core.board.board import Board
from windlass.core.board.tasks import ID
from windlass.core.errors import NotFound, UserError, WindlassError
from windlass.core.pipeline import built_in, spec
from windlass.core.pipeline.steps import Pipeline
from windlass.core.printable import printable_line
from windlass.project import boards, folder, step_roles

LARGEST = 256 << 10
"""Every run carries its pipeline, and whatever becomes of a run is written down with it."""
_SHORTER = "shorten it, or give tasks pipelines of their own"
_STDIN = "-"


class Chosen(NamedTuple):
    """A pipeline, where it is from, and why that one."""

    pipeline: Pipeline
    origin: str
    why: str


def data_of(named: str, windlass: str) -> tuple[bytes, str]:
    """What a person names holds, and what errors call it: a file, stdin, or a pipeline's name."""
    if named == _STDIN:
        data = sys.stdin.buffer.read(LARGEST + 1)
        return folder.short(data, "stdin", most=LARGEST, remedy=_SHORTER), "stdin"
    if os.path.lexists(named) and not os.path.isdir(named):
        return _read(named), named
    return _of_repository(named, windlass)


def _read(path: str) -> bytes:
    return folder.read(path, most=LARGEST, remedy=_SHORTER)


def _of_repository(named: str, windlass: str) -> tuple[bytes, str]:
    """What a file of the repository names holds: neither stdin nor anything outside of it."""
    if own := _own_file(named, windlass):
        return _read(own), own
    if named in built_in.NAMES:
        path = resources.files("windlass.data") / "pipelines" / f"{named}.json"
        return path.read_bytes(), f"the built-in pipeline {named}"
    raise NotFound(
        f"no pipeline {printable_line(named)} in this repository",
        "name a file of JSON in it, or one that `wl pipeline list` shows",
    )


def _own_file(named: str, windlass: str) -> str:
    """The plain file of the repository that a name or a path from its top means; or nothing."""
    top = os.path.dirname(windlass)
    paths = [os.path.join(top, named)]
    if os.sep not in named:
        paths.append(os.path.join(windlass, "pipelines", f"{named}.json"))
    for path in paths:
        try:
            inside = folder.is_within(path, top)
        except ValueError:  # no path can be called that
            continue
        if inside and os.path.isfile(path):
            return path
    return ""


def is_there(named: str, windlass: str) -> bool:
    """Whether a pipeline is there that a file of the repository names."""
    return named in built_in.NAMES or bool(_own_file(named, windlass))


def read(named: str, windlass: str) -> Pipeline:
    """A pipeline by its file or name, with what its roles say about results."""
    data, origin = data_of(named, windlass)
    return step_roles.applied(spec.parse(data, origin), windlass)


def chosen(
    task: str,
    windlass: str,
    *,
    command_line: str = "",
    config: str = "",
    board: Board | None = None,
) -> Chosen:
    """The pipeline that a task goes through; `board` spares reading it for each of its tasks."""
    if task and not ID.fullmatch(task):
        raise UserError(f"{task!r} cannot be a task's id", "`wl board list` shows those there are")
    if task and board is None:
        board = _board(windlass)
    said = _said_by_board(task, board) if board is not None else ""
    for source in built_in.sources(task, command_line=command_line, board=said, config=config):
        if source.name:
            named = data_of if command_line else _of_repository
            try:
                data, origin = named(source.name, windlass)
            except NotFound as error:
                if source.name == command_line:
                    raise
                raise NotFound(f"{error.message}: {source.why} names it", error.hint) from None
            return Chosen(spec.parse(data, origin), origin, source.why)
        path = os.path.join(windlass, source.file)
        if os.path.lexists(path):
            return Chosen(spec.parse(_read(path), path), path, source.why)
    raise NotFound("no pipeline", "`wl pipeline list` shows them")


def _board(windlass: str) -> Board | None:
    path = os.path.join(windlass, FILE)
    return boards.read(path).board if os.path.exists(path) else None


def _said_by_board(task: str, board: Board) -> str:
    found = board.by_id.get(task)
    field = found.fields.get("Pipeline") if found else None
    return field.value if field else ""


class Listed(NamedTuple):
    """A pipeline that there is, or a file that is none."""

    name: str
    origin: str
    steps: list[str]
    about: str
    problem: str


def listed(windlass: str) -> Iterator[Listed]:
    """Every pipeline by its name: the repository's own, then those that ship."""
    for path in _own(windlass):
        name = os.path.basename(path).removesuffix(".json")
        try:
            found = spec.parse(_read(path), path)
        except WindlassError as error:
            yield Listed(name, path, [], "", error.message)
        else:
            yield Listed(name, path, [step.id for step in found.steps], found.description, "")
    for name in built_in.NAMES:
        found = read(name, "")
        yield Listed(name, "built in", [step.id for step in found.steps], found.description, "")


def _own(windlass: str) -> Iterator[str]:
    path = os.path.join(windlass, "pipeline.json")
    if os.path.exists(path):
        yield path
    pipelines = os.path.join(windlass, "pipelines")
    if os.path.isdir(pipelines):
        for name in sorted(os.listdir(pipelines)):
            if name.endswith(".json"):
                yield os.path.join(pipelines, name)
