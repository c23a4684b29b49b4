"""What a person's own Claude configuration says about agents. Read here, and never written.

And what an agent's own folder says, which is read with care: the agent may have made it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from windlass.core import agents_json
from windlass.core.driver_request import SessionRequest
from windlass.core.errors import ConfigError

_LARGEST = 16 << 20


def is_own(request: SessionRequest) -> bool:
    """Returns whether an agent has a configuration folder of ours instead of the person's."""
    return request.boxed or request.options.get("config") == "own"


def of_person(request: SessionRequest) -> SessionRequest:
    """Returns a session as the person would start it: with their folder, whatever an agent has."""
    return msgspec.structs.replace(request, boxed=False, options={}, env=request.person_env)


def folder(request: SessionRequest) -> Path:
    """Returns the configuration folder that a session uses."""
    if is_own(request):
        return Path(request.folder) / "config"
    moved = request.env.get("CLAUDE_CONFIG_DIR")
    return Path(moved) if moved else Path(request.env.get("HOME", "/")) / ".claude"


def global_file(request: SessionRequest) -> Path:
    """Returns where onboarding and trust are kept: beside the folder, unless that was moved."""
    moved = request.env.get("CLAUDE_CONFIG_DIR")
    home = Path(request.env.get("HOME", "/"))
    return Path(moved) / ".claude.json" if moved else home / ".claude.json"


def is_onboarded(request: SessionRequest) -> bool:
    """Returns whether the person has been through the first start."""
    return bool(read(global_file(request)).get("hasCompletedOnboarding"))


def trusts(request: SessionRequest) -> bool:
    """Returns whether the workspace is trusted: trust in a folder is trust in all below it."""
    real = Path(os.path.realpath(request.workspace))
    projects = table(read(global_file(request)), "projects")
    return any(
        table(projects, str(place)).get("hasTrustDialogAccepted") for place in (real, *real.parents)
    )


def pays_by_key(request: SessionRequest) -> bool:
    """Returns whether the person's login is a key that is billed, rather than a subscription."""
    settings = read(folder(request) / "settings.json")
    env = table(settings, "env")
    named = any(env.get(name) for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
    return bool(
        named or settings.get("apiKeyHelper") or read(global_file(request)).get("primaryApiKey")
    )


def mcp_settings(request: SessionRequest) -> dict[str, Any]:
    """Returns the settings by which nobody is asked about the servers of the repository.

    Those that the person approved in the repository itself are used; an agent's checkout is another
    folder, so they would be asked about again. The others are left out.
    """
    offered = _offered(Path(request.workspace) / ".mcp.json")
    if not offered:
        return {}
    approved: set[str] = set()
    if not is_own(request):
        settings = read(folder(request) / "settings.json")
        if settings.get("enableAllProjectMcpServers"):
            return {}
        project = table(
            table(read(global_file(request)), "projects"), os.path.realpath(request.repo or "/")
        )
        for source in (settings, project):
            named = source.get("enabledMcpjsonServers")
            approved |= set(named if isinstance(named, list) else ())
    return {
        "enabledMcpjsonServers": [name for name in offered if name in approved],
        "disabledMcpjsonServers": [name for name in offered if name not in approved],
    }


def _offered(path: Path) -> list[str]:
    """The servers that a repository brings; a file that Claude Code cannot read brings none."""
    return list(table(read_made_by_agent(path), "mcpServers"))


def read_made_by_agent(path: Path) -> dict[str, Any]:
    """Reads a JSON file that an agent may have made; what is no plain file of it says nothing.

    A link could lead to what the agent may not read, and a pipe would keep us waiting.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        # A folder can be opened, and makes no file object.
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST:
            return {}
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            known = agents_json.decode(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)
    return known if isinstance(known, dict) else {}


def table(of: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a table in a table; what is none says nothing."""
    held = of.get(name)
    return held if isinstance(held, dict) else {}


def read(path: Path) -> dict[str, Any]:
    """Reads a JSON file of Claude Code's; one that is not there says nothing."""
    try:
        with path.open("rb") as file:
            known = msgspec.json.decode(file.read(_LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        hint = "run `claude` once to mend it"
        raise ConfigError(f"{path} cannot be read: {error}", hint) from None
    return known if isinstance(known, dict) else {}
