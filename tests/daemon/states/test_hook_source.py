"""A session's events: each line kept once, also if an agent shortens the file that they are in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.daemon.states.first_session import begins
from tests.support.agents import an_agent
from tests.support.contexts import REPO

from windlass.core import agents_json
from windlass.core.ids import Uid
from windlass.core.mail.messages import USER
from windlass.core.states import LATEST
from windlass.daemon.kernel.context import Context
from windlass.daemon.states import hook_source
from windlass.store import mailbox, noticeboard, rows
from windlass.store.rows import Session

FOX = an_agent("fox", repo=REPO)


def line(tool: str) -> str:
    event = {"hook_event_name": "PreToolUse", "tool_name": tool}
    return json.dumps({"at": 1.0, "event": event}) + "\n"


def read_all(context: Context) -> list[str]:
    """Reads what is there to its end; returns the tools of all events so far."""
    while hook_source.read_on(context, FOX, _session(context)):
        pass
    events = context.store.read(rows.events)
    return [str(event.data["tool_name"]) for event in events if event.kind == "hook.PreToolUse"]


def _session(context: Context) -> Session:
    return context.store.read(lambda c: rows.session(c, Uid("fox"), 1))


def test_lines_are_kept_once_and_a_shortened_file_is_read_from_its_beginning(
    context: Context,
) -> None:
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    assert read_all(context) == []
    path.write_text(line("Read") + line("Edit"))
    assert read_all(context) == read_all(context) == ["Read", "Edit"]
    path.write_text(line("Bash"))
    assert read_all(context) == read_all(context) == ["Read", "Edit", "Bash"]
    path.write_text("")
    assert read_all(context) == ["Read", "Edit", "Bash"]
    path.write_text(line("Glob") + line("Grep"))
    assert read_all(context) == ["Read", "Edit", "Bash", "Glob", "Grep"]


def test_a_moment_that_is_no_number_of_this_world_is_garbage_and_the_next_line_is_read(
    context: Context,
) -> None:
    """One of 400 digits is a number to JSON, and too large for any clock."""
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    forged = [line("Edit").replace("1.0", at) for at in ("1" * 400, "-1", '"nan"', "1e300", "[]")]
    path.write_text("".join(forged) + line("Read"))
    assert read_all(context) == ["Read"]
    (garbage,) = context.store.read(lambda c: rows.events(c, kind="hook.garbage"))
    assert garbage.data["lines"] == len(forged)


def test_a_line_of_more_values_than_anybody_writes_is_garbage_and_the_next_is_read(
    context: Context,
) -> None:
    """To make lists of it would keep everybody else waiting: 8 MiB of brackets took seconds."""
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    brackets = '"more": [' + "[]," * agents_json.MOST_VALUES + "0], "
    path.write_text(line("Edit").replace('"hook', brackets + '"hook', 1) + line("Read"))
    assert read_all(context) == ["Read"]
    (garbage,) = context.store.read(lambda c: rows.events(c, kind="hook.garbage"))
    assert garbage.data["lines"] == 1


def dialog(text: str) -> str:
    """A line as the hook writes it that denies a dialog, or whoever forges one."""
    asked = {"tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": text}]}}
    event = {"hook_event_name": "PolicyDecision", "by": "daemon", "asked": asked, "answered": {}}
    return json.dumps({"at": 1.0, "event": event}) + "\n"


def questions(context: Context) -> list[str]:
    asked = context.store.read(lambda c: mailbox.questions(c, recipient=USER))
    return [question.body for question in asked]


def refusals(context: Context) -> list[dict[str, Any]]:
    events = context.store.read(lambda c: rows.events(c, kind="question.refused"))
    return [event.data for event in events]


def test_dialogs_become_no_more_questions_than_an_agent_may_ask_otherwise(
    context: Context,
) -> None:
    """However many of their lines somebody forges; who asks is told what was not passed on."""
    (context.folders.home / "config.toml").write_text("[mail]\nrate = 20\n")
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    path.write_text("".join(dialog(f"what is {number}?") for number in range(500)))
    read_all(context)
    assert questions(context) == [f"what is {number}?" for number in range(20)]
    assert len(context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=999))) == 20
    refused = refusals(context)
    assert sum(data["questions"] for data in refused) == 480
    assert len(refused) <= 10
    assert "20 is the limit" in refused[0]["why"]
    told = context.store.read(lambda c: mailbox.queued(c, FOX.uid))
    (waiting,) = [message for message in told if message.state == "queued"]
    assert waiting.body.startswith("Your question was not passed on after all: ")


@pytest.mark.parametrize("text", ["x" * 200_000, "a\0b"])
def test_a_dialog_that_no_question_could_hold_is_refused(context: Context, text: str) -> None:
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    path.write_text(dialog(text) + dialog("which port?"))
    read_all(context)
    assert questions(context) == ["which port?"]
    assert [data["questions"] for data in refusals(context)] == [1]


def test_a_person_that_wants_no_questions_is_asked_by_no_dialog(context: Context) -> None:
    (context.folders.home / "config.toml").write_text("allow_agent_questions = false\n")
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    path.write_text(dialog("which port?"))
    read_all(context)
    assert questions(context) == []
    assert "does not want to be asked" in refusals(context)[0]["why"]


def test_of_what_was_denied_no_more_is_kept_than_a_person_would_read(context: Context) -> None:
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    path.write_text(denial("x" * 1000) + denial("x" * 1_000_000))
    read_all(context)
    short, long = context.store.read(lambda c: rows.events(c, kind="hook.PolicyDecision"))
    assert short.data["tool_input"] == {"command": "x" * 1000}
    assert 60_000 < len(long.data["tool_input"]) < 70_000


def test_who_denied_it_is_one_of_ours_or_not_known(context: Context) -> None:
    """Who forges such a line could name the person, or add lines to what is printed of it."""
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    forged = ("the person", "daemon\nowl ended", ["x", {"y": 1}], 7, None)
    path.write_text("".join(denial("ls", by=by) for by in ("daemon", *forged)))
    read_all(context)
    kept = context.store.read(lambda c: rows.events(c, kind="hook.PolicyDecision"))
    assert [event.data["by"] for event in kept] == ["daemon", *(None for _ in forged)]


def test_the_hook_that_denied_it_is_one_that_sessions_have(context: Context) -> None:
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    names = ("PreToolUse", "PreToolUse\nowl ended", {"a": 1})
    path.write_text("".join(denial("ls", hook=name) for name in names))
    read_all(context)
    kept = context.store.read(lambda c: rows.events(c, kind="hook.PolicyDecision"))
    assert [event.data["hook"] for event in kept] == ["PreToolUse", None, None]


@pytest.mark.parametrize(
    "name",
    [
        "Stop\n00:00:00 owl agent.ended kill by the person",
        "Stop   owl agent.ended",
        "agent.ended",
        "garbage",
        "St\u200bop",
        "Stöp",
        "x" * 44,
        "",
        None,
        {"a": 1},
    ],
)
def test_what_no_hook_is_called_is_garbage_and_makes_no_kind_of_event(
    context: Context, name: Any
) -> None:
    begins(context, FOX)
    path = context.folders.events(FOX.uid, 1)
    path.parent.mkdir(parents=True)
    forged = json.dumps({"at": 1.0, "event": {"hook_event_name": name, "message": "m"}}) + "\n"
    path.write_text(forged + line("Read"))
    assert read_all(context) == ["Read"]
    (garbage,) = context.store.read(lambda c: rows.events(c, kind="hook.garbage"))
    assert garbage.data["lines"] == 1


def test_the_log_has_no_line_of_an_agent_from_before_it_began_or_from_later_than_now(
    context: Context,
) -> None:
    """It could seem to have been said before somebody else did something, and be kept for ever."""
    born, now = 1_000_000_000.0, context.clock.now()
    fox = begins(context, an_agent("fox", repo=REPO, created_at=born))
    path = context.folders.events(fox.uid, 1)
    path.parent.mkdir(parents=True)
    moments = (0.0, born + 1, now + 1000, LATEST)
    path.write_text("".join(line("Read").replace("1.0", repr(at)) for at in moments))
    assert hook_source.read_on(context, fox, _session(context))
    kept = context.store.read(lambda c: rows.events(c, kind="hook.PreToolUse"))
    before, as_said, *later = [event.at for event in kept]
    assert (before, as_said) == (born, born + 1)
    assert all(now <= at <= context.clock.now() for at in later)


def denial(command: str, by: Any = "daemon", hook: Any = "PreToolUse") -> str:
    asked = {"tool_name": "Bash", "tool_input": {"command": command}}
    answered = {"hookSpecificOutput": {"hookEventName": hook}}
    event = {"hook_event_name": "PolicyDecision", "by": by, "asked": asked, "answered": answered}
    return json.dumps({"at": 1.0, "event": event}) + "\n"
