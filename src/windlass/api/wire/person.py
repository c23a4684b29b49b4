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
    """The files that were looked at."""

    files: list[ChangedFile]


class HooksPlace(TypedDict):
    """A place where something of ours may be, and what is there."""

    where: str
    path: str
    installed: bool
    current: bool
    problem: str | None
    events: NotRequired[list[str]]
