"""A short folder, programs run as agent CLIs run hooks, and the lines that they leave."""

from __future__ import annotations

import importlib.resources
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HOOKS = Path(str(importlib.resources.files("windlass.hooks")))


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short path: unix sockets allow about a hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="wl", dir="/tmp") as path:
        yield Path(path).resolve()


def hook(name: str, *arguments: str, body: bytes) -> subprocess.CompletedProcess[bytes]:
    """Runs a hook program on an input."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(HOOKS / f"{name}.py"), *arguments],
        input=body,
        capture_output=True,
        check=False,
        timeout=20,
    )


def raw_lines(path: Path) -> list[bytes]:
    """The lines of an events file, each whole; hooks that write at once may leave empty ones."""
    data = path.read_bytes() if path.exists() else b""
    assert data.endswith(b"\n") or not data
    return [line for line in data.split(b"\n") if line]


def told(path: Path) -> list[Any]:
    """The events of an events file."""
    return [json.loads(line)["event"] for line in raw_lines(path)]


def until(condition: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Returns as soon as the condition holds; fails loudly when it never does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"waited {seconds} s in vain")
        time.sleep(0.002)
