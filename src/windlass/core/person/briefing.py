"""What the person's own agent is told of the crew: one line an agent, and the open questions.

Pure. What agents wrote is cut, and made safe to stand in a line. What it is told of Windlass itself
is shipped as `data/primary*.md`, and somebody else reads that.
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
    """What is worth telling again once it is different."""
    return (
        *((one["uid"], one["state"], one["parent"] or "") for one in agents),
        *((_name(one), one["agent"], one["text"]) for one in questions),
    )


def status(
    root: str, agents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]
) -> str:
    """The crew at this moment."""
    if not agents:
        return f"[windlass] No agents are at work in {printable_line(root)}."
    many = "1 agent" if len(agents) == 1 else f"{len(agents)} agents"
    lines = [f"[windlass] Your crew in {printable_line(root)}, {many}:"]
    lines += [_line(one) for one in agents[:_MOST]]
    if len(agents) > _MOST:
        lines.append(f"  … and {len(agents) - _MOST} more: `wl list` shows them")
    if questions:
        lines.append("Questions that wait for an answer:")
        lines += [_asked(one) for one in questions[:_MOST]]
    return "\n".join(lines)


def with_section(text: str, section: str) -> str:
    """The text with a section in place of the one that has the same heading."""
    heading = section.partition("\n")[0]
    before, found, rest = text.partition(f"\n{heading}\n")
    if not found:
        raise Internal(f"there is no section {heading!r} to replace", "this is a defect")
    _, next_one, after = rest.partition("\n## ")
    return f"{before}\n{section.strip()}\n{next_one}{after}"


def active(agents: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there may be news: somebody is neither done nor stopped."""
    return any(one["state"] not in SETTLED for one in agents)


def _line(agent: Mapping[str, Any]) -> str:
    above = f" (worker of {agent['parent']})" if agent["parent"] else ""
    since = age(agent["state_age"])
    return f"  {agent['id']}{above}: {agent['state']} for {since}. {_cut(agent['goal'], _GOAL)}"


def _asked(question: Mapping[str, Any]) -> str:
    name = f"{_name(question)} " if _name(question) else ""
    text = _cut(question["text"], _QUESTION)
    return f"  {name}{question['agent']} asks ({age(question['age'])}): {text}"


def _name(question: Mapping[str, Any]) -> str:
    return str(question.get("id") or "")


def _cut(text: str, most: int) -> str:
    line = printable_line(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"
