"""Files of a tree that stand in the place of what runs its tests. Pure, and told by their paths.

A gate's command finds its runner where the language looks first, and that is often the tree: Python
takes `unittest/__main__.py` before its own, npm what lies in `node_modules/.bin`. Such a file says
what it likes about tests that nobody ran.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable

_RUNNERS = frozenset(
    (
        *("pytest", "_pytest", "pluggy", "iniconfig", "xdist", "pytest_cov", "pytest_asyncio"),
        *("coverage", "unittest2", "nose", "nose2", "tox", "nox", "ward", "testtools", "stestr"),
    )
)
"""Modules of Python that run tests, or are loaded by those that do."""
_ROOTS = frozenset(("", "src", "lib", "python"))
"""Folders in which Python usually looks for modules before it looks where it is installed."""
_ENTRIES = frozenset(("__init__", "__main__"))
_CODE = ("py", "pyc", "pyo", "pyw", "so", "pyd")
_INSTALLED = re.compile(
    r"node_modules|\.?venv|site-packages|.*\.(?:egg-info|dist-info|pyc|pyo|pth)"
    r"|\.npmrc|\.yarnrc(?:\.yml)?|\.pnp\..*|bunfig\.toml|rust-toolchain(?:\.toml)?",
    re.DOTALL,
)
"""Folders and files that hold what is installed, say where that is, or are run unread."""
_WITHIN = frozenset(
    (
        *((".yarn", "releases"), (".yarn", "plugins"), (".yarn", "sdks"), ("vendor", "bin")),
        *((".cargo", "config"), (".cargo", "config.toml"), (".bundle", "config")),
        *((".mvn", "maven.config"), (".mvn", "jvm.config"), (".mvn", "extensions.xml")),
    )
)
"""The same, by the folder and what is in it."""


def is_one(path: str, *, modules: Iterable[str] = (), folders: Iterable[str] = ()) -> bool:
    """Whether a path stands there: beside known modules, for these ones, also in these folders."""
    parts = path.split("/")
    if any(_INSTALLED.fullmatch(part) for part in parts):
        return True
    if not _WITHIN.isdisjoint(itertools.pairwise(parts)):
        return True
    return _is_module(parts, frozenset(modules), _ROOTS.union(folders))


def _is_module(parts: list[str], modules: frozenset[str], roots: frozenset[str]) -> bool:
    """Whether Python would take it for one of the modules: a file, a package, or a link to one."""
    name, _, ending = parts[-1].partition(".")
    above = parts[:-1]
    if "/".join(above) in roots and _is_known(name, modules):
        return not ending or ending.rpartition(".")[2] in _CODE
    return (
        bool(above)
        and "/".join(above[:-1]) in roots
        and _is_known(above[-1], modules)
        and name in _ENTRIES
        and ending.rpartition(".")[2] in _CODE
    )


def _is_known(name: str, modules: frozenset[str]) -> bool:
    return name in _RUNNERS or name in sys.stdlib_module_names or name in modules
