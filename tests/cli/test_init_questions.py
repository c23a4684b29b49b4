"""`wl init` asks on a terminal what only the person can say, before it shows what is proposed."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from windlass.cli.call import Call
from windlass.cli.commands import init
from windlass.cli.index import NAMES
from windlass.cli.main import parser_of


class Terminal(io.StringIO):
    """Somebody is at it."""

    def isatty(self) -> bool:
        """They are."""
        return True


class Asked(Call):
    """A call whose daemon proposes a gate, and notes what it is asked."""

    def __init__(self, *words: str, **look: Any) -> None:
        super().__init__(parser_of(NAMES["init"], init).parse_args(words))
        self.asked: list[dict[str, Any]] = []
        self._look = {"asks_review": True, "asks_remote": "origin", **look}

    def ask(self, verb: str, **request: Any) -> Any:
        """Answers what a look is answered with, and nothing else."""
        assert verb == "init.look", verb
        self.asked.append(request)
        files = [{"path": ".windlass/config.toml", "text": "[gate]\n", "patch": []}]
        proposals = {"files": files, "why": [], "allow": [], "toolchains": []}
        known = {"id": "12345678", "root": "/shop", "target": "main", "digest": "d"}
        return {**known, "proposals": proposals, "proves": True, "has_gate": False, **self._look}


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> Terminal:
    """Has somebody type these lines; what they are shown beside the output."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_what_is_answered_is_in_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that is none of the choices is asked for again."""
    shown = typed(monkeypatch, "sometimes", "none", "PR", "n")
    call = Asked()
    assert init.run(call) == 0
    assert [asked.get("review") for asked in call.asked] == [None, "none"]
    assert [asked.get("mode") for asked in call.asked] == [None, "pr"]
    assert "'sometimes' is none of these" in shown.getvalue()
    assert "on main of origin, at once" in shown.getvalue()
    assert "each change waits until you let it in" in shown.getvalue()


def test_enter_leaves_both_as_they_usually_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is written then."""
    typed(monkeypatch, "", "", "n")
    call = Asked()
    assert init.run(call) == 0
    assert [set(asked) & {"review", "mode"} for asked in call.asked] == [set()]


def test_nobody_is_asked_what_somebody_has_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file, or on the command line."""
    shown = typed(monkeypatch, "n")
    call = Asked("--mode", "push", asks_review=False)
    assert init.run(call) == 0
    assert [asked.get("mode") for asked in call.asked] == ["push"]
    assert "who looks" not in shown.getvalue()
    assert "where does it go" not in shown.getvalue()
