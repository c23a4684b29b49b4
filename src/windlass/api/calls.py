"""Asking the daemon, whatever happens to it meanwhile.

A daemon that is not there is started by the person's commands and awaited by those of agents, one
of another version is replaced, and a request whose answer was cut off is sent again under the same
key, which makes it happen once, until it is known whether it was done. Where that cannot be known,
just this is said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from windlass.api import client, daemon_start
from windlass.api.daemon_start import Tell
from windlass.core.errors import Unavailable, WindlassError

_TRIES = 6
_KNOWN_WITHIN = 30.0
"""Seconds in which a daemon that went away with a request is looked for, to hear of it."""
_BETWEEN_STARTS = 0.5
_FRUITLESS = 20
"""Streams that break at once, one after the other, before a follower gives up: ten seconds."""
BOXED = "WINDLASS_BOXED"
"""Set in boxes, also where a command runs in one that is of no session."""
_ABSENCE_IN_A_SESSION = 15.0
_ABSENCE = 600.0
"""How long a follower waits for a daemon that somebody stopped."""


def ask(verb: str, *, tell: Tell = lambda _: None, **request: Any) -> Any:
    """Asks, and answers with what the daemon said or raises what it raised.

    What a daemon waits for that has to be started first is told to `tell`.
    """
    whole = {"cwd": _cwd(), "key": os.urandom(12).hex()}
    whole |= {name: value for name, value in request.items() if value is not None}
    left = _Patience()
    try:
        return _answer(verb, whole, left, tell)
    except KeyboardInterrupt:
        if left.sent:
            raise client.LetGo from None
        raise


def _answer(verb: str, whole: dict[str, Any], left: _Patience, tell: Tell) -> Any:
    while True:
        try:
            return client.ask(verb, whole)
        except client.Gone as gone:
            left.take(gone)
            _provide(partial(_start, tell), left)
        except client.VersionMismatch as mismatch:
            left.take(mismatch)
            _provide(partial(_replace, mismatch, tell), left)


class _Patience:
    """How long a request is asked again: until it is known whether it was done, within reason."""

    def __init__(self) -> None:
        self.sent = False
        self._tries = 0
        self._end = time.monotonic() + _KNOWN_WITHIN

    def take(self, failure: Exception) -> None:
        """Counts a try that failed; raises when it was the last one."""
        self.sent = self.sent or isinstance(failure, client.CutOff)
        self._tries += 1
        if self._tries >= _TRIES and (not self.sent or time.monotonic() > self._end):
            self.give_up("the daemon keeps going away")

    def wait(self, error: WindlassError) -> None:
        """Waits before the next try to have a daemon; raises where there is nothing to wait for."""
        if not self.sent:
            raise error
        if time.monotonic() > self._end:
            self.give_up(error.message)
        time.sleep(_BETWEEN_STARTS)

    def give_up(self, why: str) -> NoReturn:
        """Says what is known of the request."""
        if not self.sent:
            raise Unavailable(f"{why}; nothing was asked of it", "see `wl daemon logs`")
        raise Unavailable(
            f"it is not known whether this was done: the daemon went away with it, and {why}",
            "`wl log` says what was done, once a daemon answers; `wl daemon logs` why none does",
        )


def _provide(daemon: Callable[[], None], left: _Patience) -> None:
    """Has there be a daemon; where a request is out, tries until there is one."""
    while True:
        try:
            daemon()
        except WindlassError as error:
            left.wait(error)
        else:
            return


def _replace(mismatch: client.VersionMismatch, tell: Tell) -> None:
    _refuse_in_a_session("the daemon is another version than this command")
    daemon_start.replace(mismatch, tell)


def follow(after: int | None, *, agent: str | None = None) -> Iterator[dict[str, Any]]:
    """Yields events for ever, each once, from after the one given or from now on.

    A daemon that was killed is started again. One that ended in good order was stopped by somebody
    who meant it: a follower waits until another command starts it.
    """
    cwd = _cwd()
    last = _latest() if after is None else after
    fruitless = 0
    while fruitless < _FRUITLESS:
        began = time.monotonic()
        try:
            for event in client.stream(last, cwd=cwd, agent=agent):
                last = event["id"]
                yield event
        except client.Stopped:
            _await_return()
        except client.Dead:
            _start()
        except client.Gone:
            pass
        # The next try tells what became of the daemon; one that is stopping needs its moment.
        fruitless = 0 if time.monotonic() - began > 1 else fruitless + 1
        time.sleep(0.05 * fruitless)
    raise Unavailable("the daemon breaks off every event stream", "see `wl daemon logs`")


def _latest() -> int:
    events = ask("log", last=1)
    return int(events[-1]["id"]) if events else 0


def _await_return() -> None:
    """Returns when there is a socket again."""
    end = time.monotonic() + _ABSENCE
    while not os.path.exists(client.socket_path()):
        if daemon_start.answers():
            _require_own_socket()
        if time.monotonic() > end:
            raise Unavailable("the daemon was stopped and stayed away", "`wl daemon start`")
        time.sleep(0.1)


def _start(tell: Tell = lambda _: None) -> None:
    if os.environ.get(BOXED) and "WINDLASS_SOCKET" not in os.environ:
        raise Unavailable(
            "this box has no way to the daemon: a command beside an agent speaks for nobody",
            "run `wl` outside of it",
        )
    if _in_a_session():
        _await_socket(_ABSENCE_IN_A_SESSION)
        return
    daemon_start.start(tell)
    _require_own_socket()


def _require_own_socket() -> None:
    """Of a daemon that answers: it opens the agents' sockets before the person's."""
    own = os.environ.get("WINDLASS_SOCKET")
    if own and not os.path.exists(own):
        raise Unavailable(
            "this session's socket is gone: its agent has ended",
            "run `wl` in a terminal of your own",
        )


def _refuse_in_a_session(why: str) -> None:
    if _in_a_session():
        raise Unavailable(
            f"{why}, and agents do not start it",
            "go on with other work and try again; any `wl` of the person starts it",
        )


def _in_a_session() -> bool:
    """Whether this is an agent's process, or one in its box: those wait for a daemon."""
    return bool(os.environ.get(BOXED)) or daemon_start.IN_A_SESSION in os.environ


def _await_socket(seconds: float) -> None:
    """Waits for a daemon that somebody outside of this session starts again."""
    end = time.monotonic() + seconds
    while not client.listens():
        if time.monotonic() > end:
            _refuse_in_a_session("the daemon does not answer")
        time.sleep(0.1)


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise Unavailable("the current folder was deleted", "cd somewhere that exists") from error
