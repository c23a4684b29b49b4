"""The steps of an intent: done one after the other, or taken back, and each recorded."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from windlass import disk_room
from windlass.core.errors import Unavailable, WindlassError
from windlass.core.events import IntentUndoFailed
from windlass.daemon.kernel import intent_errors, set_aside
from windlass.daemon.kernel.intent_errors import defect
from windlass.daemon.kernel.operations import Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

log = logging.getLogger(__name__)


def go_on(operation: Operation, work: RunningIntent) -> dict[str, Any]:
    """Does the steps that are not done, records each, and returns the result."""
    reached = work.context.failpoints.reached
    for step in operation.steps:
        if step.name in work.intent.done or not step.needed(work.data):
            continue
        try:
            reached(f"{operation.kind}.{step.name}.before")
            step.do(work)
            reached(f"{operation.kind}.{step.name}.after")
        except Exception as error:
            failure = error if isinstance(error, WindlassError) else defect(step.name, error)
            work.turn_back((*work.intent.done, step.name), failure)
            fail(operation, work)
            raise failure from error
        work.advance(step.name)
    also = set_aside.settle if operation.ends else lambda _: None
    try:
        result = dict(operation.result(work))
    except Exception:
        # All of it is done; only whoever asked cannot be told what became of it.
        work.finish(also, status="done", result={})
        raise
    reached(f"{operation.kind}.finish.before")
    result = work.succeed(result, standing=operation.standing, also=also)
    reached(f"{operation.kind}.finish.after")
    return result


def fail(operation: Operation, work: RunningIntent) -> WindlassError:
    """Takes back what was begun, as far as that is still to be done; returns the failure."""
    reached = work.context.failpoints.reached
    take_back(operation, work)
    reached(f"{operation.kind}.fail.before")
    work.finish(status="failed")
    reached(f"{operation.kind}.fail.after")
    return intent_errors.rebuilt(work.intent.error or {})


def take_back(operation: Operation, work: RunningIntent) -> None:
    """Undoes the steps that were begun, the last one first, and records each."""
    reached = work.context.failpoints.reached
    for step in reversed(operation.steps):
        if step.undo is None or step.name not in work.intent.done:
            continue
        reached(f"{operation.kind}.{step.name}.undo.before")
        try:
            step.undo(work)
        except Exception as error:
            _refuse_without_room(work, error)
            log.exception("taking back %s.%s failed", operation.kind, step.name)
            why = error.message if isinstance(error, WindlassError) else str(error)
            work.with_next_record(partial(_tell_of_failed_undo, work.intent, step.name, why))
        reached(f"{operation.kind}.{step.name}.undo.after")
        work.took_back(step.name)


def _refuse_without_room(work: RunningIntent, error: Exception) -> None:
    """Refuses to call it a failure that something could not be taken back on a full disk.

    Else what was half made would stay, with nobody to remove it.
    """
    known = work.context.store.read(rows.repos)
    roots = (repo.root for repo in known if repo.id == work.intent.repo)
    full = disk_room.full(work.context.folders.home, *roots)
    if full or disk_room.is_lacking(error):
        failed = (work.intent.error or {}).get("message", work.intent.kind)
        where = full or getattr(error, "filename", None) or work.context.folders.home
        raise Unavailable(f"no room left on the disk of {where}: {failed}") from error


def _tell_of_failed_undo(intent: Intent, step: str, why: str, writing: Writing) -> None:
    writing.emit(IntentUndoFailed(intent=intent.id, step=step, error=why), repo=intent.repo)
