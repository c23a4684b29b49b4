"""Chief Wiggum's `.ralph` folder: its board, configuration, pipelines, plans and agents."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from windlass.core import json_text, roles
from windlass.core.board import parser
from windlass.core.board.board import text_of
from windlass.core.config_roles import RoleSettings
from windlass.core.errors import ConfigError
from windlass.core.ids import RoleName
from windlass.core.migration import boards, fallbacks
from windlass.core.migration.fallbacks import Fallbacks
from windlass.core.migration.findings import Files, Findings, flat, table
from windlass.core.pipeline import built_in, spec, step_roles
from windlass.core.pipeline.steps import RESULTS
from windlass.core.roles import STEP_ALIASES, STEPS

FOLDER = ".ralph"
_BOARD, _CONFIG, _AGENTS = "kanban.md", "config.json", "agents.json"
_DEFAULTS = "defaults"
_PLAN = re.compile(r"plans/[^/]+\.md")
_DEEPEST = 40
_LIMITS = {
    "max_iterations": "iterations",
    "iterations": "iterations",
    "max_turns": "turns",
    "turns": "turns",
    "timeout": "timeout",
    "timeout_seconds": "timeout",
    "supervisor_interval": "supervisor_interval",
}
_KEPT = ("mode", "readonly", "model")
_BACKENDS = ("runtime.backend", "runtime_backend", "backend")
_ELSEWHERE = {
    "max_workers": "`wl run` takes it as --max-workers",
    "workers.max": "`wl run` takes it as --max-workers",
    "supervisor_interval": "give it to a role: [roles.software-engineer] supervisor_interval",
}


def reads(path: str) -> bool:
    """Whether what a file holds is wanted, and not only that it is there."""
    name = path.removeprefix(f"{FOLDER}/")
    return (
        name in (_BOARD, _CONFIG, _AGENTS)
        or _is_pipeline(name)
        or _PLAN.fullmatch(name) is not None
    )


def _is_pipeline(name: str) -> bool:
    return name == "pipeline.json" or (name.startswith("pipelines/") and name.endswith(".json"))


def read(
    files: Files, *, branches: Collection[str] = (), workers: Mapping[str, str] | None = None
) -> Findings:
    """What a `.ralph` folder holds; branches, and those of workers, say whose work is there."""
    found = Findings()
    held = {path.removeprefix(f"{FOLDER}/"): text for path, text in files.items()}
    if _BOARD in held:
        ids = [task.id for task in parser.parse(text_of(held[_BOARD])).tasks]
        ids += [match[1] for match in _ANY_TASK.finditer(text_of(held[_BOARD]))]
        own = {
            name: boards.branches_of(name, branches, workers or {}) for name in dict.fromkeys(ids)
        }
        boards.take(found, held[_BOARD], f"{FOLDER}/{_BOARD}", branches=own)
    else:
        found.leave(f"{FOLDER}/{_BOARD}", "there is none")
    agents, defaults, where = _configured(found, held)
    _agents(found, agents, held)
    own = {_role(name): said for name, said in agents.items()}
    fallback = fallbacks.read(found, defaults, where, own)
    for path in sorted(held):
        if _is_pipeline(path):
            _pipeline(found, path, held[path], fallback)
        elif _PLAN.fullmatch(path):
            found.write(path, held[path], f"{FOLDER}/{path}")
    if "pipeline.json" not in found.files:
        found.set("pipeline", "full", "Wiggum's default pipeline")
        why = "no pipeline.json came over that it could go into: write one of your own with it"
        fallback.leave(found, why)
    _others(found, held)
    return found


_ANY_TASK = re.compile(r"^- \[.\] \*\*\[([A-Za-z]{2,10}-[0-9]{1,4})\]\*\*", re.MULTILINE)


def _others(found: Findings, held: Mapping[str, bytes]) -> None:
    """A line about whatever else lies there, folder by folder."""
    known = {_BOARD, _CONFIG, _AGENTS}
    rest: dict[str, int] = {}
    for path in held:
        if path in known or path in found.files or path.startswith(("pipelines/", "workers/")):
            continue
        if path == "pipeline.json":
            continue
        top, deeper, _ = path.partition("/")
        rest[f"{top}/" if deeper else top] = rest.get(f"{top}/" if deeper else top, 0) + 1
    for name, count in sorted(rest.items()):
        many = f"{count} files that mean" if count > 1 else "a file that means"
        found.leave(f"{FOLDER}/{name}", f"{many} nothing here; it stays where it is")


def bare(agent: str) -> str:
    """A role's name without its category: `engineering.security-audit`."""
    return re.split(r"[./]", agent)[-1]


def _role(agent: str) -> str:
    return STEP_ALIASES.get(bare(agent), bare(agent))


def _configured(found: Findings, held: Mapping[str, bytes]) -> tuple[dict[str, Any], Any, str]:
    """Takes the project's settings over; returns those of agents, of all, and whose these are."""
    path = f"{FOLDER}/{_CONFIG}"
    config = table({path: held[_CONFIG]} if _CONFIG in held else {}, path, found)
    agents = config.pop("agents", {})
    for key, value in flat(config).items():
        name = f"{path}: {key}"
        if key in _BACKENDS:
            said = (
                "it is the usual one here as well" if value == "claude" else "no such driver here"
            )
            found.leave(name, said)
        elif key in ("model", "claude.model") and isinstance(value, str):
            found.set("model", value, name)
        else:
            found.leave(name, _ELSEWHERE.get(key, "nothing here means that"))
    path = f"{FOLDER}/{_AGENTS}"
    own = table({path: held[_AGENTS]} if _AGENTS in held else {}, path, found)
    defaults = own.pop(_DEFAULTS, {})
    if "agents" in own:
        more = own.pop("agents")
        for key in own:
            found.leave(f"{path}: {key}", "nothing here means that")
        if isinstance(more, dict):
            own = more
        else:
            found.leave(f"{path}: agents", f"it is {json_text.kind(more)}, not an object")
            own = {}
    merged = (dict(agents) if isinstance(agents, dict) else {}) | own
    return merged, defaults, f"{path}: {_DEFAULTS}"


def _agents(found: Findings, agents: Mapping[str, Any], held: Mapping[str, bytes]) -> None:
    source = f"{FOLDER}/{_AGENTS if _AGENTS in held else _CONFIG}"
    for agent, said in agents.items():
        where = f"{source}: {agent}"
        if not isinstance(said, dict):
            found.leave(where, f"it is {json_text.kind(said)}, not an object")
            continue
        role = _role(agent)
        if role not in STEPS:
            found.leave(where, f"no role {role} is here: write .windlass/roles/{role}.md for it")
        for key, value in said.items():
            _setting(found, role, key, value, where)


def _setting(found: Findings, role: str, key: str, value: Any, where: str) -> None:
    if key == "result_mappings" and isinstance(value, dict):
        _mappings(found, role, value, where)
    elif key in _LIMITS and _whole(value, least=0 if key == "supervisor_interval" else 1):
        found.set(f"roles.{role}.{_LIMITS[key]}", value, f"{where}.{key}")
    elif key in _KEPT and isinstance(value, bool if key == "readonly" else str) and value != "":
        if key == "mode" and value not in step_roles.MODES:
            found.leave(f"{where}.{key}", f"no mode {value!r}: {', '.join(step_roles.MODES)}")
        else:
            found.set(f"roles.{role}.{key}", value, f"{where}.{key}")
    else:
        found.leave(f"{where}.{key}", "nothing here means that")


def _whole(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _mappings(found: Findings, role: str, value: Mapping[str, Any], where: str) -> None:
    """Writes what results mean into the front matter of the role's file, where it is not usual."""
    lines = []
    for result, said in value.items():
        if result not in RESULTS or not isinstance(said, dict):
            found.leave(f"{where}.result_mappings.{result}", "no such result, or no object")
            continue
        if meaning := fallbacks.meant(result, said):
            lines.append(f"{result}: {' '.join(map(str, meaning))}")
    if not lines:
        return
    text = "\n".join(["---", *lines, "---", ""]).encode()
    try:
        file = roles.parse(text.decode(), origin=where)
        step_roles.define(RoleName(role), shipped=None, file=file, configured=RoleSettings())
    except ConfigError as error:
        found.leave(f"{where}.result_mappings", f"{error.message}; {error.hint}")
        return
    found.write(f"roles/{role}.md", text, f"{where}.result_mappings")


def _pipeline(found: Findings, path: str, held: bytes, fallback: Fallbacks) -> None:
    source = f"{FOLDER}/{path}"
    value = table({source: held}, source, found)
    if not value:
        return
    named = _renamed(value)
    if not isinstance(named.get("name"), str) or not named["name"].strip():
        named = {"name": path.rpartition("/")[2].removesuffix(".json"), **named}
    pipeline, problems = spec.check(named, roles=built_in.ROLES)
    for problem in problems:
        if pipeline is not None or problem.level == "error":
            found.leave(f"{source}: {problem.path}", f"{problem.what}; {problem.remedy}")
    unknown = [problem for problem in problems if "no role" in problem.what]
    if pipeline is None and len(unknown) < sum(p.level == "error" for p in problems):
        found.leave(source, "it is refused here, and was not carried over")
        return
    named = fallback.carry(found, named, path)
    text = json.dumps(named, indent=2, ensure_ascii=False) + "\n"
    found.write(path, text.encode(), source)


def _renamed(value: Any, depth: int = 0) -> Any:
    """A pipeline with its agents called by their roles' names here."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {
            key: bare(held)
            if key == "agent" and isinstance(held, str)
            else _renamed(held, depth + 1)
            for key, held in value.items()
        }
    if isinstance(value, list):
        return [_renamed(held, depth + 1) for held in value]
    return value
