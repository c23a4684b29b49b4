"""Git that a run does itself in its agent's workspace, between two sessions of it.

It has what the agent has, and no more: it runs in the agent's box, where there is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from windlass.core.crew import Agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import project_commands, setup_files

_UNLOCK = (
    'for name in index.lock HEAD.lock "$(git symbolic-ref -q HEAD).lock"; do'
    ' lock=$(git rev-parse --git-path "$name") n=0;'
    ' while test -e "$lock" && test $n -lt 20; do n=$((n+1)); sleep 0.1; done;'
    ' rm -f -- "$lock"; done'
)
"""Removes what a git left that was killed: its locks would keep out every git after it.

No session is at work, and whoever else is has two seconds to be done.
"""
_COMMIT = (
    "git add -A -- . {but} && {{ git diff --cached --quiet || {{ set --;"
    " git var GIT_AUTHOR_IDENT >/dev/null 2>&1 ||"
    " set -- -c user.name={agent} -c user.email={agent}@windlass.invalid;"
    " git \"$@\" -c commit.gpgsign=false commit -q --no-verify -m '{message}'; }}; }}"
)
"""Commits what is there, if anything; where nobody has an identity, as the agent."""
_RESET = (
    "for one in rebase cherry-pick revert am; do git $one --quit 2>/dev/null; done;"
    " git reset -q --hard && git checkout -q -f --ignore-other-worktrees -B {branch} {tip}"
    " && git clean -q -f -f -d {kept}"
)
"""Whatever branch it is on and whatever it left half-way, it is back on its own as that was."""
_WITHIN = 120.0


def commit(work: RunningIntent, agent: Agent, message: str) -> None:
    """Commits what a step left; `message` has no quotes in it.

    What the setup left is no work of the step's, a repository inside would be a mere link, and what
    is half merged would be committed with its conflicts.
    """
    left = setup_files.work_status(work.context, agent)
    if left.operation is not None or left.conflicted:
        return
    but = (f":(exclude,top,literal){name}" for name in (*left.setup, *left.nested))
    words = " ".join(map(shlex.quote, but))
    _run(work, agent, _COMMIT.format(agent=agent.id, message=message, but=words))


def reset(work: RunningIntent, agent: Agent, tip: str, *, kept: Iterable[str]) -> None:
    """Has branch and tree be as they were at a commit, but for files that stay.

    What came since is kept elsewhere.
    """
    words = " ".join(f"-e {shlex.quote(_pattern(name))}" for name in kept)
    branch = shlex.quote(agent.branch or "")
    _run(work, agent, _RESET.format(branch=branch, tip=tip, kept=words))


def _pattern(name: str) -> str:
    """A path as a pattern that finds it alone."""
    return "/" + re.sub(r"([\\*?\[ ])", r"\\\1", name)


def unlock(work: RunningIntent, agent: Agent) -> None:
    """Has the next session be able to use git, however the last one ended."""
    project_commands.run(work, agent, "commit", _UNLOCK, _WITHIN)


def _run(work: RunningIntent, agent: Agent, line: str) -> None:
    project_commands.run(work, agent, "commit", f"{_UNLOCK}; {line}", _WITHIN)
