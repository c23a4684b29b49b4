"""A skill of ours is known by its last line, and is somebody's own as soon as it was changed."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.board import checks, parser
from windlass.core.person import own_skill

SKILL = resources.files("windlass.data") / "claude" / "skills" / "kanban" / "SKILL.md"


@given(st.text(), st.text(min_size=1))
def test_what_was_sealed_is_ours_until_somebody_writes_in_it(text: str, more: str) -> None:
    sealed = own_skill.sealed(text)
    assert own_skill.is_ours(sealed)
    assert not own_skill.is_ours(more + sealed)
    assert not own_skill.is_ours(sealed + more)


@pytest.mark.parametrize("text", ["", "mine", "<!-- windlass 0123456789abcdef -->\n"])
def test_what_has_no_seal_of_its_own_is_nobodys(text: str) -> None:
    assert not own_skill.is_ours(text)


def test_the_example_that_it_teaches_is_a_sound_board() -> None:
    (example,) = re.findall(r"```markdown\n(.*?)```", SKILL.read_text("utf-8"), re.DOTALL)
    board = parser.parse(example)
    assert checks.problems(board) == []
    assert len(board.tasks) == 2
