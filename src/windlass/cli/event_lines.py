"""Events as lines: in sentences for people, or with their kind and all that they carry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.printable import printable_line

_WIDE = 100
"""Places of a terminal where what happened stands in columns."""
_LONG = frozenset({"text", "why", "error", "evidence", "goal", "sentence"})
"""What is said at some length."""
_SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "agent.allowed": "may use more: {patterns}",
        "agent.created": "was begun as {role}, from {base_from}: {goal}",
        "agent.ended": "was ended ({how}) by {by}",
        "agent.gone": "had ended: {evidence}",
        "agent.interrupted": "was asked to stop its turn",
        "agent.limited": "was given limits of its own",
        "agent.merged": "was merged into {into} as {commit} ({verdict})",
        "agent.overgrown": "is paused, it took too much room: {why}",
        "agent.reassigned": "has another manager: {why}",
        "agent.refreshed": "was rebased onto {onto}",
        "agent.refused": "is not taken in, {why}: {evidence}",
        "agent.restored": "is back",
        "agent.stalled": "cannot go on by itself: {why}",
        "agent.state": "{was} → {now}: {evidence}",
        "agent.taken_in": "is known again: {evidence}",
        "agent.unreadable": "what its session left cannot be read: {error}",
        "agent.unsound": "is paused, {file} of it is none that could be: {why}",
        "branch.stuck": "its commits do not come home: {error}",
        "budget.exceeded": "is being paused: {sentence}",
        "budget.warning": "{sentence}",
        "change.approved": "was approved by {by}",
        "change.landed": "landed on {target} as {commit}",
        "change.queued": "was proposed, revision {revision}: {branch} → {target}",
        "change.stopped": "{state}: {why}",
        "config.accepted": "you accepted {keys} of the repository's configuration",
        "config.revoked": "you took back that you accept {keys}",
        "intent.failed": "{what} failed: {error}",
        "intent.halted": "{what} is halted, and waits for you: {error}",
        "intent.set_aside": "{what} was set aside, and waits for you: {error}",
        "intent.undo_failed": "{step} could not be taken back: {error}",
        "job.set_aside": "the {what} of {about} was set aside: {error}",
        "mail.stuck": "its mail cannot be seen to: {error}",
        "mail.missing": "was told that {ids} of its mail are lost",
        "message.acked": "{id} was dealt with by {by}",
        "message.expired": "{id} is of no use any more: {reason}",
        "message.failed": "{id} will never arrive: {reason}",
        "message.received": "has a message of {sender}: {text}",
        "message.revived": "{id} counts again",
        "message.sent": "a message to {to}: {text}",
        "note": "{by} notes: {text}",
        "notify.failed": "the notify command failed: {how}",
        "plan.begun": "{task} is being planned",
        "plan.ended": "the planning of {task} is over, {outcome}: {path} {why}",
        "prompt.incomplete": "a part of its instructions could not be read: {why}",
        "question.refused": "may not ask: {why}",
        "repo.added": "{root} is known from now on",
        "repo.missing": "{root} is not there any more",
        "repo.moved": "{was} is {root} by now",
        "repo.removed": "{root} is known no more",
        "run.begun": "{task} is worked on",
        "run.ended": "{task} is over, {outcome}: {why}",
        "run.submitted": "{task} waits to land, as {change}",
        "run.waits": "{task} waits for somebody: {question}",
        "schedule.asked": "the board is worked off already",
        "schedule.paused": "the work on the board is paused, or goes on",
        "session.anew": "its conversation was never written down: it starts once more",
        "session.ended": "session {session} {how}",
        "session.started": "session {session} runs {driver}, {mode}",
        "step.begun": "{task}: {step} begins, as {role}",
        "step.ended": "{task}: {step} ended with {result}",
        "step.iterated": "{task}: {step}, iteration {iteration}: {duty} over {answer}",
        "store.replaced": "the store was replaced: {why}",
        "backend.down": "the model of {driver} cannot be asked, so its runs wait: {why}",
        "backend.up": "the model of {driver} answers again",
        "task.edited": "{task} was edited while it is at work",
        "task.postponed": "{task} waits: {why}",
        "board.held": "no more tasks are begun for now: {why}",
        "task.unmarked": "{task} could not be marked {marker} on the board: {why}",
        "teardown.failed": "the teardown of its workspace failed: {error}",
        "trash.emptied": "salvaged work was deleted: {entries}",
        "usage.refused": "spending that {source} told of is not counted: {why}",
        "work.uncommitted": "rests with {files} not committed: {names}",
        "workspace.command": "its {what} ended with {code}",
    }
)


def told(call: Call, item: dict[str, Any]) -> str:
    """One event in a sentence."""
    when = _when(item["at"])
    sentence = _sentence(item)
    who = _who(item)
    wide = not call.terminal or render.columns() >= _WIDE
    lead = (
        f"{call.paint(when, 'dim')}  {who:<14}  " if wide else f"{call.paint(when, 'dim')} {who} "
    )
    return render.folded(call, lead, sentence, indent=len(when) + 2)


def whole(call: Call, item: dict[str, Any]) -> str:
    """One event with its kind and everything that it carries."""
    when = time.strftime("%H:%M:%S", time.localtime(item["at"]))
    kind = printable_line(item["kind"])
    wide = not call.terminal or render.columns() >= _WIDE
    lead = f"{_who(item):<20} {kind:<20} " if wide else f"{_who(item)} {kind} "
    lead = f"{call.paint(when, 'dim')} {lead}"
    return render.folded(call, lead, carried(item), indent=len(when) + 1)


def carried(item: dict[str, Any]) -> str:
    """What an event carries, by name."""
    return " ".join(
        f"{name}={_short(value, 80)}"
        for name, value in item["data"].items()
        if value not in (None, "", [], {})
    )


def _when(at: float) -> str:
    then, now = time.localtime(at), time.localtime()
    today = (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday)
    return time.strftime("%H:%M:%S" if today else "%b %d %H:%M", then)


def _who(item: dict[str, Any]) -> str:
    about, _, name = (item.get("subject") or "").partition(":")
    return printable_line(item["agent"] or (name if about == "change" else "-"))


def _sentence(item: dict[str, Any]) -> str:
    form = _SENTENCES.get(item["kind"])
    if form is None:
        return f"{printable_line(item['kind'])} {carried(item)}"
    return form.format_map(_Said(item["data"]))


class _Said(dict[str, Any]):
    """What an event carries, each as it is said; what an older one lacks is left out."""

    def __getitem__(self, name: str) -> str:
        return _value(name, self.get(name))

    def __missing__(self, name: str) -> str:
        return ""


def _value(name: str, value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("message", value)
    if name == "files" and isinstance(value, int):
        return render.counted(value, "file")
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    said = "" if value is None else str(value)
    said = render.shortened(" ".join(said.split()))
    return _short(said, 200 if name in _LONG else 80)


def _short(value: Any, room: int) -> str:
    return render.fit(printable_line(str(value)), room)
