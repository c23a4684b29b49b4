"""Plans that agents made of tasks: kept in the registered checkout, where people keep theirs.

The next run of the task reads it from there, and the board lets it come earlier. One that cannot be
kept is told, and holds nobody up: the steps that follow have it as the report of the planning.

The person's own plans may name files to be read along, and nobody can tell them from these when
they are read: so what an agent wrote is made plain text as it is kept.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.core.mail.messages import as_text
from windlass.core.runs.run_state import Ending
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notices
from windlass.project import folder, plans
from windlass.store.store import Writing


class Kept(NamedTuple):
    """Where the plan of a task lies, and how its planning ends by that."""

    path: str
    ending: Ending


def kept(context: Context, repo: RepoId, task: str, text: str, *, replaces: bool) -> Kept:
    """Keeps a plan that was asked for, and says so; nobody's own is lost. Twice is once."""
    text = as_text(text)
    if not text.strip():
        return Kept("", Ending(outcome="failed", why="its agent gave no plan"))
    windlass = str(Path(repos.by_id(context, repo).root) / folder.NAME)
    try:
        path = plans.put(windlass, task, text, replaces=replaces)
    except (WindlassError, OSError) as error:
        why = error.message if isinstance(error, WindlassError) else str(error)
        said = f"its plan could not be kept: {why}; wl show {task} --json has it"
        return Kept("", Ending(outcome="failed", why=said))
    why = ""
    if path != folder.plan(windlass, task):
        why = "a plan was there by then, and stays: this one lies beside it"
    return Kept(path, Ending(outcome="planned", why=why))


def keep(context: Context, repo: RepoId, task: str, text: str) -> None:
    """Keeps a plan, unless the task has one."""
    root = repos.by_id(context, repo).root
    try:
        plans.keep(str(Path(root) / folder.NAME), task, as_text(text))
    except (WindlassError, OSError) as error:
        why = error.message if isinstance(error, WindlassError) else str(error)
        context.store.write(partial(_tell, repo=repo, task=task, why=why))


def _tell(writing: Writing, *, repo: RepoId, task: str, why: str) -> None:
    text = f"the plan of {task} could not be kept: {why}"
    notices.post(writing, repo, "windlass", "waiting", text, by_hand=True)
