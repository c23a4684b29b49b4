"""What could be merged: branches with commits that the branch lacks which changes land on."""

from __future__ import annotations

import os
from functools import partial

from windlass.api.verbs import Caller
from windlass.api.wire.landing import CandidatesReply, CandidateView
from windlass.api.wire.request import AnyRequest
from windlass.daemon.gate import gates
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.git import repository, squashes
from windlass.store import changes as rows
from windlass.store import rows as agent_rows

_MOST = 50


def candidates(context: Context, caller: Caller, request: AnyRequest) -> CandidatesReply:
    """Lists them, those with the newest commits first, with the agent and the change of each."""
    repo = lookup.scope(context, caller, request).require_repo()
    git = squashes.seen(repos.git(repo))
    target = gates.target(context, repo, git)
    agents = context.store.read(partial(agent_rows.agents, repo=repo.id))
    names = {agent.branch: agent.id for agent in agents if agent.branch is not None}
    known = context.store.read(partial(rows.listed, repo=repo.id))
    newest = {change.branch: change for change in known}
    asked = (
        "for-each-ref", f"--no-merged={target.tip}", f"--count={_MOST}", "--sort=-committerdate",
        "--format=%(refname:lstrip=2)%00%(objectname)%00%(subject)", "refs/heads",
    )  # fmt: skip
    found: list[CandidateView] = []
    # Not `splitlines`: a subject may have other ends of lines in it.
    for line in git.git(*asked).out.split(b"\n")[:-1]:
        branch, head, subject = (os.fsdecode(part) for part in line.split(b"\0", 2))
        change = newest.get(branch)
        if change is not None and change.head != head:
            change = None
        if branch == target.branch or (change is not None and change.state == "landed"):
            continue  # squashed, its commits are on no line of the target's
        found.append(
            {
                "branch": branch,
                "agent": names.get(branch),
                "commits": repository.ahead_behind(git, head, target.tip)[0],
                "subject": subject,
                "change": change.id if change is not None else None,
                "state": change.state if change is not None else None,
            }
        )
    return {"target": target.branch, "candidates": found}
