"""A lifecycle as a Mermaid state diagram."""

from __future__ import annotations

from windlass.core.lifecycle.machine import ANY, INITIAL, RECOVERABLE, TERMINAL, Lifecycle
from windlass.core.printable import printable_line


def mermaid(lifecycle: Lifecycle) -> str:
    """The states and what leads from one to the other; what counts everywhere is a note."""
    number = {name: f"s{place}" for place, name in enumerate(lifecycle.states)}
    lines = ["stateDiagram-v2"]
    lines += [f"  state {_quoted(name)} as {short}" for name, short in number.items()]
    for name, state in lifecycle.states.items():
        if state.type == INITIAL:
            lines.append(f"  [*] --> {number[name]}")
    for transition in lifecycle.transitions:
        to = transition.start if transition.to is None else transition.to
        if transition.start not in number or to not in number:
            continue
        said = _plain(transition.event)
        said += f" [{_plain(transition.guard)}]" if transition.guard else ""
        said += f" via {_plain(transition.chain)}" if transition.chain else ""
        lines.append(f"  {number[transition.start]} --> {number[to]}: {said}")
    for name, state in lifecycle.states.items():
        if state.type in (TERMINAL, RECOVERABLE):
            lines.append(f"  {number[name]} --> [*]")
    for transition in lifecycle.transitions:
        if transition.start == ANY:
            to = transition.to or "the same state"
            lines.append(f"  %% in every state: {_plain(transition.event)} leads to {_plain(to)}")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return printable_line(text).replace(":", "#58;").replace(";", "#59;") if text else ""


def _quoted(text: str) -> str:
    return '"' + printable_line(text).replace('"', "'") + '"'
