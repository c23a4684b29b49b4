"""Commits of boxed agents, fetched from their clones into the repository's own `agent/<id>`.

As soon as somebody looks, and within a second or so by themselves. A fetch that failed is tried
again after ever longer pauses, or when its clone has changed, or how much may come home.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from windlass.core.crew import Agent
from windlass.core.errors import Unavailable, WindlassError
from windlass.core.events import BranchMoved, BranchStuck
from windlass.core.ids import Uid
from windlass.core.printable import printable_line
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.keyed_locks import KeyedLocks, StillHeld
from windlass.daemon.launch import boxes, clones, homecomings
from windlass.git import homecoming, workspaces
from windlass.git.arrival import TooLarge
from windlass.git.repository import Repository
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_LONGEST_PAUSE = 60.0
_PATIENCE = 2.0
"""Seconds that somebody who has more to do waits for a fetch that is under way."""
_LONGEST_WAIT = 60.0
"""Seconds that somebody waits for it who cannot go on without."""


class FailedFetch(NamedTuple):
    """Why a clone's commits could not be fetched, how all was then, and when to try again."""

    error: WindlassError
    seen: object
    """The clone's signature, and how much might come home."""
    at: float
    pause: float

    def holds(self, seen: object, now: float) -> bool:
        """Whether another try would come too early; a clock that went back ends the pause."""
        return seen == self.seen and 0 <= now - self.at < self.pause


class CommitFetcher:
    """Fetches new commits of boxed agents into the repository, and refreshes what they see of it.

    Each clone is fetched from in a thread of the pool, and once at a time: one that keeps git busy
    for minutes holds up neither the others nor whoever looks at its agent.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._locks = KeyedLocks()
        self._fetched: dict[Uid, object] = context.memory.per_agent()
        """The signature that each clone had when its commits were fetched last."""
        self.failures: dict[Uid, FailedFetch] = context.memory.per_agent()
        """The agents whose commits could not be fetched, and why."""
        self._under_way: dict[Uid, float] = {}
        self._guard = threading.Lock()

    def keep_in_step(self) -> None:
        """Begins to fetch everybody's commits, and shows them the repositories' refs."""
        boxed = [a for a in self._context.store.read(rows.agents) if a.isolation == "box"]
        for agent in boxed:
            if agent.session > 0:
                self.begin(agent)
        for repo in {agent.repo for agent in boxed}:
            try:
                clones.refresh_mirror(self._context, repo)
            except WindlassError as error:
                log.warning("the mirror of %s is not in step: %s", repo, error.message)

    def begin(self, agent: Agent) -> None:
        """Has an agent's commits fetched soon, unless they are here or under way."""
        if agent.isolation != "box" or agent.branch is None:
            return
        seen = homecoming.signature(agent.workspace, agent.branch)
        if seen == self._fetched.get(agent.uid):
            return
        with self._guard:
            if agent.uid in self._under_way:
                return
            self._under_way[agent.uid] = self._context.clock.monotonic()
        self._context.pools.begin("fetch", self._fetch_in_pool, agent)

    def _fetch_in_pool(self, agent: Agent) -> None:
        try:
            self.try_to_fetch(agent)
        finally:
            with self._guard:
                self._under_way.pop(agent.uid, None)

    def fetch(self, agent: Agent) -> None:
        """Fetches what a boxed agent committed into the repository; quick where nothing is new."""
        if agent.isolation != "box" or agent.branch is None or agent.ended_at is not None:
            return
        seen = homecoming.signature(agent.workspace, agent.branch)
        if seen == self._fetched.get(agent.uid):
            return
        repo = repos.by_id(self._context, agent.repo)
        if repos.is_gone(repo):
            return
        with self._fetching(agent):
            # It may have been fetched, or its branch removed, while we waited.
            if seen == self._fetched.get(agent.uid) or not Path(agent.workspace).is_dir():
                return
            # What the mirror has is not sent again.
            clones.refresh_mirror(self._context, agent.repo)
            tip = self._bring_home(agent, agent.branch, repos.git(repo))
            self._fetched[agent.uid] = seen
            self.failures.pop(agent.uid, None)
        if tip is not None:
            self._context.store.write(partial(_tell_of_commits, agent=agent, tip=tip))
            clones.refresh_mirror(self._context, agent.repo)

    def _bring_home(self, agent: Agent, branch: str, repo: Repository) -> str | None:
        known = homecomings.allowance(self._context, agent)
        allowed = known.allowed
        try:
            return homecoming.fetch(
                repo,
                path=agent.workspace,
                branch=branch,
                box=boxes.sending(self._context, agent, most=allowed.added),
                allowed=allowed,
                admit=partial(homecomings.count, self._context, agent),
                since=workspaces.base_ref(agent.id),
            )
        except TooLarge as error:
            raise known.explained(agent, error) from error

    def try_to_fetch(self, agent: Agent) -> None:
        """Fetches for somebody who has more to do; what goes wrong is recorded, once.

        Where that went wrong lately, and the clone is as it was, nothing is tried.
        """
        if agent.isolation != "box":
            return
        with self._locks.trying(agent.uid, within=_PATIENCE) as is_free:
            # Else it is under way, and takes long. Who has the lock keeps it: `fetch` takes it
            # again, and would else wait for whoever came first.
            if is_free:
                self._fetch_unless_paused(agent)

    def _fetch_unless_paused(self, agent: Agent) -> None:
        seen = self._seen(agent)
        before = self.failures.get(agent.uid)
        if before is not None and before.holds(seen, self._context.clock.now()):
            return
        try:
            self.fetch(agent)
        except (WindlassError, OSError) as error:
            known = _known(error)
            again = before is not None and before.seen == seen
            pause = min(2 * before.pause, _LONGEST_PAUSE) if before is not None and again else 1.0
            self.failures[agent.uid] = FailedFetch(known, seen, self._context.clock.now(), pause)
            if before is None or before.error.message != known.message:
                self._tell_of_failure(agent, known.message)

    def missing(self, agent: Agent, tip: str | None) -> Unavailable | None:
        """What to say where a merge would fetch another tip than the one that is at home.

        None where it would take that one. Nothing but the id is believed that is in the clone.
        """
        if agent.isolation != "box" or agent.branch is None or not Path(agent.workspace).is_dir():
            return None
        if homecoming.signature(agent.workspace, agent.branch) == self._fetched.get(agent.uid):
            return None
        try:
            written = homecoming.written_tip(agent.workspace, agent.branch)
        except (WindlassError, OSError) as error:
            return _not_home(agent, _known(error))
        if written is None or written == tip:
            return None
        failed = self.failures.get(agent.uid)
        return _not_home(agent, failed.error if failed is not None else None)

    def hindrance(self, agent: Agent, *, patience: float) -> WindlassError | None:
        """What keeps an agent's commits from coming home: a failure, or a fetch without end."""
        failed = self.failures.get(agent.uid)
        if failed is not None:
            return failed.error
        with self._guard:
            begun = self._under_way.get(agent.uid)
        if begun is None or self._context.clock.monotonic() - begun < patience:
            return None
        return Unavailable(
            f"they have been under way for more than {patience:.0f} s",
            f"look at what it committed: wl status {agent.id}",
        )

    def too_much(self, agent: Agent) -> TooLarge | None:
        """What of an agent's commits was too much to come home, and still is."""
        failed = self.failures.get(agent.uid)
        if failed is None or failed.seen != self._seen(agent):
            return None
        return failed.error if isinstance(failed.error, TooLarge) else None

    def _seen(self, agent: Agent) -> object:
        signature = homecoming.signature(agent.workspace, agent.branch or "")
        return signature, homecomings.limits(self._context, agent)

    @contextlib.contextmanager
    def _fetching(self, agent: Agent) -> Iterator[None]:
        """Keeps others from fetching an agent's commits; does not wait for one for ever."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._locks.holding([agent.uid], within=_LONGEST_WAIT))
            except StillHeld:
                raise Unavailable(
                    f"the commits of {agent.id} are being fetched, for {_LONGEST_WAIT:.0f} s now",
                    "try again; `wl status` says what keeps them",
                ) from None
            yield

    @contextlib.contextmanager
    def halted(self, agent: Agent) -> Iterator[None]:
        """Keeps an agent's commits from being fetched meanwhile: its branch is being removed."""
        with self._locks.holding([agent.uid]):
            yield
            self._fetched[agent.uid] = homecoming.signature(agent.workspace, agent.branch or "")

    def _tell_of_failure(self, agent: Agent, why: str) -> None:
        log.warning("the commits of %s cannot be fetched: %s", agent.id, why)
        event = BranchStuck(id=agent.id, error=why)
        self._context.store.write(lambda w: w.emit(event, repo=agent.repo, agent=agent.uid))


def _not_home(agent: Agent, why: WindlassError | None) -> Unavailable:
    """Says that the branch at home is not what a merge takes."""
    if why is None:
        return Unavailable(
            f"commits of {agent.id} are still coming home: what a merge takes is not known yet",
            f"try again in a moment; `wl status {agent.id}` says what keeps them",
        )
    return Unavailable(
        f"commits of {agent.id} do not come home, and what a merge takes is not known:"
        f" {why.message}",
        why.hint,
    )


def _known(error: WindlassError | OSError) -> WindlassError:
    return error if isinstance(error, WindlassError) else _unforeseen(error)


def _unforeseen(error: OSError) -> Unavailable:
    """What the system refused, as what it is: the disk, the number of open files, permissions."""
    about = f"{error.filename}: " if error.filename else ""
    return Unavailable(
        printable_line(f"{about}{error.strerror or error}"),
        "look at the disk and at the daemon's log; it is tried again",
    )


def _tell_of_commits(writing: Writing, *, agent: Agent, tip: str) -> None:
    writing.emit(BranchMoved(id=agent.id, tip=tip), repo=agent.repo, agent=agent.uid)
