"""Settings and plugins: which hooks there are and what the permissions say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from windlass.standin.flags import UsageError

DEFAULT_TIMEOUT = 60.0
IDLE_NOTICE_MS = 60_000


class ConfiguredHook(msgspec.Struct, frozen=True, kw_only=True):
    """One hook; `command` or `url` says which type it is."""

    event: str
    matcher: str = ""
    command: str = ""
    args: tuple[str, ...] | None = None
    url: str = ""
    headers: dict[str, str] = {}
    allowed_env: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    background: bool = False
    rewake: bool = False
    condition: str = ""
    plugin: str | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What settings and plugins amount to."""

    hooks: tuple[ConfiguredHook, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    mode: str | None = None
    env: dict[str, str] = {}
    idle_notice: float = IDLE_NOTICE_MS / 1000


def load_settings(source: str | None, plugin_dirs: Sequence[str]) -> Settings:
    """Reads `--settings` (a file, or JSON itself) and the hooks of each plugin."""
    data = _read(source) if source else {}
    hooks = _hooks(data.get("hooks"), plugin=None)
    for folder in plugin_dirs:
        file = Path(folder) / "hooks" / "hooks.json"
        if file.is_file():
            table = _object(file.read_bytes(), str(file))
            hooks += _hooks(table.get("hooks", table), plugin=str(Path(folder).resolve()))
    permissions = data.get("permissions")
    permissions = permissions if isinstance(permissions, dict) else {}
    env = data.get("env")
    return Settings(
        hooks=tuple(hooks),
        allow=_strings(permissions.get("allow")),
        deny=_strings(permissions.get("deny")),
        ask=_strings(permissions.get("ask")),
        mode=permissions.get("defaultMode"),
        env={key: str(value) for key, value in env.items()} if isinstance(env, dict) else {},
        idle_notice=float(data.get("messageIdleNotifThresholdMs", IDLE_NOTICE_MS)) / 1000,
    )


def _read(source: str) -> dict[str, Any]:
    if source.lstrip().startswith("{"):
        return _object(source.encode(), "--settings")
    try:
        return _object(Path(source).read_bytes(), source)
    except OSError:
        raise UsageError(f"Error: Settings file not found: {source}") from None


def _object(data: bytes, name: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise UsageError(f"Error: {name} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"Error: {name} must hold a JSON object")
    return value


def _hooks(table: Any, *, plugin: str | None) -> list[ConfiguredHook]:
    """Flattens event -> matchers -> hooks; what is not understood is left out."""
    hooks = []
    for event, groups in table.items() if isinstance(table, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks", ()) if isinstance(group, dict) else ()
            matcher = str(group.get("matcher", "")) if isinstance(group, dict) else ""
            hooks += [
                _hook(entry, event, matcher, plugin)
                for entry in entries
                if isinstance(entry, dict) and entry.get("type") in {"command", "http"}
            ]
    return hooks


def _hook(entry: dict[str, Any], event: str, matcher: str, plugin: str | None) -> ConfiguredHook:
    args = entry.get("args")
    return ConfiguredHook(
        event=event,
        matcher=matcher,
        command=str(entry.get("command", "")) if entry["type"] == "command" else "",
        args=_strings(args) if isinstance(args, list) else None,
        url=str(entry.get("url", "")) if entry["type"] == "http" else "",
        headers={key: str(value) for key, value in entry.get("headers", {}).items()},
        allowed_env=_strings(entry.get("allowedEnvVars")),
        timeout=float(entry.get("timeout", DEFAULT_TIMEOUT)),
        background=bool(entry.get("async") or entry.get("asyncRewake")),
        rewake=bool(entry.get("asyncRewake")),
        condition=str(entry.get("if", "")),
        plugin=plugin,
    )


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
