"""Shows what needs you, the board, and the crew."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from windlass.cli import landed, render, unfinished
from windlass.cli.call import Call
from windlass.cli.money import usd
from windlass.core.ages import age
from windlass.core.board import FILE
from windlass.core.printable import printable_line
from windlass.project import folder

if TYPE_CHECKING:
    from windlass.cli.board_news import BoardNews

_LONG_SETUP = 120.0
"""Seconds after which an agent that is still being prepared is worth a look."""


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """One static screen: what needs you, the board, the crew as a tree, or how to begin."""
    listed = call.ask("agents")
    landing = call.ask("unfinished")
    changes, waiting = landing["changes"], set(landing["waiting"])
    # What is done and proposed is spoken of where its change is.
    proposed = {change["author"] for change in changes if change["author"]}
    proposed |= set(landing["retiring"])
    landed_all = set(landing["done"])
    needed = {agent["uid"]: _need(agent, proposed, landed_all) for agent in listed}
    board = _board(call)
    if call.json:
        agents = [_with_need(agent, needed[agent["uid"]]) for agent in listed]
        call.data([*agents, *_changes_with_needs(landing), *_board_with_needs(board)])
        return 0
    red = _red(landing["target"])
    if not listed and not changes and red is None and board is None:
        return _begin(call, landing)
    here = {agent["repo"] for agent in listed}
    left = [intent for intent in unfinished.listed(call) if intent["repo"] in here]
    questions = call.ask("questions")
    needs = [_unfinished(intent) for intent in left]
    # One line for one need: nothing is begun with who is attached to what was left, and who asked
    # waits for that.
    said = unfinished.attached(left)
    asking = {(question["repo"], question["agent"]) for question in questions}
    needs += [
        (agent["id"], *need)
        for agent in listed
        if (agent["repo"], agent["id"]) not in said
        and not (agent["state"] == "waiting" and (agent["repo"], agent["id"]) in asking)
        and (need := needed[agent["uid"]])
    ]
    needs += [
        (
            question["agent"],
            f"asks ({age(question['age'])}): {question['text']}",
            f"wl answer {question['id']} '...'",
        )
        for question in questions
    ]
    # What is halted goes on by itself once the target is mended: one line says so.
    waiting -= {c["id"] for c in changes if red is not None and landed.is_halted(c)}
    needs += [(c["id"], *landed.need(c)) for c in changes if c["id"] in waiting]
    needs += [red] if red is not None else []
    needs += board.needs if board is not None else []
    moving = [c for c in changes if c["id"] not in waiting and c["state"] != "draft"]
    _show(
        call,
        _needs_you(call, needs),
        [board.line] if board is not None else [],
        _moving(call, moving),
        _crew(call, listed),
        [_target(call, landing)],
        [_today(call)],
    )
    return 0


def _board(call: Call) -> BoardNews | None:
    path = os.path.join(folder.find(), FILE)
    if not os.path.isfile(path):
        return None
    from windlass.cli import board_news  # noqa: PLC0415 - most repositories have no board

    return board_news.of(call, path)


def _show(call: Call, *sections: list[str]) -> None:
    """Prints what there is, with a blank line between two sections."""
    shown = [lines for lines in sections if any(lines)]
    for number, lines in enumerate(shown):
        if number:
            call.say()
        for line in lines:
            call.say(line)


def _needs_you(call: Call, needs: list[tuple[str, str, str]]) -> list[str]:
    head = [call.paint("needs you", "bold")] if needs else []
    return [
        *head,
        *(render.advice(call, f"  {name} {text}", command) for name, text, command in needs),
    ]


def _moving(call: Call, moving: list[dict[str, Any]]) -> list[str]:
    head = [call.paint("changes", "bold") + f"  {len(moving)} under way   wl queue"]
    return [*head * bool(moving), *(f"  {landed.under_way(call, change)}" for change in moving)]


def _crew(call: Call, listed: list[dict[str, Any]]) -> list[str]:
    if not listed:
        return []
    head = f"  {render.counted(len(listed), 'agent')}, {_confined(listed)}"
    return [call.paint("crew", "bold") + head, *render.tree(call, listed, indent="  ")]


def _today(call: Call) -> str:
    spent = call.ask("costs", since="0s")["total"]
    if spent["usd"] or spent["notional_usd"]:
        return call.paint("today", "bold") + f"  {usd(spent)}   wl costs"
    return ""


def _begin(call: Call, landing: dict[str, Any]) -> int:
    known = {repo["root"] for repo in call.ask("repos")}
    here = os.getcwd()
    if any(here == root or here.startswith(root + os.sep) for root in known):
        if said := _target(call, landing):
            call.say(said)
        call.say('no agents here.  wl new "what to do"   starts one')
        call.say("                 wl merge              lands a branch of your own")
        call.say("                 wl trash list         shows salvaged work")
        return 0
    call.say("wl init            set up this repository")
    call.say('wl new "goal"      start an agent on a goal')
    call.say("wl demo            watch a crew at work on a scratch repository")
    return 0


def _confined(listed: list[dict[str, Any]]) -> str:
    """How many have a box; hooks alone confine nobody, and that is said."""
    boxed = sum(agent["isolation"] == "box" for agent in listed)
    if boxed == len(listed):
        return "all boxed"
    return f"{boxed} boxed, {len(listed) - boxed} with hooks alone (advisory)"


def _unfinished(intent: dict[str, Any]) -> tuple[str, str, str]:
    """What the person has to decide about something that no daemon survived."""
    name, since = unfinished.handle(intent), age(time.time() - intent["created_at"])
    return name, f"{unfinished.said(intent)} ({since}): wl doctor says why", f"wl retry {name}"


def _red(target: dict[str, Any] | None) -> tuple[str, str, str] | None:
    """What a target that is known not to be green needs: nothing lands on it but what mends it."""
    if target is None or target["outcome"] in (None, "passed"):
        return None
    text = f"is not green, so nothing lands but what mends it: {target['why']}"
    if target["outcome"] == "could-not-run":
        text = f"cannot be gated, so nothing lands: {target['why']}"
    return target["branch"], text, "wl gate"


def _target(call: Call, landing: dict[str, Any]) -> str:
    """A line on the branch that changes land on: how it fares, and what landed last."""
    target, last = landing["target"], landing["last"]
    if target is None:
        said = printable_line(landing["gateless"])
        return render.folded(call, f"{call.paint('no gate', 'yellow')}  ", said, indent=2) * bool(
            said
        )
    if target["outcome"] not in (None, "passed"):
        return ""  # it needs the person, and is said above
    verdict = "green" if target["outcome"] else "not proven yet: wl gate run"
    verdict = call.paint(verdict, "green") if target["outcome"] else verdict
    lead = f"{call.paint(printable_line(target['branch']), 'bold')}  {verdict}"
    if last is None:
        return f"{lead}, at {target['tip'][:10]}"
    when = f"{age(time.time() - last['landed_at'])} ago " if last["landed_at"] else ""
    room = render.columns() if call.terminal else 120
    title = render.fit(printable_line(last["title"]), max(12, room - 50))
    return f"{lead}; {when}landed {last['id']}, {title}   wl log --landed"


def _changes_with_needs(landing: dict[str, Any]) -> list[dict[str, Any]]:
    """Changes as programs get them, beside the agents; and a target that is not green."""
    shown: list[dict[str, Any]] = []
    if (red := _red(landing["target"])) is not None:
        name, text, command = red
        need = {"text": text, "command": command}
        shown.append({**landing["target"], "kind": "target", "id": name, "needs_you": need})
    for change in landing["changes"]:
        waits = landed.need(change) if change["id"] in landing["waiting"] else None
        told = {"text": waits[0], "command": waits[1]} if waits else None
        shown.append({**change, "kind": "change", "needs_you": told})
    return shown


def _board_with_needs(board: BoardNews | None) -> list[dict[str, Any]]:
    """The board as programs get it, and its tasks that have failed."""
    if board is None:
        return []
    told = [{"text": text, "command": command} for _, text, command in board.needs]
    tasks = [
        {"kind": "task", "id": name, "needs_you": need}
        for (name, *_), need in zip(board.needs, told, strict=True)
    ]
    return [{"kind": "board", "id": "board", "needs_you": None, **board.data}, *tasks]


def _with_need(agent: dict[str, Any], need: tuple[str, str] | None) -> dict[str, Any]:
    """An agent as programs get it, with what the screen would say under "needs you"."""
    told = {"text": need[0], "command": need[1]} if need else None
    return {**agent, "kind": "agent", "needs_you": told}


_DENIED = {
    "waiting": "waits ({}), and was denied: {}",
    "running": "is denied the same again and again: {1}",
}
_LED_BY_RUNS = frozenset({"complete", "waiting", "stopped"})


def _finished(name: str, since: str, *, has_landed: bool) -> tuple[str, str]:
    said = f"says it is done ({since})"
    if has_landed:
        return f"{said}, and all of it has landed", f"wl kill {name}"
    return said, f"wl diff {name}, then wl merge {name}"


def _need(
    agent: dict[str, Any], proposed: Collection[str], landed_all: Collection[str]
) -> tuple[str, str] | None:
    """What an agent needs, and the command that gives it."""
    name, since, evidence = agent["id"], age(agent["state_age"]), agent["evidence"]
    if agent.get("stuck"):
        return f"cannot bring its commits home: {agent['stuck']}", f"wl why {name}"
    if agent.get("denied") and agent["state"] in _DENIED:
        return _DENIED[agent["state"]].format(since, agent["denied"]), f"wl denials {name}"
    if agent.get("task") and agent["state"] in _LED_BY_RUNS:
        return None  # between two steps it has no session, and at its end its run has told
    match agent["state"]:
        case "creating" if agent["state_age"] > _LONG_SETUP:
            return f"is still being set up ({since}): {evidence}", f"wl log {name}"
        case "rate_limited" if "goes_on_at" in agent:
            goes_on = datetime.fromtimestamp(agent["goes_on_at"]).astimezone()
            said = f"is at a limit ({since}), and goes on by itself at {goes_on:%a %H:%M}"
            return f"{said}: {evidence}", f'to try now: wl send {name} "go on"'
        case "asking":
            return f"asks ({since}): {evidence}", f"wl attach {name}"
        case "complete" if agent["parent"] is None and name not in proposed:
            return _finished(name, since, has_landed=name in landed_all)
        case "waiting" if agent["parent"] is None:
            return f"waits ({since}): {evidence}", f"wl look {name}"
        case "stopped":
            return f"stopped ({since}): {evidence}", f"wl resume {name}"
        case "paused":
            return f"is {evidence} ({since})", f"wl resume {name}"
        case "unknown":
            return f"is unknown ({since})", f"wl why {name}"
        case _:
            return None
