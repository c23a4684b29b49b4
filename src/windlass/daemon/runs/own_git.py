"""Git that a run does itself in its agent's workspace, between two sessions of it.

It has what the agent has, and no more: it runs in the agent's box, where there is one.
"""

from __future__ import annotations

import shlex

from windlass.core.crew import Agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import project_commands

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
    "git add -A && {{ git diff --cached --quiet || {{ set --;"
    " git var GIT_AUTHOR_IDENT >/dev/null 2>&1 ||"
    " set -- -c user.name={agent} -c user.email={agent}@windlass.invalid;"
    " git \"$@\" -c commit.gpgsign=false commit -q --no-verify -m '{message}'; }}; }}"
)
"""Commits what is there, if anything; where nobody has an identity, as the agent."""
_RESET = (
    "for one in rebase cherry-pick revert am; do git $one --quit 2>/dev/null; done;"
    " git reset -q --hard && git checkout -q -f --ignore-other-worktrees -B {branch} {tip}"
    " && git clean -q -f -d"
)
"""Whatever branch it is on and whatever it left half-way, it is back on its own as that was."""
_WITHIN = 120.0


def commit(work: RunningIntent, agent: Agent, message: str) -> None:
    """Commits what a step left; `message` has no quotes in it."""
    _run(work, agent, _COMMIT.format(agent=agent.id, message=message))


def reset(work: RunningIntent, agent: Agent, tip: str) -> None:
    """Has branch and tree be as they were at a commit; what came since is kept elsewhere."""
    _run(work, agent, _RESET.format(branch=shlex.quote(agent.branch or ""), tip=tip))


def unlock(work: RunningIntent, agent: Agent) -> None:
    """Has the next session be able to use git, however the last one ended."""
    project_commands.run(work, agent, "commit", _UNLOCK, _WITHIN)


def _run(work: RunningIntent, agent: Agent, line: str) -> None:
    project_commands.run(work, agent, "commit", f"{_UNLOCK}; {line}", _WITHIN)
