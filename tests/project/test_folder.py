"""What lies in a repository's `.windlass` may have come with anybody's change."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass.core.errors import UserError
from windlass.project import boards, folder, pipelines


@pytest.fixture
def windlass(tmp_path: Path) -> Path:
    """The folder of a repository, beside which lies something of the person's."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "API-1.md").write_text("a plan for something else\n")
    (tmp_path / "private" / "keys.json").write_text('{"steps": "hunter2"}')
    made = tmp_path / "repo" / ".windlass"
    made.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    return made


@pytest.mark.parametrize("name", ["pipeline.json", "kanban.md", "plans/API-1.md"])
def test_a_link_that_leads_out_of_the_repository_is_not_read(windlass: Path, name: str) -> None:
    place = windlass / name
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(windlass.parents[1] / "private" / "keys.json")
    with pytest.raises(UserError, match="leads out of its repository") as refused:
        folder.read(str(place))
    assert "hunter2" not in str(refused.value)


def test_nor_is_what_lies_behind_a_folder_that_leads_out(windlass: Path) -> None:
    (windlass / "plans").symlink_to(windlass.parents[1] / "private")
    with pytest.raises(UserError, match="leads out"):
        folder.read(str(windlass / "plans" / "API-1.md"))
    assert folder.plans(str(windlass)) == frozenset()


def test_a_pipeline_and_a_board_are_read_by_the_same_rule(windlass: Path) -> None:
    for name in ("pipeline.json", "kanban.md"):
        (windlass / name).symlink_to(windlass.parents[1] / "private" / "keys.json")
    with pytest.raises(UserError, match="leads out"):
        pipelines.chosen("", str(windlass))
    with pytest.raises(UserError, match="leads out"):
        boards.read(str(windlass / "kanban.md"))


def test_a_link_within_the_repository_is_followed(windlass: Path) -> None:
    (windlass.parent / "board.md").write_text("# Board\n")
    (windlass / "kanban.md").symlink_to("../board.md")
    assert folder.read(str(windlass / "kanban.md")) == b"# Board\n"


def test_a_state_folder_of_that_name_makes_no_repository_of_the_home(windlass: Path) -> None:
    """A repository below a folder called `.windlass` is judged by its own."""
    inner = windlass / "workspaces" / "repo" / ".windlass"
    inner.mkdir(parents=True)
    (inner / "kanban.md").symlink_to("../../board.md")
    (windlass / "workspaces" / "board.md").write_text("# Board\n")
    with pytest.raises(UserError, match="leads out"):
        folder.read(str(inner / "kanban.md"))
