"""`refs/windlass/green`: the newest commit of the target that is proven.

New agents begin there while the branch that they would begin at is known to be red.
"""

from __future__ import annotations

from functools import partial

from windlass.core.ids import RepoId
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees, repository
from windlass.git.repository import Repository
from windlass.store import verdicts

REF = "refs/windlass/green"


def follow(git: Repository, commit: str) -> None:
    """Says that a commit of the target is proven."""
    repository.set_ref(git, REF, commit)


def instead_of(context: Context, repo: RepoId, git: Repository, tip: str) -> str | None:
    """The last proven commit before a tip, where that is known to be red; None where it is not.

    What nobody has judged is taken as it is: a commit that the person has just made is there for
    the agent that they start next.
    """
    green = repository.read_ref(git, REF)
    if green is None or green == tip or not repository.is_ancestor(git, green, tip):
        return None
    tree = gate_trees.tree_of(git, tip)
    known = context.store.read(partial(verdicts.of_trees, repo=repo, trees=[tree]))
    is_red = any(verdict.outcome != "passed" for verdict in known.get(tree, {}).values())
    return green if is_red else None
