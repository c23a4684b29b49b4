"""A lifecycle read from JSON: what is not of the shape of one is a sentence with a path.

Whether the machine makes sense is `checks`'.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from windlass.core import json_text
from windlass.core.json_text import Problem, key, kind
from windlass.core.lifecycle.machine import Call, Lifecycle, LifecycleState, Transition

_KEYS = (
    *("states", "guards", "effects", "transitions"),
    *("version", "description", "author", "$schema"),
)
_STATE_KEYS = ("type", "public", "description")
_CALL_KEYS = ("fn", "args", "description")
_TRANSITION_KEYS = ("event", "from", "to", "guard", "chain", "kanban", "effects", "description")


def parse(data: bytes, name: str) -> Lifecycle:
    """Reads a lifecycle, or raises what is wrong with its shape."""
    lifecycle, problems = read(json_text.read(data, name))
    json_text.require(problems, name)
    return lifecycle


def read(value: Any) -> tuple[Lifecycle, list[Problem]]:
    """A lifecycle as far as it has the shape of one, and where it has not."""
    reader = _Reader()
    return reader.lifecycle(value), reader.problems


def data(lifecycle: Lifecycle) -> dict[str, Any]:
    """A lifecycle for programs, in the format that it is written in."""
    return {
        "states": {
            name: {"type": state.type, **({"public": state.public} if state.public else {})}
            for name, state in lifecycle.states.items()
        },
        "guards": {name: _call_data(call) for name, call in lifecycle.guards.items()},
        "effects": {name: _call_data(call) for name, call in lifecycle.effects.items()},
        "transitions": [_transition_data(transition) for transition in lifecycle.transitions],
    }


def _call_data(call: Call) -> dict[str, Any]:
    return {"fn": call.fn, "args": call.args}


def _transition_data(transition: Transition) -> dict[str, Any]:
    said: dict[str, Any] = {
        "event": transition.event,
        "from": transition.start,
        "to": transition.to,
    }
    for name in ("guard", "chain", "kanban"):
        if getattr(transition, name):
            said[name] = getattr(transition, name)
    if transition.effects:
        said["effects"] = list(transition.effects)
    return said


class _Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def _error(self, path: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(path, what, remedy))

    def _unknown(self, path: str, value: dict[str, Any], known: tuple[str, ...]) -> None:
        for name in value:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                what = "unknown key: it means nothing"
                self.problems.append(Problem(key(path, name), what, meant, "warning"))

    def lifecycle(self, value: Any) -> Lifecycle:
        """Reads the whole."""
        if not isinstance(value, dict):
            self._error("$", f"a lifecycle is an object, not {kind(value)}", _SHAPE)
            value = {"states": {}, "transitions": []}
        self._unknown("$", value, _KEYS)
        states = {
            name: LifecycleState(self._text(path, state, "type"), self._text(path, state, "public"))
            for name, state, path in self._members(value, "states", _STATE_KEYS, required=True)
        }
        return Lifecycle(
            states=states,
            guards=self._calls(value, "guards"),
            effects=self._calls(value, "effects"),
            transitions=tuple(self._transitions(value)),
        )

    def _members(
        self, value: dict[str, Any], name: str, known: tuple[str, ...], *, required: bool = False
    ) -> list[tuple[str, dict[str, Any], str]]:
        """The members of an object that are objects themselves, with their paths."""
        members = value.get(name)
        if members is None and not required:
            return []
        if not isinstance(members, dict):
            what = "missing" if name not in value else f"not an object but {kind(members)}"
            self._error(f"$.{name}", what, _SHAPE)
            return []
        found = []
        for member, held in members.items():
            path = key(f"$.{name}", member)
            if isinstance(held, dict):
                self._unknown(path, held, known)
                found.append((member, held, path))
            else:
                self._error(path, f"not an object but {kind(held)}", _SHAPE)
        return found

    def _calls(self, value: dict[str, Any], name: str) -> dict[str, Call]:
        return {
            member: Call(self._text(path, held, "fn"), held.get("args"))
            for member, held, path in self._members(value, name, _CALL_KEYS)
        }

    def _transitions(self, value: dict[str, Any]) -> list[Transition]:
        listed = value.get("transitions")
        if not isinstance(listed, list):
            what = "missing" if "transitions" not in value else f"not a list but {kind(listed)}"
            self._error("$.transitions", what, _SHAPE)
            return []
        found = []
        for number, held in enumerate(listed):
            path = f"$.transitions[{number}]"
            if isinstance(held, dict):
                found.append(self._transition(path, held))
            else:
                self._error(path, f"not an object but {kind(held)}", _SHAPE)
        return found

    def _transition(self, path: str, value: dict[str, Any]) -> Transition:
        self._unknown(path, value, _TRANSITION_KEYS)
        if "to" not in value:
            self._error(key(path, "to"), "missing", "name a state, or null to keep the present one")
        effects = value.get("effects")
        if effects is not None and not (
            isinstance(effects, list) and all(isinstance(name, str) for name in effects)
        ):
            self._error(key(path, "effects"), "not a list of names", 'write ["name", …]')
            effects = None
        to = value.get("to")
        return Transition(
            event=self._text(path, value, "event", required=True),
            start=self._text(path, value, "from", required=True),
            to=None if to is None else self._text(path, value, "to"),
            guard=self._text(path, value, "guard"),
            chain=self._text(path, value, "chain"),
            kanban=self._text(path, value, "kanban"),
            effects=tuple(effects or ()),
        )

    def _text(self, path: str, value: dict[str, Any], name: str, *, required: bool = False) -> str:
        text = value.get(name)
        if isinstance(text, str) and (text or not required):
            return text
        if text is None and not required:
            return ""
        what = "missing" if text is None else f"not a name but {kind(text)}"
        self._error(key(path, name), what, "write a name")
        return ""


_SHAPE = 'write {"states": {name: {"type": …}}, "transitions": [{"event": …, "from": …, "to": …}]}'
