"""The effective priority is what an independent, slow reading of the rules says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.board import slow
from tests.core.board.generated import sound_boards

from windlass.core.board import edits, parser, priority


def listed(text: str, waits: dict[str, int], plans: set[str]) -> list[dict[str, Any]]:
    board = parser.parse(text)
    ranked = priority.ranks(board, waits=waits, plans=plans)
    return [
        {**msgspec.structs.asdict(rank), "blocked_by": list(rank.blocked_by)}
        for rank in priority.following(board, ranked)
    ]


@settings(max_examples=200, deadline=None)
@given(sound_boards(), st.data())
def test_it_equals_a_slow_reading_of_the_rules(text: str, data: st.DataObject) -> None:
    ids = [task.id for task in parser.parse(text).tasks]
    some = st.sets(st.sampled_from(ids)) if ids else st.just(set[str]())
    waits = {name: data.draw(st.integers(0, 60)) for name in sorted(data.draw(some))}
    plans = data.draw(some)
    assert listed(text, waits, plans) == slow.ranks(text, waits, plans)


def test_the_ancestors_example_is_worth_nothing() -> None:
    """HIGH with a plan, three that wait for it, one sibling under way: -6000, so 0."""
    value = priority.effective(base=10_000, waits=0, plan=True, dependents=3, siblings=1)
    assert value == 0
    assert priority.effective(base=10_000, waits=0, plan=False, dependents=1, siblings=2) == 31_284
    assert priority.effective(base=10_000, waits=1, plan=False, dependents=0, siblings=0) == 8_858


@given(sound_boards(), st.data())
def test_a_graph_of_the_time_before_a_marker_changed_gives_the_same(
    text: str, data: st.DataObject
) -> None:
    board = parser.parse(text)
    if not board.tasks:
        return
    name = data.draw(st.sampled_from([task.id for task in board.tasks]))
    marker = data.draw(st.sampled_from(" =Px*N"))
    after = parser.parse(edits.with_marker(board, name, marker))
    assert priority.ranks(after, graph=board.graph) == priority.ranks(after)


def test_what_has_a_problem_of_its_own_waits_for_no_turn_but_holds_up_others() -> None:
    text = "\n".join(
        [
            *("## TASKS", "- [=] **[AA-1]** no priority", "  - Dependencies: none"),
            *("- [ ] **[AA-2]** t", "  - Priority: LOW", "  - Dependencies: AA-1"),
            *("- [ ] **[AA-3]** t", "  - Priority: LOW"),
        ]
    )
    found = listed(text, {}, set())
    assert [(rank["id"], rank["siblings"], rank["ready"]) for rank in found] == [("AA-2", 1, False)]


@pytest.mark.parametrize("count", [1, 400])
def test_a_chain_and_a_star_count_every_task_once(count: int) -> None:
    rows = ["## TASKS"]
    for number in range(count + 1):
        needs = f"AA-{number - 1}, AA-0" if number > 1 else "AA-0" if number else "none"
        rows += [
            f"- [ ] **[AA-{number}]** t",
            "  - Priority: LOW",
            f"  - Dependencies: {needs}",
        ]
    board = parser.parse("\n".join(rows))
    assert [rank.dependents for rank in priority.ranks(board)] == list(range(count, -1, -1))
