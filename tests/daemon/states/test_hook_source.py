"""A session's events: each line kept once, also if an agent shortens the file that they are in."""

from __future__ import annotations

import json

from tests.daemon.states.first_session import begins
from tests.support.agents import an_agent
from tests.support.contexts import REPO

from windlass.core.ids import Uid
from windlass.daemon.kernel.context import Context
from windlass.daemon.states import hook_source
from windlass.store import rows
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
