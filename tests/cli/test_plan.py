"""`wl plan TASK` makes the file of a plan once, from what the board says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from windlass.cli.main import main

BOARD = """\
<!-- done: OLD-1 -->
## TASKS
- [x] **[API-001]** Read files
  - Priority: HIGH
  - Dependencies: none
- [ ] **[API-002]** Sort files
  - Description: By name,
    and then by size
  - Priority: LOW
  - Dependencies: API-001, OLD-1, GONE-1
  - Scope:
    - [ ] names
    - sizes
  - Out of Scope: dates
  - Acceptance Criteria:
    - [x] sorted
"""


@pytest.fixture(autouse=True)
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".windlass" / "kanban.md"
    path.parent.mkdir()
    path.write_text(BOARD)
    return path


def test_it_begins_with_what_the_task_says_and_counts_at_once(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "API-002", "--json"]) == 0
    path = board.parent / "plans" / "API-002.md"
    assert json.loads(capsys.readouterr().out) == {
        "task": "API-002", "path": str(path), "made": True,
    }  # fmt: skip
    text = path.read_text()
    assert text.startswith("# API-002: Sort files\n\nBy name,\nand then by size\n\n## Scope\n\n")
    for line in (
        *("- [ ] names", "- [ ] sizes", "- dates", "- [ ] sorted", "## Steps"),
        *("- API-001: Read files (complete)", "- OLD-1 (complete)"),
        "- GONE-1 (no task of the board)",
    ):
        assert line in text.splitlines()
    assert board.read_text() == BOARD
    assert main(["board", "next", "--json"]) == 0
    assert [rank["plan"] for rank in json.loads(capsys.readouterr().out)] == [True]


def test_one_that_is_there_stays(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = board.parent / "plans" / "API-001.md"
    path.parent.mkdir()
    path.write_text("mine")
    assert main(["plan", "API-001"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{path}\n"
    assert "stays as it is" in err
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("API-009",), 8),
        (("api-002",), 8),
        (("../x",), 8),
        ((), 2),
        (("API-001", "--file", "x"), 8),
    ],
)
def test_what_is_no_task_is_said(
    words: tuple[str, ...], code: int, board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) == code
    assert "nobody foresaw" not in capsys.readouterr().err
    assert [*board.parent.iterdir()] == [board]


def test_no_link_is_written_through(board: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (board.parent / "plans").symlink_to(other)
    assert main(["plan", "API-001"]) == 3
    assert [*other.iterdir()] == []
