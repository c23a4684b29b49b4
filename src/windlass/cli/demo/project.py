"""The demo's project: a small Python package with tests, a gate that needs no network, a board."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata, resources
from importlib.util import cache_from_source

from windlass.core.errors import Unavailable
from windlass.core.leaks import without_leaks

DATA = os.path.join(str(resources.files("windlass.data")), "demo")
"""The project's files; its board, its pipeline and the scripts of its agents."""
PACKAGES = ".packages"
"""Where the gate's setup puts pytest, in a tree."""
_WITH_PYTEST = """\
[gate]
setup = 'cp -Rp "{packages}" {place}'
setup_network = false
deps = ["{place}"]

[[gate.check]]
name = "tests"
run = "PYTHONPATH={place} python3 -m pytest -q -p no:cacheprovider"
"""
_WITHOUT = """\
[[gate.check]]
name = "tests"
run = "python3 -m unittest -v"
"""


def make(folder: str) -> str:
    """Makes what a person would have, a repository with a commit; returns where it lies."""
    repo = os.path.join(folder, "sailing")
    shutil.copytree(
        os.path.join(DATA, "project"), repo, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(os.path.join(DATA, "windlass"), os.path.join(repo, ".windlass"))
    with open(os.path.join(repo, ".windlass", "config.toml"), "w") as file:
        file.write(_gate(folder))
    with open(os.path.join(repo, ".gitignore"), "w") as file:
        file.write(f"__pycache__/\n{PACKAGES}/\n")
    git("init", "-q", "-b", "main", cwd=repo)
    git("add", ".", cwd=repo)
    git("commit", "-q", "-m", "a small package with tests, and a board", cwd=repo)
    return repo


def packages(folder: str) -> str:
    """Where the gate's setup finds pytest; there is nothing where none is installed beside `wl`."""
    return os.path.join(folder, "packages")


def has_pytest() -> bool:
    """Whether pytest is installed beside `wl`."""
    return _installed("pytest") is not None


def runner() -> str:
    """What runs the project's tests, in words."""
    if has_pytest():
        return "its tests, by pytest"
    return "its tests, by unittest, because no pytest is installed beside wl"


def own_python(folder: str) -> str:
    """Makes a folder for PATH in which `python3` is the interpreter that runs `wl`.

    The machine's own may be too old for the project, or a shim that has to look for one each time.
    """
    programs = os.path.join(folder, "bin")
    os.makedirs(programs)
    os.symlink(os.path.realpath(sys.executable), os.path.join(programs, "python3"))
    return programs


def git(*args: str, cwd: str) -> str:
    """Runs git as the person would. The demo's own calls of git are all made here."""
    who = ("-c", "user.name=windlass demo", "-c", "user.email=demo@windlass.invalid")
    env = without_leaks(os.environ)
    done = subprocess.run(
        ["git", *who, *args], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"git {args[0]} failed: {done.stderr.strip()}", "is git installed?")
    return done.stdout


def _gate(folder: str) -> str:
    """A gate of pytest, in its own copy of it; of the standard library where there is none."""
    if not has_pytest():
        return _WITHOUT
    _copy("pytest", packages(folder))
    return _WITH_PYTEST.format(packages=packages(folder), place=PACKAGES)


def _copy(name: str, place: str) -> None:
    """Copies an installed package with all that it needs, but for what it installs elsewhere."""
    left, known = [name], set[str]()
    while left:
        found = _installed(left.pop())
        if found is None or found.name in known:
            continue  # what a requirement of another platform names is not there
        known.add(found.name)
        left += [_name(need) for need in found.requires or () if "extra ==" not in need]
        for file in found.files or ():
            if file.parts[0] == ".." or file.suffix == ".pyc":
                continue
            copied = os.path.join(place, *file.parts)
            _copy_file(str(found.locate_file(file)), copied)


def _copy_file(source: str, place: str) -> None:
    """With its time and what was compiled of it: each run of the gate would compile it anew."""
    compiled = (cache_from_source(source), cache_from_source(place))
    for of, to in ((source, place), compiled):
        if os.path.exists(of):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(of, to)


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
