"""The wheel, installed as pipx does it: a person's branch lands without tmux, agent or account."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.support.ground import Done, Ground
from tests.support.programs import PLAIN, machine_with

from windlass import __version__

pytestmark = pytest.mark.slow
_ROOT = Path(__file__).parents[2]
_CODE = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": """import unittest
import calc

class Adds(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(calc.add(1, 2), 3)
""",
}


class Installed:
    """A `wl` of a wheel, on a machine with few programs."""

    def __init__(self, ground: Ground, *, registry: bool) -> None:
        self._ground = ground
        folder = ground.folder / "installed"
        dist = ground.folder / "dist"
        _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist), cwd=_ROOT)
        (wheel,) = dist.glob("*.whl")
        _run(sys.executable, "-m", "venv", str(folder))
        alone = [] if registry else ["--no-deps"]
        _run(str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *alone, str(wheel))
        if not registry:
            # What it requires is this checkout's; what it lacks itself is missed all the same.
            (site,) = folder.glob("lib/python*/site-packages")
            (site / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.program = folder / "bin" / "wl"
        self.path = machine_with(ground.folder / "tools", *PLAIN)

    def wl(self, *words: str) -> Done:
        """Runs it."""
        done = subprocess.run(
            [self.program, *words],
            cwd=self._ground.folder / "repo",
            env={**self._ground.env, "PATH": self.path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def _run(*words: str, cwd: Path | None = None) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("registry", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_an_installed_wheel_lands_a_branch_without_tmux_or_an_agent(
    ground: Ground, *, registry: bool
) -> None:
    """From nothing to a proven main in two commands; what is red does not get there."""
    ground.git("config", "--global", "user.name", "Tester")
    ground.git("config", "--global", "user.email", "tester@example.invalid")
    repo = ground.folder / "repo"
    for name, text in _CODE.items():
        (repo / name).write_text(text)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "code")
    for branch, name, text in (
        ("my-branch", "more.py", "more = 1\n"),
        ("bad", "calc.py", "def add(a, b):\n    return a - b\n"),
    ):
        ground.git("checkout", "-q", "-b", branch, "main")
        (repo / name).write_text(text)
        ground.git("add", "-A")
        ground.git("commit", "-q", "-m", branch)
    ground.git("checkout", "-q", "main")
    installed = Installed(ground, registry=registry)
    assert installed.wl("--version").ok().out.split() == ["windlass", __version__]
    assert "main is green: 1 test" in installed.wl("init", "--accept").ok().out
    assert "landed" in installed.wl("merge", "my-branch").ok().out
    assert (repo / "more.py").exists()
    before = ground.git("rev-parse", "main")
    back = installed.wl("merge", "bad")
    assert (back.code, "test_adds" in back.out) == (10, True), back
    assert ground.git("rev-parse", "main") == before
    assert "landed" in installed.wl("queue", "--all").ok().out
    installed.wl("daemon", "stop").ok()
    assert ground.processes() == []
