# ruff: noqa: PTH112, PTH120
# (paths are text here: they come from a definition)
"""MCP servers of a person's own that a boxed session starts, and why some of them are not started.

They are taken from what Claude Code knows for every folder and for this repository. One that runs
as a program is started by Claude Code in the box, so it has to be seen there; one that is an
address has to be reached from there. Definitions are copied as they stand, with what they set in
the environment and send in headers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from windlass.core.box_spec import BoxView
from windlass.core.driver_request import SessionRequest
from windlass.core.errors import ConfigError
from windlass.core.session_launch import Remark
from windlass.drivers import claude_config

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""One that has no default behind it."""
_REMOTE = ("http", "sse", "streamable-http", "ws")
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def chosen(request: SessionRequest) -> tuple[dict[str, Any], list[Remark]]:
    """The definitions of the servers to start, by name, and what the person should know of them."""
    try:
        known = _known(request)
    except ConfigError as error:
        if not request.servers:
            return {}, []
        return {}, [Remark(text=f"without your MCP servers: {error.message}", once=False)]
    taken: dict[str, Any] = {}
    remarks: list[Remark] = []
    for name in request.servers:
        if name not in known:
            text = f"without the MCP server {name}: your Claude Code knows none of that name here"
            remarks.append(Remark(text=text, fix="claude mcp list", once=False))
        elif problem := _problem(known[name], request):
            text = f"without the MCP server {name}: {problem[0]}"
            remarks.append(Remark(text=text, fix=problem[1], once=False))
        else:
            taken[name] = known[name]
            remarks += _exposed(name, known[name])
    if idle := [name for name in known if name not in request.servers]:
        text = f"without your MCP servers {', '.join(idle)}"
        remarks.append(Remark(text=text, fix=f"wl config add claude.mcp {idle[0]} --global"))
    return taken, remarks


def _known(request: SessionRequest) -> dict[str, Any]:
    """All that the person has added: for every folder, or for this repository, which wins."""
    said = claude_config.read(claude_config.global_file(claude_config.of_person(request)))
    projects = claude_config.table(said, "projects")
    here = claude_config.table(projects, os.path.realpath(request.repo or "/"))
    both = {**claude_config.table(said, "mcpServers"), **claude_config.table(here, "mcpServers")}
    return {name: server for name, server in both.items() if isinstance(server, dict)}


def _exposed(name: str, server: dict[str, Any]) -> list[Remark]:
    """Says what of a definition may be secret: whatever runs in the box can read it."""
    held = [*claude_config.table(server, "env"), *claude_config.table(server, "headers")]
    if not held:
        return []
    them = "it" if len(held) == 1 else "them"
    text = (
        f"the MCP server {name} has {', '.join(held)} in the box, where the agent can read {them}"
    )
    return [Remark(text=text)]


def _problem(server: dict[str, Any], request: SessionRequest) -> tuple[str, str] | None:
    """Why a server could not work in the box, and what would help."""
    for variable in _variables(server):
        if variable not in {**request.env, **request.extra_env}:
            fix = f"wl config add box.env {variable} --global"
            return f"the box has no variable {variable}", fix
    kind = server.get("type", "stdio")
    if kind == "stdio":
        return _unseen(server, request)
    if kind in _REMOTE:
        return _unreached(str(server.get("url", "")), request.view)
    return f"a server of type {kind} is not started in boxes", ""


def _variables(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield from _VARIABLE.findall(part)
    elif isinstance(part, list | dict):
        for item in part.values() if isinstance(part, dict) else part:
            yield from _variables(item)


def _unseen(server: dict[str, Any], request: SessionRequest) -> tuple[str, str] | None:
    """Why the program could not be started: it, or a file that it is given, is not in the box."""
    command = server.get("command")
    if not isinstance(command, str) or not command:
        return "it names no program", ""
    program = shutil.which(command, path=request.env.get("PATH"))
    if program is None:
        return f"there is no program {command} on the PATH of boxes", ""
    arguments = server.get("args")
    words = [word for word in arguments if isinstance(word, str)] if arguments else []
    for place in (program, *filter(os.path.lexists, map(_path, words))):
        if not _is_seen(place, request.view.shown):
            folder = place if os.path.isdir(place) else os.path.dirname(place)
            fix = f"wl config add box.toolchains {folder} --global"
            return f"{place} is not visible in the box", fix
    return None


def _path(word: str) -> str:
    """The absolute path that a word is, or has behind `=`; else nothing."""
    path = word.partition("=")[2] if word.startswith("-") else word
    return path if path.startswith("/") else ""


def _is_seen(place: str, shown: tuple[str, ...]) -> bool:
    """Whether a place is there inside by its name, and all that its links lead through as well."""
    named = [folder for folder in shown if _within(os.path.normpath(place), folder)]
    real = os.path.realpath(place)
    return bool(named) and any(
        _within(real, name) for folder in shown for name in (folder, os.path.realpath(folder))
    )


def _unreached(url: str, view: BoxView) -> tuple[str, str] | None:
    """Why an address could not be reached: the box's network ends before it."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        host, port = "", None
    if not host or port is None:
        return "its address is none", ""
    if view.network == "host" or _is_named(host, port, view.domains):
        return None
    if view.network == "none" or host in _LOOPBACK:
        return f"{host} is not reached from a box with network {view.network}", ""
    named = host if port in (80, 443) else f"{host}:{port}"
    return f"{host} is not in box.domains", f"wl config add box.domains {named} --global"


def _is_named(host: str, port: int, domains: tuple[str, ...]) -> bool:
    if f"{host}:{port}" in domains:
        return True
    below = any(name[:2] == "*." and host.endswith(name[1:]) for name in domains)
    return port in (80, 443) and (host in domains or below)


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")
