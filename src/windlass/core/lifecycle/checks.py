"""Whether a lifecycle makes sense: each state can be reached and left, each name is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches

from windlass.core.board.tasks import MARKERS
from windlass.core.json_text import Problem, key
from windlass.core.lifecycle.machine import (
    ANY,
    INITIAL,
    RECOVERABLE,
    RESET,
    RUNNING,
    TERMINAL,
    TRANSIENT,
    TYPES,
    Lifecycle,
    Transition,
)

_ENDS = (TERMINAL, RECOVERABLE)
_MOST_COMPARED = 5_000
_LONGEST_GUESS = 100


def problems(lifecycle: Lifecycle) -> list[Problem]:
    """Everything about a lifecycle that makes no sense."""
    looks: tuple[Callable[[Lifecycle], Iterator[Problem]], ...] = (
        _types,
        _names,
        _functions,
        _order,
        _reachability,
        _chains,
        _dead_ends,
        _ways_out,
        _resets,
        _unused,
    )
    return [problem for look in looks for problem in look(lifecycle)]


def _path(number: int) -> str:
    return f"$.transitions[{number}]"


def _type(lifecycle: Lifecycle, state: str | None) -> str:
    found = lifecycle.states.get(state or "")
    return found.type if found else ""


def _types(lifecycle: Lifecycle) -> Iterator[Problem]:
    for name, state in lifecycle.states.items():
        if state.type not in TYPES:
            path = key(key("$.states", name), "type")
            what = f"unknown type {state.type!r}" if state.type else "missing"
            yield Problem(path, what, f"one of {', '.join(TYPES)}")
        if name == ANY:
            yield Problem(key("$.states", name), "'*' means every state", "use another name")
    initial = [name for name, state in lifecycle.states.items() if state.type == INITIAL]
    if len(initial) != 1:
        what = f"{len(initial)} initial states" if initial else "no initial state"
        yield Problem("$.states", what, "give exactly one state the type initial")


def _names(lifecycle: Lifecycle) -> Iterator[Problem]:
    guesses = _Guesses()
    for number, transition in enumerate(lifecycle.transitions):
        path = _path(number)
        named = [("from", transition.start), ("to", transition.to), ("chain", transition.chain)]
        for name, state in named:
            if state and state not in lifecycle.states and not (name == "from" and state == ANY):
                yield guesses.unknown(f"{path}.{name}", "state", state, lifecycle.states)
        if transition.to == "":
            yield Problem(f"{path}.to", "is empty", "name a state, or null to keep the present one")
        if transition.guard and transition.guard not in lifecycle.guards:
            yield guesses.unknown(f"{path}.guard", "guard", transition.guard, lifecycle.guards)
        for place, effect in enumerate(transition.effects):
            if effect not in lifecycle.effects:
                yield guesses.unknown(
                    f"{path}.effects[{place}]", "effect", effect, lifecycle.effects
                )
        if transition.kanban and transition.kanban not in MARKERS:
            what = f"unknown marker {transition.kanban!r}"
            yield Problem(f"{path}.kanban", what, "use ' ', =, P, x, * or N")


class _Guesses:
    """What names may have been meant; after many, or among too many, nobody looks for more."""

    def __init__(self) -> None:
        self._left = _MOST_COMPARED

    def unknown(self, path: str, what: str, name: str, known: Mapping[str, object]) -> Problem:
        """A name that stands nowhere else."""
        near: list[str] = []
        if len(known) <= self._left and len(name) <= _LONGEST_GUESS:
            self._left -= len(known)
            near = get_close_matches(name, [n for n in known if len(n) <= _LONGEST_GUESS], n=1)
        remedy = f"did you mean {near[0]}?" if near else f"write it into $.{what}s"
        return Problem(path, f"unknown {what} {name!r}", remedy)


def _functions(lifecycle: Lifecycle) -> Iterator[Problem]:
    for kind, calls in (("guards", lifecycle.guards), ("effects", lifecycle.effects)):
        for name, call in calls.items():
            if not call.fn:
                yield Problem(
                    key(key(f"$.{kind}", name), "fn"), "missing", "name the function that it is"
                )


def _order(lifecycle: Lifecycle) -> Iterator[Problem]:
    """A transition never counts where one above it, of the same event, always does."""
    first: dict[tuple[str, str, str], int] = {}
    for number, transition in enumerate(lifecycle.transitions):
        event, guard = transition.event, transition.guard
        above = [
            first[event, start, other]
            for start in {transition.start, ANY}
            for other in {guard, ""}
            if (event, start, other) in first
        ]
        if above:
            earlier = min(above)
            how = "has the same guard" if lifecycle.transitions[earlier].guard else "has no guard"
            what = f"{event} in {transition.start} never gets here"
            remedy = f"{_path(earlier)} {how}: put what is guarded first"
            yield Problem(_path(number), what, remedy)
        first.setdefault((event, transition.start, guard), number)


def _led_to(starts: Iterable[str], ways: Mapping[str, Collection[str]]) -> set[str]:
    """What can be reached, with what it is reached from."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = set(ways.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def _reachability(lifecycle: Lifecycle) -> Iterator[Problem]:
    reached = {name for name, state in lifecycle.states.items() if state.type == INITIAL}
    if not reached:
        return
    ways: dict[str, set[str]] = {}
    for transition in lifecycle.transitions:
        led = {transition.chain, transition.to or ""} & lifecycle.states.keys()
        ways.setdefault(transition.start, set()).update(led)
    reached = _led_to(reached | ways.get(ANY, set()), ways)
    for name in lifecycle.states:
        if name not in reached:
            yield Problem(
                key("$.states", name), f"{name} is never reached", "lead there, or take it out"
            )


def _chains(lifecycle: Lifecycle) -> Iterator[Problem]:
    for number, transition in enumerate(lifecycle.transitions):
        path = _path(number)
        if transition.chain in lifecycle.states:
            if _type(lifecycle, transition.chain) != TRANSIENT:
                what = f"{transition.chain} is not transient"
                yield Problem(f"{path}.chain", what, "pass through transient states alone")
            elif transition.chain in (transition.to, transition.start):
                yield Problem(f"{path}.chain", "a chain to itself", "pass through another state")
            elif transition.to is None:
                what = "a chain that leads nowhere: to is null"
                yield Problem(f"{path}.chain", what, "say what follows it, or take it out")
        if _type(lifecycle, transition.to) == TRANSIENT:
            what = f"{transition.to} is transient, and nothing stays in it"
            yield Problem(f"{path}.to", what, "name it as chain, and as to what follows")
        if _type(lifecycle, transition.start) == TRANSIENT:
            what = f"{transition.start} is transient: no event finds anything there"
            yield Problem(f"{path}.from", what, "begin where it is passed through from")


def _leaving(lifecycle: Lifecycle) -> dict[str, set[str]]:
    """Where each state leads by transitions of its own.

    Those of all states are ways out of anything, and so say nothing of it.
    """
    found: dict[str, set[str]] = {name: set() for name in lifecycle.states}
    for transition in lifecycle.transitions:
        if transition.start in found and transition.to not in (None, transition.start):
            found[transition.start].add(str(transition.to))
    return found


def _dead_ends(lifecycle: Lifecycle) -> Iterator[Problem]:
    leaving = _leaving(lifecycle)
    ends = {name for name, state in lifecycle.states.items() if state.type in _ENDS}
    back: dict[str, set[str]] = {}
    for name, after in leaving.items():
        for to in after:
            back.setdefault(to, set()).add(name)
    home = _led_to(ends, back)
    for name, state in lifecycle.states.items():
        path = key("$.states", name)
        if state.type == TERMINAL and leaving[name]:
            what = f"{name} is terminal, and leads to {', '.join(sorted(leaving[name]))}"
            yield Problem(path, what, "take that out, or make it terminal_recoverable")
        elif state.type in (TERMINAL, TRANSIENT):
            continue
        elif not leaving[name]:
            what = f"{name} is a dead end: no event of its own leads out"
            yield Problem(path, what, "add a transition, or make it terminal")
        elif ends and name not in home:
            what = f"no way leads from {name} to an end"
            yield Problem(path, what, "add a transition that does")


def _ways_out(lifecycle: Lifecycle) -> Iterator[Problem]:
    """A transition of every state leads out of an end too, where nothing above it keeps that."""
    ends = [name for name, state in lifecycle.states.items() if state.type == TERMINAL]
    for number, transition in enumerate(lifecycle.transitions):
        if transition.start != ANY or transition.to is None:
            continue
        for name in ends:
            if transition.to != name and not _caught(lifecycle, number, name):
                what = f"{name} is terminal, and {transition.event} leads out to {transition.to}"
                remedy = f"above it, let {transition.event} keep {name} (to: null)"
                yield Problem(f"{_path(number)}.from", what, remedy)


def _caught(lifecycle: Lifecycle, number: int, state: str) -> bool:
    """Whether a transition never counts in a state, because one above it does."""
    this = lifecycle.transitions[number]
    return any(
        above.event == this.event
        and above.start in (state, ANY)
        and above.guard in ("", this.guard)
        for above in lifecycle.transitions[:number]
    )


def _resets(lifecycle: Lifecycle) -> Iterator[Problem]:
    resets = lifecycle.by_event.get(RESET, [])
    for number, transition in enumerate(lifecycle.transitions):
        if transition.event != RESET:
            continue
        if _type(lifecycle, transition.start) not in ("", RUNNING, TRANSIENT):
            what = f"{transition.start} is not running, and only running states hear {RESET}"
            yield Problem(f"{_path(number)}.from", what, "take it out, or make the state running")
    for name, state in lifecycle.states.items():
        if state.type == RUNNING:
            own = [reset for reset in resets if reset.start in (name, ANY)]
            yield from _reset(lifecycle, name, own)


def _reset(lifecycle: Lifecycle, name: str, resets: list[Transition]) -> Iterator[Problem]:
    """What a restart leaves undone in a running state; its resets are tried in their order."""
    path, remedy = key("$.states", name), "lead it back to where it waits"
    if not resets:
        yield Problem(path, f"{name} is running and has no {RESET}", remedy)
        return
    always = next((place for place, reset in enumerate(resets) if not reset.guard), None)
    if always is None:
        what = f"every {RESET} of {name} is guarded, and where no guard holds it stays"
        yield Problem(path, what, "add one without a guard, below them")
    for reset in resets[: None if always is None else always + 1]:
        if reset.to is None or _type(lifecycle, reset.to) in (RUNNING, TRANSIENT, TERMINAL):
            what = f"{RESET} leaves {name} at {reset.to or name}, where nothing waits"
            yield Problem(path, what, remedy)


def _unused(lifecycle: Lifecycle) -> Iterator[Problem]:
    guards = {transition.guard for transition in lifecycle.transitions}
    effects = {name for transition in lifecycle.transitions for name in transition.effects}
    for what, known, used in (
        ("guards", lifecycle.guards, guards),
        ("effects", lifecycle.effects, effects),
    ):
        for name in known:
            if name not in used:
                path = key(f"$.{what}", name)
                yield Problem(path, f"{name} is never used", "take it out", "warning")
