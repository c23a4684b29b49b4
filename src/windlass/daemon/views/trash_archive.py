"""What was kept of ended agents: `wl trash` and `wl archive`, but for what changes it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.trash import (
    ArchiveRequest,
    ArchiveView,
    SalvageView,
    TrashRequest,
    TrashShowReply,
    TrashView,
)
from windlass.core import ids
from windlass.daemon.kernel import lookup, repos, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.git import trash
from windlass.git.trash import TrashEntry


class TrashArchive:
    """Answers questions about what outlives agents."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def trash(self, caller: Caller, request: TrashRequest) -> list[TrashView]:
        """What was salvaged and can be restored."""
        scope = lookup.scope(self._context, caller, request)
        git = repos.git(scope.require_repo())
        now = self._context.clock.now()
        return [
            {**_entry(entry), "age": now - entry.time, "how": _how(entry)}
            for entry in trash.entries(git)
        ]

    def trash_entry(self, caller: Caller, request: TrashRequest) -> TrashShowReply:
        """What one trash entry holds."""
        scope = lookup.scope(self._context, caller, request)
        git = repos.git(scope.require_repo())
        entry = trash.find(git, request.get("entries", [""])[0])
        return {**_entry(entry), "contents": msgspec.to_builtins(trash.show(git, entry))}

    def archives(self, caller: Caller, request: ArchiveRequest) -> list[ArchiveView]:
        """What was archived, newest first; one of them with its files."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.repo_id
        archives = [
            seen
            for folder in sorted(self._context.folders.archive.glob("*-*"), reverse=True)
            if (seen := _archived(folder)) and repo in (None, seen["repo"])
        ]
        wanted = request.get("archive")
        if wanted is None:
            return archives
        by_agent = [archive for archive in archives if archive["agent"] == wanted]
        name = (
            by_agent[0]["id"]
            if by_agent
            else ids.match(
                wanted,
                [archive["id"] for archive in archives],
                what="archive",
                hint="`wl archive list`",
            )
        )
        archive = next(archive for archive in archives if archive["id"] == name)
        folder = Path(archive["path"])
        files = sorted(str(path.relative_to(folder)) for path in untrusted_files.files(folder))
        return [{**archive, "files": files}]


def _entry(entry: TrashEntry) -> SalvageView:
    return {
        "id": entry.id,
        "agent": entry.agent,
        "ref": entry.ref,
        "commit": entry.commit,
        "at": entry.time,
        "summary": msgspec.to_builtins(entry.summary),
    }


def _how(entry: TrashEntry) -> str | None:
    how = entry.meta.get("how")
    return how if isinstance(how, str) else None


def _archived(folder: Path) -> ArchiveView | None:
    try:
        row = msgspec.json.decode((folder / "agent.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return {
        "id": folder.name,
        "agent": row["id"],
        "repo": row["repo"],
        "how": row["how"],
        "goal": row["goal"],
        "at": folder.stat().st_mtime,
        "path": str(folder),
    }
