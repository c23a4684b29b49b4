"""What an agent is told about itself and its crew, put together from texts and its situation.

Pure: the texts are shipped as `data/roles/*.md` or the person's own, and somebody else reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from windlass.core.crew import Agent
from windlass.core.errors import Internal
from windlass.core.ids import with_article
from windlass.core.printable import printable_line

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt depends on; `parent` is one that lives, `questions` are those to the person."""

    agent: Agent
    parent: Agent | None = None
    questions: bool = True
    gate: tuple[str, ...] = ()
    """The commands that decide whether its work is good."""


def assemble(situation: Situation, *, shipped: Iterable[str], added: Iterable[str] = ()) -> str:
    """Joins our texts, filled in, and those that a person added, which stay as they are."""
    known = words(situation)
    parts = [text.strip() for text in (*(fill(text, known) for text in shipped), *added)]
    return "\n\n".join(part for part in parts if part) + "\n"


def fill(text: str, known: Mapping[str, str]) -> str:
    """Puts words in the place of `${NAME}`, once: what they bring along is not looked at again."""

    def word(placeholder: re.Match[str]) -> str:
        if placeholder[1] not in known:
            raise Internal(
                f"a prompt has a placeholder that nobody fills: {placeholder[0]}",
                f"there are {', '.join(sorted(known))}",
            )
        return known[placeholder[1]]

    return _PLACEHOLDER.sub(word, text)


def words(situation: Situation) -> dict[str, str]:
    """Every placeholder, and what stands for it in this situation."""
    agent = situation.agent
    return {
        "AGENT": agent.id,
        "ROLE": agent.role,
        "A_ROLE": with_article(agent.role),
        "BRANCH": f"`{agent.branch}`" if agent.branch else "the branch of the person's checkout",
        "WORKSPACE": _workspace(agent),
        "PATHS": _paths(agent),
        "GIT": _git(agent),
        "ABOVE": _above(situation.parent),
        "TELL": _tell(situation.parent),
        "ASK": _ask(situation),
        "REPORT": _report(situation),
        "MERGE": _merge(agent, _branch(situation.parent) or "BRANCH"),
        "RESOLVE": _merge(agent, "agent/NAME"),
        "GATE": _gate(situation.gate),
    }


def _workspace(agent: Agent) -> str:
    if agent.branch is None:
        return (
            f"You work in `{agent.workspace}`, the person's own checkout, on the branch that is"
            " checked out there. The person may be at work in it too: change and commit only what"
            " your goal needs."
        )
    kind = "clone" if agent.isolation == "box" else "git worktree"
    return (
        f"You work in `{agent.workspace}`, a {kind} of your own, on the branch `{agent.branch}`."
        f" It began at {agent.base[:12]}, from {agent.base_from}. Commit there."
    )


def _paths(agent: Agent) -> str:
    if agent.isolation == "box":
        return (
            "You are in a box: of all that you write only your workspace is handed on. `/tmp` and"
            " your home are private to you. The person's home and other agents' workspaces are not"
            " there; do not look for them."
        )
    main = "" if agent.branch is None else "The person's checkout, "
    others = f"{main}other agents' workspaces and the folders of Windlass"
    return (
        "Stay in your workspace; what you do not keep goes to `$TMPDIR`, which is yours alone."
        f" {others[0].upper()}{others[1:]} are closed to you: see others' work through git."
    )


def _git(agent: Agent) -> str:
    if agent.isolation == "box":
        return (
            "`origin` is the repository. What others commit is there, on `origin/agent/<id>` and"
            " `origin/<branch>` after a `git fetch`. What you commit on your branch comes to the"
            " repository by itself: there is nothing to push."
        )
    own = " but your own" if agent.branch else ""
    return (
        "Branches are the repository's: what others commit is on `agent/<id>` at once, with nothing"
        f" to fetch or push. Move and delete none{own}."
    )


def _above(parent: Agent | None) -> str:
    if parent is None:
        return "You have no manager: the person started you, and is told when you complete or wait."
    return f"Your manager is `{parent.id}`. It is told by itself when you complete or wait."


def _tell(parent: Agent | None) -> str:
    whom, who = ("user", "the person") if parent is None else ("parent", "your manager")
    return f'`wl send {whom} "…"` tells {who} something.'


def _ask(situation: Situation) -> str:
    if situation.parent is None and not situation.questions:
        return (
            "The person does not want questions. Decide what you can decide, and say in your last"
            " message what you assumed."
        )
    who = "the person" if situation.parent is None else "your manager"
    return (
        f'`wl ask "…"` asks {who}. It blocks nothing, and the answer comes as a message: go on with'
        " what does not depend on it."
    )


def _report(situation: Situation) -> str:
    if situation.parent is None and not situation.questions:
        return 'say with `wl send user "! …"`'
    return 'say with `wl ask "…"`'


def _merge(agent: Agent, branch: str) -> str:
    if agent.isolation == "box":
        return f"`git fetch`, then `git merge origin/{branch}`"
    return f"`git merge {branch}`"


def _gate(lines: tuple[str, ...]) -> str:
    if not lines:
        return "Run the tests that the repository has before you call it done."
    named = "".join(f"\n  - `{printable_line(line)}`" for line in lines)
    return (
        "Your work is put through the gate before it lands: these commands, in a copy of what you"
        " committed. What they need is in your workspace. Run them yourself, and call it done when"
        f" they are green:{named}"
    )


def _branch(parent: Agent | None) -> str | None:
    return parent.branch if parent else None
