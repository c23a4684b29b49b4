"""`wl init`: makes a repository known and gives it a configuration file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windlass.core import config
from windlass.daemon import repos, settings
from windlass.daemon.context import Context


def init(context: Context, cwd: str) -> dict[str, Any]:
    """Registers the repository; writes `.windlass/config.toml` unless there is one."""
    repo = repos.require(context, cwd)
    path = Path(repo.root) / settings.PROJECT_FILE
    made = not path.exists()
    if made:
        path.parent.mkdir(exist_ok=True)
        path.write_text(template())
    else:
        settings.load(context.folders.home, repo.root)
    return {"id": repo.id, "root": repo.root, "config": str(path), "made": made}


def template() -> str:
    """Every key, commented out, with what it is for and its default."""
    lines = ["# Windlass: what this repository wants. Every key is optional.", ""]
    default = config.Config()
    section = ""
    for key in sorted(config.ABOUT, key=lambda key: ("." in key, list(config.ABOUT).index(key))):
        table, _, name = key.rpartition(".")
        if table != section:
            lines += ["", f"[{table}]"]
            section = table
        lines += [f"# {config.ABOUT[key]}", f"# {name} = {_toml(config.value(default, key))}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if value is None:
        return "10"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)
