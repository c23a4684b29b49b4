"""Who is begun in a round: who collides waits, who waits takes nobody's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.core.board import parser
from windlass.core.runs import admission
from windlass.core.runs.admission import Admission

BOARD = "## TASKS\n\n" + "".join(
    f"- [ ] **[TT-{n}]** Do {n}\n  - Priority: HIGH\n  - Dependencies: none\n" for n in range(1, 5)
)


def choose(**more: Any) -> Admission:
    given: dict[str, Any] = {"plans": (), "waits": {}, "running": (), "at_work": 0, "workers": 2}
    return admission.choose(parser.parse(BOARD), **{**given, **more})


def test_who_collides_takes_nobodys_place_and_waits_with_a_reason() -> None:
    def collides(name: str, beside: Sequence[str]) -> str:
        return "TT-1 works on a.py" if name == "TT-2" and "TT-1" in beside else ""

    chosen = choose(collides=collides)
    assert chosen.start == ("TT-1", "TT-3")
    assert chosen.postponed == {"TT-2": "TT-1 works on a.py"}
    assert chosen.waits == {"TT-2": 1, "TT-4": 1}


def test_nobody_begins_while_something_holds_all_of_them() -> None:
    chosen = choose(held="the day's money is spent")
    assert (chosen.start, chosen.held) == ((), "the day's money is spent")
    assert len(chosen.waiting) == 4


def test_a_crew_that_writes_faster_than_it_lands_says_so() -> None:
    chosen = choose(running=["A-1", "A-2", "A-3", "A-4"], at_work=0)
    assert chosen.start == ()
    assert chosen.held == "4 tasks wait to land"
