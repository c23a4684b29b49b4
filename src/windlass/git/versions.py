"""Which git is installed, and whether it is new enough."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess

from windlass.core.errors import ConfigError
from windlass.git.bounds import QUICK

OLDEST = (2, 38)
INSTALL = "install git 2.38 or newer (apt install git, brew install git) and put it on PATH"


@functools.cache
def _version_of(program: str) -> tuple[int, int]:
    said = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=QUICK)
    numbers = re.search(rb"(\d+)\.(\d+)", said.stdout)
    if numbers is None:
        raise ConfigError(f"{program} does not say its version", INSTALL)
    return int(numbers[1]), int(numbers[2])


def version() -> tuple[int, int]:
    """Gives git's major and minor version."""
    program = shutil.which("git")
    if program is None:
        raise ConfigError("git is not on PATH", INSTALL)
    return _version_of(program)


def require_version() -> None:
    """Refuses a git that is too old."""
    installed = version()
    if installed < OLDEST:
        raise ConfigError(f"git {installed[0]}.{installed[1]} is too old", INSTALL)
