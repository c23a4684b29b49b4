"""Landing on an upstream: the push is the compare-and-swap, and the branch here follows it.

A push of which nobody knows what became of it is settled by reading the remote, before anything
else lands. So it may be done again at any time: what is there already is not pushed once more.
A server may make another commit of what it takes; one of the proven tree is the landing then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from windlass.core import shapes
from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.core.landing.changes import OPEN, ChangeId
from windlass.core.printable import printable_line
from windlass.daemon.kernel import repos, set_aside
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import landed
from windlass.daemon.landing.upstreams import Upstreams
from windlass.daemon.mail import notices
from windlass.git import gate_trees, mainline, merges, remotes, repository, squashes
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store.store import Writing

_PUSHES = 2
"""How often one landing is pushed where the remote gives no answer and has not taken it."""


class Settled(NamedTuple):
    """What became of a push; `unsettled` where the remote could not be read afterwards."""

    outcome: Literal["landed", "moved", "refused", "unsettled"]
    why: str = ""
    commit: str = ""
    """What has landed: what was pushed, or what the remote has made of it."""


class Pushes:
    """Lands on remotes."""

    def __init__(self, context: Context, upstreams: Upstreams) -> None:
        self._context = context
        self._upstreams = upstreams

    def steps(self) -> tuple[Step, ...]:
        """The steps of a landing: push, then bring the branch here along."""
        return (
            Step("push", self._push, needed=_is_push),
            Step("follow", self._follow, needed=_is_push),
        )

    def _push(self, work: RunningIntent) -> None:
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        plan = shapes.convert(work.data["plan"], MergePlan)
        settled = settle(
            git, plan, remote=work.data["remote"], is_wanted=lambda: self._is_wanted(work)
        )
        if settled.outcome == "landed":
            plan = _as_landed(git, plan, settled.commit)

            def change(writing: Writing) -> None:
                for name in work.data["tried"]["group"]:
                    landed.record(writing, work, name, plan)

            work.with_next_record(change)
        elif settled.outcome == "unsettled":
            is_first = "settles" not in work.data
            why = f"nobody knows yet whether it was pushed: {settled.why}"
            repo, heads = RepoId(work.intent.repo), work.data["heads"]
            self._upstreams.say_unreachable(repo, why, heads, is_first=is_first)
        work.keep(outcome=settled.outcome, refused=settled.why, plan=msgspec.to_builtins(plan))

    def _is_wanted(self, work: RunningIntent) -> bool:
        """Whether nobody has taken back any of it since it was proven."""
        repo, heads = RepoId(work.intent.repo), work.data["heads"]
        known = self._context.store.read(partial(rows.listed, repo=repo, states=OPEN))
        wanted = {c.id for c in known if c.head == heads.get(c.id) and not c.waits_for_a_person}
        return wanted.issuperset(work.data["tried"]["group"])

    def _follow(self, work: RunningIntent) -> None:
        """Moves the branch here to what has landed, unless it has commits of its own.

        What has landed has landed: that the branch here stays behind is said, and no failure.
        """
        if work.data["outcome"] != "landed":
            return
        repo = RepoId(work.intent.repo)
        git = repos.git(repos.by_id(self._context, repo))
        plan = shapes.convert(work.data["plan"], MergePlan)
        landed.follow_green(git, work, plan)
        branch, remote = plan.target_branch, work.data["remote"]
        stays = follow(self._context, git, repo, branch, commit=plan.new, remote=remote)
        if stays:
            group = work.data["tried"]["group"]
            work.with_next_record(lambda writing: say_stays(writing, repo, group, stays))


def settle(
    git: Repository, plan: MergePlan, *, remote: str, is_wanted: Callable[[], bool]
) -> Settled:
    """Has a remote's branch be at a commit, by reading where it is, first and after each push.

    What a push says is not believed: it may have gone elsewhere than where the branch is read.
    """
    branch, why, said = plan.target_branch, "", ""
    for pushes in range(_PUSHES + 1):
        try:
            tip = remotes.fetch(git, remote, branch)
        except WindlassError as error:
            return Settled("unsettled", f"{error.message} ({error.hint})")
        if tip is not None and repository.is_ancestor(git, plan.new, tip):
            return Settled("landed", commit=plan.new)
        if tip is not None and (made := _rewritten(git, plan, tip)):
            return Settled("landed", commit=made)
        if tip == plan.old and said in ("pushed", "moved"):
            if told := _elsewhere(git, remote, branch):
                return Settled("refused", told)
            if said == "pushed":
                return Settled("unsettled", f"{remote} took it, and does not show it yet")
        if tip != plan.old or not is_wanted():
            return Settled("moved")
        if pushes == _PUSHES:
            break
        pushed = remotes.push(git, remote, commit=plan.new, branch=branch, old=plan.old)
        said, why = pushed
        if said == "refused":
            break
    told = f"{remote} does not take it: {why}; where {branch} is protected, land by pull requests"
    return Settled("refused", f"{printable_line(told)}: wl config set landing.mode pr --global")


def _rewritten(git: Repository, plan: MergePlan, tip: str) -> str:
    """The commit of just the proven tree that a remote has in the place of what was pushed."""
    if tip == plan.old or not repository.is_ancestor(git, plan.old, tip):
        return ""
    came = mainline.moves(git, tip, since=plan.old)
    return next((moved.commit for moved in reversed(came) if moved.tree == plan.tree), "")


def _as_landed(git: Repository, plan: MergePlan, commit: str) -> MergePlan:
    """The plan with the commit that the remote has, which is known to hold what was merged."""
    if commit == plan.new:
        return plan
    (made,) = mainline.moves(git, commit, limit=1)
    merge = plan.stands_for or plan.new
    is_squash = made.parents == (plan.old,)
    plan = msgspec.structs.replace(plan, new=commit, stands_for=merge if is_squash else "")
    if is_squash:
        squashes.keep(git, plan)
    return plan


def _elsewhere(git: Repository, remote: str, branch: str) -> str:
    """What to do where a push had no effect on what is read; empty: both have one address."""
    elsewhere = set(remotes.written_at(git, remote)) - {remotes.address(git, remote)}
    if not elsewhere:
        return ""
    told = printable_line(remotes.without_credentials(", ".join(sorted(elsewhere))))
    return (
        f"{remote} is pushed to at {told}, and {printable_line(branch)} where it is read did not"
        f" get it: have it push there (git config --unset-all remote.{remote}.pushurl), or name a"
        " remote that does: wl config set landing.remote NAME --global"
    )


def follow(
    context: Context, git: Repository, repo: RepoId, branch: str, *, commit: str, remote: str
) -> str:
    """Moves a branch here to what landed on the remote's; says why where it stays."""
    try:
        context.store.read(partial(set_aside.refuse_move, repo=repo, branch=branch))
        local = repository.read_ref(git, f"refs/heads/{branch}")
        if local is None or repository.is_ancestor(git, commit, local):
            return ""
        if not repository.is_ancestor(git, local, commit):
            return (
                f"your {printable_line(branch)} has commits that {remote} lacks, and stays as it"
                f" is: git pull --rebase {remote} {printable_line(branch)}"
            )
        tree = gate_trees.tree_of(git, commit)
        plan = MergePlan(
            target_ref=f"refs/heads/{branch}", old=local, new=commit, tree=tree, checkout=None
        )
        merges.apply(git, plan)
    except WindlassError as error:
        why = printable_line(f"{error.message}; {error.hint}" if error.hint else error.message)
        return f"your {printable_line(branch)} stays behind: {why}"
    return ""


def say_stays(writing: Writing, repo: RepoId, names: list[str], why: str) -> None:
    """Says of changes that have landed that the branch here did not follow."""
    for name in names:
        found = rows.find(writing.connection, repo, ChangeId(name))
        if found is not None and found.state == "landed":
            rows.note(writing, found, why=why)
    text = f"{', '.join(names)} landed; {why}"
    notices.post(writing, repo, "windlass", "waiting", text, by_hand=True)


def unsettled(work: RunningIntent) -> dict[str, Any] | None:
    """What the queue needs to settle a push later; None where it is settled."""
    if work.data.get("outcome") != "unsettled":
        return None
    kept = {name: work.data[name] for name in ("tried", "heads", "mode", "remote", "verdict")}
    return {**kept, "settles": work.data["plan"]}


def _is_push(data: Any) -> bool:
    return data.get("mode") == "push" and data.get("plan") is not None
