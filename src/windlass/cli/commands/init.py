"""Sets up this repository: finds its tests, proposes a gate of them, and proves main by that.

Shows what it would write into .windlass/config.toml and .worktreeinclude: how dependencies are
made and the tests run, the ignored .env files that agents get copies of, and what agents without a
box may run. On a terminal it asks, also who looks at agents' work before it lands and, where there
is a remote, whether landings go there; --accept agrees, and leaves these two as they usually are.
The gate is tried without the network, and if it is not green, with it. Then the files are
committed, and nothing else. What takes longer than a minute goes on in the background: `wl gate`
shows it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from windlass.cli import gate_run, untrusted_lines
from windlass.cli.call import Call
from windlass.cli.output import write_error
from windlass.core.gate import summary
from windlass.core.gate.verdicts import EXIT_CODES, worst
from windlass.core.printable import printable_line

EXAMPLES = ("wl init", "wl init --accept", "wl init --accept --no-commit", "wl init --private")
REVIEWS, MODES = ("none", "person"), ("local", "push", "pr")
_FOREGROUND = 60.0
_NOT_COMMITTED = 4
_REGISTRY = re.compile(
    r"PIP_(?:CERT|\w*INDEX_URL|PROXY|TRUSTED_HOST)|UV_\w*INDEX\w*|(?i:npm_config)_(?:registry|cafile)"
    r"|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|\w+_CA_BUNDLE|GOPROXY|(?i:https?_proxy)"
)
_NO_GATE = (
    "say yourself how it is tested, in .windlass/config.toml:",
    "  [gate]",
    '  commands = ["make test"]',
    "and commit that; `wl gate run` tries it",
)
_REVIEW_CHOICES = (
    "Agents' work lands when the gate finds it green. Shall you look at it before?",
    "  person  yes: each change waits until you let it in (wl diff, wl approve)",
    "  none    no: green is enough",
    "  Enter   person for `wl new --land`, none for what is worked off the board",
)
_MODE_CHOICES = (
    "What has landed is on {target}, here or elsewhere:",
    "  local   on {target} here; you push it when you like",
    "  push    on {target} of {remote}, at once, and here",
    "  pr      in a pull request on {remote} for each, to be merged there",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to accept what is proposed, and where that goes."""
    parser.add_argument("--accept", action="store_true", help="write and commit what is proposed")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--no-commit", action="store_true", help="leave the files uncommitted")
    where.add_argument(
        "--private",
        action="store_true",
        help="write to your own configuration for this repository, and nothing into it",
    )
    parser.add_argument("--wait", action="store_true", help="wait for the gate, however long")
    parser.add_argument(
        "--review", choices=REVIEWS, help="who looks at agents' work before it lands"
    )
    parser.add_argument(
        "--mode", choices=MODES, help="where landings go: here, to the remote, or by pull requests"
    )


def run(call: Call) -> int:
    """Shows what is proposed, and writes, tries and commits it where that is accepted."""
    where = {"commit": not call.args.no_commit, "private": call.args.private}
    where |= {key: said for key in ("review", "mode") if (said := getattr(call.args, key))}
    look = call.ask("init.look", **where)
    root, target = printable_line(look["root"]), printable_line(look["target"])
    call.tell(f"{root}: changes land on {target}")
    _tell_found(call, look)
    if not call.args.accept and _may_ask(call) and (answers := _answers(call, look, where)):
        where |= answers
        look = call.ask("init.look", **where)
    proposals = look["proposals"]
    _show(call, look)
    anything = bool(proposals["files"]) or look["proves"]
    if call.args.accept:
        return _set_up(call, look, where)
    if not (anything and _may_ask(call)):
        return _leave(call, look)
    if call.agrees(_question(call, look)):
        return _set_up(call, look, where)
    call.tell("  nothing was written")
    return 0


def _answers(call: Call, look: dict[str, Any], said: dict[str, Any]) -> dict[str, str]:
    """What the person says of landing, where nobody has; what they leave open is not written."""
    if not (look["proves"] or look["proposals"]["files"]):
        return {}
    found = {}
    if look["asks_review"] and "review" not in said:
        _tell_choices(_REVIEW_CHOICES)
        found["review"] = call.choice("who looks?", REVIEWS, "or Enter")
    if look["asks_remote"] and "mode" not in said:
        remote, target = printable_line(look["asks_remote"]), printable_line(look["target"])
        _tell_choices([line.format(remote=remote, target=target) for line in _MODE_CHOICES])
        found["mode"] = call.choice("where does it go?", MODES, "Enter: local")
    return {key: word for key, word in found.items() if word}


def _tell_choices(lines: Sequence[str]) -> None:
    """Says what a question is about, where it is asked."""
    write_error("\n".join(("", *lines, "")))


def _may_ask(call: Call) -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and not call.json


def _question(call: Call, look: dict[str, Any]) -> str:
    if not look["proposals"]["files"]:
        return f"prove {printable_line(look['target'])} by its gate?"
    stays = call.args.no_commit or call.args.private
    tried = "write this and try it" if stays else "try this, write it and commit that"
    return f"{tried}?" if look["proves"] else "write this?"


def _tell_found(call: Call, look: dict[str, Any]) -> None:
    """Says how this is tested, or that nothing says so."""
    if look["has_gate"]:
        call.tell("  it has a gate, which stays as it is")
    for sentence in look["proposals"]["why"] if not look["has_gate"] else ():
        call.tell(f"  {'found: ' if look['proves'] else ''}{printable_line(sentence)}")
    if not look["proves"]:
        for line in ("no gate is proposed: nothing says when a tree is good", *_NO_GATE):
            call.tell(f"  {line}")


def _show(call: Call, look: dict[str, Any]) -> None:
    proposals = look["proposals"]
    if proposals["files"]:
        call.tell("  to be written:")
    for file in proposals["files"]:
        call.tell(f"  {printable_line(file['path'])}:")
        for line in file["patch"] or file["text"].splitlines():
            call.tell(f"    {printable_line(line)}")
    if proposals["allow"]:
        listed = _toolchains(proposals)
        call.tell(f"  [permissions] lets agents without a box run what is for {listed}")


def _toolchains(found: dict[str, Any]) -> str:
    return printable_line(", ".join(found["toolchains"]))


def _leave(call: Call, look: dict[str, Any]) -> int:
    """Without consent: the repository is known, and that is all that is done with its files."""
    done = call.ask("init", accept=False)
    call.data({**done, "proposals": look["proposals"], "outcome": None})
    word = "written; commit it when it says what you want" if done["made"] else "kept as it is"
    call.tell(f"  {printable_line(done['config'])} {word}")
    if look["proposals"]["files"]:
        call.tell("  wl init --accept writes and commits what is proposed")
    _close(call, done, lands=look["proves"])
    return 0


def _set_up(call: Call, look: dict[str, Any], where: dict[str, Any]) -> int:
    until = None if call.args.wait else time.monotonic() + _FOREGROUND
    asked = {**where, "digest": look["digest"]}
    done: dict[str, Any] | None = None
    if where["private"] or not look["proves"]:
        done = call.ask("init", accept=True, **asked)
        asked = where
    outcome: dict[str, Any] | None = None
    if look["proves"]:
        begun = call.ask("init.prove", **asked)
        tried = gate_run.wait(call, begun["job"], seconds=_left(until))
        outcome = _as_decided(call, tried)
        if done is None or outcome["network"]:
            done = call.ask("init", accept=True, network=outcome["network"], **asked)
        if done["commit"] or where["private"]:
            outcome = _proven(call, outcome, until)
    if done is None:
        raise AssertionError("nothing was asked to be written")
    call.data(
        {
            **done,
            "proposals": look["proposals"],
            "outcome": outcome["outcome"] if outcome else None,
            "target": look["target"],
            "network": bool(outcome and outcome["network"]),
            "checks": outcome["checks"] if outcome else [],
            "job": outcome["job"] if outcome and outcome["outcome"] is None else None,
        }
    )
    _say_written(call, done)
    if outcome:
        _say_outcome(call, look, outcome)
    _close(call, done, lands=look["proves"])
    return _exit_code(done, outcome)


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


def _as_decided(call: Call, tried: dict[str, Any]) -> dict[str, Any]:
    """How it was tried; without the network where only that made it green and is not wanted."""
    if tried["outcome"] != "passed" or not tried["tried"]:
        # A second try that is not over decides nothing: what is written has no network then.
        return tried if tried["outcome"] else {**tried, "network": False}
    call.tell("  without the network it is not green, and with it, it is:")
    for check in tried["tried"]:
        if check["outcome"] != "passed":
            gate_run.say_check(call, check)
    call.tell("  proposed: network = true, in [gate]")
    if call.args.accept or call.agrees("let its checks reach the network?"):
        return tried
    return _without_network(tried)


def _without_network(tried: dict[str, Any]) -> dict[str, Any]:
    """How it was without, of a run that only the network has made green."""
    checks = tried["tried"]
    red = worst(check["outcome"] for check in checks)
    return {**tried, "tree": "", "outcome": red, "checks": checks, "network": False}


def _proven(call: Call, tried: dict[str, Any], until: float | None) -> dict[str, Any]:
    """How the target fares, now that the files are committed: as was tried, if that is its tree."""
    tree = call.ask("gate")["tree"]
    if tried["outcome"] is not None and tree == tried["tree"]:
        return tried
    done: dict[str, Any] = call.ask("gate.run")
    if done["job"]:
        done = gate_run.wait(call, done["job"], seconds=_left(until))
    is_another = done["outcome"] == "passed" and done["tree"] != tree
    return _without_network(done) if is_another else done


def _say_written(call: Call, done: dict[str, Any]) -> None:
    if done["commit"]:
        call.tell(
            f"  committed {printable_line(', '.join(done['written']))} as {done['commit'][:10]}"
        )
    elif done["written"]:
        call.tell(f"  written: {printable_line(', '.join(done['written']))}")
    if done["proposed"] and done["written"]:
        call.tell(f"  agents without a box may now run what is for {_toolchains(done)}")
    if done["uncommitted"]:
        call.say("  not committed:")
        for line in done["uncommitted"].splitlines():
            call.say(f"    {printable_line(line)}")
        listed = printable_line(" ".join(done["written"]))
        call.say(
            f"    your index is as it was; once that is mended: git add {listed} && git commit"
        )


def _say_outcome(call: Call, look: dict[str, Any], run: dict[str, Any]) -> None:
    target, outcome = printable_line(look["target"]), run["outcome"]
    if outcome is None:
        doing = printable_line(", ".join(run["doing"]))
        call.say(f"{target} is being proven ({doing}), in the background as {run['job']}: wl gate")
        return
    if outcome == "passed":
        word = call.paint("green", "green")
        call.say(f"{target} is {word}: {summary.counts(run['checks'])}")
        return
    word = "red" if outcome == "failed" else f"not proven ({outcome})"
    call.say(f"{target} is {call.paint(word, gate_run.COLOURS[outcome])}")
    for check in run["checks"]:
        gate_run.say_check(call, check)
    first = next(check for check in run["checks"] if check["outcome"] != "passed")
    for line in gate_run.end_of_log(first):
        call.say(f"      {line}")
    if first["code"] is None and (unseen := _unseen(call)):
        call.say(f"  the gate's box has none of your {', '.join(unseen)}: if registries need that,")
        call.say(f"    wl config add --global box.env {unseen[0]}")
    call.say("  mend what it says, or the gate in .windlass/config.toml; then: wl gate run")


def _unseen(call: Call) -> list[str]:
    """The person's settings for package registries that a box is not given."""
    given = call.ask("config", config_key="box.env")["settings"]["box.env"]["value"]
    return [name for name in sorted(os.environ) if _REGISTRY.fullmatch(name) and name not in given]


def _close(call: Call, done: dict[str, Any], *, lands: bool) -> None:
    if done["push"]:
        call.tell(f"  nothing lands before the remote has this commit: {done['push']}")
    for line in untrusted_lines.lines(done["waiting"]):
        call.tell(f"  {line}")
    more = "; wl merge BRANCH lands a branch of yours" if lands else ""
    call.tell(f'  wl new "what to do" starts an agent{more}')


def _exit_code(done: dict[str, Any], run: dict[str, Any] | None) -> int:
    if run and run["outcome"] not in (None, "passed"):
        return EXIT_CODES[run["outcome"]]
    return _NOT_COMMITTED if done["uncommitted"] else 0
