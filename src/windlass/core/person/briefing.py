"""What the person's own agent is told of the crew: one line an agent, and the open questions.

Pure. What agents wrote is cut, and made safe to stand in a line. What it is told of Windlass itself
is shipped as `data/primary*.md`, which `daemon.person.primary_hooks` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windlass.core.ages import age
from windlass.core.errors import Internal
from windlass.core.printable import printable_line
from windlass.core.states import SETTLED

REMINDER = (
    "[windlass] No listener is armed, so news of your crew will not reach you: "
    "run `wl listen` in the background (run_in_background: true)."
)
_GOAL = 80
_QUESTION = 300
_MOST = 40

Gist = tuple[tuple[str, ...], ...]
"""What makes one status differ from another: not its ages."""


def gist(agents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]) -> Gist:
    """What a status says that is worth telling again once it is different."""
    return (
        *((agent["uid"], agent["state"], agent["parent"] or "") for agent in agents),
        *((_name(question), question["agent"], question["text"]) for question in questions),
    )


def status(
    root: str, agents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]
) -> str:
    """The crew at this moment."""
    if not agents:
        return f"[windlass] No agents are at work in {printable_line(root)}."
    many = "1 agent" if len(agents) == 1 else f"{len(agents)} agents"
    lines = [f"[windlass] Your crew in {printable_line(root)}, {many}:"]
    lines += [_agent_line(agent) for agent in agents[:_MOST]]
    if len(agents) > _MOST:
        lines.append(f"  … and {len(agents) - _MOST} more: `wl list` shows them")
    if questions:
        lines.append("Questions that wait for an answer:")
        lines += [_question_line(question) for question in questions[:_MOST]]
    return "\n".join(lines)


def with_section(text: str, section: str) -> str:
    """The text with a section in place of the one that has the same heading."""
    heading = section.partition("\n")[0]
    before, present, rest = text.partition(f"\n{heading}\n")
    if not present:
        raise Internal(f"there is no section {heading!r} to replace", "this is a defect")
    _, next_heading, after = rest.partition("\n## ")
    return f"{before}\n{section.strip()}\n{next_heading}{after}"


def active(agents: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there may be news: somebody is neither done nor stopped."""
    return any(agent["state"] not in SETTLED for agent in agents)


def _agent_line(agent: Mapping[str, Any]) -> str:
    above = f" (worker of {agent['parent']})" if agent["parent"] else ""
    since = age(agent["state_age"])
    return f"  {agent['id']}{above}: {agent['state']} for {since}. {_cut(agent['goal'], _GOAL)}"


def _question_line(question: Mapping[str, Any]) -> str:
    name = f"{_name(question)} " if _name(question) else ""
    text = _cut(question["text"], _QUESTION)
    return f"  {name}{question['agent']} asks ({age(question['age'])}): {text}"


def _name(question: Mapping[str, Any]) -> str:
    return str(question.get("id") or "")


def _cut(text: str, most: int) -> str:
    line = printable_line(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"
