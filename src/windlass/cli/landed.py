"""What is said of changes: where each stands, why one did not land, and what to type about it."""

from __future__ import annotations

import time
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.landing import holds
from windlass.core.landing.holds import REVIEW
from windlass.core.printable import printable_line

_NAMED = 10
_TAIL_LINES = 15
"""Of the end of a log, what a terminal has room for."""
_UNDONE = ("rejected", "conflict", "held", "proposed")
"""States out of which somebody has to help a change."""
_WORDS = {"gating": "in the gate", "proposed": "pull request"}
"""How states are called that are no plain words."""
_COLOURS = {
    "landed": "green",
    "rejected": "red",
    "conflict": "red",
    "held": "yellow",
    "proposed": "yellow",
}


def say(call: Call, change: dict[str, Any]) -> None:
    """Prints one change, with its ticket where it has one."""
    branch, target = printable_line(change["branch"]), printable_line(change["target"])
    where = f" as {change['commit'][:10]}" if change["commit"] and is_landed(change) else ""
    undone = _undone(change)
    state = _state(call, change["state"])
    call.say(f"{change['change']}  {branch} → {target}  {state}{where}{undone}")
    if is_unapproved(change) and change["state"] == "held" and not change["blocked"]:
        call.say(f"  waits for your approval: {printable_line('; '.join(change['guards']))}")
    elif change["why"]:
        call.say(f"  {printable_line(change['why'])}")
    _ticket(call, change)
    if change["state"] in _UNDONE and (command := next_step(change)):
        call.say(f"  next: {command}")


def show(call: Call, change: dict[str, Any]) -> None:
    """Prints everything about one change, and what to type next."""
    call.say(f"{call.paint(change['id'], 'bold')}  {printable_line(change['title'])}")
    branch, target = printable_line(change["branch"]), printable_line(change["target"])
    call.say(f"  {branch} → {target}  {_state(call, change['state'])}{_undone(change)}")
    for name, text in _facts(change):
        call.say(f"  {name:<10} {printable_line(text)}")
    _ticket(call, change)
    if len(change["revisions"]) > 1:
        call.say("  revisions")
        for revision in change["revisions"]:
            _revision(call, revision)
    if command := next_step(change):
        call.say(f"  {'next':<10} {command}")


def explain(call: Call, change: dict[str, Any]) -> None:
    """Prints why a change is where it is."""
    state = _state(call, change["state"])
    call.say(f"{call.paint(change['id'], 'bold')} is {state}{_undone(change)}")
    for name, text in _reasons(change):
        call.say(f"  {name:<8} {printable_line(text)}")
    _ticket(call, change)
    if command := next_step(change):
        call.say(f"  {'next':<8} {command}")


def next_step(change: dict[str, Any]) -> str:
    """What to type about a change, as it stands."""
    name = change["id"]
    match change["state"]:
        case "draft":
            return f"wl look {printable_line(change['author'] or change['branch'])}"
        case "queued" | "gating":
            return "wl queue"
        case "proposed":
            return f"merge its pull request; to give it up: wl drop {name}"
        case "landed":
            undoes = f"wl diff {name}; to take it back: wl undo {name}"
            return f"to land it again: {_again(change)}" if change["undone_by"] else undoes
        case "held" if change["blocked"]:
            return f"wl approve {name}"
        case "held" if is_unapproved(change):
            return f"wl diff {name}, then wl approve {name}"
        case "held" if is_halted(change):
            return _once_mended(change)
        case "held":
            return _release(change)
        case "rejected" | "conflict":
            return _mend(change)
        case "dropped":
            return _again(change)
        case "nothing-to-land" if change["author"] and not change["author_ended"]:
            return f"wl kill {printable_line(change['author'])}"
        case _:
            return ""


def _once_mended(change: dict[str, Any]) -> str:
    """What is to be done about a target on which landing halts."""
    target, goes_on = printable_line(change["target"]), "it goes on by itself"
    if change["why"] == holds.halted(change["target"], "gone"):
        return f"once there is a branch {target} again, {goes_on}"
    is_red = change["why"] == holds.halted(change["target"])
    mended = f"wl gate says why; once {target} is green" if is_red else "wl gate run: then"
    return f"{mended} {goes_on}"


def _again(change: dict[str, Any]) -> str:
    """What proposes a change once more; the branch of who has ended is in the trash."""
    branch, author = printable_line(change["branch"]), printable_line(change["author"] or "")
    back = f"wl trash restore {author}, then " if change["author_ended"] else ""
    return f"{back}wl merge {branch}"


def _release(change: dict[str, Any]) -> str:
    """What to type about a change that is held, perhaps for another that it needs."""
    needed = (need for need in change["needs"] if f"needs {need}," in change["why"])
    if (first := next(needed, None)) is None:
        return f"wl retry {change['id']}"
    is_dropped = "--no-needs" in change["why"]
    return f"wl merge {change['id']} --no-needs" if is_dropped else f"wl show {first}"


def _mend(change: dict[str, Any]) -> str:
    """What to type about a change that came back: by who can mend it."""
    name, branch = change["id"], printable_line(change["branch"])
    again = f"as it is: wl retry {name}"
    if change["author"]:
        author = printable_line(change["author"])
        if change["author_ended"]:
            return f"bring {author} back: wl trash restore {author}; {again}"
        return f"wl look {author}; {again}"
    if change["state"] == "conflict":
        return f"merge {printable_line(change['target'])} into {branch}, then wl merge {branch}"
    return f"mend it, then wl merge {branch}; {again}"


def need(change: dict[str, Any]) -> tuple[str, str]:
    """What a change that waits for a person needs, and the command that gives it."""
    since = age(time.time() - change["revisions"][-1]["at"])
    author = f" of {change['author']}" if change["author"] else ""
    name = change["id"]
    if change["state"] == "held" and is_unapproved(change):
        why = "; ".join(_special(change)) or change["title"]
        return f"{author} waits for your approval ({since}): {why}".lstrip(), next_step(change)
    times = f", came back {change['attempts']} times" if change["attempts"] > 1 else ""
    word = "is held" if change["state"] == "held" else f"did not land{times}"
    return f"{author} {word} ({since}): {change['why']}".lstrip(), f"wl show {name}"


def under_way(call: Call, change: dict[str, Any]) -> str:
    """A change that needs nobody, as one line."""
    branch, target = printable_line(change["branch"]), printable_line(change["target"])
    # That the target is red is said above, once.
    why = f"  {printable_line(change['why'])}" if change["why"] and not is_halted(change) else ""
    is_back = change["state"] in ("rejected", "conflict")
    where = f"back at {printable_line(change['author'])}" if is_back else _word(change["state"])
    line = f"{branch} → {target}  {where}{why}"
    if call.terminal:
        line = render.fit(line, max(20, render.columns() - len(change["id"]) - 4))
    return f"{change['id']}  {line}"


def is_landed(change: dict[str, Any]) -> bool:
    """Whether the target has it."""
    return bool(change["state"] == "landed")


def is_halted(change: dict[str, Any]) -> bool:
    """Whether it waits for nothing but that its target is green again."""
    return change["state"] == "held" and holds.is_halted(change["why"], change["target"])


def is_unapproved(change: dict[str, Any]) -> bool:
    """Whether a person has to look at this revision and has not."""
    return bool(change["guards"]) and change["approval"] is None


def _undone(change: dict[str, Any]) -> str:
    """Of what landed and is not there any more: what has taken it back."""
    return f", undone by {change['undone_by']}" if change["undone_by"] else ""


def landing(call: Call, landed: dict[str, Any]) -> None:
    """Prints one commit that the target moved to, with the changes that it brought."""
    when = age(time.time() - landed["at"])
    verdict = landed["verdict"] or "not judged"
    colour = {"passed": "green", "failed": "red"}.get(landed["verdict"], "dim")
    lead = f"{when:<4} {landed['commit'][:10]}  {call.paint(printable_line(verdict), colour)}"
    if not landed["changes"]:
        beside = "" if landed["by"] == "windlass" else ", beside Windlass"
        call.say(f"{lead}{beside}  {printable_line(landed['subject'])}")
    elif len(landed["changes"]) == 1:
        call.say(f"{lead}  {_brought(landed['changes'][0])}")
    else:
        call.say(f"{lead}  {render.counted(len(landed['changes']), 'change')}")
        for change in landed["changes"]:
            call.say(f"       {_brought(change)}")


def _brought(change: dict[str, Any]) -> str:
    about = [change[name] for name in ("task", "agent") if change[name]]
    about += [f"{change['usd']:.2f} USD"] if change["usd"] else []
    more = f"  ({', '.join(about)})" if about else ""
    return printable_line(f"{change['id']} {change['title']}{more}{_undone(change)}")


def table(call: Call, changes: list[dict[str, Any]]) -> None:
    """Prints changes, a line each: where it stands, what it is, and why it is no further."""
    now = time.time()
    lines = [
        (
            change["id"],
            _word(change["state"]),
            age(now - change["revisions"][-1]["at"]),
            change["title"],
            change["branch"],
            change["why"] or _landed_as(change) or "-",
        )
        for change in changes
    ]
    render.table(call, ("ID", "IS", "FOR", "CHANGE", "BRANCH", "WHY"), lines, grow=5, spare=(4,))


def _landed_as(change: dict[str, Any]) -> str:
    if not is_landed(change):
        return ""
    where = f"as {change['commit'][:10]}"
    return f"undone by {change['undone_by']}, {where}" if change["undone_by"] else where


def _special(change: dict[str, Any]) -> list[str]:
    """What is special about a revision that waits for a person, beyond that nobody has looked."""
    return [guard for guard in change["guards"] if guard != REVIEW]


def _word(state: str) -> str:
    return _WORDS.get(state, state.replace("-", " "))


def _state(call: Call, state: str) -> str:
    return call.paint(_word(state), _COLOURS[state]) if state in _COLOURS else _word(state)


def _facts(change: dict[str, Any]) -> list[tuple[str, str]]:
    """What is known of a change, a line each."""
    times = render.counted(change["attempts"], "time")
    attempts = f", came back {times}" if change["attempts"] else ""
    facts = [("head", f"{change['head'][:10]}, revision {change['revision']}{attempts}")]
    facts += [("needs", ", ".join(change["needs"]))] if change["needs"] else []
    if change["position"] is not None:
        facts.append(("queue", f"{change['position']} before it"))
    return [*facts, *_reasons(change)]


def _reasons(change: dict[str, Any]) -> list[tuple[str, str]]:
    """Why a change is where it is, a line each."""
    reasons = [("by", change["author"])] if change["author"] else []
    reasons += [("task", change["task"])] if change["task"] else []
    waits = change["state"] == "held" and is_unapproved(change) and not change["blocked"]
    reasons += [("why", change["why"])] if change["why"] and not waits else []
    if change["guards"] and not is_landed(change):
        approved = "approved" if change["approval"] else "waits for your approval"
        reasons.append(("review", f"{approved}: {'; '.join(change['guards'])}"))
    if is_landed(change):
        when = age(time.time() - change["landed_at"]) if change["landed_at"] else "?"
        reasons.append(("landed", f"{when} ago as {(change['commit'] or '')[:10]}"))
        spent = f", {change['usd']:.2f} USD" if change["usd"] else ""
        reasons.append(
            ("verdict", f"{change['verdict']}, tree {(change['tree'] or '')[:12]}{spent}")
        )
    return reasons


def _revision(call: Call, revision: dict[str, Any]) -> None:
    when = age(time.time() - revision["at"]) if revision["at"] else ""
    why = f"  {printable_line(revision['why'])}" if revision["why"] else ""
    call.say(
        f"    {revision['revision']:<3} {revision['head'][:10]}  {when:<4}"
        f" {_word(revision['state']):<8}{why}".rstrip()
    )


def _ticket(call: Call, change: dict[str, Any]) -> None:
    """What failed or conflicts, and how to see it again."""
    ticket = change["ticket"]
    # What is blocked, or waits anew, has come back for another reason than it says by now.
    if ticket is None or change["state"] not in _UNDONE or ticket["why"] != change["why"]:
        return
    is_said = len(ticket["failed"]) == 1 and ticket["failed"][0] in ticket["why"]
    for name in () if is_said else ticket["failed"][:_NAMED]:
        call.say(f"  {printable_line(name)}")
    if len(ticket["failed"]) > _NAMED:
        call.say(f"  and {len(ticket['failed']) - _NAMED} more")
    for path in ticket["paths"][:_NAMED]:
        call.say(f"  {printable_line(path)}")
    for line in ticket["landed"]:
        call.say(f"  landed there: {printable_line(line)}")
    end = [line for line in ticket["tail"].splitlines() if line.strip()][-_TAIL_LINES:]
    if end:
        call.say("  the end of its log:")
    for line in end:
        call.say(call.paint(f"    {printable_line(line)}", "dim"))
    if ticket["log"]:
        call.say(f"  log: {printable_line(ticket['log'])}")
    if ticket["reproduce"]:
        call.say(f"  to see it again: {render.shortened(printable_line(ticket['reproduce']))}")
