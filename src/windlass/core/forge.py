"""Pull requests, as far as landing needs to know of them, and where a forge says they are.

Pure. Forges themselves are in `windlass.forge`, behind the port `Forge`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

State = Literal["open", "merged", "closed"]


class Draft(NamedTuple):
    """A pull request that is to be opened: into `base`, of a branch that is pushed already."""

    branch: str
    base: str
    title: str
    body: str


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request, or the address at which a person opens one: that has no number."""

    address: str
    number: int = 0
    state: State = "open"
    why: str = ""
    """Why a person has to open it."""


class Home(NamedTuple):
    """Where a repository is on a forge."""

    host: str
    path: str
    """Owner and name, perhaps with groups before."""


_LIKE_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?!/)(?P<path>[^\s]+)")


def home(addresses: Sequence[str]) -> Home | None:
    """Where the first address leads that leads to a forge: no folder, and no bare host."""
    return next((found for address in addresses if (found := _home(address))), None)


def _home(address: str) -> Home | None:
    parts = urlsplit(address) if "://" in address else None
    if parts is not None:
        is_known = parts.scheme in ("https", "http", "ssh", "git") and parts.hostname
        host, path = (parts.hostname or "", parts.path) if is_known else ("", "")
    elif found := _LIKE_SCP.fullmatch(address):
        host, path = found["host"], found["path"]
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    return Home(host, path) if host and path.count("/") >= 1 else None


def page(where: Home, draft: Draft) -> str:
    """The address of the page on which a person opens a pull request."""
    top = f"https://{where.host}/{quote(where.path)}"
    branch, base = quote(draft.branch, safe="/"), quote(draft.base, safe="/")
    if "gitlab" in where.host:
        asked = f"merge_request[source_branch]={branch}&merge_request[target_branch]={base}"
        return f"{top}/-/merge_requests/new?{asked}"
    return f"{top}/compare/{base}...{branch}?expand=1"
