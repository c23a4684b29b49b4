"""How news travels in a crew: which state says what to whom.

Pure. An agent is told what its own claim leaves open, its manager what became of it, and the
person what is left where a session was ended. Sending it, once, is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from windlass.core import limit_reset
from windlass.core.crew import Agent
from windlass.core.mail import reminders
from windlass.core.mail.messages import unmarked
from windlass.core.printable import printable_line, without_escapes
from windlass.core.reasons import COMPLETE_PHRASE, WAITING_PHRASE, Kind, Reason, sentence
from windlass.core.states import RESTING, State

Ending = Literal["", "quit", "failed"]
"""How a session ended that nobody of us ended: well, as when a person leaves it, or not."""
CLAIM = "claim"
"""The topic of what an agent is told that its claim leaves open."""
_SAID = 500
_NAMED = 5
_SOMEBODY_CAME = ("session_taken_up", "compacted_by_hand")
"""Idle because somebody resumed, cleared or compacted it, and knows."""
_IN_ITS_WORDS = ("idle", "claim_doubted")
"""What its last message brought about, beside what it claims in it."""


class Uncommitted(NamedTuple):
    """How many files of a workspace are not committed, and what a few are called.

    `problem` says why they could not be counted.
    """

    files: int = 0
    names: tuple[str, ...] = ()
    problem: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A state that an agent has come to, as it was when it did."""

    state: State
    reason: Reason
    ending: Ending = ""
    said: str = ""
    """Its last message, where that is what brought it there."""


def is_news(agent: Agent, report: Report) -> bool:
    """Whether a state may be worth telling anybody but the person, who has notices.

    A headless session's dialogs are answered by the daemon: nobody has to come for them.
    """
    below = agent.parent is not None
    match report.state:
        case State.COMPLETE:
            return below or agent.owns_workspace or agent.spawns
        case State.WAITING:
            return below and report.reason.kind not in _SOMEBODY_CAME
        case State.ASKING:
            return below and agent.mode == "live"
        case State.RATE_LIMITED:
            return below and limit_reset.ends_turn(report.reason)
        case State.STOPPED if report.ending == "quit":
            return below or (agent.mode == "live" and agent.owns_workspace)
        case State.STOPPED:
            return below and report.ending == "failed"
    return False


def counts_files(agent: Agent, report: Report) -> bool:
    """Whether it matters what is not committed: never in the person's own checkout."""
    return agent.owns_workspace and report.state not in (State.ASKING, State.RATE_LIMITED)


def at_work(agents: Iterable[Agent]) -> bool:
    """Whether one of them does something, as far as we know."""
    return any(agent.state not in RESTING for agent in agents)


def to_manager(
    agent: Agent, report: Report, *, left: Uncommitted, children: Sequence[Agent], asked: bool
) -> str | None:
    """What an agent's manager is told; nothing while it waits for agents of its own.

    `asked` says that the agent itself is told what it has not committed.
    """
    if report.state is State.WAITING and at_work(children):
        return None
    name = agent.id
    happened, after = _happened(name, report)
    lines = [happened, *_quoted(report.said)]
    if open_claim := _undone(children) if report.state is State.COMPLETE else "":
        lines.append(f"Of its own agents {open_claim}.")
    if left.problem:
        lines.append(f"What is not committed could not be seen: {left.problem}")
    elif left.files:
        more = "; it is asked to commit" if asked and report.state is State.COMPLETE else ""
        lines.append(f"{_not_committed(left)}{more}.")
    return "\n".join((*lines, f"Next: {after}"))


def to_itself(*, left: Uncommitted, children: Sequence[Agent]) -> str | None:
    """What an agent is told that calls its goal reached too early; None where it is."""
    parts = []
    if undone := _undone(children):
        first = next(child.id for child in children if child.state is not State.COMPLETE)
        parts.append(
            f"{undone}. End your turn with {WAITING_PHRASE} if you need them: their news reach you"
            f" by themselves. `wl look {first}` shows one, `wl kill {first} --force` ends one"
        )
    if left.files:
        parts.append(f"{_not_committed(left)}. Commit, or say why not")
    if not parts:
        return None
    objections = ".\n".join(parts)
    return (
        f"You said that the goal is reached, but {objections}.\n"
        f"When it is, end your turn with {COMPLETE_PHRASE} again."
    )


def undone_below(agent: Agent, children: Sequence[Agent]) -> str:
    """What a notice of a completed goal adds where agents below are not done; else nothing."""
    undone = _undone(children) if agent.state is State.COMPLETE else ""
    return f", but {undone}" if undone else ""


def left_at_completion(agent: Agent, left: Uncommitted, *, asked: bool) -> str:
    """What the person is told of uncommitted work in a completed goal."""
    more = "; it is asked to commit" if asked else ""
    return (
        f"Agent {agent.id} calls its goal completed, but {_not_committed(left)}{more}:"
        f" wl status {agent.id}"
    )


def left_in_session(name: str, left: Uncommitted) -> str:
    """What a person is told who ends a session with uncommitted work in it."""
    files = "file" if left.files == 1 else "files"
    return (
        f"{name} was ended with {left.files} uncommitted {files}:"
        f" wl resume {name}, or wl kill {name} (keeps them in the trash)"
    )


def uncommitted(work: Mapping[str, Any]) -> Uncommitted:
    """What a status of a workspace says, in short; a file may be in several of its lists."""
    lists = ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")
    names = list(dict.fromkeys(name for key in lists for name in work.get(key, ())))
    return Uncommitted(len(names), tuple(printable_line(name) for name in names[:_NAMED]))


def _happened(name: str, report: Report) -> tuple[str, str]:
    """What became of an agent, and what to do next."""
    talk = f'`wl send {name} "..."`'
    why = printable_line(sentence(report.reason))
    match report.state, report.ending:
        case State.COMPLETE, _:
            return (
                f"{name} has completed its goal.",
                f"`wl diff {name}`, then `wl merge {name} --force`; or {talk} if that is not all.",
            )
        case State.ASKING, _:
            return (
                f"{name} has a dialog open ({why}), which only the person can answer.",
                f"`wl look {name}` shows it; the person answers it with `wl attach {name}`.",
            )
        case State.RATE_LIMITED, _:
            return (
                f"{name} is at a limit ({why}). It goes on by itself when that is over.",
                f"nothing; {talk} has it try sooner, `wl why {name}` tells more.",
            )
        case State.STOPPED, "quit":
            return (
                f"The session of {name} was left, and has ended. Its work is kept.",
                f'`wl diff {name}`; `wl send {name} --wake "..."` goes on with it.',
            )
        case State.STOPPED, _:
            return (
                f"{name} has stopped without being told to ({why}). Its work is kept.",
                f'`wl send {name} --wake "..."` goes on with it; `wl log {name}` tells more.',
            )
    if report.reason.kind == "claimed_waiting":
        return f"{name} is waiting, and said so.", f"{talk} answers it; `wl diff {name}`."
    if report.reason.kind == "turn_failed":
        return f"{name} is idle: {why}.", f"{talk} has it go on; `wl log {name}` tells more."
    if reminders.is_silent(report.reason):
        return (
            f"{name} is idle, and has not said that it is done.",
            f"`wl diff {name}`, `wl look {name}`; {talk} has it go on.",
        )
    return f"{name} is idle ({why}).", f"`wl diff {name}`; {talk} has it go on."


def is_claim(state: State, kind: Kind) -> bool:
    """Whether an agent said itself how it stands; `kind` is that of the reason for its state."""
    return state is State.COMPLETE or (state is State.WAITING and kind == "claimed_waiting")


def is_said(report: Report) -> bool:
    """Whether it is the agent's last message that brought it there: no error, no interrupt."""
    return is_claim(report.state, report.reason.kind) or report.reason.kind in _IN_ITS_WORDS


def _undone(children: Sequence[Agent]) -> str:
    return ", ".join(
        f"{child.id} is {child.state}" for child in children if child.state is not State.COMPLETE
    )


def _not_committed(left: Uncommitted) -> str:
    are = "files are" if left.files > 1 else "file is"
    more = ", ..." if left.files > len(left.names) else ""
    return f"{left.files} {are} not committed ({', '.join(left.names)}{more})"


def _quoted(said: str) -> list[str]:
    """The last of a message, each line marked; no mark of a message of ours is left in it."""
    lines = unmarked(without_escapes(said)).strip().splitlines()
    if lines and lines[-1].strip(" *_`#>.!") in (COMPLETE_PHRASE, WAITING_PHRASE):
        lines.pop()
    text = "\n".join(lines).strip()
    if not text:
        return []
    cut = f"...{text[-_SAID:]}" if len(text) > _SAID else text
    return ["Its last words:", *(f"> {line}" for line in cut.splitlines())]
