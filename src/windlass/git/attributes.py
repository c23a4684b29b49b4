"""Extended attributes of files and folders: which of them a salvage keeps, and how they come back.

Kept are a user's own (`user.*`) and access lists, which show as attributes too. What only the
system may set is not: rights to run with (`security.capability`) must not come from an agent's
files. An agent writes them all, so there is an end to how much is kept.
"""

from __future__ import annotations

import base64
import errno
import logging
import os

from windlass.core.printable import few

log = logging.getLogger(__name__)

MOST = 1 << 20
"""Bytes of names and values that are kept of one workspace."""
_ACCESS_LISTS = frozenset({"system.posix_acl_access", "system.posix_acl_default"})
_OF_THE_SYSTEM = frozenset({"security.selinux", "security.SMACK64", "security.apparmor"})
"""Labels that the system gives to every new file by itself."""
_NONE = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENODATA, errno.ENOSYS})
_TOO_MANY = "more than the system lists"

Encoded = dict[str, str]
"""Names with values in base64: a manifest is text."""


class Attributes:
    """Those of one workspace, as far as there is room for them."""

    def __init__(self) -> None:
        self.kept: dict[str, Encoded] = {}
        self._room = MOST

    def take(self, handle: int, path: str, listed: list[str]) -> str:
        """Keeps these of an open file or folder; says which are not kept, where there are any."""
        found: Encoded = {}
        left = []
        for name in listed:
            value = _value(handle, name) if _is_kept(name) else None
            if value is None or len(value) + len(name) > self._room:
                left.append(name)
                continue
            self._room -= len(value) + len(name)
            found[name] = base64.b64encode(value).decode()
        if found:
            self.kept[path] = found
        return not_kept(left)


def names(handle: int) -> list[str]:
    """Names the attributes of an open file or folder, without what every file is given."""
    if not hasattr(os, "listxattr"):  # not on macOS
        return []
    try:
        found = os.listxattr(handle)
    except OSError as error:
        return [] if error.errno in _NONE else [_TOO_MANY]
    return [name for name in found if name not in _OF_THE_SYSTEM] if found else found


def not_kept(left: list[str]) -> str:
    """Says of some attributes that they are not kept; "" where there are none."""
    if not left:
        return ""
    return f"extended attributes alone are not kept: {few(sorted(left))}"


def put(handle: int, saved: Encoded) -> list[str]:
    """Gives an open file or folder its attributes again; gives those that it cannot have.

    Comes before its permissions: who may not write to it may not change them. So access lists,
    which are permissions too, come last.
    """
    left = []
    for name, text in sorted(saved.items(), key=lambda item: item[0] in _ACCESS_LISTS):
        try:
            value = base64.b64decode(text, validate=True)
            if _is_kept(name) and hasattr(os, "setxattr"):
                os.setxattr(handle, name, value)
                continue
        except (OSError, ValueError) as error:
            log.debug("%s cannot be set: %s", name, error)
        left.append(name)
    return left


def _is_kept(name: str) -> bool:
    return name.startswith("user.") or name in _ACCESS_LISTS


def _value(handle: int, name: str) -> bytes | None:
    """Reads one; None where it cannot be read, or has gone meanwhile."""
    try:
        return os.getxattr(handle, name)
    except OSError as error:
        log.debug("%s cannot be read: %s", name, error)
        return None
