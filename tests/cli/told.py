"""Commands whose daemon only answers: what they ask of it, and what stands in for people."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from windlass.api import calls
from windlass.cli.call import Call
from windlass.cli.commands import (
    home,
)
from windlass.cli.index import HOME, NAMES
from windlass.cli.main import parser_of
from windlass.core.errors import NotFound


class Told(Call):
    """A call whose daemon answers from a table and remembers what it was asked."""

    def __init__(
        self, module: Any, *words: str, **answers: Callable[[dict[str, Any]], Any]
    ) -> None:
        name = module.__name__.rpartition(".")[2]
        entry = HOME if module is home else NAMES[name]
        super().__init__(parser_of(entry, module).parse_args(words))
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, verb: str, **request: Any) -> Any:
        """Answers."""
        self.asked.append((verb, request))
        return self.answers[verb](request)


def piped_in(text: str) -> io.TextIOWrapper:
    """A stdin that a program writes to."""
    return io.TextIOWrapper(io.BytesIO(text.encode()))


class Terminal(io.StringIO):
    """A stdin that somebody types on."""

    def isatty(self) -> bool:
        """It is."""
        return True


NO_CHANGES: dict[str, Any] = {
    "target": None, "gateless": "", "last": None, "changes": [], "waiting": [], "retiring": [],
    "done": [],
}  # fmt: skip


FOX: dict[str, Any] = {
    "id": "fox", "uid": "u", "repo": "r", "parent": None, "parent_uid": None, "children": 0,
    "state": "stopped", "state_age": 5.0, "goal": "count", "isolation": "box", "network": "host",
    "evidence": "session 1 ended", "source": "process", "role": "worker", "branch": "agent/fox",
    "age": 9.0, "ended_at": None, "workspace": "/w", "commits": [], "branch_gone": False,
    "work": {"exists": True, "operation": None}, "error": None,
}  # fmt: skip


HALTED = {
    "id": "person:1", "kind": "merge", "status": "halted", "repo": "r", "branch": "main",
    "agents": ["fox"], "created_at": 0.0, "why": "merge of fox is halted: " + "why " * 50,
    "fix": "`wl retry fox` tries it once more",
}  # fmt: skip


NOTHING: dict[str, Callable[[dict[str, Any]], Any]] = {
    "costs": lambda _: {"total": {"usd": 0, "notional_usd": 0}},
    "questions": lambda _: [],
    "set-aside": lambda _: [],
    "unfinished": lambda _: NO_CHANGES,
}


def no_change(request: dict[str, Any]) -> Any:
    """Nothing of that name was proposed."""
    raise NotFound(f"there is no change {request['change']}", "")


def no_news(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def follow(_: int) -> Iterator[dict[str, Any]]:
        yield {"kind": "other", "data": {}}
        raise error

    monkeypatch.setattr(calls, "follow", follow)
