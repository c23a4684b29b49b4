"""The table says something about every attack, and the docs say the same."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.ground import Ground

from windlass.core import redteam

_PAGE = Path(__file__).parents[2] / "docs" / "isolation.md"


def test_there_are_forty_eight_lines_and_each_says_how_it_ends_at_every_level() -> None:
    lines = redteam.table()
    assert [line.number for line in lines] == [*range(1, 45), *range(70, 74)]
    for line in lines:
        assert tuple(line.outcome) == redteam.LEVELS
        assert set(line.outcome.values()) <= {"stopped", "partly", "advised", "escapes"}


def test_a_box_without_the_hosts_network_and_a_gates_stop_every_line() -> None:
    for line in redteam.table():
        assert {line.outcome[name] for name in redteam.LEVELS[2:]} == {"stopped"}, line


def test_every_line_that_is_neither_stopped_nor_plain_has_a_note() -> None:
    for line in redteam.table():
        assert "partly" not in line.outcome.values() or line.note, line


def test_the_page_about_isolation_holds_the_same_table() -> None:
    rows = [line for line in _PAGE.read_text().splitlines() if line.startswith("| ")]
    for line in redteam.table():
        outcomes = " | ".join(line.outcome[level] for level in redteam.LEVELS)
        assert f"| {line.number} | {line.attack} | {outcomes} |" in rows
    assert sum(row.split()[1].isdigit() for row in rows) == len(redteam.table())


def test_the_page_says_every_note() -> None:
    words = " ".join(_PAGE.read_text().split())
    for line in redteam.table():
        assert line.note in words, line


def test_doctor_prints_it_without_a_daemon(ground: Ground) -> None:
    ground.warm = False
    shown = ground.wl("doctor", "--matrix").ok().out
    for line in redteam.table():
        assert line.attack in shown
    found = ground.wl("doctor", "--matrix", "--json").ok().json()
    assert found == json.loads(json.dumps([line._asdict() for line in redteam.table()]))
    assert not (ground.state / "windlass.db").exists()
