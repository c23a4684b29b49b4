"""The import contracts of pyproject.toml refuse what a new room or command might do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]

INTRUDERS = {
    "attic/__init__.py": "",
    "daemon/queue/__init__.py": "import windlass.sessions.tmux, windlass.daemon.main",
    "daemon/mail/claude.py": "import windlass.core.claude.dialect",
    "cli/commands/daemon_main.py": "import windlass.daemon.main",
    "cli/commands/rows.py": "from windlass.store import rows",
    "cli/commands/replay.py": "from windlass.model import server",
    "hooks/names.py": "import windlass.core.names",
    "core/shell/names.py": "import windlass.core.names",
    "core/now.py": "import time",
}
REFUSED = (
    "windlass.attic",
    "windlass.daemon.queue",
    "windlass.daemon.queue -> windlass.sessions.tmux",
    "windlass.daemon.mail.claude -> windlass.core.claude.dialect",
    "windlass.cli.commands.daemon_main -> windlass.daemon.main",
    "windlass.cli.commands.rows -> windlass.store.rows",
    "windlass.cli.commands.replay -> windlass.model.server",
    "windlass.hooks.names -> windlass.core.names",
    "windlass.core.shell.names -> windlass.core.names",
    "windlass.core.now -> time",
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source with its contracts."""
    folder = tmp_path_factory.mktemp("scratch")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder: Path) -> tuple[int, str]:
    """What import-linter says of the source in a folder, its lines joined."""
    program = str(Path(sys.executable).with_name("lint-imports"))
    env = {**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "300"}
    ran = subprocess.run(
        [program, "--no-cache"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    return ran.returncode, " ".join((ran.stdout + ran.stderr).split())


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / "src" / "windlass" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n")
    return path


def test_what_is_there_keeps_every_contract(scratch: Path) -> None:
    code, said = lint(scratch)
    assert code == 0, said


def test_what_a_new_module_must_not_import_is_refused(scratch: Path) -> None:
    added = [put(scratch, name, text) for name, text in INTRUDERS.items()]
    try:
        code, said = lint(scratch)
    finally:
        for path in added:
            path.unlink()
    assert code == 1
    assert [line for line in REFUSED if line not in said] == [], said


@pytest.mark.parametrize(
    ("name", "text", "refused"),
    [
        (
            "daemon/kernel/mail.py",
            "import windlass.daemon.mail.send",
            "windlass.daemon.kernel is not allowed to import windlass.daemon.mail",
        ),
        (
            "store/branches.py",
            "import windlass.git.workspaces",
            "windlass.store is not allowed to import windlass.git",
        ),
    ],
)
def test_layers_that_are_all_listed_are_held_to_their_order(
    scratch: Path, name: str, text: str, refused: str
) -> None:
    added = put(scratch, name, text)
    try:
        code, said = lint(scratch)
    finally:
        added.unlink()
    assert code == 1
    assert refused in said


def test_no_layers_are_left_open() -> None:
    layered = [contract for contract in CONTRACTS if contract["type"] == "layers"]
    assert {contract["containers"][0] for contract in layered} == {"windlass", "windlass.daemon"}
    assert all(contract["exhaustive"] for contract in layered)
