"""`wl board`, `wl pipeline` and `wl dev lifecycle` answer about files alone: no daemon, no repo."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from windlass.api import calls
from windlass.cli.main import main

BOARD = """\
# Work
<!-- done: OLD-1 -->

## TASKS

- [ ] **[API-001]** Read files
  - Priority: HIGH
  - Dependencies: OLD-1
- [=] **[API-002]** Write files
  - Priority: LOW
  - Dependencies: none
- [ ] **[WEB-001]** Show files
  - Priority: CRITICAL
  - Dependencies: API-001, API-002
  - Acceptance Criteria:
    - [ ] a box of its own

## Notes
- [ ] **[NOT-001]** none of ours
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("a daemon was asked")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(calls, "ask", asked)


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """The board of the folder that the test is in."""
    path = tmp_path / ".windlass" / "kanban.md"
    path.parent.mkdir()
    path.write_text(BOARD)
    return path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a command prints that ends with this code."""
    ended = main([*words])
    out, err = capsys.readouterr()
    assert ended == code, (out, err)
    assert "nobody foresaw" not in err
    assert bool(err) >= (code not in (0, 3)), "a failure says something"
    return out


def data(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    return json.loads(said(capsys, *words, "--json", code=code))


def test_alone_it_shows_the_board(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert board.exists()
    assert said(capsys, "board") == said(capsys, "board", "list")
    assert data(capsys, "board") == data(capsys, "board", "list", str(board))


@pytest.mark.parametrize("words", [(), ("list",), ("next",), ("validate",), ("show", "AA-1")])
def test_where_there_is_no_board_it_says_so_and_makes_nothing(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "board", *words, code=8)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("file", ["/", "/dev/zero", ".", "nothing.md", "a\nb"])
@pytest.mark.parametrize(
    "verb",
    [("board", "next"), ("board", "validate"), ("dev", "lifecycle", "check"),
     ("pipeline", "validate"), ("pipeline", "simulate")],
)  # fmt: skip
def test_what_is_no_file_of_text_is_an_error_in_words(
    verb: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*verb, file])
    out, err = capsys.readouterr()
    assert code in (2, 3, 8), (out, err)
    assert "nobody foresaw" not in err


def test_next_has_every_term_and_the_ready_ones_first(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = board.parent / "plans"
    plans.mkdir()
    (plans / "API-001.md").write_text("how")
    assert data(capsys, "board", "next", "--waits", "API-001=14,WEB-001=1") == [
        {
            "id": "API-001",
            "effective": 0,
            "base": 10_000,
            "plan": True,
            "aging": 16_000,
            "dependents": 1,
            "siblings": 1,
            "ready": True,
            "blocked_by": [],
        },
        {
            "id": "WEB-001",
            "effective": 0,
            "base": 0,
            "plan": False,
            "aging": 1_142,
            "dependents": 0,
            "siblings": 0,
            "ready": False,
            "blocked_by": ["API-001", "API-002"],
        },
    ]
    assert board.read_text() == BOARD


def test_a_board_elsewhere_has_the_plans_around_it(
    board: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "docs").mkdir()
    (elsewhere / ".windlass" / "plans").mkdir(parents=True)
    (elsewhere / ".windlass" / "plans" / "WEB-001.md").write_text("how")
    other = elsewhere / "docs" / "work.md"
    other.write_text(board.read_text())
    plans = {rank["id"]: rank["plan"] for rank in data(capsys, "board", "next", str(other))}
    assert plans == {"API-001": False, "WEB-001": True}


def test_a_board_comes_from_stdin_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BOARD.encode())))
    assert [task["id"] for task in data(capsys, "board", "list", "-")] == [
        *("API-001", "API-002", "WEB-001")
    ]


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("[WEB-001]", "[W-1]"), 12, "bad id 'W-1'"),
        (("[WEB-001]", "[API-001]"), 12, "duplicate id API-001: line 6 has it too"),
        (("CRITICAL", "URGENT"), 13, "bad priority 'URGENT'"),
        (("  - Priority: LOW\n", ""), 9, "API-002 has no Priority"),
        (("  - Priority: LOW", "   - Priority: LOW"), 10, "bad indentation"),
        (("OLD-1\n-", "OLD-2\n-"), 8, "API-001 depends on OLD-2, which is no task"),
        (("none", "WEB-001"), 11, "dependency cycle API-002 -> WEB-001 -> API-002"),
        (("[=]", "[y]"), 9, "unknown marker [y]"),
        (("## TASKS", "## Tasks"), 4, "there is no heading ## TASKS, only '## Tasks'"),
    ],
)
def test_each_problem_is_one_line_with_its_number_and_ends_with_3(
    change: tuple[str, str],
    line: int,
    words: str,
    board: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert change[0] in BOARD
    board.write_text(BOARD.replace(*change, 1))
    printed = said(capsys, "board", "validate", code=3).splitlines()
    (found,) = [text for text in printed if words in text]
    assert found.startswith(f"line {line}: ")
    assert "; " in found
    reply = data(capsys, "board", "validate", str(board), code=3)
    assert not reply["valid"]
    assert len(reply["problems"]) == len(printed)
    assert line in [problem["line"] for problem in reply["problems"]]


def test_roles_and_pipelines_that_are_not_there_are_warnings(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roles, pipelines = board.parent / "roles", board.parent / "pipelines"
    roles.mkdir()
    pipelines.mkdir()
    (roles / "mine.md").write_text("mine")
    (pipelines / "own.json").write_text("{}")
    rows = ["## TASKS"]
    for number, more in enumerate(
        (
            *("Agent: mine", "Agent: security-audit", "Agent: nobody"),
            *("Pipeline: own", "Pipeline: full", "Pipeline: gone", "Pipeline: -"),
        )
    ):
        rows += [f"- [ ] **[AA-{number}]** t", "  - Priority: LOW", "  - Dependencies: none"]
        rows += [f"  - {more}"]
    board.write_text("\n".join(rows))
    found = data(capsys, "board", "validate")["problems"]
    assert [(one["line"], one["level"], one["kind"]) for one in found] == [
        (13, "warning", "agent"),
        (25, "warning", "pipeline"),
        (29, "warning", "pipeline"),
    ]


def test_a_binary_file_is_told_by_a_few_lines(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board.write_bytes(bytes(range(256)) * 400)
    printed = said(capsys, "board", "validate", code=3).splitlines()
    assert len(printed) < 20
    assert all(text.startswith("line ") for text in printed)
    assert "more lines from here on are no text" in "".join(printed)
    assert data(capsys, "board", "next") == []


def test_a_new_task_gets_the_next_free_id_and_nothing_else_moves(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = data(capsys, "board", "add", "Sort files", "--prefix", "API", "--depends", "WEB-001")
    assert reply["id"] == "API-003"
    added = "- [ ] **[API-003]** Sort files\n  - Priority: MEDIUM\n  - Dependencies: WEB-001\n"
    assert board.read_text() == BOARD.replace("\n## Notes", f"{added}\n## Notes")
    said(capsys, "board", "validate")


def test_a_marker_is_one_letter_and_another_than_the_known_one_stays(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "board", "mark", "API-001", "=", "--was", " ")
    said(capsys, "board", "mark", "API-002", "x", "--was", " ", code=14)
    assert board.read_text() == BOARD.replace("[ ] **[API-001]", "[=] **[API-001]")


def test_sorting_moves_whole_tasks_and_a_dry_run_none(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = data(capsys, "board", "sort", "--dry-run")
    assert reply == {"changed": True, "order": ["WEB-001", "API-001", "API-002"]}
    assert board.read_text() == BOARD
    said(capsys, "board", "sort")
    assert sorted(board.read_text().split("\n")) == sorted(BOARD.split("\n"))
    assert board.read_text().endswith(BOARD[BOARD.index("\n## Notes") :])
    assert not data(capsys, "board", "sort")["changed"]


def test_bytes_that_are_no_text_go_nowhere_as_they_are(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = b"## TASKS\n- [ ] **[AA-1]** t\xff\x1b[31m\n  - Priority: LOW\n  - Dependencies: none\n"
    board.write_bytes(odd + b"  - Fi\x1b[31meld\xed: \x00\n  - Description: \xff\n")
    for words in (("list",), ("next",), ("validate",), ("show", "AA-1"), ("sort", "--dry-run")):
        for more in ((), ("--json",)):
            assert main(["board", *words, *more]) in (0, 3)
            out, err = capsys.readouterr()
            assert "nobody foresaw" not in err
            assert not {"\x1b", "\x00"} & {*out, *err}
            assert not any("\udc80" <= letter <= "\udcff" for letter in out + err)
    assert main(["plan", "AA-1"]) == 0
    assert b"\xff" in (board.parent / "plans" / "AA-1.md").read_bytes()


def test_a_task_is_shown_with_who_waits_for_it(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert board.exists()
    reply = data(capsys, "board", "show", "API-001")
    assert (reply["needed_by"], reply["rank"]["ready"]) == (["WEB-001"], True)
    said(capsys, "board", "show", "api-001", code=8)


@pytest.mark.parametrize("verb", [("list",), ("next",), ("validate",), ("show", "API-001")])
def test_a_board_can_be_named_in_two_ways(
    verb: tuple[str, ...], board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = board.rename("other.md")
    for named in (("other.md",), ("--file", "other.md")):
        assert said(capsys, "board", *verb, *named)
        said(capsys, "board", *verb, *(word.replace("other", "none") for word in named), code=8)
    assert other.read_text() == BOARD


@pytest.mark.parametrize("verb", [("add", "x"), ("mark", "API-001", "x"), ("sort",)])
def test_stdin_is_not_written(
    verb: tuple[str, ...], board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "board", *verb, "--file", "-", code=2)
    assert board.read_text() == BOARD
    assert not Path("-").exists()


@pytest.mark.parametrize("waits", ["API-001", "API-001=-1", "API-001=x", "=3", "AA-1=" + "9" * 99])
def test_rounds_that_are_no_number_are_a_mistake_of_the_command_line(
    waits: str, board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert board.exists()
    said(capsys, "board", "next", "--waits", waits, code=2)


def test_nothing_of_this_leaves_anything_behind(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("list",), ("next",), ("validate",), ("sort", "--dry-run")):
        said(capsys, "board", *words)
    assert [*board.parent.iterdir()] == [board]
    assert [*Path().iterdir()] == [Path(".windlass")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", [BOARD.partition("\n## Notes")[0], "## TASKS\n", "# Work\n"])
def test_a_file_without_a_last_line_end_has_none_with_a_new_task_either(
    text: str, end: str, board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for last in ("", end):
        was = text.rstrip("\n").replace("\n", end) + last
        board.write_bytes(was.encode())
        data(capsys, "board", "add", "one more", "--id", "NEW-1")
        now = board.read_bytes().decode()
        assert now.startswith(was)
        assert now.endswith(f"Dependencies: none{last}")
        assert now.count("\r") == (now.count("\n") if was.count("\r") else 0)


@pytest.mark.parametrize(
    "verb", [("validate",), ("list",), ("next",), ("sort",), ("show", "API-1")]
)
def test_a_board_that_is_named_twice_is_no_request(
    verb: tuple[str, ...], board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "two boards" in refused(capsys, "board", *verb, str(board), "--file", "other.md")


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("## TASKS\n\n<!-- later\n", "line 3: a comment begins here"),
        ("## TASKS\n\n```sh\nmake\n", "line 3: a fence of code begins here"),
        ("<!-- notes\n", "line 1: a comment begins here"),
    ],
)
def test_no_task_is_written_where_it_would_be_none(
    text: str, line: str, board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board.write_text(text)
    refused = main(["board", "add", "something"])
    assert (refused, board.read_text()) == (3, text)
    assert line in capsys.readouterr().err


def test_a_title_that_finishes_other_tasks_is_not_written(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["board", "add", "see <!-- done: API-001 -->"]) == 3
    assert "line 17: what would be written here" in capsys.readouterr().err
    assert board.read_text() == BOARD


@pytest.mark.parametrize("data_", [BOARD.encode("utf-16"), BOARD.encode() + b"caf\xe9\n"])
def test_a_task_is_not_added_in_another_encoding(
    data_: bytes, board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board.write_bytes(data_)
    assert main(["board", "add", "something"]) == 3
    assert "this is no UTF-8 text" in capsys.readouterr().err
    assert board.read_bytes() == data_
    board.write_text(BOARD)
    assert main(["board", "add", "caf\udce9"]) == 3
    assert board.read_text() == BOARD


def test_an_order_that_changes_what_tasks_say_is_not_written(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "  - Priority: {}\n  - Dependencies: none\n"
    text = f"## TASKS\n- [ ] **[AA-1]** a\n{rest.format('LOW')}"
    text += f"- [ ] **[AA-2]** b\n{rest.format('HIGH')}  <!-- never closed\n"
    board.write_text(text)
    assert main(["board", "sort"]) == 3
    assert "line 8: a comment begins here" in capsys.readouterr().err
    assert board.read_text() == text


@pytest.mark.parametrize(
    "words",
    [
        ("board", "list", "no\nwl: such"),
        ("board", "show", "no\nwl: such"),
        ("board", "mark", "no\nwl: such", "x"),
        ("board", "mark", "API-001", "x", "--file", "no\nwl: such"),
        ("plan", "no\nwl: such"),
        ("pipeline", "show", "no\nwl: such"),
        ("pipeline", "show", "broken\nwl: such"),
        ("pipeline", "roles", "no\nwl: such"),
        ("pipeline", "show", "--svg", "broken\nwl: such"),
        ("dev", "lifecycle", "check", "broken\nwl: such"),
        ("board", "list", "-C", "no\nwl: such"),
    ],
)
def test_a_name_makes_no_line_of_its_own(
    words: tuple[str, ...], board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (board.parent.parent / "broken\nwl: such").write_text("{")
    assert main([*words]) not in (0, 1)
    assert "\nwl: such" not in capsys.readouterr().err


def test_of_a_pipeline_that_tasks_name_no_more_is_asked_than_whether_it_is_there(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (board.parent / "pipelines").mkdir()
    with (board.parent / "pipelines" / "big.json").open("wb") as file:
        file.truncate(33 << 20)
    board.write_text(BOARD.replace("API-001, API-002", "API-001\n  - Pipeline: big"))
    found = data(capsys, "board", "validate")["problems"]
    assert [problem for problem in found if problem["kind"] == "pipeline"] == []
