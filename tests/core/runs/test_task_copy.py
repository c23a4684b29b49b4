"""What of a task a run works from."""

from __future__ import annotations

import pytest

from windlass.core import texts
from windlass.core.board import parser
from windlass.core.errors import ConfigError
from windlass.core.runs import task_copy

BOARD = "# Board\n\n## TASKS\n\n- [ ] **[AB-1]** Short\n  - Description: {}\n  - Priority: LOW\n"


def test_a_task_that_says_more_than_a_prompt_should_is_no_runs() -> None:
    """Its run would carry all of it through everything that becomes of it."""
    boards = (parser.parse(BOARD.format("x" * n)) for n in (50_000, texts.LONGEST))
    short, long = (task_copy.of(board.by_id["AB-1"]) for board in boards)
    assert task_copy.require_short(short) is short
    with pytest.raises(ConfigError, match=r"AB-1 has 1000\d\d characters") as refused:
        task_copy.require_short(long)
    assert ".windlass/plans/AB-1.md" in refused.value.hint
