"""Removes what is older than it is kept: once a day, and for `wl gc`.

Rows go in small transactions, so that nobody who writes waits for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from windlass import whole_file
from windlass.api.verbs import Caller
from windlass.api.wire.retention import GcReply, GcRequest, Kind, SweptView
from windlass.core.config import RetentionSettings
from windlass.core.errors import Conflict, WindlassError
from windlass.core.jobs import JobId
from windlass.daemon.agents.intent_retention import IntentRetention
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.retention import gate_files, needs
from windlass.daemon.retention.ended_agents import EndedAgents, Over
from windlass.daemon.retention.left_workspaces import old_workspaces
from windlass.daemon.retention.needs import Needs
from windlass.daemon.retention.screen_logs import old_screens
from windlass.git import erasure, trash_packs
from windlass.store import jobs as job_rows
from windlass.store import old_rows

log = logging.getLogger(__name__)

DAY = 86_400.0
_FILE = "retention.json"
_LISTED = 1000
_AT_ONCE = 200
"""Jobs removed in one transaction: others write as well."""


class Retention:
    """Knows what is over, and removes it."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs
        self._intents = IntentRetention(context)
        self._sweeping = threading.Lock()

    def daily(self) -> None:
        """Removes what is over if that was not done for a day."""
        last, now = _last(self._file), self._context.clock.now()
        if 0 <= now - last < DAY:
            return
        try:
            reply = self._sweep(removes=True)
        except WindlassError as error:
            log.warning("nothing old is removed: %s", error.message)
            return
        log.info("what is over was removed: %d bytes", reply["bytes"])

    def gc(self, _: Caller, request: GcRequest) -> GcReply:
        """Removes what is over, or says what that is."""
        return self._sweep(removes=not request.get("dry_run", False))

    @property
    def _file(self) -> Path:
        return self._context.folders.home / _FILE

    def _sweep(self, *, removes: bool) -> GcReply:
        if not self._sweeping.acquire(blocking=False):
            raise Conflict("what is old is being removed just now", "try again in a moment")
        try:
            swept = self._swept(removes=removes)
        finally:
            self._sweeping.release()
        whole: GcReply = {
            "dry_run": not removes,
            "swept": swept,
            "bytes": sum(view["bytes"] for view in swept),
        }
        if removes:
            done = {"at": self._context.clock.now(), "bytes": whole["bytes"]}
            whole_file.replace(self._file, msgspec.json.encode(done))
        return whole

    def _swept(self, *, removes: bool) -> list[SweptView]:
        # A value that cannot be read is no reason to remove more than the person wants.
        usable = settings.usable(self._context.folders.home, None)
        kept = usable.require("retention").retention
        needed = self._context.store.read(needs.of_intents)
        self._jobs.catch_up()
        ended = EndedAgents(self._context, needed)
        before = partial(self._before, needed=needed)
        left = list(old_workspaces(self._context, ended.trash, removes=removes))
        return [
            _listed("workspaces", 0, left),
            _listed("packs", trash_packs.MANY, list(ended.packs(removes=removes))),
            _named(
                "trash", kept.trash, before(kept.trash), partial(ended.old_trash, removes=removes)
            ),
            _named(
                "archive",
                kept.archive,
                before(kept.archive),
                partial(ended.old_archives, removes=removes),
            ),
            *(self._rows(kind, kept, needed, removes=removes) for kind in _ROWS),
            self._finished(kept.intents, needed, removes=removes),
            self._over_jobs(kept.intents, needed, removes=removes),
            _screens(self._context, kept.screens_mb, removes=removes),
            _named(
                "gate_logs",
                kept.gate_logs,
                before(kept.gate_logs),
                partial(gate_files.old_logs, self._context, removes=removes),
            ),
            _layers(self._context, kept.layers_mb, removes=removes),
        ]

    def _before(self, days: int, needed: Needs) -> float | None:
        """What is of before that is over; None where it is kept for ever."""
        now = self._context.clock.now()
        return min(now - days * DAY, needed.since) if days else None

    def _rows(
        self, kind: old_rows.Kind, kept: RetentionSettings, needed: Needs, *, removes: bool
    ) -> SweptView:
        days: int = getattr(kept, kind)
        before = self._before(days, needed)
        removed = size = 0
        for part in old_rows.parts(self._context.store, kind, before=before) if before else ():
            if removes:
                self._context.store.write(partial(old_rows.remove, kind=kind, numbers=part.numbers))
            removed, size = removed + len(part.numbers), size + part.size
        return _view(kind, days, removed, size)

    def _finished(self, days: int, needed: Needs, *, removes: bool) -> SweptView:
        before = self._before(days, needed)
        removed = size = 0
        for part in self._intents.parts(before=before) if before else ():
            if removes:
                self._intents.remove(part)
            removed, size = removed + len(part.keys), size + part.size
        return _view("intents", days, removed, size)

    def _over_jobs(self, days: int, needed: Needs, *, removes: bool) -> SweptView:
        before = self._before(days, needed)
        store = self._context.store
        over = store.read(partial(job_rows.old, before=before)) if before is not None else []
        size = store.read(partial(job_rows.size, ids=over))
        for first in range(0, len(over) if removes else 0, _AT_ONCE):
            for job in over[first : first + _AT_ONCE]:
                self._erase_run(job)
            store.write(partial(job_rows.remove, ids=over[first : first + _AT_ONCE]))
        return _view("jobs", days, len(over), size)

    def _erase_run(self, job: JobId) -> None:
        """Before its row: who dies in between finds the row again."""
        files = self._context.folders.run(job)
        if files.is_dir():
            erasure.erase(str(files))


_ROWS: tuple[old_rows.Kind, ...] = ("events", "messages", "notices")


def _last(file: Path) -> float:
    """When it was done last; 0 where that is not known."""
    try:
        done = msgspec.json.decode(file.read_bytes(), type=dict[str, float])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return 0.0
    return done.get("at", 0.0)


def _screens(context: Context, mib: int, *, removes: bool) -> SweptView:
    over = list(old_screens(context, most=mib << 20, removes=removes)) if mib else []
    return _listed("screens", mib, over)


def _layers(context: Context, mib: int, *, removes: bool) -> SweptView:
    found = gate_files.old_layers(context, most=mib << 20, removes=removes) if mib else ()
    return _listed("layers", mib, list(found))


def _named(
    kind: Kind, days: int, before: float | None, find: Callable[..., Iterable[Over]]
) -> SweptView:
    return _listed(kind, days, list(find(before=before)) if before is not None else [])


def _listed(kind: Kind, limit: int, found: list[Over]) -> SweptView:
    gone = [over for over in found if not over.stays]
    view = _view(kind, limit, len(gone), sum(over.size for over in gone))
    view["names"] = [over.name for over in gone[:_LISTED]]
    view["kept"] = [f"{over.name}: {over.stays}" for over in found if over.stays][:_LISTED]
    return view


def _view(kind: Kind, limit: int, removed: int, size: int) -> SweptView:
    return {
        "kind": kind,
        "limit": limit,
        "removed": removed,
        "bytes": size,
        "names": [],
        "kept": [],
    }
