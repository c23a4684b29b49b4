"""The question before something that cannot be taken back by itself."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.cli.told import Terminal, Told

from windlass.cli.commands import (
    drivers,
    kill,
    merge,
    nuke,
    trash,
    trust,
)
from windlass.core.errors import UserError


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (kill, ["a"]),
        (nuke, ["a"]),
        (merge, ["a"]),
        (trash, ["empty"]),
        (drivers, ["trust"]),
        (trust, []),
    ],
)
def test_every_question_is_skipped_by_the_same_word(module: Any, words: list[str]) -> None:
    for word in ("-y", "--yes", "-f", "--force"):
        assert Told(module, *words, word).args.force
    assert not Told(module, *words).args.force


class Interrupted(Terminal):
    """A terminal on which somebody presses Ctrl-C."""

    def readline(self, *_: object) -> str:  # type: ignore[override]
        """Never gets a line."""
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stdin", "raised"), [(Interrupted(), KeyboardInterrupt), (Terminal(""), UserError)]
)
def test_who_breaks_off_at_a_question_has_the_next_line_to_themselves(
    stdin: Terminal,
    raised: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(raised):
        Told(nuke).confirm("end it?")
    assert capsysbinary.readouterr().err == b"end it? [y/N] \n"
