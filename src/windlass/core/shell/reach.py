"""Where an agent may go: its places, and which of them a path is in.

Pure: who asks has followed the links. The deepest place around a path decides. Paths are compared
name by name, composed alike, and without their case where the file system has none.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

_TOP = frozenset(
    (
        *("etc", "root", "home", "var", "proc", "sys", "dev", "run", "srv", "mnt", "media", "boot"),
        *("usr", "bin", "sbin", "lib", "lib64", "opt", "tmp", "private", "Users", "Volumes"),
    )
)
"""Where nobody looks: the folders that systems have."""


class Places(NamedTuple):
    """Where an agent may work and where not, as absolute paths without links in them."""

    roots: tuple[str, ...]
    closed: tuple[str, ...]
    folded: bool = False
    """Whether the file system takes a and A for the same."""

    def inside(self, path: str) -> bool:
        """Whether a path without links is in a place of the agent's."""
        mine = self._deepest(self.roots, path)
        return mine >= 0 and mine >= self._deepest(self.closed, path)

    def shut(self, path: str) -> bool:
        """Whether a path without links is in a place that is not the agent's."""
        return self._deepest(self.closed, path) > self._deepest(self.roots, path)

    def holds(self, path: str) -> bool:
        """Whether a place that is not the agent's lies below a path without links."""
        real = self._names(path)
        return any(
            len(place) > len(real) and place[: len(real)] == real
            for place in map(self._names, self.closed)
        )

    def _deepest(self, among: tuple[str, ...], path: str) -> int:
        real = self._names(path)
        holding = [place for place in map(self._names, among) if real[: len(place)] == place]
        return max(map(len, holding), default=-1)

    def _names(self, path: str) -> list[str]:
        # Agent CLIs may compose accents before they open, and some file systems do.
        names = composed(path).split("/")
        if self.folded:
            names = composed("/".join(names).casefold()).split("/")
        return [name for name in names if name]


def composed(path: str) -> str:
    """A path with its accents composed; a name that no system can have stays as it is.

    To put a thousand accents on one letter in order takes a million steps, in which nothing else of
    this process runs.
    """
    names = path.split("/")
    return "/".join(
        unicodedata.normalize("NFC", name) if len(name) <= _LONGEST_NAME else name for name in names
    )


_LONGEST_NAME = 1024
"""Characters: four times what one can have on any system."""


def _nowhere(path: str) -> bool:
    return not path


def _usual(path: str) -> bool:
    return path[1:] in _TOP


def _unseen(path: str) -> str:
    return posixpath.normpath(path)


class Reach(NamedTuple):
    """Where an agent may go. Paths that are asked about are absolute, links and `..` in them."""

    inside: Callable[[str], bool]
    closed: Callable[[str], bool] = _nowhere
    """Whether a path is in a place that is not the agent's; asked about what texts mention."""
    workspace: str = ""
    home: str = ""
    temp: str = ""
    variables: Mapping[str, str] = MappingProxyType({})
    """Variables that every agent has from us, which say where what is not its own lies."""
    boxed: bool = False
    """Whether a box hides what is not the agent's: lines may go wherever they find a way then."""
    real: Callable[[str], str | None] = _unseen
    """Where a path leads when its links are followed; None where it can lead nowhere."""
    holds: Callable[[str], bool] = _nowhere
    """Whether a place that is not the agent's lies below a path."""
    shut: tuple[str, ...] = ()
    """The places that are not the agent's, to look for in texts."""
    there: Callable[[str], bool] = _usual
    """Whether a folder at the top of the file system is there: `/api/v1` is no path where not."""


def known(reach: Reach) -> dict[str, str]:
    """What a shell of the agent's knows; what begins with # is printed by programs of ours."""
    user = posixpath.basename(reach.home)
    repo = reach.variables.get("WINDLASS_REPO", "")
    return {
        "HOME": reach.home,
        "TMPDIR": reach.temp,
        "USER": user,
        "LOGNAME": user,
        "PATH": "/usr/bin",
        "PPID": "1",
        "SHELL": "/bin/sh",
        "#top": reach.workspace,
        "#git": repo and f"{repo}/.git",
        "#others": posixpath.dirname(reach.workspace),
        **reach.variables,
    }


def legible(path: str, reach: Reach) -> bool:
    """Whether a path is the system's, to read for everybody: headers, libraries, documentation.

    Links in there are root's, so they are only followed to what is closed to the agent.
    """
    names = path.split("/")
    system = names[:2] == ["", "usr"] and ".." not in names
    return system and not reach.closed(path) and not reach.home.startswith("/usr/")


def outside(path: str, reach: Reach) -> str:
    """Says that a path is not the agent's, and what is."""
    real = reach.real(path)
    leads = f" → {real}" if real not in (None, posixpath.normpath(path)) else ""
    instead = f"; work in {reach.workspace}" if reach.workspace else ""
    spare = f", and use {reach.temp} for what need not be kept" if instead and reach.temp else ""
    return f"{path}{leads} is outside of the agent's workspace{instead}{spare}"
