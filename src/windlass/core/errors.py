"""The one tree of errors, and the exit code that each branch means.

WindlassError
├── UserError       2  the request itself is wrong: usage, bad names, malformed input
├── ConfigError     3  configuration, or a program this machine lacks
├── GitError        4  git failed, or the repository is in no state for the request
├── DriverError     5  an agent CLI failed or is missing
├── Unavailable     6  the daemon, or something that it needs, cannot be reached
├── Denied          7  refused by policy
├── NotFound        8  no such agent, repo, trash entry, ...
├── Conflict        1  the request is fine, the present state forbids it
└── Internal        1  a defect of ours

Raised where a thing is known, translated once per face. A message says what happened and to what;
the hint says what to do next. Nothing here prints.
"""

from __future__ import annotations

from typing import ClassVar


class WindlassError(Exception):
    """Something went wrong in a way that a person can be told about."""

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(WindlassError):
    """The request itself is wrong."""

    kind = "usage"
    exit_code = 2


class ConfigError(WindlassError):
    """Configuration is wrong, or this machine lacks a program."""

    kind = "config"
    exit_code = 3


class GitError(WindlassError):
    """Git failed, or the repository is in no state for the request."""

    kind = "git"
    exit_code = 4


class DriverError(WindlassError):
    """An agent CLI failed or is missing."""

    kind = "driver"
    exit_code = 5


class Unavailable(WindlassError):
    """The daemon, or something that it needs, cannot be reached."""

    kind = "unavailable"
    exit_code = 6


class Denied(WindlassError):
    """Policy refuses this."""

    kind = "denied"
    exit_code = 7


class NotFound(WindlassError):
    """There is no such thing."""

    kind = "not_found"
    exit_code = 8


class Conflict(WindlassError):
    """The request is fine, the present state forbids it."""

    kind = "conflict"


class Internal(WindlassError):
    """A defect of ours."""

    kind = "internal"


BY_KIND: dict[str, type[WindlassError]] = {
    cls.kind: cls
    for cls in (
        WindlassError,
        UserError,
        ConfigError,
        GitError,
        DriverError,
        Unavailable,
        Denied,
        NotFound,
        Conflict,
        Internal,
    )
}


def program_failed(argv: list[str], code: int, output: str, *, last: int = 5) -> str:
    """Describes a failed program: its argv, exit code and last lines."""
    tail = "\n".join(f"  | {line}" for line in output.strip().splitlines()[-last:])
    described = f"`{' '.join(argv)}` ended with {code}"
    return f"{described}:\n{tail}" if tail else described
