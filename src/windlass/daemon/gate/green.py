"""`refs/windlass/green`: the newest commit of the target that is proven.

New agents begin there while the branch that they would begin at is known to be red.
"""

from __future__ import annotations

from functools import partial

from windlass.core.ids import RepoId
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees, mainline, repository
from windlass.git.repository import Repository
from windlass.store import verdicts

REF = "refs/windlass/green"
_LOOKED_AT = 200
"""Commits of the target that are looked at for the newest proven one."""


def follow(git: Repository, commit: str) -> None:
    """Says that a commit of the target is proven."""
    repository.set_ref(git, REF, commit)


def find_again(context: Context, gate: Gate, git: Repository) -> None:
    """Has the ref be at the newest proven commit where the target has gone back behind it."""
    kept = repository.read_ref(git, REF)
    if kept is None or repository.is_ancestor(git, kept, gate.target.tip):
        return
    proven = newest(context, gate, git)
    if proven is None:
        repository.delete_refs(git, REF)
    else:
        follow(git, proven)


def newest(context: Context, gate: Gate, git: Repository) -> str | None:
    """The newest commit along the target's own line that is known to be proven; None for none.

    By the verdicts of its tree: not every run that proves one of them moves the ref along.
    """
    tip, names = gate.target.tip, {check.name for check in gate.spec.checks}
    line = mainline.moves(git, tip, limit=_LOOKED_AT)
    trees = {move.tree for move in line}
    known = context.store.read(partial(verdicts.of_trees, repo=gate.repo.id, trees=trees))

    def is_proven(tree: str) -> bool:
        judged = known.get(tree, {})
        return names <= judged.keys() and all(judged[name].outcome == "passed" for name in names)

    proven = next((move.commit for move in line if names and is_proven(move.tree)), None)
    kept = repository.read_ref(git, REF)
    if kept is None or not repository.is_ancestor(git, kept, tip):
        return proven
    is_older = proven is not None and repository.is_ancestor(git, kept, proven)
    return proven if is_older else kept


def is_red(context: Context, repo: RepoId, git: Repository, commit: str) -> bool:
    """Whether a commit is known not to be green; what nobody has judged is not."""
    tree = gate_trees.tree_of(git, commit)
    known = context.store.read(partial(verdicts.of_trees, repo=repo, trees=[tree]))
    return any(verdict.outcome != "passed" for verdict in known.get(tree, {}).values())


def instead_of(context: Context, repo: RepoId, git: Repository, tip: str) -> str | None:
    """The last proven commit before a tip, where that is known to be red; None where it is not.

    What nobody has judged is taken as it is: a commit that the person has just made is there for
    the agent that they start next.
    """
    green = repository.read_ref(git, REF)
    if green is None or green == tip or not repository.is_ancestor(git, green, tip):
        return None
    return green if is_red(context, repo, git, tip) else None
