"""Shows everything about an agent.

Of its policy only what it has beyond every agent of its level; --policy lists all of it.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable, printable_line

if TYPE_CHECKING:
    from windlass.core.box_spec import Level

EXAMPLES = (
    "wl info api",
    "wl info api --policy",
    "wl info api --prompt    # the instructions it works by",
    "wl info api --json",
)

_SHOWN = (
    "role", "persistent", "readonly", "parent", "children", "driver", "model", "mode", "isolation",
    "network", "branch", "base", "base_from", "workspace", "folder", "transcript", "tmux", "slot",
    "port_base", "script", "conversation", "ended_by",
)  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?")
    parser.add_argument("--policy", action="store_true", help="every pattern that it may use")
    parser.add_argument(
        "--prompt", action="store_true", help="only what it is told about itself and its crew"
    )


def run(call: Call) -> int:
    """Prints what is known of the agent, or what it was told at its start."""
    if call.args.prompt:
        prompt = call.ask("prompt", agent=call.args.agent)
        call.data(prompt)
        call.say(printable(prompt["prompt"]).rstrip("\n"))
        return 0
    info = call.ask("info", agent=call.args.agent)
    call.data(info)
    if call.json:
        return 0
    call.say(f"{call.paint(info['id'], 'bold')}  {info['state']} {age(info['state_age'])}")
    for name in _SHOWN:
        if info.get(name) not in (None, ""):
            call.say(f"  {name:<13} {printable_line(str(info[name]))}")
    for name, line in _policy(call, info["policy"], info["isolation"]):
        call.say(f"  {name:<13} {printable_line(line)}")
    for session in info["sessions"]:
        code = session["exit_code"]
        ending = (
            "lives"
            if session["ended_at"] is None
            else ("ended without a trace" if code is None else f"ended with {code}")
        )
        call.say(f"  session {session['number']:<5} {ending}")
    call.say(f"  {'goal':<13} {printable(info['goal'])}")
    return 0


_READINGS = {
    "guided": "guided: lines are judged by where they reach",
    "strict": "strict: every command of a line has to be on the allow list",
}


def _policy(call: Call, policy: dict[str, Any], level: Level) -> Iterator[tuple[str, str]]:
    """What the agent may and may not use; in short, only what not every agent of its level has."""
    from windlass.core import crew  # noqa: PLC0415 - with a reader of shell lines
    from windlass.core.policy import mandatory  # noqa: PLC0415 - as above

    if policy["yolo"]:
        yield "policy", "yolo: everything that is not denied by name, on every path"
    elif level != "box":
        yield "shell", _READINGS[policy["reading"]]
    everyone = mandatory.with_mandatory(crew.Policy(), level=level)
    for kind, usual in (("allow", everyone.allow), ("deny", everyone.deny)):
        folded = (
            [] if call.args.policy else [pattern for pattern in policy[kind] if pattern in usual]
        )
        yield from ((kind, pattern) for pattern in policy[kind] if pattern not in folded)
        if folded:
            yield kind, f"{len(folded)} that every agent at level {level} has: see --policy"
