"""Shows what decides whether a tree is good, and proves a commit by it.

The gate is read from the branch that changes land on: [gate] in its .windlass/config.toml, or your
own configuration. `wl gate` alone shows its checks and how that branch fares. `wl gate run` proves
a commit, that branch's own without one: its dependencies are made, and every check runs in a copy
of that very tree, in a box, without a network unless it says otherwise. What is green is known by
the tree and not run again; --fresh runs it all the same. Where a commit has other gate.inputs than
the target, the setup for it reaches what its author does and gate.setup_domains; --setup-network
approves more, as for the target: look at its inputs first.

Exit codes of both: 0 passed, or not known yet, 10 a check failed, 11 nothing was tested, 13 a check
could not run.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import gate_run, render
from windlass.cli.call import Call
from windlass.core.gate.verdicts import EXIT_CODES
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl gate",
    "wl gate run",
    "wl gate run my-branch",
    "wl gate run HEAD~1 --check 'make test' --fresh --json",
)
_OF_THE_RUN = ("job", "doing", "network", "tried")
"""What is said of a run while it goes on, and not of how it ended."""


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to run it, and for what."""
    verbs = parser.add_subparsers(dest="verb", metavar="run")
    run = verbs.add_parser("run", help="prove a commit")
    run.add_argument("rev", nargs="?", metavar="REV", help="a commit, branch or tag (the target)")
    run.add_argument("--check", metavar="NAME", help="only this check")
    run.add_argument("--fresh", action="store_true", help="run also what is known to be green")
    run.add_argument(
        "--setup-network",
        action="store_true",
        help="let the setup of its own dependencies reach what the target's does",
    )


def run(call: Call) -> int:
    """Shows the gate, or proves a commit."""
    return _run(call) if call.args.verb == "run" else _show(call)


def _show(call: Call) -> int:
    gate = call.ask("gate")
    call.data(gate)
    outcome = gate["outcome"]
    how = "not proven yet: wl gate run"
    if outcome:
        how = call.paint(outcome, gate_run.COLOURS[outcome])
    elif gate["job"]:
        how = f"being proven, as {gate['job']}"
    call.say(f"{printable_line(gate['target'])} at {gate['tip'][:10]}: {how}")
    if gate["setup"]:
        call.say(f"  setup: {printable_line(gate['setup'])}")
    if gate["box"] != "box":
        call.say("  without a box: what is tested can reach what you can")
    for check in gate["checks"]:
        gate_run.say_check(call, check)
    _say_end(call, gate["checks"])
    if outcome not in (None, "passed"):
        target = printable_line(gate["target"])
        call.say(f"  nothing lands on {target} but what makes it green: wl merge BRANCH, or")
        call.say(f'  wl new --land "make {target} green"; to judge it anew: wl gate run --fresh')
    if gate["waiting"]:
        keys = ", ".join(gate["waiting"])
        said = f"{keys}: so it counts in a box alone, and setup has no network"
        call.say(render.folded(call, "  you have not accepted ", said, indent=4))
        call.say(f"  to look at that and accept it: wl trust {' '.join(gate['waiting'])}")
    return EXIT_CODES[outcome] if outcome else 0


def _say_end(call: Call, checks: list[dict[str, Any]]) -> None:
    """Prints the end of the log of what is red first."""
    red = next((check for check in checks if check["outcome"] not in (None, "passed")), None)
    if red is None or not red["log"] or not (end := gate_run.end_of_log(red)):
        return
    call.say(f"  the end of the log of {printable_line(red['name'])}:")
    for line in end:
        call.say(call.paint(f"    {line}", "dim"))


def _run(call: Call) -> int:
    asked = {
        name: getattr(call.args, name) for name in ("rev", "check") if getattr(call.args, name)
    }
    approved = {"setup_network": True} if call.args.setup_network else {}
    done = call.ask("gate.run", fresh=call.args.fresh, **approved, **asked)
    if done["job"]:
        known = [check for check in done["checks"] if check["cached"]]
        left = [check["name"] for check in done["checks"] if not check["cached"]]
        call.tell(f"proving {done['tree'][:10]}: {printable_line(', '.join(left))} …")
        done = gate_run.wait(call, done["job"])
        done["checks"] = [*known, *done["checks"]]
    call.data({name: value for name, value in done.items() if name not in _OF_THE_RUN})
    for check in done["checks"]:
        gate_run.say_check(call, check)
    _say_end(call, done["checks"])
    outcome = done["outcome"]
    word = call.paint(outcome, gate_run.COLOURS[outcome])
    known_word = ", as is known" if done["cached"] else ""
    call.say(f"tree {done['tree'][:10]}: {word}{known_word}")
    for mark in done["marks"]:
        call.say(f"  {printable_line(mark)}")
    return EXIT_CODES[outcome]
