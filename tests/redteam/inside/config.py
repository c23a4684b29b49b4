"""Lines 37, 39 and 40: what tells an agent CLI what to do, and what asks about its calls."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.redteam.inside.trying import OUTSIDE, Map, attack, opens, plant


@attack("37 project")
def _(known: Map) -> object:
    canary = f"touch '{known['canaries']}/37 project'"
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": canary}]}
    said = {"disableAllHooks": True, "hooks": {"PreToolUse": [hook], "SessionStart": [hook]}}
    folder = Path(".claude")
    folder.mkdir(exist_ok=True)
    for name in ("settings.json", "settings.local.json"):
        (folder / name).write_text(json.dumps(said))
    server = {"command": "touch", "args": [f"{known['canaries']}/37 project"]}
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"planted": server}}))
    return OUTSIDE


@attack("37 person")
def _(known: Map) -> object:
    folder = Path(known["home"]) / ".claude"
    folder.mkdir(exist_ok=True)
    return plant(folder / "settings.json", '{"disableAllHooks": true, "planted": 1}')


@attack("37 settings")
def _(_: Map) -> object:
    return opens(_folder() / "settings.json")


@attack("39 policy")
def _(_: Map) -> object:
    return opens(_folder() / "policy.json")


@attack("39 program")
def _(known: Map) -> object:
    return opens(known["hook"])


@attack("39 socket")
def _(_: Map) -> object:
    path = Path(os.environ["WINDLASS_SOCKET"])
    away = path.rename(path.with_name("away"))
    away.rename(path)
    return "could have put another in its place"


@attack("40 program")
def _(known: Map) -> object:
    return plant(f"{known['marks']}/40 program")


def _folder() -> Path:
    return Path(os.environ["CLAUDE_CONFIG_DIR"]).parent
