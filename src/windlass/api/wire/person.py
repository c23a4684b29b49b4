"""The hooks of the person's own agent session."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest


class HooksRequest(AnyRequest):
    """Installs, uninstalls or looks for the hooks of the person's own session.

    `config_folder` is where the caller's agent CLI has its settings.
    """

    where: NotRequired[Literal["project", "user"] | None]
    instructions: NotRequired[Literal["claude-md", "agents-md"] | None]
    config_folder: NotRequired[str]


class ChangedFile(TypedDict):
    """A file that something was to be put into or taken out of, and whether it was."""

    path: str
    changed: bool


class HooksReply(TypedDict):
    """The files that were looked at, and what a person should know beside."""

    files: list[ChangedFile]
    notes: NotRequired[list[str]]


class HooksPlace(TypedDict):
    """A place where something of ours may be, and what is there."""

    where: str
    path: str
    installed: bool
    current: bool
    problem: str | None
    events: NotRequired[list[str]]


class UninstallRequest(AnyRequest):
    """Takes Windlass out of every repository, and deletes what it keeps of agents."""

    refs: NotRequired[bool]
    """Whether its refs go as well, the trash with them."""
    config_folder: NotRequired[str]


class KnownRepository(TypedDict):
    """A repository that Windlass knows, and what it has there beside plain branches."""

    root: str
    is_gone: bool
    refs: int
    trash: list[str]
    """The salvaged work among these, by name."""


class UninstallLook(TypedDict):
    """What there is to take out, and what has to be dealt with first."""

    home: str
    in_the_way: list[str]
    """What would be lost or left half done, each with what to type."""
    repositories: list[KnownRepository]
    archives: int
    kept: list[str]
    """Folders that have the only copy of somebody's work, and stay."""


class UninstallReply(TypedDict):
    """What was removed, and what could not be."""

    removed: list[str]
    problems: list[str]
