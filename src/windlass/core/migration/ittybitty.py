"""ittybitty's `.ittybitty.json`, with its permissions, and the prompts in `.ittybitty/prompts`."""

from __future__ import annotations

import re
from typing import Any

from windlass.core import json_text
from windlass.core.migration.findings import Files, Findings, add_role, flat, table

FILE, FOLDER = ".ittybitty.json", ".ittybitty"
PROMPTS = f"{FOLDER}/prompts/"
_COMMANDS = re.compile(r"(?:^|[\s`\"'(])(?:\./)?ib (?=[a-z])")
_OURS = re.compile(r"Bash\((?:\./)?ib(?=[ :)])")
_ROLES = ("manager", "worker")
_KEYS: dict[str, tuple[str, type]] = {
    "allowAgentQuestions": ("allow_agent_questions", bool),
    "maxAgents": ("max_agents", int),
    "model": ("model", str),
    "externalDiffTool": ("diff_tool", str),
}
_HERE = {
    "createPullRequests": "`wl config set landing.mode pr` does that for landings",
    "noFastForward": "a landing is always a merge, or a squash: landing.method",
    "autoCompactThreshold": "the agent CLI decides by itself when it compacts",
    "fps": "screens are shown when they change",
}


def reads(path: str) -> bool:
    """Whether what a file holds is wanted, and not only that it is there."""
    return path == FILE or (path.startswith(PROMPTS) and path.endswith(".md"))


def read(files: Files) -> Findings:
    """What ittybitty's configuration says, and its prompts."""
    found = Findings()
    said = table(files, FILE, found)
    if FILE not in files:
        found.leave(FILE, "there is none")
    permissions = said.pop("permissions", {})
    if isinstance(permissions, dict):
        for role, tools in permissions.items():
            _permissions(found, role, tools)
    else:
        found.leave(f"{FILE}: permissions", f"it is {json_text.kind(permissions)}, not an object")
    _prompts(found, said.pop("prompts", {}))
    for key, value in flat(said).items():
        _setting(found, key, value)
    for path in sorted(files):
        if path.startswith(PROMPTS) and path.endswith(".md"):
            name = path.removeprefix(PROMPTS).removesuffix(".md")
            add_role(found, name, files[path], path, commands=_COMMANDS)
        elif path != FILE:
            found.leave(path, "nothing here means that; it stays where it is")
    return found


def _prompts(found: Findings, prompts: Any) -> None:
    """Takes over prompts that stand in the configuration itself."""
    if not isinstance(prompts, dict):
        found.leave(f"{FILE}: prompts", f"it is {json_text.kind(prompts)}, not an object")
        return
    for role, text in prompts.items():
        where = f"{FILE}: prompts.{role}"
        if isinstance(text, str):
            held = text.encode("utf-8", "replace")
            add_role(found, role, held, where, commands=_COMMANDS)
        else:
            found.leave(where, f"it is {json_text.kind(text)}, not a text")


def _permissions(found: Findings, role: str, tools: Any) -> None:
    where = f"{FILE}: permissions.{role}"
    if role not in _ROLES or not isinstance(tools, dict):
        found.leave(where, "permissions are an object of allow and deny, for manager and worker")
        return
    for which, patterns in tools.items():
        if which not in ("allow", "deny") or not _texts(patterns):
            found.leave(f"{where}.{which}", "not a list of patterns to allow or deny")
            continue
        kept = [pattern for pattern in patterns if not _OURS.match(pattern)]
        if len(kept) < len(patterns):
            found.leave(f"{where}.{which}", "Bash(ib …) is left out: `wl` is always allowed")
        if kept:
            found.set(f"permissions.{role}.{which}", list(dict.fromkeys(kept)), f"{where}.{which}")


def _texts(patterns: Any) -> bool:
    return isinstance(patterns, list) and all(isinstance(one, str) and one for one in patterns)


def _setting(found: Findings, key: str, value: Any) -> None:
    where = f"{FILE}: {key}"
    if key not in _KEYS:
        found.leave(where, _HERE.get(key, "nothing here means that"))
        return
    ours, kind = _KEYS[key]
    if type(value) is not kind or (kind is int and str(value)[0] in "-0"):
        found.leave(where, f"{json_text.kind(value)} cannot be {ours}")
    else:
        found.set(ours, value, where)
