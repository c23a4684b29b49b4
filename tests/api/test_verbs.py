"""The table of verbs and the types on the wire agree."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_type_hints

import msgspec
import pytest
from tests.support.replies import ROUTES

from windlass.api import wire
from windlass.api.server import _decode
from windlass.api.verbs import Verb, Wait
from windlass.api.wire.hooks import HookInput
from windlass.core.errors import UserError

TABLE = {
    name: verb
    for name, verb in ROUTES.items()
    if verb.request is not HookInput  # an agent CLI's own words, of which no type is trusted
}
NEEDED: dict[str, dict[str, Any]] = {
    "answer": {"question": "q", "text": "x"},
    "approve": {"change": "c1"},
    "block": {"change": "c1"},
    "change": {"change": "c1"},
    "change.wait": {"change": "c1"},
    "change.diff": {"change": "c1"},
    "change.retry": {"change": "c1"},
    "change.undo": {"change": "c1"},
    "commit": {"commit": "abcd"},
    "ask": {"text": "x"},
    "drop": {"change": "c1"},
    "drivers.trust": {"driver": "claude"},
    "drivers.trusted": {"driver": "claude"},
    "end": {"agents": ["a"]},
    "explain.tool": {"input": "{}"},
    "listen": {"route": "listen", "listener": "x"},
    "mail.wait": {"session": 1, "arm": "x"},
    "message": {"message": "m"},
    "note": {"text": "x"},
    "notify": {"text": "x"},
    "receipts": {"messages": ["m"], "timeout": 1.0},
    "gate.wait": {"job": "job-1"},
    "plan": {"task": "API-1"},
    "plan.stop": {"task": "API-1"},
    "plan.wait": {"task": "API-1", "run": "job-1"},
    "reassign": {"agent": "a", "parent": None},
    "allow": {"agent": "a", "patterns": ["Read"]},
    "retry": {"intent": "k"},
    "send": {"agent": "a", "text": "x"},
    "spawn": {"goal": "x"},
    "taken": {"numbers": [1], "listener": "x", "route": "listen"},
    "trust.accept": {"digests": []},
    "task": {"task": "API-1"},
    "task.drop": {"task": "API-1"},
    "task.retry": {"task": "API-1"},
    "run.pause": {"paused": True},
}
"""What a verb cannot do without; every other one takes an empty request."""


@pytest.mark.parametrize("name", TABLE)
def test_every_verb_takes_its_smallest_request_and_keys_of_a_newer_client(name: str) -> None:
    smallest = NEEDED.get(name, {})
    whole = smallest | {"cwd": "/", "key": "k"}
    for body in (smallest, whole):
        assert decoded(TABLE[name], body) == body
    assert decoded(TABLE[name], whole | {"of_tomorrow": {"x": [1]}}) == whole


@pytest.mark.parametrize("name", NEEDED)
def test_a_request_without_what_its_verb_needs_is_refused_by_the_key(name: str) -> None:
    for key in NEEDED[name]:
        less = {k: v for k, v in NEEDED[name].items() if k != key}
        with pytest.raises(UserError, match=f"malformed request.*`{key}`"):
            decoded(TABLE[name], less)


@pytest.mark.parametrize("name", TABLE)
def test_a_request_of_the_wrong_type_is_refused(name: str) -> None:
    for key in get_type_hints(TABLE[name].request):
        with pytest.raises(UserError, match="malformed request"):
            decoded(TABLE[name], NEEDED.get(name, {}) | {key: {"no": "such"}})


def test_every_request_on_the_wire_belongs_to_a_verb() -> None:
    used = {verb.request for verb in TABLE.values()}
    assert {kind for name, kind in written().items() if name.endswith("Request")} <= used


def test_every_reply_on_the_wire_belongs_to_a_verb() -> None:
    used = {verb.reply for verb in TABLE.values()}
    assert {kind for name, kind in written().items() if name.endswith("Reply")} <= used


def written() -> dict[str, type]:
    """Every type of the wire, by its name."""
    modules = [
        import_module(module.name) for module in iter_modules(wire.__path__, "windlass.api.wire.")
    ]
    return {
        name: kind
        for module in modules
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    }


def decoded(verb: Verb | Wait, body: dict[str, Any]) -> Any:
    return _decode(msgspec.json.encode(body), verb.request)
