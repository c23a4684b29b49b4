"""Plans that agents made of tasks: kept in the registered checkout, where people keep theirs.

The next run of the task reads it from there, and the board lets it come earlier. One that cannot be
kept is told, and holds nobody up: the steps that follow have it as the report of the planning.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notices
from windlass.project import folder, plans
from windlass.store.store import Writing


def keep(context: Context, repo: RepoId, task: str, text: str) -> None:
    """Keeps a plan, unless the task has one."""
    root = repos.by_id(context, repo).root
    try:
        plans.keep(str(Path(root) / folder.NAME), task, text)
    except (WindlassError, OSError) as error:
        why = error.message if isinstance(error, WindlassError) else str(error)
        context.store.write(partial(_tell, repo=repo, task=task, why=why))


def _tell(writing: Writing, *, repo: RepoId, task: str, why: str) -> None:
    text = f"the plan of {task} could not be kept: {why}"
    notices.post(writing, repo, "windlass", "waiting", text, by_hand=True)
