"""What a merge by hand would leave behind, take unseen, or let in: found, and refused."""

from __future__ import annotations

import os

from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.core.policy import protected
from windlass.core.printable import few, printable_line
from windlass.daemon.agents.merge_targets import branch_of
from windlass.git import changes, merges, repository, squashes, submodules
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.git.status import WorkStatus


def refuse_inside(agent: Agent, cwd: str) -> None:
    """Refuses to pull the floor from under the caller."""
    if not agent.owns_workspace or not cwd:
        return
    inside = os.path.realpath(agent.workspace)
    here = os.path.realpath(cwd)
    if here == inside or here.startswith(inside + os.sep):
        raise Conflict(
            f"you are inside {agent.id}'s own workspace, which a merge removes",
            "cd out of it first",
        )


def refuse_left_work(git: Repository, agent: Agent, *, work: WorkStatus) -> None:
    """Refuses what would leave work of an agent behind: uncommitted, or beside its branch."""
    if not work.clean:
        names = uncommitted(work)
        shown = few(names)
        under_way = f"a {work.operation} is under way" if work.operation else ""
        what = "; ".join(part for part in (shown, under_way) if part)
        raise Conflict(
            f"{agent.id} has uncommitted work: {what}",
            f"let it commit: wl send {agent.id} 'commit your work', or look: wl diff {agent.id}",
        )
    if beside := left_beside(git, agent, work=work):
        raise Conflict(
            beside, f"bring them over: wl exec {agent.id} -- git checkout -B {agent.branch}"
        )


def left_beside(git: Repository, agent: Agent, *, work: WorkStatus) -> str:
    """What is to be said of commits of an agent that its branch lacks; empty where none is."""
    tip = repository.resolve(git, f"refs/heads/{branch_of(agent)}")
    if not work.head or not tip or _contains(git, tip, work.head):
        return ""
    where = printable_line(work.branch) if work.branch else "a detached HEAD"
    return f"{agent.id}'s workspace is on {where}, with commits that {agent.branch} lacks"


def _contains(git: Repository, tip: str, head: str) -> bool:
    """Whether a branch has a workspace's HEAD; a commit that was never fetched is not here."""
    return repository.resolve(git, head) is not None and repository.is_ancestor(git, head, tip)


def uncommitted(work: WorkStatus) -> list[str]:
    """The paths of a workspace that hold something which no commit has."""
    changed = {*work.staged, *work.unstaged, *work.untracked, *work.conflicted}
    return sorted({*changed, *work.nested, *work.unread})


def protected_paths(git: Repository, tip: str, into: str, patterns: list[str]) -> list[str]:
    """The protected paths that a merge of a commit would change."""
    target = repository.require(git, f"refs/heads/{into}")
    base = merges.compared_with(squashes.seen(git), tip=tip, target=target)
    return [] if base is None else marked(git, base, tip, patterns)


def marked(git: Repository, old: str, new: str, patterns: list[str]) -> list[str]:
    """The protected paths among what differs between two commits."""
    return protected.among(changes.touched(git, old, new), patterns)


def refuse_another(agent: Agent, plan: MergePlan, expect: str | None) -> None:
    """Refuses a commit that came after the one that somebody has looked at."""
    if expect is not None and plan.tip != expect:
        raise Conflict(
            f"{agent.branch} is at {plan.tip}, not at {printable_line(expect)}",
            f"look again: wl diff {agent.id}; name the whole id of its tip",
        )


def submodules_apart(git: Repository, tip: str, target: str) -> list[str]:
    """The submodules that a merge would move to a commit that is nowhere but where it was made."""
    there = {(found.path, found.commit) for found in submodules.of_commit(git, target)}
    apart = submodules.unknown(git, tip)
    return [found.path for found in apart if (found.path, found.commit) not in there]
