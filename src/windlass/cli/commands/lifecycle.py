"""Shows the states that a change goes through, checks such a file, and tries an event.

`step` says what an event does in a state: transitions are tried in their order, and the first
whose guard holds counts; guards hold unless --guard NAME=false says otherwise. It checks nothing
else, so that a file under work can be tried. `check` says what makes no sense: states that are
never reached or never left, transitions that never count, chains, unknown names, running states
that not every restart resets, keys that mean nothing. FILE is a file, or - for stdin; without one
it is ours.

Ours drives the changes: what happens to one is an event there, and what follows is read from it;
`public` is the state that a change is shown in. Another FILE drives nothing: it is read, checked
and tried.

Exit codes: 2 for an unknown state, 3 where `check` finds something wrong or FILE is no lifecycle.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.output import write_exactly
from windlass.core import json_text
from windlass.core.errors import ConfigError, UserError
from windlass.core.json_text import Problem
from windlass.core.lifecycle import checks, drawings, machine, spec
from windlass.core.lifecycle.machine import Lifecycle
from windlass.core.printable import printable_line
from windlass.project import lifecycles

EXAMPLES = (
    "wl dev lifecycle show --mermaid",
    "wl dev lifecycle check mine.json",
    "wl dev lifecycle step mine.json --state merging --event merge.conflict --guard free=false",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with which."""
    verbs = parser.add_subparsers(dest="verb", metavar="show|check|step")
    show = verbs.add_parser("show", help="show the states and what leads from one to the other")
    show.add_argument("file", nargs="?", metavar="FILE", help="a lifecycle (ours)")
    show.add_argument("--mermaid", action="store_true", help="print it as a Mermaid diagram")
    check = verbs.add_parser("check", help="say what makes no sense")
    check.add_argument("file", nargs="?", metavar="FILE", help="a lifecycle (ours)")
    step = verbs.add_parser("step", help="say what an event does in a state")
    step.add_argument("file", nargs="?", metavar="FILE", help="a lifecycle (ours)")
    step.add_argument("--state", required=True)
    step.add_argument("--event", required=True)
    step.add_argument(
        "--guard",
        action="append",
        default=[],
        metavar="NAME=true|false",
        help="whether a guard holds (they do); repeat it",
    )


def run(call: Call) -> int:
    """Does it."""
    verb = call.args.verb or "show"
    if verb == "check":
        return _check(call)
    data, origin = lifecycles.data_of(getattr(call.args, "file", None))
    lifecycle = spec.parse(data, origin)
    if verb == "step":
        _step(call, lifecycle)
    else:
        _show(call, lifecycle)
    return 0


def _step(call: Call, lifecycle: Lifecycle) -> None:
    guards = _guards(call.args.guard, lifecycle)
    done = machine.step(lifecycle, call.args.state, call.args.event, machine.unless(guards))
    if done is None:
        call.data({"matched": False})
        call.say("nothing: no transition of this event counts here")
        return
    call.data(
        {
            "matched": True,
            "to": done.to,
            "chain": done.chain or None,
            "kanban": done.kanban or None,
            "effects": list(done.effects),
        }
    )
    through = f" through {printable_line(done.chain)}" if done.chain else ""
    call.say(f"{printable_line(call.args.state)} -> {printable_line(done.to)}{through}")
    if done.kanban:
        call.say(f"  marker [{printable_line(done.kanban)}]")
    for effect in done.effects:
        call.say(f"  {printable_line(effect)}")


def _guards(given: list[str], lifecycle: Lifecycle) -> dict[str, bool]:
    known = {*lifecycle.guards, *(transition.guard for transition in lifecycle.transitions)}
    found = {}
    for part in ",".join(given).split(",") if given else ():
        name, _, said = (word.strip() for word in part.partition("="))
        if said not in ("true", "false"):
            raise UserError(f"--guard: {part!r} is no NAME=true|false", "as in attempts_left=false")
        if name not in known:
            raise UserError(f"--guard: no guard {name!r}", "`wl dev lifecycle show` names them")
        found[name] = said == "true"
    return found


def _show(call: Call, lifecycle: Lifecycle) -> None:
    call.data(spec.data(lifecycle))
    if getattr(call.args, "mermaid", False):
        if not call.json:
            write_exactly(drawings.mermaid(lifecycle))
        return
    for name, state in lifecycle.states.items():
        public = f", shown as {printable_line(state.public)}" if state.public else ""
        call.say(
            f"{call.paint(printable_line(name), 'bold')}  {printable_line(state.type)}{public}"
        )
        for transition in lifecycle.transitions:
            if transition.start == name:
                call.say(f"  {printable_line(_said(transition))}")
    for transition in lifecycle.transitions:
        if transition.start == machine.ANY:
            call.say(f"in every state: {printable_line(_said(transition))}")


def _said(transition: machine.Transition) -> str:
    to = "stays" if transition.to is None else transition.to
    parts = [f"{transition.event} -> {to}"]
    parts += [f"if {transition.guard}"] if transition.guard else []
    parts += [f"through {transition.chain}"] if transition.chain else []
    parts += [f"marker [{transition.kanban}]"] if transition.kanban else []
    parts += [", ".join(transition.effects)] if transition.effects else []
    return "; ".join(parts)


def _check(call: Call) -> int:
    data, origin = lifecycles.data_of(call.args.file)
    try:
        value = json_text.read(data, origin)
    except ConfigError as error:
        problems = [Problem("$", error.message, error.hint)]
    else:
        lifecycle, problems = spec.read(value)
        if not any(problem.level == "error" for problem in problems):
            problems += checks.problems(lifecycle)
    errors = sum(problem.level == "error" for problem in problems)
    call.data(
        {
            "file": origin,
            "valid": not errors,
            "problems": [problem._asdict() for problem in problems],
        }
    )
    for problem in problems:
        colour = "red" if problem.level == "error" else "yellow"
        call.say(call.paint(printable_line(str(problem)), colour))
    if not problems:
        call.tell(f"{printable_line(origin)}: nothing wrong")
    return ConfigError.exit_code if errors else 0
