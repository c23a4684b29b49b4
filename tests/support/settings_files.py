"""Settings files of agent CLIs as people and programs leave them, made from a seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure")
_WORDS = (
    "hooks",
    "Stop",
    "command",
    "windlass-hook",
    "ü\u2028😀",
    'a"b\\',
    "",
    "primary.py",
    "\ud800",
)
_BOM = "\ufeff"


def settings_file(seed: int) -> bytes:
    """One file: its settings, its layout, its line ends and what stands around it."""
    dice = Random(seed)  # noqa: S311 - a seeded generator of tests
    value = _settings(dice)
    text = _written(value, dice)
    if dice.random() < 0.3:
        text = text.replace("\n", "\r\n")
    before = dice.choice(("", "", "", _BOM, "\n", "  "))
    return (before + text + dice.choice(("\n", "\n", "", "\n\n", " \t"))).encode()


def _settings(dice: Random) -> dict[str, Any]:
    members: dict[str, Any] = {
        name: _anything(dice, 2) for name in dice.sample(_WORDS[1:], dice.randrange(4))
    }
    if dice.random() < 0.6:
        members["hooks"] = {
            event: _groups(dice)
            for event in dice.sample((*EVENTS, "Notification"), dice.randrange(5))
        }
    names = list(members)
    dice.shuffle(names)
    return {name: members[name] for name in names}


def _groups(dice: Random) -> list[Any]:
    hook = {"type": "command", "command": dice.choice(("true", "echo windlass-hook", "x 'y"))}
    groups: list[Any] = [
        {"hooks": [hook]},
        {"hooks": [hook]},
        {"matcher": "Bash", "hooks": [hook, {"type": "http", "url": "http://127.0.0.1:1/"}]},
        {"matcher": "", "hooks": []},
        {},
    ]
    return dice.sample(groups, dice.randrange(4))


def _anything(dice: Random, depth: int) -> Any:
    kind = dice.randrange(7 if depth else 4)
    if kind == 0:
        return dice.choice((None, True, False, 0, -1.5e300, int("9" * 5)))
    if kind < 4:
        return dice.choice(_WORDS)
    if kind == 4:
        return [_anything(dice, depth - 1) for _ in range(dice.randrange(3))]
    return {dice.choice(_WORDS): _anything(dice, depth - 1) for _ in range(dice.randrange(3))}


def _written(value: Any, dice: Random) -> str:
    readable = dice.random() < 0.5 and "\\ud800" not in json.dumps(value)
    how: dict[str, Any] = {"ensure_ascii": not readable}
    layout = dice.randrange(7)
    if layout == 0:
        return json.dumps(value, **how)
    if layout == 1:
        return json.dumps(value, separators=(",", ":"), **how)
    if layout == 2:
        return _scattered(value, dice, how)
    return json.dumps(value, indent=dice.choice((2, 2, 4, 0, "\t")), **how)


def _scattered(value: Any, dice: Random, how: dict[str, Any]) -> str:
    """With blanks of any kind wherever JSON lets them stand, and a key twice."""

    def blanks() -> str:
        return "".join(dice.choice((" ", "\t", "\n", "\n  ", "")) for _ in range(dice.randrange(3)))

    if isinstance(value, dict):
        pairs = [
            f"{blanks()}{json.dumps(k, **how)}{blanks()}:{blanks()}{_scattered(v, dice, how)}"
            for k, v in value.items()
        ]
        if pairs and dice.random() < 0.2:
            pairs.append(dice.choice(pairs))
        return "{" + f"{blanks()},".join(pairs) + blanks() + "}"
    if isinstance(value, list):
        inside = [blanks() + _scattered(item, dice, how) for item in value]
        return "[" + f"{blanks()},".join(inside) + blanks() + "]"
    return json.dumps(value, **how)
