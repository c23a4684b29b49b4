"""Whose agents a name means, by where it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.workshop import Workshop, git

from windlass.core.errors import NotFound, UserError


@pytest.fixture
def elsewhere(workshop: Workshop, tmp_path: Path) -> str:
    """A git repository that Windlass does not know; in the one that it knows is an agent."""
    workshop.ask("spawn", goal="g", name="fox", driver="standin")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    git(folder, "init", "-q")
    return str(folder)


@pytest.mark.parametrize("name", ["fox", "fo"])
@pytest.mark.parametrize("verb", ["look", "info", "why", "merge", "log", "pause"])
def test_in_a_repository_nobody_of_another_one_is_found_by_name(
    workshop: Workshop, elsewhere: str, verb: str, name: str
) -> None:
    with pytest.raises(NotFound, match=f"no agent '{name}'"):
        workshop.ask(verb, cwd=elsewhere, agent=name)
    with pytest.raises(NotFound, match=f"no agent '{name}'"):
        workshop.ask("end", cwd=elsewhere, agents=[name])


def test_in_an_unknown_repository_nothing_of_others_is_shown(
    workshop: Workshop, elsewhere: str
) -> None:
    assert workshop.ask("agents", cwd=elsewhere) == []
    assert workshop.ask("log", cwd=elsewhere) == []
    workshop.ask("end", agents=["fox"])
    assert workshop.ask("archives")
    assert workshop.ask("archives", cwd=elsewhere) == []
    with pytest.raises(UserError, match="not in a repository"):
        workshop.ask("end", cwd=elsewhere, agents=[], tree=True)


def test_outside_of_any_repository_everybody_is_found(
    workshop: Workshop, elsewhere: str, tmp_path: Path
) -> None:
    outside = str(tmp_path)
    assert workshop.ask("why", cwd=outside, agent="fo")["id"] == "fox"
    assert workshop.ask("log", cwd=outside)
    assert [a["id"] for a in workshop.ask("agents", cwd=elsewhere, all_repos=True)] == ["fox"]
