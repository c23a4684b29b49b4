"""`[notify] command`: the person's own program, run once for each notice, as `ring_pace` allows.

Only the person's own configuration names it, never a repository's. It is run when the notice is
there, and not again: a daemon that dies before its turn has come leaves it out, because a phone
that rings for the news of yesterday is worse than one that does not. The notice itself stays.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from windlass.core import events
from windlass.core.errors import WindlassError
from windlass.core.events import NoticePosted, NotifyFailed
from windlass.core.mail import notices
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail.ring_pace import Ring, RingPace
from windlass.store import rows
from windlass.store.store import Event

LIMIT = 30.0
MOST_WAITING = 100
_LONGEST_VARIABLE = 16_384
"""The system bounds what one variable holds; the whole text is on stdin."""
_KEPT_LINES = 8
_KEPT_BYTES = 4000


class CommandOutcome(NamedTuple):
    """How the command ended; without a code it was ended by us, or never began."""

    code: int | None
    how: str
    tail: str = ""


class NotifyCommand:
    """Runs the command, a few at once, in a pool of its own."""

    def __init__(self, context: Context, *, limit: float = LIMIT) -> None:
        self._context = context
        self._limit = limit
        self._waiting = 0
        self._closed = False
        self._guard = threading.Lock()
        self._pace = RingPace(context)

    def ring(self, event: Event) -> None:
        """Has the command run for the notice that an event tells of; returns at once."""
        ring = self._pace.take(event)
        if ring is not None:
            self._begin(ring)

    def pulse(self) -> None:
        """Has it run for agents of which notices were left out, once they had their pause."""
        for ring in self._pace.due():
            self._begin(ring)

    def _begin(self, ring: Ring) -> None:
        with self._guard:
            if not self._closed:
                self._waiting += 1
                work = partial(self._run, ring, full=self._waiting > MOST_WAITING)
                self._context.pools.begin("notify", work)

    def close(self) -> None:
        """Runs none of those that wait."""
        with self._guard:
            self._closed = True

    def _run(self, ring: Ring, *, full: bool) -> None:
        if self._closed:
            return
        try:
            command = settings.load(self._context.folders.home, None).notify.command
            if not command:
                return
            left_out = CommandOutcome(None, f"left out: {MOST_WAITING} notices wait for it")
            outcome = left_out if full else self._outcome(command, ring)
        except (WindlassError, OSError, ValueError) as error:
            outcome = CommandOutcome(None, f"could not be run: {error}")
        finally:
            with self._guard:
                self._waiting -= 1
        if outcome.code != 0:
            self._record_failure(ring.notice, outcome)
        if ring.left_out:
            how = f"left out before this one: {ring.left_out} of the same agent, too often"
            self._record_failure(ring.notice, CommandOutcome(None, how))

    def _outcome(self, command: str, ring: Ring) -> CommandOutcome:
        notice = _told(ring)
        at = datetime.fromtimestamp(ring.notice.at).astimezone()
        line = notices.line(at=at, sender=notice.sender, type=notice.type, text=notice.text)
        # Files, not pipes: what the command leaves running may hold its streams for ever.
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as output:
            stdin.write(line.encode() + b"\n")
            stdin.seek(0)
            program = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self._folder(),
                env={**self._context.env, **self._variables(ring)},
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = program.wait(self._limit)
                how = f"ended with {code}"
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(program.pid, signal.SIGKILL)
                program.wait()
                code, how = None, f"took longer than {self._limit:g} s"
            return CommandOutcome(code, how, _tail(output))

    def _folder(self) -> str:
        home = self._context.env.get("HOME", "/")
        return home if Path(home).is_dir() else "/"

    def _variables(self, ring: Ring) -> dict[str, str]:
        repos = self._context.store.read(rows.repos)
        root = next((repo.root for repo in repos if repo.id == ring.notice.repo), "")
        notice = _told(ring)
        variables = {
            "WINDLASS_NOTICE_TYPE": notice.type,
            "WINDLASS_NOTICE_FROM": notice.sender,
            "WINDLASS_NOTICE_TEXT": notice.text[:_LONGEST_VARIABLE],
            "WINDLASS_REPO": root,
        }
        return {name: text.replace("\0", "") for name, text in variables.items()}

    def _record_failure(self, event: Event, outcome: CommandOutcome) -> None:
        number = events.read(NoticePosted, event).number
        failed = NotifyFailed(notice=number, code=outcome.code, how=outcome.how, tail=outcome.tail)
        self._context.store.write(lambda w: w.emit(failed, repo=event.repo))


def _told(ring: Ring) -> NoticePosted:
    """The notice as the command gets it: with the number of those that were left out."""
    notice = events.read(NoticePosted, ring.notice)
    if not ring.left_out:
        return notice
    text = f"{notice.text} (and {ring.left_out} more before it: wl log {notice.sender})"
    return msgspec.structs.replace(notice, text=text)


def _tail(output: Any) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _KEPT_BYTES))
    lines = output.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_KEPT_LINES:])
