"""Markers on the board of a repository: edits in the registered checkout, as a person makes them.

A task's state is the store's. A board that cannot be written is told, and holds no run up.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from windlass.core.board import FILE, edits
from windlass.core.errors import WindlassError
from windlass.core.events import TaskUnmarked
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notices
from windlass.project import boards, folder
from windlass.store.rows import Repo
from windlass.store.store import Writing

OF = {"landed": "x", "failed": "*", "dropped": "N"}
"""The marker of a task, by how its run ended."""
_BEGUN = (" ", "=")


def board_of(repo: Repo) -> str:
    """The file of a repository's board."""
    return str(Path(repo.root) / folder.NAME / FILE)


def changed(repo: Repo, task: str) -> str:
    """Another marker that a task has by now than one that is to be begun; nothing where none."""
    try:
        found = boards.read(board_of(repo)).board.by_id.get(task)
    except WindlassError:
        return ""  # what cannot be read says nothing; that it cannot is told when it is marked
    return found.marker if found is not None and found.marker not in _BEGUN else ""


def is_gone(repo: Repo, task: str) -> bool:
    """Whether a board that can be read has no such task."""
    try:
        return task not in boards.read(board_of(repo)).board.by_id
    except WindlassError:
        return False  # nobody knows


def put(context: Context, repo: Repo, task: str, marker: str) -> bool:
    """Gives a task another marker, or tells why it has not got it."""
    try:
        boards.change(
            board_of(repo), lambda board: edits.with_marker(board, task, marker), make=False
        )
    except (WindlassError, OSError) as error:
        why = error.message if isinstance(error, WindlassError) else str(error)
        context.store.write(partial(_tell, repo=repo, task=task, marker=marker, why=why))
        return False
    return True


def _tell(writing: Writing, *, repo: Repo, task: str, marker: str, why: str) -> None:
    writing.emit(TaskUnmarked(task=task, marker=marker, why=why), repo=repo.id)
    text = f"{task} is [{marker}], and the board does not say so: {why}"
    notices.post(writing, repo.id, "windlass", "waiting", text, by_hand=True)
