"""What agents write is text to whoever is prompted with it."""

from __future__ import annotations

import pytest

from windlass.core.mail import mentions


@pytest.mark.parametrize("goal", ["/add-dir /", "\ufeff/clear", "\u3000!ls", "# 1", "?!"])
def test_a_prompt_by_an_agent_is_no_command(goal: str) -> None:
    assert mentions.as_prompt(goal) == f"Goal: {goal}"


@pytest.mark.parametrize("goal", ["fix a/b", "(a) b!", "`x` #1", "漢 /x"])
def test_other_prompts_stay_as_they_are(goal: str) -> None:
    assert mentions.as_prompt(goal) == goal


def test_a_prompt_names_no_file_to_be_read_along() -> None:
    assert mentions.as_prompt("/x @y a@b.org") == "Goal: /x @ y a@b.org"
