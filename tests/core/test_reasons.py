"""Reasons as data: the sentence of each, and that none is read out of prose again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windlass
from windlass.core import reasons, shapes
from windlass.core.reasons import Kind, Reason

SAID: dict[str, Reason] = {
    "its workspace is being prepared": Reason(kind="preparing"),
    "session 3 is being started": Reason(kind="session_begun", session=3),
    "restored from fox-1": Reason(kind="restored", text="fox-1"),
    "paused with `wl pause`": Reason(kind="paused", text="paused with `wl pause`"),
    "could not be paused: 7 cat would not end": Reason(
        kind="pause_failed", text="7 cat would not end"
    ),
    "session 2 ended with exit code 9": Reason(kind="exited", session=2, code=9),
    "session 2 ended with exit code 1: no model": Reason(
        kind="exited", session=2, code=1, text="no model"
    ),
    "session 2 ended without a trace": Reason(kind="vanished", session=2),
    "session 2 could not be started: no tmux": Reason(
        kind="unstartable", session=2, text="no tmux"
    ),
    "session start (startup)": Reason(kind="session_started", text="startup"),
    "idle: session start (resume)": Reason(kind="session_taken_up", text="resume"),
    "session start, with a turn to go on with": Reason(kind="turn_taken_up"),
    "took a prompt": Reason(kind="prompt_taken"),
    "called Bash": Reason(kind="tool_called", tool="Bash"),
    "Bash returned": Reason(kind="tool_returned", tool="Bash"),
    "its tool still runs: make (pid 7)": Reason(kind="tool_running", text="make (pid 7)"),
    "printed something 2m ago": Reason(kind="printed", seconds=150.0),
    "asks permission for Bash": Reason(kind="permission_asked", tool="Bash"),
    "Claude needs you": Reason(kind="dialog_opened", text="Claude needs you"),
    "compacting (auto)": Reason(kind="compacting", text="auto"),
    "compacted": Reason(kind="compacted"),
    "idle: compacted": Reason(kind="compacted_by_hand"),
    "the model answers": Reason(kind="model_answers"),
    "the model refused (529), trying again": Reason(kind="model_refused", text="529"),
    "turn ended by an error: overloaded: later": Reason(
        kind="turn_failed", text="overloaded: later"
    ),
    "interrupted": Reason(kind="interrupted"),
    "idle": Reason(kind="idle"),
    "idle; in the background: a, b": Reason(kind="idle", tasks=("a", "b")),
    "WAITING": Reason(kind="claimed_waiting"),
    "WAITING; in the background: make": Reason(kind="claimed_waiting", tasks=("make",)),
    "I HAVE COMPLETED THE GOAL": Reason(kind="claimed_complete"),
    "says that it is done, but has not called a single tool"
    " (I HAVE COMPLETED THE GOAL; in the background: make)": Reason(
        kind="claim_doubted", tasks=("make",)
    ),
    "its status file says idle": Reason(kind="status_idle"),
    "its status file says busy": Reason(kind="status_busy"),
    "its status file says waiting: permission": Reason(kind="status_waiting", text="permission"),
    "its status file says idle, with a shell in the background": Reason(kind="status_shell"),
    "says-complete: done": Reason(kind="screen", rule="says-complete", text="done"),
    "what was kept": reasons.words("what was kept"),
}


@pytest.mark.parametrize(("said", "reason"), SAID.items(), ids=SAID)
def test_people_read_this_of_a_reason(said: str, reason: Reason) -> None:
    assert reasons.sentence(reason) == said


def test_every_kind_of_reason_is_tried_here() -> None:
    assert {reason.kind for reason in SAID.values()} == set(get_args(Kind))


def test_how_a_session_ended_is_told_without_its_number() -> None:
    ended = Reason(kind="exited", session=2, code=1, text="no model")
    assert reasons.how_it_ended(ended) == "ended with exit code 1: no model"


words = st.text()


@given(st.sampled_from(get_args(Kind)), words, words, words, st.lists(words))
def test_any_words_make_a_sentence_and_are_kept(
    kind: Kind, text: str, tool: str, rule: str, tasks: list[str]
) -> None:
    reason = Reason(kind=kind, text=text, tool=tool, rule=rule, tasks=tuple(tasks))
    assert isinstance(reasons.sentence(reason), str)
    assert shapes.convert(msgspec.to_builtins(reason), Reason) == reason


def test_nothing_looks_into_the_words_of_evidence() -> None:
    """A comparison or a search in a sentence: whoever decides looks at the kind of a reason."""
    reads = re.compile(
        r"evidence(\[[^\]]*\])? (==|!=|in) |evidence\.(startswith|partition|find|removeprefix)\b"
        r"|\bin [\w.]*evidence\b"
    )
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in Path(windlass.__file__).parent.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if reads.search(line)
    ]
    assert found == []
