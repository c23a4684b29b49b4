"""The catalogue of events: the log holds what it says, and all that it says is written."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import windlass
from windlass.core import events
from windlass.core.events import KINDS, AgentState, EventData, Hook, NotifyFailed, PolicyDecision
from windlass.core.states import State
from windlass.drivers import session_hooks

SOURCES = Path(windlass.__file__).parent
CATALOGUE = SOURCES / "core" / "events"
LONGEST_KIND = 48
"""As long as the column of the log."""


class Logged(NamedTuple):
    """An event as the log gives it back."""

    kind: str
    data: dict[str, Any]


def test_every_kind_of_the_catalogue_is_made_somewhere() -> None:
    made = {
        name
        for path in SOURCES.rglob("*.py")
        if CATALOGUE not in path.parents
        for name in _calls(path)
    }
    assert {kind.__name__ for kind in KINDS.values()} - made == set()


def _calls(path: Path) -> set[str]:
    """What a module takes from the catalogue and calls."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    taken = {name.name for node in froms if node.module == events.__name__ for name in node.names}
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return taken & {func.id for func in calls if isinstance(func, ast.Name)}


def test_no_kind_is_declared_twice_and_each_says_in_a_sentence_what_it_is() -> None:
    package = f"{events.__name__}."
    ours = [made for made in declared(EventData) if made.__module__.startswith(package)]
    structs = [struct for struct in ours if struct.kind]
    assert {struct.kind for struct in structs} == {*KINDS, Hook.kind} - hook_kinds()
    assert len({struct.kind for struct in structs}) == len(structs)
    for kind, struct in KINDS.items():
        assert len(kind) <= LONGEST_KIND
        sentence = (struct.__doc__ or "").strip()
        assert sentence.endswith("."), kind
        assert "\n" not in sentence, kind


def declared(struct: type[EventData]) -> list[type[EventData]]:
    """Every struct below one, also those without a kind, which others have their fields from."""
    below = struct.__subclasses__()
    return [*below, *(lower for one in below for lower in declared(one))]


def hook_kinds() -> set[str]:
    """The kinds that are one struct's, of which each has its hook's name in it."""
    return {Hook.kind_of(name) for name in events.HOOKS}


def test_the_package_offers_every_struct_of_its_modules() -> None:
    assert {struct.__name__ for struct in KINDS.values()} - {*events.__all__} == set()


def test_every_hook_that_sessions_are_given_is_a_kind() -> None:
    given = {
        *session_hooks.OVER_HTTP,
        *session_hooks.AS_COMMANDS,
        *session_hooks.ASKING,
        *session_hooks.REWAKING,
    }
    assert given == set(events.HOOKS)


@pytest.mark.parametrize(
    ("told", "data"),
    [
        (Hook(name="Stop", error="overloaded"), {"error": "overloaded"}),
        (Hook(name="Stop"), {}),
        (NotifyFailed(how="broken"), {"how": "broken"}),
        (
            NotifyFailed(notice=1, code=None, how="x", tail=""),
            {"notice": 1, "code": None, "how": "x", "tail": ""},
        ),
        (
            PolicyDecision(by=None, hook=None, reason="", asked=None),
            {"by": None, "hook": None, "reason": "", "asked": None},
        ),
        (
            AgentState(
                was=State.CREATING, now=State.RUNNING, source="hook", evidence="x", session=0
            ),
            {"was": "creating", "now": "running", "source": "hook", "evidence": "x", "session": 0},
        ),
    ],
)
def test_what_has_nothing_to_say_is_left_out_and_all_is_read_as_it_was(
    told: EventData, data: dict[str, Any]
) -> None:
    kind, written = told.written()
    assert written == data
    assert list(written) == list(data)
    assert events.read(type(told), Logged(kind, written)) == told


def test_a_hook_is_called_so_that_the_log_can_hold_its_kind() -> None:
    longest = "x" * (LONGEST_KIND - len("hook."))
    assert all(map(Hook.may_be_called, (*events.HOOKS, "Another", longest)))
    for name in (longest + "x", "", "a b", "a\nb", "a.b", "é", None, "garbage", "PolicyDecision"):
        assert not Hook.may_be_called(name), name


def test_a_state_from_before_sessions_were_told_of_is_read() -> None:
    old = Logged(
        "agent.state", {"was": "running", "now": "waiting", "source": "hook", "evidence": "idle"}
    )
    assert events.read(AgentState, old).session is None
