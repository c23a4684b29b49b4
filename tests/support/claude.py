"""The real Claude Code, pinned, and the environment in which tests run it.

It is installed by npm into `.cache/claude-code`; `python -m tests.support.claude` does that, and
`scripts/setup dev` calls it. Every run is built from nothing: no variable, configuration or account
of the caller's gets in, and the only address that it connects to is the scripted model's.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

VERSION = "2.1.197"
PINNED = Path(__file__).parent / "claude-code"
CACHE = Path(__file__).parents[2] / ".cache"
FOLDER = CACHE / "claude-code"
PATIENCE = 600.0


class Missing(Exception):
    """It could not be installed."""


def claude_binary() -> Path:
    """Returns the pinned Claude Code; without npm the test is skipped, in CI it fails."""
    try:
        return install()
    except Missing as missing:
        said = f"the real Claude Code {VERSION} is needed: {missing}"
        if os.environ.get("CI") == "true":
            pytest.fail(said, pytrace=False)
        pytest.skip(said)


def install() -> Path:
    """Installs it, unless it is there; many may ask at the same time."""
    with _alone():
        lock = (PINNED / "package-lock.json").read_bytes()
        stamp = FOLDER / "installed"
        if not stamp.exists() or stamp.read_bytes() != lock:
            _fetch()
            _binary()
            stamp.write_bytes(lock)
        return _binary()


def claude_environment(home: Path, model_url: str) -> dict[str, str]:
    """Builds the whole environment of a run; `home` gets its configuration folder."""
    git = shutil.which("git") or "/usr/bin/git"
    return {
        "PATH": os.pathsep.join(dict.fromkeys((str(Path(git).parent), "/usr/bin", "/bin"))),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_AUTH_TOKEN": "windlass",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
    }


def seed(home: Path, trusted: Sequence[Path] = ()) -> Path:
    """Makes the configuration folder with which a terminal session asks nothing at its start.

    A folder in `trusted` makes those below it trusted too. Returns the configuration folder.
    """
    config = home / ".claude"
    config.mkdir(parents=True, exist_ok=True)
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in trusted},
    }
    (config / ".claude.json").write_text(json.dumps(state))
    (config / "settings.json").write_text(json.dumps({"skipDangerousModePermissionPrompt": True}))
    return config


def _fetch() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("there is no npm; install Node.js with npm and run `make setup-dev`")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(PINNED / name, FOLDER / name)
    argv = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            argv, cwd=FOLDER, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"npm did not end within {PATIENCE:g} s") from None
    if done.returncode:
        raise Missing(f"npm ended with {done.returncode}:\n{done.stderr.strip()}")


def _binary() -> Path:
    """Finds the program of this platform; the package's own launcher needs an install script."""
    programs = sorted((FOLDER / "node_modules/@anthropic-ai").glob("claude-code-*/claude"))
    if not programs:
        raise Missing("npm installed no program for this platform")
    return programs[0]


@contextmanager
def _alone() -> Iterator[None]:
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "claude-code.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{install()}\n")
    except Missing as lacking:
        sys.exit(f"Claude Code {VERSION}: {lacking}")
