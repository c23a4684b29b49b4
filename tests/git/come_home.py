"""A clone's commits come home as the daemon has them come: in its own lean box."""

from __future__ import annotations

from pathlib import Path

from windlass.box import read_box
from windlass.git import homecoming, mirror
from windlass.git.arrival import EVERYTHING, Allowed
from windlass.git.homecoming import Admit, SendBox
from windlass.git.repository import Repository


def sending(clone: Path, *, allowed: Allowed) -> SendBox:
    """The box that shows what is lent of a clone, and the mirror beside its folder."""

    def box(lent: str) -> list[str]:
        return read_box.prefix(
            readable=(str(clone.parent.parent / "mirror"), lent),
            writable=(),
            files=clone.parent.parent / "filters",
            network=False,
            file_size=allowed.added + 1 if allowed.added != EVERYTHING.added else None,
        )

    return box


def fetch(
    repo: Repository,
    clone: Path,
    branch: str = "agent/c1",
    *,
    box: SendBox | None = None,
    allowed: Allowed = EVERYTHING,
    admit: Admit = lambda _tip, _size: None,
    since: str = "",
    timeout: float = 60,
) -> str | None:
    """Brings home what a clone has on its branch, with the mirror in step before that."""
    mirror.refresh(repo, str(clone.parent.parent / "mirror"))
    return homecoming.fetch(
        repo,
        path=str(clone),
        branch=branch,
        box=sending(clone, allowed=allowed) if box is None else box,
        allowed=allowed,
        admit=admit,
        since=since,
        timeout=timeout,
    )
