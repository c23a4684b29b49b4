"""`wl info` and `wl questions`: what is shown in short, and what to its end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.told import Told

from windlass.cli.commands import (
    info,
    questions,
)
from windlass.core.crew import Policy
from windlass.core.policy import mandatory


def agent_info(level: str, allow: list[str], deny: list[str]) -> dict[str, Any]:
    """What the daemon tells of an agent."""
    shown = dict.fromkeys(info._SHOWN)  # noqa: SLF001 - every field that is printed
    policy = {"allow": allow, "deny": deny, "yolo": False, "reading": "guided"}
    return {
        **shown,
        "id": "fox",
        "state": "waiting",
        "state_age": 1.0,
        "goal": "x",
        "sessions": [],
        "isolation": level,
        "policy": policy,
    }


@pytest.mark.parametrize("level", ["hooks", "box"])
def test_info_shows_what_an_agent_has_beyond_the_others(
    level: Any, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    given = Policy(allow=("Bash(npm test:*)",), deny=("WebFetch",))
    has = mandatory.with_mandatory(given, level=level)
    told = agent_info(level, list(has.allow), list(has.deny))
    info.run(Told(info, "fox", info=lambda _: told))
    short = capsysbinary.readouterr().out.decode().splitlines()
    assert any("guided: lines are judged" in line for line in short) == (level == "hooks")
    about = [line.split(maxsplit=1) for line in short if line.split()[0] in ("allow", "deny")]
    assert about == [
        ["allow", "Bash(npm test:*)"],
        ["allow", f"{len(has.allow) - 1} that every agent at level {level} has: see --policy"],
        ["deny", "WebFetch"],
        ["deny", f"{len(has.deny) - 1} that every agent at level {level} has: see --policy"],
    ]
    info.run(Told(info, "fox", "--policy", info=lambda _: told))
    whole = capsysbinary.readouterr().out.decode()
    assert all(pattern in whole for pattern in (*has.allow, *has.deny))
    assert "--policy" not in whole


def test_a_question_is_shown_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "which of the two databases is it to be, " * 4 + "and why?"
    asked = {"id": "msg-1", "agent": "fox", "age": 5.0, "text": text, "state": "queued"}
    call = Told(questions, questions=lambda _: [asked], whoami=lambda _: {"repo": "/r"})
    call.terminal = True
    questions.run(call)
    out = capsysbinary.readouterr().out.decode()
    assert out == f"fox asks (5s): {text}\n    wl answer msg-1 '...'\n"
