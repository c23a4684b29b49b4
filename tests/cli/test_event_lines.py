"""`wl log` says what happened in sentences, and with --all everything that was recorded."""

from __future__ import annotations

import time
from string import Formatter
from typing import Any

import pytest
from tests.cli.told import Told

from windlass.cli import event_lines
from windlass.cli.commands import log
from windlass.core import log_kinds
from windlass.core.events import KINDS

LANDED: dict[str, Any] = {
    "id": 1, "at": 0.0, "kind": "change.landed", "repo": "r", "agent": None, "subject": "change:c7",
    "data": {"change": "c7", "target": "main", "commit": "ab" * 20, "tree": "t", "was": "w"},
}  # fmt: skip


def test_every_sentence_is_of_an_event_that_has_what_it_names() -> None:
    """A kind without one is shown with what it carries."""
    for kind, form in event_lines._SENTENCES.items():  # noqa: SLF001 - the table itself
        named = {name for _, name, _, _ in Formatter().parse(form) if name}
        assert named <= {*KINDS[kind].__struct_fields__}, kind
    assert {*KINDS} >= log_kinds.WORKS >= {"intent.open", "job.effect"}


def test_an_event_is_a_sentence_and_with_all_it_is_what_was_recorded(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Of long ago with its day; ids of git's are short for people."""
    call = Told(log, log=lambda _: [LANDED])
    log.run(call)
    assert call.asked[0][1]["plain"] is True
    said = capsysbinary.readouterr().out.decode()
    assert said.startswith(time.strftime("%b %d", time.localtime(0)))
    assert said.endswith("c7              landed on main as abababababab\n")
    note = {**LANDED, "kind": "note", "agent": "fox", "data": {"text": "one\n  two", "by": "user"}}
    log.run(Told(log, log=lambda _: [note]))
    assert capsysbinary.readouterr().out.endswith(b"user notes: one two\n"), "one line"
    call = Told(log, "--all", log=lambda _: [LANDED])
    log.run(call)
    assert "plain" not in call.asked[0][1]
    assert "change.landed" in (said := capsysbinary.readouterr().out.decode())
    assert f"commit={'ab' * 20}" in said
