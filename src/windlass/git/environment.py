"""What a git is given to see: folders, settings, variables, and the box that it starts in.

Agents write work trees, `.git` pointers, attributes and (in a clone) whole configurations, so plain
git over their files runs their programs; everything that git could be talked into running is
switched off here, once, for every call. In a checkout of the person's own their settings hold.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from windlass.core.printable import printable_line
from windlass.git.bounds import WITH_LITTLE_MEMORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Command scope beats every configuration file, and survives into git's own children.
_SWITCHES: dict[str, str] = {
    "safe.directory": "*",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "true",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.quotePath": "false",
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "diff.external": "",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "protocol.ext.allow": "never",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "index.sparse": "false",
}


_FOR_THE_PERSON = (
    # What is moved under them runs no hook of theirs, and asks them nothing.
    *("core.hooksPath", "core.editor", "core.askPass"),
    # What makes git faster lies beside an index, and not beside a copy of it.
    *("core.fsmonitor", "core.untrackedCache", "core.splitIndex", "index.sparse"),
    *("gc.auto", "maintenance.auto", "submodule.recurse", "protocol.ext.allow"),
)
"""What is switched off in a checkout of the person's own, where no agent writes what is run."""
_ONLY_WHAT_IS = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/nonexistent",
    "GIT_OPTIONAL_LOCKS": "0",
}
_OF_THE_USER = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"),
    *(f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")),
)
_HOW_THE_USER_CONNECTS = ("GIT_SSH", "GIT_SSH_COMMAND")


class Dirs(msgspec.Struct, frozen=True, kw_only=True):
    """The folders that git is told outright, so that it discovers none of them from agent files."""

    git_dir: str
    common_dir: str | None = None
    work_tree: str | None = None
    index: str | None = None
    objects: str | None = None
    """Extra object folders to read from, separated as git wants them."""
    new_objects: str | None = None
    """Where objects are written, if not beside the others; those are then read from `objects`."""
    config: dict[str, str] = {}
    """Settings for every call, as `armed` finds them."""
    until: float | None = None
    """When every call has to be over, on the machine's own clock: for what an agent can stretch."""
    box: tuple[str, ...] = ()
    """The words that start git in a box, for what is safe only inside one."""
    replaces: str = ""
    """Below which refs lies what is read in the place of commits; nothing is replaced without."""
    of_person: bool = False
    """Whether this is a checkout of the person's own, where their settings and filters hold."""
    limited: bool = False
    """Whether git has only so much memory and time outside of a box, as `limited` says."""


class ReadBox(Protocol):
    """Gives the words that start a program in a box: it reads one workspace, and little else."""

    def __call__(self, *writable: str) -> Sequence[str]:
        """Gives them for a box that can write to these folders, and to no other."""


def environment(
    dirs: Dirs | None, *, config: Mapping[str, str], extra: Mapping[str, str]
) -> dict[str, str]:
    """Builds git's whole environment: from nothing but PATH, or as the person's own git has it."""
    if dirs is not None and dirs.of_person:
        env, switches = _of_person(), {key: _SWITCHES[key] for key in _FOR_THE_PERSON}
    else:
        env, switches = _of_nobody(), _SWITCHES
    settings = {**switches, **(dirs.config if dirs else {}), **config}
    if is_confined(dirs):
        settings = {**WITH_LITTLE_MEMORY, **settings}
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    if dirs is not None and dirs.replaces:
        del env["GIT_NO_REPLACE_OBJECTS"]
        env["GIT_REPLACE_REF_BASE"] = dirs.replaces
    if dirs is not None:
        env["GIT_DIR"] = dirs.git_dir
        env["GIT_COMMON_DIR"] = dirs.common_dir or dirs.git_dir
        if dirs.work_tree is not None:
            env["GIT_WORK_TREE"] = dirs.work_tree
        if dirs.index is not None:
            env["GIT_INDEX_FILE"] = dirs.index
        if dirs.new_objects is not None:
            env["GIT_OBJECT_DIRECTORY"] = dirs.new_objects
        if dirs.objects is not None:
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = dirs.objects
    env.update(extra)
    return env


def of_the_user(*, connects: bool = False) -> dict[str, str]:
    """The environment of the person's own git; nobody can be asked anything.

    With what they say of connections where git `connects` to a remote.
    """
    kept = (*_OF_THE_USER, *(_HOW_THE_USER_CONNECTS if connects else ()))
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in kept}
    if connects:
        env.pop("SSH_ASKPASS", None)
        env["SSH_ASKPASS_REQUIRE"] = "never"
    return env | {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "LC_ALL": "C"}


def _of_person() -> dict[str, str]:
    """Theirs, with the commits as they are, and no lock taken for a look. A filter may connect."""
    return of_the_user(connects=True) | _ONLY_WHAT_IS


def _of_nobody() -> dict[str, str]:
    return _ONLY_WHAT_IS | {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_AUTHOR_NAME": "Windlass",
        "GIT_AUTHOR_EMAIL": "windlass@localhost",
        "GIT_COMMITTER_NAME": "Windlass",
        "GIT_COMMITTER_EMAIL": "windlass@localhost",
    }


def limited(dirs: Dirs) -> Dirs:
    """Has git take only so much memory and time, for what an agent wrote and we have to read.

    In a box it has no more than that either; this is for what has to be done outside.
    """
    return msgspec.structs.replace(dirs, limited=True)


def is_confined(dirs: Dirs | None) -> bool:
    """Whether git has only so much memory, time and room for its answer there."""
    return dirs is not None and (bool(dirs.box) or dirs.limited)


def spelled_for_clone(path: str, words: str) -> str:
    """Spells git for the person in an agent's clone: plain git there runs what the agent wrote."""
    return f"`wl exec {printable_line(Path(path).name)} -- git {words}`"


def boxed(box: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Gives the words that start git inside a box, with the whole of its environment."""
    return [*box, "/usr/bin/env", "-i", *(f"{key}={value}" for key, value in env.items()), "git"]
