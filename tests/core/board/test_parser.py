"""A board is read as people write it, comes back byte for byte, and each mistake has its line."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.board.generated import loose_boards, sound_boards

from windlass.core.board import checks, parser
from windlass.core.board.board import bytes_of, text_of

GOOD = """\
# Notes above

## TASKS

- [ ] **[TASK-001]** Brief description
  - Description: Detailed explanation
  - Priority: HIGH
  - Dependencies: none
- [x] **[ab-12]** Another: with colons, [links](x) and **bold**
  - Priority: LOW
  - Dependencies: TASK-001
  - Complexity: LOW
  - Agent: worker
  - Pipeline: full
  - Scope:
    - one
    - [ ] a box of its own
    - [ ] **[TASK-009]** and an id
      - deeper
  - Out of Scope:
    - two
  - Acceptance Criteria:
    - three

### Later

- [N] **[LATER-1]** Some day
  - Priority: LOW
  - Dependencies: none

## Elsewhere
- [ ] not a task
- [ ] **[TASK-050]** not one either
"""


def told(text: str) -> list[str]:
    """The problems of a board, as they are shown."""
    return [str(problem) for problem in checks.problems(parser.parse(text))]


def board(*lines: str) -> str:
    """A board with one good task below other lines."""
    return "\n".join(["## TASKS", *lines, "- [ ] **[OK-1]** fine", *REST, ""])


REST = ("  - Priority: LOW", "  - Dependencies: none")


@given(st.binary(max_size=200) | loose_boards().map(lambda text: text.encode(errors="replace")))
def test_what_was_read_is_written_byte_for_byte(data: bytes) -> None:
    assert bytes_of(parser.parse(text_of(data)).text) == data


@given(loose_boards())
def test_problems_name_lines_of_the_file_in_their_order(text: str) -> None:
    found = checks.problems(parser.parse(text))
    assert [problem.line for problem in found] == sorted(problem.line for problem in found)
    assert all(1 <= problem.line <= text.count("\n") + 1 for problem in found)
    assert all(problem.what and problem.remedy for problem in found)


@given(sound_boards())
def test_a_sound_board_has_no_problems_but_cycles_and_doubtful_dependencies(text: str) -> None:
    kinds = {problem.kind for problem in checks.problems(parser.parse(text))}
    assert kinds <= {"cycle", "not-planned", "done"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_are_no_part_of_what_a_task_says(end: str, last: bool) -> None:
    text = "\ufeff" + GOOD.replace("\n", end)
    read = parser.parse(text if last else text.removesuffix(end))
    assert [task.id for task in read.tasks] == ["TASK-001", "ab-12", "LATER-1"]
    assert not checks.problems(read)
    other = read.by_id["ab-12"]
    assert other.title == "Another: with colons, [links](x) and **bold**"
    assert other.dependencies == ("TASK-001",)
    assert other.fields["Scope"].items[1] == "- [ ] a box of its own"
    assert (other.line, other.last) == (9, 23)


MISTAKES = {
    "- [X] **[AA-1]** t": "unknown marker [X]",
    "- [] **[AA-1]** t": "unknown marker []",
    "* [ ] **[AA-1]** t": "begins with '*'",
    "1. [ ] **[AA-1]** t": "begins with '1.'",
    "- **[AA-1]** t": "without a box",
    "- [ ] **[A-1]** t": "bad id 'A-1'",
    "- [ ] **[AA-12345]** t": "bad id 'AA-12345'",
    "- [ ] **[ABCDEFGHIJK-1]** t": "bad id",
    "- [ ] **[AA-\u0661]** t": "bad id",
    "- [ ] **[AA1]** t": "bad id 'AA1'",
    "- [ ] AA-1 t": "is not written as **[AA-1]**",
    "- [ ] buy milk": "without an id",
    "- [ ] **[AA-1]**t": "no blank after",
    "-  [ ] **[AA-1]** t": "the blanks",
    "- [ ]**[AA-1]** t": "the blanks",
    " - [ ] **[AA-1]** t": "bad indentation",
    "\t- [ ] **[AA-1]** t": "bad indentation",
    "    - [ ] **[AA-1]** t": "bad indentation",
    "  - Priority: LOW": "Priority stands below no task",
    "## TASKS": "a second heading",
    "\udcff": "no UTF-8",
    "a\0b": "zero byte",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_line_that_is_no_task_is_named_with_its_number(line: str) -> None:
    found = told(board(line))
    assert len(found) == 1
    assert found[0].startswith("line 2: ")
    assert MISTAKES[line] in found[0]
    assert "; " in found[0]


BAD_FIELDS = {
    ("  - Dependencies: none",): "line 2: AA-1 has no Priority",
    ("  - Priority: LOW",): "line 2: AA-1 has no Dependencies",
    ("  - Priority: low", REST[1]): "line 3: bad priority 'low'",
    ("  - Priority:", REST[1]): "line 3: Priority is empty",
    (REST[0], "  - Dependencies:"): "line 4: Dependencies is empty",
    (REST[0], "  - Dependencies: OK-1 OK-2"): "line 4: bad dependency 'OK-1 OK-2'",
    (REST[0], "  - Dependencies: none, OK-1"): "line 4: bad dependency 'none'",
    (REST[0], "  - Dependencies: OK-1,"): "line 4: warning: a comma",
    (REST[0], "  - Dependencies: OK-1, OK-1"): "line 4: warning: a dependency is named twice",
    (REST[0], "  - Dependencies: NO-9"): "line 4: AA-1 depends on NO-9, which is no task",
    (REST[0], "  - Dependencies: ok-1"): "did you mean OK-1?",
    (REST[0], "  - Dependencies: AA-1"): "line 4: dependency cycle AA-1 -> AA-1",
    (REST[0], REST[0], REST[1]): "line 4: Priority for a second time (line 3)",
    (" - Priority: LOW", REST[1]): "line 3: bad indentation: Priority is indented by 1 blank",
    ("   - Priority: LOW", REST[1]): "line 3: bad indentation: Priority is indented by 3 blanks",
    ("\t- Priority: LOW", REST[1]): "line 3: bad indentation: Priority is indented by a tab",
    ("    - Priority: LOW", REST[1]): "line 3: bad indentation: Priority is indented by 4",
    (REST[1], "    - Priority: LOW"): "line 4: bad indentation: Priority is indented by 4",
    ("  * Priority: LOW", REST[1]): "line 3: Priority is not written as a field",
    (*REST, "  - Scope:", "\t- item"): "line 6: bad indentation: a list is indented by a tab",
    (*REST, "   - item"): "line 5: bad indentation: a list is indented by 3 blanks",
    (*REST, "  - Colour: blue"): "line 5: warning: unknown field 'Colour'",
    (*REST, "  - [ ] a box"): "line 5: warning: a box in no field's list",
    (*REST, "  - [ ] **[AA-2]** t"): "line 5: bad indentation: a task is indented",
    ("  - [ ] **[AA-2]** t", *REST): "line 3: bad indentation: a task is indented",
}


@pytest.mark.parametrize("lines", BAD_FIELDS)
def test_what_is_wrong_below_a_task_is_one_problem_with_its_line(lines: tuple[str, ...]) -> None:
    found = told(board("- [ ] **[AA-1]** t", *lines))
    assert len(found) == 1
    assert BAD_FIELDS[lines] in found[0]


def test_a_title_may_not_be_empty() -> None:
    assert told(board("- [ ] **[AA-1]** ", *REST)) == [
        "line 2: AA-1 has no title; write what is to be done"
    ]


def test_of_several_tasks_with_one_id_the_first_counts_and_the_others_name_it() -> None:
    text = board("- [ ] **[OK-1]** first", *REST)
    assert [task.line for task in parser.parse(text).tasks] == [2]
    assert told(text)[0].startswith("line 5: duplicate id OK-1: line 2 has it too")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "there is no heading ## TASKS"),
        ("# A\n\n## Tasks\n", 3, "only '## Tasks'"),
        ("# TASKS\n", 1, "only '# TASKS'"),
        ("```\n## TASKS\n", 1, "a fence of code begins here"),
        ("## TASKS\n<!-- ever\n- [ ] **[AA-1]** t\n", 2, "a comment begins here"),
    ],
)
def test_a_board_whose_tasks_cannot_be_found_says_why(text: str, line: int, words: str) -> None:
    assert any(said.startswith(f"line {line}: ") and words in said for said in told(text))


def test_code_and_comments_hold_neither_tasks_nor_headings() -> None:
    hidden = ["```md", "## TASKS", "- [ ] **[AA-1]** code", "  - Priority: LOW", "```", "<!--"]
    hidden += ["- [ ] **[AA-2]** comment", "-->", "~~~", "```", "- [ ] **[AA-3]** x", "~~~"]
    read = parser.parse("\n".join(hidden) + "\n" + board(*hidden))
    assert [task.id for task in read.tasks] == ["OK-1"]
    assert not checks.problems(read)


def test_code_inside_a_task_ends_with_it() -> None:
    lines = ["- [ ] **[AA-1]** t", *REST, "  - Description: so", "    ```", "    - Priority: HIGH"]
    read = parser.parse(board(*lines))
    assert [task.id for task in read.tasks] == ["AA-1", "OK-1"]
    assert read.tasks[0].priority == "LOW"
    assert not checks.problems(read)


def test_a_comment_folds_finished_tasks_away_wherever_it_stands() -> None:
    task = ("- [ ] **[AA-1]** t", "  - Priority: LOW", "  - Dependencies: GONE-1, A-1, GONE-3")
    for comment in ("<!-- done: GONE-1, A-1,\n  GONE-3 -->", "<!--done:GONE-1 A-1 GONE-3-->"):
        assert not told(comment + "\n" + board(*task))
        assert not told(board(*task) + "\n## End\nsee " + comment)
    assert len(told("```\n<!-- done: GONE-1, A-1, GONE-3 -->\n```\n" + board(*task))) == 3


def test_a_cycle_is_named_in_full_and_once() -> None:
    rows = []
    for name, need in (("AA-1", "AA-2"), ("AA-2", "AA-3"), ("AA-3", "AA-1"), ("BB-1", "AA-1")):
        rows += [f"- [ ] **[{name}]** t", "  - Priority: LOW", f"  - Dependencies: {need}"]
    assert told(board(*rows)) == [
        "line 4: dependency cycle AA-1 -> AA-2 -> AA-3 -> AA-1; take one of these dependencies out"
    ]


BAD_LINES = {
    "- [X] **[AA-1]** t": ("unknown marker [X]", "AA-1"),
    "- [ ] **[A-1]** t": ("bad id 'A-1'", "this task"),
    "- [ ] **[OK-1]** t": ("duplicate id OK-1", "OK-1"),
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_first_line_hides_nothing_of_what_is_wrong_below_it(line: str) -> None:
    what, who = BAD_LINES[line]
    good = ["- [ ] **[OK-1]** fine", *REST]
    found = told(board(*good, line, "  - Priority: urgent", "  - Dependencies: NO-9, OK-1 OK-1"))
    found = [said for said in found if not said.startswith("line 8: ")]
    assert [said.partition(";")[0] for said in found] == [
        f"line 5: {what}" + (": line 2 has it too" if who == "OK-1" else ""),
        "line 6: bad priority 'urgent'",
        "line 7: bad dependency 'OK-1 OK-1'",
        f"line 7: {who} depends on NO-9, which is no task of the board",
    ]
    found = told(board(*good, line, "  - Priority: LOW"))
    assert any(said.startswith(f"line 5: {who} has no Dependencies") for said in found)


def test_all_that_is_wrong_with_a_first_line_is_named() -> None:
    assert [said.partition(";")[0] for said in told(board("* [?] **[A-1]** t"))] == [
        "line 2: a task that begins with '*'",
        "line 2: unknown marker [?]",
        "line 2: bad id 'A-1'",
    ]


def waiting(needs: dict[str, str]) -> str:
    rows = []
    for name, need in needs.items():
        rows += [f"- [ ] **[{name}]** t", "  - Priority: LOW", f"  - Dependencies: {need}"]
    return board(*rows)


def test_cycles_that_share_a_task_are_all_named() -> None:
    found = told(waiting({"AB-1": "AB-2", "AB-2": "AB-1, AB-3", "AB-3": "AB-2"}))
    assert [said.partition(";")[0] for said in found] == [
        "line 4: dependency cycle AB-1 -> AB-2 -> AB-1",
        "line 7: dependency cycle AB-2 -> AB-3 -> AB-2",
    ]


def test_a_cycle_through_a_task_with_a_wrong_marker_is_named_at_once() -> None:
    text = waiting({"AB-1": "AB-2", "AB-2": "AB-1"}).replace("[ ] **[AB-2]", "[?] **[AB-2]")
    assert [said.partition(";")[0] for said in told(text)] == [
        "line 4: dependency cycle AB-1 -> AB-2 -> AB-1",
        "line 5: unknown marker [?]",
    ]


def test_a_knot_of_thousands_is_told_in_a_few_lines() -> None:
    needs = {f"AA-{n}": f"AA-{(n + 1) % 5000}, AA-{(n + 7) % 5000}" for n in range(5000)}
    found = told(waiting(needs))
    assert len(found) == 21
    assert "more dependencies lie on cycles with AA-0" in "".join(found)


def test_thousands_of_mistakes_are_told_as_fast_as_none() -> None:
    rows = ["## TASKS"]
    for number in range(6_000):
        needs = f"  - Dependencies: ZZ-{number}, aa-{number}"
        rows += [f"- [ ] **[AA-{number}]** t", "  - Priority: LOW", needs]
    found = checks.problems(parser.parse("\n".join(rows)))
    assert len(found) == 12_000
    assert found[-1].remedy == "did you mean AA-5999?"


def test_twenty_thousand_lines_and_a_chain_of_all_tasks_are_no_trouble() -> None:
    rows = ["## TASKS"]
    for number in range(5000):
        need = f"AA-{number - 1}" if number else "AA-4999"
        rows += [f"- [ ] **[AA-{number}]** t", "  - Priority: LOW", f"  - Dependencies: {need}", ""]
    found = checks.problems(parser.parse("\n".join(rows)))
    assert [problem.kind for problem in found] == ["cycle"]
    assert found[0].what.count("->") == 5000


@pytest.mark.parametrize(
    "line", ["## x{}y", "#{}#{}y", "  - A{}y", "  - Priority{}y", "- [ ]{}y", "  -{}y", "<!--{}y"]
)
def test_a_line_takes_no_more_time_than_its_length(line: str) -> None:
    blanks = " " * 200_000
    began = time.process_time()
    parser.parse(f"## TASKS\n- [ ] **[AA-1]** one\n{line.format(blanks, blanks)}\n")
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("   ## TASKS", True),
        ("## TASKS ##", True),
        ("## TASKS\t#####  ", True),
        ("##  TASKS", True),
        ("##TASKS", False),
        ("## TASKS##", False),
        ("## TASKS # #", False),
        ("    ## TASKS", False),
        ("####### TASKS", False),
    ],
)
def test_a_heading_is_what_markdown_says(line: str, counts: bool) -> None:
    read = parser.parse(f"{line}\n- [ ] **[AA-1]** one\n  - Priority: LOW\n")
    assert bool(read.tasks) == counts
