"""Tickets: what the author of a change that did not land is told, and how to see it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from windlass.core.gate.spec import GateSpec
from windlass.core.landing import holds
from windlass.core.landing.changes import Change, Ticket
from windlass.core.landing.queue import Stopped
from windlass.core.printable import few, printable_line
from windlass.core.reasons import COMPLETE_PHRASE

_TAIL = 4096
_TAIL_LINES = 40
_TESTS = 20


class Finding(NamedTuple):
    """How the check ended, or the setup before it, that a tree is not green for."""

    check: str
    outcome: str
    why: str = ""
    failed: tuple[str, ...] = ()
    log: str = ""


class Evidence(NamedTuple):
    """What a ticket is made of, beyond what the queue says."""

    base: str = ""
    """The target's tip that it was tried on."""
    finding: Finding | None = None
    gate: GateSpec | None = None
    landed: tuple[str, ...] = ()
    """What landed where it conflicts."""


def ticket(stopped: Stopped, evidence: Evidence) -> Ticket:
    """What is known of why a change stops."""
    tried, base, found = stopped.tried, evidence.base, evidence.finding
    if stopped.state == "conflict":
        why, paths = stopped.why or f"it conflicts in {few(stopped.paths)}", stopped.paths
        return Ticket(why=why, base=base, paths=paths, landed=evidence.landed)
    if tried is None:
        return Ticket(why=stopped.why or "the target has all of it already", base=base)
    outcome = tried.outcome or ""
    is_unjudged = stopped.why == holds.COULD_NOT_RUN
    if found is None or (stopped.state == "held" and not is_unjudged):
        why = stopped.why or f"the gate: {outcome}"
        return Ticket(why=why, base=base, tree=tried.tree, outcome=outcome)
    why = f"{stopped.why}: {found.why}" if is_unjudged and found.why else stopped.why
    return Ticket(
        why=why or _told(found),
        base=base,
        tree=tried.tree,
        outcome=outcome,
        command=_command(found, evidence.gate),
        failed=found.failed,
        log=found.log,
        tail=_tail(found.log),
        reproduce=f"wl gate run {tried.tree} --fresh",
    )


def to_author(change: Change, ticket: Ticket, *, most: int, back: bool = False) -> str:
    """What an agent is told whose change came back: what is wrong, and what to do.

    `back` says that it had ended, and was brought back for this.
    """
    attempt = f"attempt {change.attempts} of {most}"
    why = printable_line(ticket.why)
    lines = [f"Your change {change.id} did not land on {change.target}: {why} ({attempt})."]
    if back:
        lines.append("You had ended, and are back to mend it: your work is as you left it.")
    if ticket.failed:
        lines += ["Failing:", *(f"  {printable_line(name)}" for name in ticket.failed[:_TESTS])]
        if len(ticket.failed) > _TESTS:
            lines.append(f"  and {len(ticket.failed) - _TESTS} more")
    if ticket.paths:
        lines += ["Conflicting:", *(f"  {printable_line(path)}" for path in ticket.paths[:_TESTS])]
    if ticket.landed:
        lines += ["What landed there meanwhile:", *(f"  {line}" for line in ticket.landed)]
    if ticket.command:
        onto = f"{change.target} at {ticket.base[:10]}" if ticket.base else change.target
        lines.append(f"It was gated merged onto {onto} (tree {ticket.tree}), by: {ticket.command}")
    if ticket.tail:
        lines += ["The end of its log:", ticket.tail]
    lines.append(
        f"Merge {change.target} into your branch, mend it, run that yourself, commit, and end your"
        f" last message with the line {COMPLETE_PHRASE}: then it is tried again."
    )
    return "\n".join(lines)


def to_person(change: Change, author: str | None, *, most: int) -> str:
    """One line for the person, with what to type."""
    whose = f" of {author}" if author is not None else ""
    why = printable_line(change.why)
    if change.state == "held":
        return f"{change.id}{whose} is held: {why} (wl show {change.id})"
    if author is not None and change.attempts >= most:
        return (
            f"{change.id}{whose} came back {change.attempts} times and waits for you: {why}"
            f" (wl show {change.id})"
        )
    return f"{change.id}{whose} did not land: {why} (wl show {change.id})"


def _told(found: Finding) -> str:
    failed = f": {printable_line(found.failed[0])}" if found.failed else ""
    return f"{found.check} {found.outcome}{failed or f': {found.why}' * bool(found.why)}"


def _command(found: Finding, gate: GateSpec | None) -> str:
    checks = gate.checks if gate is not None else ()
    return next((check.run for check in checks if check.name == found.check), found.check)


def _tail(log: str) -> str:
    """The last lines of a log, made safe to show; nothing where retention has taken it."""
    try:
        with Path(log).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = text.splitlines()[-_TAIL_LINES:]
    return "\n".join(printable_line(line) for line in lines)
