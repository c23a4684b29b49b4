"""Projects as people have them: what is installed from the tree tests that very tree.

For each: a covered function is broken and it is red, mended and it is green as is known, and a
fresh agent can run what the gate runs.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.daemon.gate import gate_ground
from tests.support.workshop import Workshop

from windlass.daemon.kernel import repos

BACKEND = '''
"""An editable install as build backends make it, without one from a registry."""
import os, zipfile

def get_requires_for_build_editable(config_settings=None):
    return []

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    info = "shop-1.0.dist-info"
    files = {
        "shop.pth": os.path.abspath("src") + "\\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: shop\\nVersion: 1.0\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "[console_scripts]\\nshop-add = shop.calc:main\\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(os.path.join(wheel_directory, "shop-1.0-py3-none-any.whl"), "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return "shop-1.0-py3-none-any.whl"
'''


class Project(NamedTuple):
    """Its files, and the break of a covered function that every check sees."""

    files: Mapping[str, str]
    broken: Mapping[str, str]


def _gate(setup: str, deps: list[str], inputs: list[str], checks: Mapping[str, str]) -> str:
    head = f"[gate]\nsetup = {json.dumps(setup)}\nsetup_network = false\n"
    lines = [f"deps = {json.dumps(deps)}", f"inputs = {json.dumps(inputs)}"]
    for name, run in checks.items():
        some = "none" if name == "script" else "some"
        lines += [
            "[[gate.check]]",
            f'name = "{name}"',
            f"run = {json.dumps(run)}",
            f'tests = "{some}"',
        ]
    return head + "\n".join(lines) + "\n"


PYTHON = Project(
    {
        "pyproject.toml": (
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            '[project]\nname = "shop"\nversion = "1.0"\n'
        ),
        "backend.py": BACKEND,
        "src/shop/__init__.py": "",
        "src/shop/calc.py": (
            "import sys\n\n\ndef add(a, b):\n    return a + b\n\n\n"
            "def main():\n    print(add(*map(int, sys.argv[1:])))\n"
        ),
        "tests/test_calc.py": (
            "import unittest\nfrom shop import calc\n\n\nclass Adds(unittest.TestCase):\n"
            "    def test_adds(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
        ),
        ".windlass/config.toml": _gate(
            "python3 -m venv .venv && .venv/bin/pip install -q --no-index --no-build-isolation"
            " --disable-pip-version-check -e .",
            [".venv"],
            ["pyproject.toml"],
            {
                "tests": ".venv/bin/python -m unittest discover -v -s tests",
                "script": "test $(.venv/bin/shop-add 1 2) = 3",
            },
        ),
    },
    {
        "src/shop/calc.py": (
            "import sys\n\n\ndef add(a, b):\n    return a - b\n\n\n"
            "def main():\n    print(add(*map(int, sys.argv[1:])))\n"
        )
    },
)
NPM = Project(
    {
        "package.json": '{"name": "shop", "private": true, "workspaces": ["packages/*"]}',
        "packages/calc/package.json": '{"name": "calc", "version": "1.0.0", "main": "calc.js"}',
        "packages/calc/calc.js": "exports.add = (a, b) => a + b;\n",
        "packages/app/package.json": (
            '{"name": "app", "version": "1.0.0", "dependencies": {"calc": "1.0.0"},'
            ' "scripts": {"test": "node --test"}}'
        ),
        "packages/app/app.test.js": (
            "const test = require('node:test');\nconst assert = require('node:assert');\n"
            "test('adds', () => assert.equal(require('calc').add(1, 2), 3));\n"
        ),
        ".windlass/config.toml": _gate(
            "npm install --offline --no-audit --no-fund --no-package-lock --loglevel=error",
            ["**/node_modules"],
            ["package.json", "packages/*/package.json"],
            {"tests": "npm test --workspace app"},
        ),
    },
    {"packages/calc/calc.js": "exports.add = (a, b) => a - b;\n"},
)


@pytest.mark.parametrize("project", [PYTHON, NPM], ids=["an editable install", "an npm workspace"])
def test_a_break_is_red_its_mending_known_and_an_agent_can_run_the_gate(
    workshop: Workshop, tmp_path: Path, project: Project
) -> None:
    """The tree's own code is tested, and not that of another which it was installed from."""
    ground = gate_ground.make(workshop.context, tmp_path / "shop", dict(project.files))
    repos.add(workshop.context, str(ground.root))
    first = ground.prove()
    assert first["outcome"] == "passed", _told(first)
    ground.commit(dict(project.broken), branch="broken")
    red = {check["name"]: check["outcome"] for check in ground.prove("broken")["checks"]}
    assert set(red.values()) == {"failed"}, red
    ground.git("checkout", "-q", "broken")
    for name in project.broken:
        (ground.root / name).write_text(project.files[name])
    ground.git("commit", "-qam", "mended")
    again = ground.prove("broken")
    assert (again["outcome"], again["cached"]) == ("passed", True)
    ground.git("checkout", "-q", "main")

    asked = {"goal": "g", "name": "fox", "driver": "standin", "isolation": "box"}
    made = workshop.ask("spawn", cwd=str(ground.root), **asked)
    assert made["lacks"] == ""
    place = workshop.ask("place", cwd=str(ground.root), agent="fox")
    for check in first["checks"]:
        line = [*place["box"], "/bin/sh", "-c", check["run"]]
        done = subprocess.run(
            line, cwd=place["path"], env={}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (check["run"], done.stdout, done.stderr)


def _told(done: dict[str, object]) -> object:
    checks: list[dict[str, str]] = done["checks"]  # type: ignore[assignment]
    return [(check, check["log"] and Path(check["log"]).read_text()) for check in checks]
