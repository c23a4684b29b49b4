"""Every attack, really attempted at every level, ends as the table says.

A siege (`siege`) has been laid once per level; here each line of it is compared. What is stopped in
a box is known to work elsewhere: with hooks alone, with plain git, or by a test that is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from windlass.box import probes
from windlass.core import redteam

pytestmark = pytest.mark.slow
Sieges = Callable[[str], dict[str, Any]]
BOXES = redteam.LEVELS[1:]
STARVING = range(70, 74)
"""Lines that would keep others from being answered; how often it was tried says that it was."""
_NO_WAY_IN_A_GATE = {13, 14, 15, 16, 19, 26, 41, 43, 59, 63, 65, *STARVING}
"""They take a workspace that is read afterwards, a session, or a terminal."""
EXTRAS = tuple(number for number in range(45, 70) if number != 66)

_THE_MACHINES = {"8 by user", "23 ptrace", "23 vm_readv", "23 mem", "25 userns", "26 tiocsti"}
"""Stopped by some machines of themselves, whatever the level: with hooks alone either will do."""
_ELSEWHERE = {
    "11 origin": "pushing to a plain folder works (11 push)",
    "18 at the end": "the same canaries sing for plain git",
    "18 undone": "the same canaries sing for plain git",
    "24 survivor": "the same process survives when nobody adopts it (24 orphan)",
    **dict.fromkeys(
        ("30 control", "30 bare", "30 detached", "30 sibling", "30 handed"),
        "who has left its session is believed there (30 tmux)",
    ),
    "31 claim": "another agent's own socket is believed (31 socket)",
    "31 variable": "another agent's own socket is believed (31 socket)",
    "36 proxy": "test_controls.py",
    "36 relay": "test_controls.py",
    "36 metadata": "test_controls.py",
    "37 project": "tests/claude: the program itself obeys such a file",
    "38 merge": "moving the branch works with hooks alone (38 move)",
    "38 unmarked": "test_controls.py",
    "41 end": "the pipes do stop a plain reader (test_controls.py)",
    "41 hang": "the pipes do stop a plain reader (test_controls.py)",
    "41 links": "the links do lead to the secret (8 key)",
    "41 pipes": "the pipes do stop a plain reader (test_controls.py)",
    "41 unnoticed": "who makes no links is not paused (every stage before)",
    "41 read": "the links do lead to the secret (8 key)",
    "42 words": "whoever has a socket says them, and the faces are looked at (42 escapes)",
    "44 merge": "moving the branch works with hooks alone (44 move)",
    "44 unmarked": "test_controls.py",
}
"""What is stopped at every level, and why that is not because the attack is broken."""


@pytest.fixture(params=redteam.LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    """Each level in turn."""
    return str(request.param)


@pytest.mark.parametrize("line", redteam.table(), ids=lambda line: str(line.number))
def test_the_attack_ends_as_the_table_says(siege: Sieges, level: str, line: redteam.Attack) -> None:
    laid = _laid(siege, level)
    ways = _ways(laid, line.number)
    if level == "gate" and line.number in _NO_WAY_IN_A_GATE:
        assert not ways
        return
    assert ways, "there is an expectation, but no attack"
    assert _outcome(laid, level, line.number) == line.outcome[level], _told(ways)


@pytest.mark.parametrize("number", EXTRAS)
@pytest.mark.parametrize("boxed", BOXES)
def test_attacks_that_are_on_nobodys_list_are_stopped_too(
    siege: Sieges, boxed: str, number: int
) -> None:
    ways = _ways(_laid(siege, boxed), number)
    no_way = (boxed, number) == ("box-host", 59)  # there is no proxy to smuggle through
    assert ways or no_way or (boxed == "gate" and number in _NO_WAY_IN_A_GATE)
    assert not [name for name, said in ways.items() if said["got"]], _told(ways)


def test_every_attack_has_an_expectation(siege: Sieges, level: str) -> None:
    known = {line.number for line in redteam.table()} | set(EXTRAS)
    names = {name for name in _laid(siege, level)["found"] if name.split()[0].isdigit()}
    assert {int(name.split()[0]) for name in names} <= known


@pytest.mark.parametrize("boxed", BOXES)
def test_what_a_box_stops_works_elsewhere(siege: Sieges, boxed: str) -> None:
    free, laid = _laid(siege, "hooks"), _laid(siege, boxed)
    works = {name for name, said in free["found"].items() if said["got"]}
    works |= {*free["controls"], *laid["controls"], *_ELSEWHERE, *_THE_MACHINES}
    tried = {name for name in laid["found"] if name.split()[0].isdigit()}
    assert {name for name in tried if int(name.split()[0]) not in EXTRAS} <= works


def test_the_agent_at_level_hooks_is_refused_what_the_table_says_it_is_advised(
    siege: Sieges,
) -> None:
    refused = {int(number) for number, so in _laid(siege, "hooks")["denied"].items() if so}
    advised = {line.number for line in redteam.table() if line.outcome["hooks"] == "advised"}
    assert advised <= refused


def test_no_face_hangs_on_what_an_agent_leaves(siege: Sieges, level: str) -> None:
    assert _laid(siege, level)["slow"] == []


def _laid(siege: Sieges, level: str) -> dict[str, Any]:
    usable = probes.usable()
    has = {"hooks": True, "box-host": usable.host_network}
    if not has.get(level, usable.full):
        pytest.skip(f"this machine has no such box: {usable.why}")
    laid = siege(level)
    assert "failed" not in laid, laid["failed"]
    return laid


def _ways(laid: dict[str, Any], number: int) -> dict[str, dict[str, Any]]:
    return {name: said for name, said in laid["found"].items() if name.split()[0] == str(number)}


def _outcome(laid: dict[str, Any], level: str, number: int) -> str:
    ways = _ways(laid, number)
    through = {name for name, said in ways.items() if said["got"]}
    if level == "hooks":
        through |= set(ways) & _THE_MACHINES
    if not through:
        return "stopped"
    if through < set(ways):
        return "partly"
    advised = level == "hooks" and laid["denied"].get(str(number), False)
    return "advised" if advised else "escapes"


def _told(ways: dict[str, dict[str, Any]]) -> str:
    return "\n".join(
        f"{name}: {said['got'] or 'stopped by ' + said['why']}" for name, said in ways.items()
    )
