"""What a person was told of a session that began, so that it is said once in a repository.

A file in the state folder; where it cannot be read or written, things are said once more.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterable

import msgspec

from windlass import whole_file
from windlass.api.wire.agents import RemarkView
from windlass.core import shapes
from windlass.core.ids import RepoId
from windlass.core.session_launch import Remark
from windlass.daemon.kernel.context import Context

FILE = "told.json"
_LARGEST = 4 << 20
_MOST = 200
"""Of a repository: what was told longest ago is told again."""
_changing = threading.Lock()


def fresh(context: Context, repo: RepoId, remarks: Iterable[Remark]) -> list[RemarkView]:
    """Returns what is to be said now, and remembers it."""
    path = context.folders.home / FILE
    with _changing:
        try:
            with path.open("rb") as file:
                known = shapes.decode(file.read(_LARGEST), dict[str, list[str]])
        except (OSError, msgspec.DecodeError):
            known = {}
        told = known.get(repo, [])
        said = [one for one in remarks if not (one.once and _digest(one) in told)]
        now = [_digest(one) for one in said if one.once]
        if now:
            kept = [*told, *now][-_MOST:]
            with contextlib.suppress(OSError):
                whole_file.replace(path, msgspec.json.encode({**known, repo: kept}))
    return [{"text": one.text, "fix": one.fix} for one in said]


def _digest(one: Remark) -> str:
    return hashlib.sha256(one.text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
