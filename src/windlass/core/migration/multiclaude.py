"""multiclaude's `.multiclaude` folder: agents, prompts and configuration of a repository."""

from __future__ import annotations

import json
import re
from typing import Any

from windlass.core import json_text
from windlass.core.errors import ConfigError
from windlass.core.migration.findings import Files, Findings, add_role, flat

FOLDER = ".multiclaude"
AGENTS, PROMPTS = f"{FOLDER}/agents/", f"{FOLDER}/"
CONFIGS = (f"{FOLDER}/config.json", f"{FOLDER}/config")
_NAMES = {
    "SUPERVISOR.md": "supervisor",
    "WORKER.md": "worker",
    "REVIEWER.md": "merge-queue",
    "WORKSPACE.md": "workspace",
    "REVIEW.md": "review",
}
_COMMANDS = re.compile(r"\bmulticlaude [a-z-]")
_LINE = re.compile(r"([A-Za-z][\w.-]*)[ \t]*[=:](.*)")
_KEYS = {"model": "model", "max_workers": "max_agents", "max_agents": "max_agents"}
_HERE = {
    "merge_queue": "the queue is no agent here: it is always there (`wl queue`)",
    "mq": "the queue is no agent here: it is always there (`wl queue`)",
    "pr_shepherd": "pull requests are followed by the queue: `wl config set landing.mode pr`",
    "ps": "pull requests are followed by the queue: `wl config set landing.mode pr`",
    "track": "what lands is what was submitted: `wl submit`",
}


def reads(path: str) -> bool:
    """Whether what a file holds is wanted, and not only that it is there."""
    return path in CONFIGS or path.endswith(".md")


def read(files: Files) -> Findings:
    """What a repository tells multiclaude."""
    found = Findings()
    for path in sorted(files):
        name = path.removeprefix(AGENTS if path.startswith(AGENTS) else PROMPTS)
        if path.startswith(AGENTS) and path.endswith(".md") and "/" not in name:
            add_role(found, name.removesuffix(".md"), files[path], path, commands=_COMMANDS)
        elif name in _NAMES:
            add_role(found, _NAMES[name], files[path], path, commands=_COMMANDS)
        elif path in CONFIGS:
            _config(found, path, files[path])
        else:
            found.leave(path, "nothing here means that; it stays where it is")
    if "roles/merge-queue.md" in found.files:
        found.leave(
            ".windlass/roles/merge-queue.md",
            "changes land by a queue that is no agent; who has this role starts when you say so",
        )
    return found


def _config(found: Findings, path: str, held: bytes) -> None:
    try:
        said = _table(held, path)
    except ConfigError as error:
        found.leave(path, f"{error.message}; {error.hint}")
        return
    for key, value in flat(said).items():
        where = f"{path}: {key}"
        if key not in _KEYS:
            begins = next((said for begin, said in _HERE.items() if key.startswith(begin)), "")
            found.leave(where, begins or "nothing here means that")
        elif not _fits(_KEYS[key], value):
            found.leave(where, f"{json_text.kind(value)} cannot be {_KEYS[key]}")
        else:
            _take(found, _KEYS[key], value, where)


def _fits(ours: str, value: Any) -> bool:
    if ours == "model":
        return isinstance(value, str) and bool(value)
    return type(value) is int and value > 0


def _take(found: Findings, ours: str, value: Any, where: str) -> None:
    """Takes a setting over; the one that another place said otherwise gets a line."""
    was, earlier = found.settings.get(ours), found.setting_sources.get(ours, "")
    found.set(ours, value, where)
    if earlier and found.settings[ours] != was:
        found.leave(earlier, f"{was} is not taken: {where} says {value}")


def _table(held: bytes, path: str) -> dict[str, Any]:
    """Settings as JSON, or as lines `key: value`."""
    if path.endswith(".json") or held.lstrip()[:1] == b"{":
        value = json_text.read(held, path)
        if not isinstance(value, dict):
            raise ConfigError(f"{path} is {json_text.kind(value)}", "write an object of settings")
        return value
    found: dict[str, Any] = {}
    for number, line in enumerate(held.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip() or line.lstrip()[0] in "#[":
            continue
        entry = _LINE.fullmatch(line.strip(" \t"))
        if entry is None:
            raise ConfigError(f"{path}:{number}: {line.strip()!r} is no `key: value`", "mend it")
        found[entry[1]] = _value(entry[2].strip(" \t"), f"{path}:{number}")
    return found


def _value(text: str, where: str) -> Any:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text.strip("'\"")
    return json_text.read(text.encode(), where)
