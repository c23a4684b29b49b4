"""Counting what agents spend, and showing it.

A conversation is read by offset, and the offset is kept in the transaction that keeps what was
read. Every answer of a model counts once per agent, wherever its lines turn up again. What headless
sessions report of themselves is kept beside it: `store/counted_spending.py` says which of the two
counts.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.spend import CostsReply, CostsRequest
from windlass.core import ages, events, pricing, usage
from windlass.core.crew import Agent
from windlass.core.dialect import Dialect
from windlass.core.errors import ConfigError, UserError, WindlassError
from windlass.core.events import USAGE_REFUSED, LineSkipped, UsageRefused
from windlass.core.ids import RepoId, Uid
from windlass.core.pricing import Table
from windlass.core.usage import CountedMessage, Usage
from windlass.daemon.kernel import line_reader, lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request
from windlass.daemon.spend import conversations, cost_groups
from windlass.daemon.spend.conversations import Flaw
from windlass.store import rows, spending
from windlass.store.rows import Session
from windlass.store.store import Writing

log = logging.getLogger(__name__)

MARK = "costs"
"""The mark that holds, per agent: `files` with their offsets, `seen` answers, and `metered`."""
OWN_PRICES = "pricing.json"
_REMEMBERED = 4096
"""Compacting repeats the last answers of a conversation, never this many."""


class ConversationSource(NamedTuple):
    """Where a session keeps its conversation, and whether somebody pays for its tokens."""

    transcript: str
    metered: bool


class Counted(NamedTuple):
    """Whether there was anything to count (then there may be more), and what could not be read."""

    anything: bool
    flaw: Flaw | None = None


Find = Callable[[Context, Agent, Session], ConversationSource]


def find(context: Context, agent: Agent, session: Session) -> ConversationSource:
    """Where a session's conversation is, and whether it is metered, as its driver knows."""
    driver = drivers.get(agent.driver)
    request = session_request.session_request(context, agent, session)
    return ConversationSource(driver.transcript(request), driver.metered(request))


class Costs:
    """Counts what agents spend, and answers `wl costs`."""

    def __init__(self, context: Context, find: Find = find) -> None:
        self._context = context
        self._find = find
        self._sources: dict[Uid, tuple[tuple[int, str], ConversationSource]] = (
            context.memory.per_agent()
        )
        self._bundled: Table | None = None
        self._complained: object = None

    def count(self, agent: Agent, session: Session) -> Counted:
        """Reads some of what is new in an agent's conversations and its subagents'.

        Files that are missing, cut off, replaced or not files at all are no reason to fail.
        """
        try:
            source = self._source(agent, session)
        except WindlassError as error:
            log.warning("cannot count what %s spends: %s", agent.id, error.message)
            return Counted(anything=False)
        return self._count_some(agent, session, source)

    def conversation(self, agent: Agent, session: Session) -> str | None:
        """Where an agent's conversation is; None where its driver cannot tell."""
        try:
            return self._source(agent, session).transcript
        except WindlassError:
            return None

    def take_result(
        self, writing: Writing, agent: Agent, session: Session, result: Mapping[str, Any]
    ) -> None:
        """Keeps what a headless session says at the end of a turn that it has used since it began.

        Only what goes beyond earlier results is added, so the same result twice changes nothing.
        """
        table = self.prices_in_force()
        # As counted: to ask a driver now could take long, and everybody waits for the writer.
        metered = spending.mark(writing.connection, agent.uid, MARK).get("metered")
        if metered is None:
            metered = self._source(agent, session).metered
        before = spending.reported(writing.connection, agent.uid, session.number)
        models = spending.models(writing.connection, agent.uid)
        most = usage.most_usd(writing.now - (session.started_at or agent.created_at))
        refused: list[str] = []
        for report in usage.by_model(
            msgspec.structs.replace(report, model=usage.known_as(report.model, models))
            for report in drivers.dialect(agent.driver).result_usage(result)
        ):
            known, paid = before.get(report.model, (Usage(), 0.0))
            if report.flaw:
                refused.append(report.flaw)
            if (said := table.cost_reported(report)) > most:
                refused.append(_too_fast(said))
                continue
            used = _beyond(report.usage, known)
            cost = max(0.0, said - paid)
            if used == Usage() and not cost:
                continue
            spending.add(
                writing,
                agent.uid,
                session.number,
                day=day_of(writing.now),
                model=report.model,
                source="result",
                used=used,
                cost=cost,
                notional=not metered,
            )
        _tell_of_refused(writing, agent, "result", refused)

    def add_relayed(
        self, agent: Agent, session: int, model: str, before: Usage, now: Usage, *, cost: float
    ) -> None:
        """Counts what a question used that the daemon asked for an agent, beyond what it had."""

        def change(writing: Writing) -> None:
            uid = agent.uid
            kept = spending.mark(writing.connection, uid, MARK)
            if not kept.get("metered"):
                spending.put_mark(writing, uid, session, MARK, {**kept, "metered": True})
            spending.add(
                writing,
                uid,
                session,
                day=day_of(writing.now),
                model=usage.known_as(model, spending.models(writing.connection, uid)),
                source="relay",
                used=_beyond(now, before),
                cost=cost,
                notional=False,
            )

        self._context.store.write(change)

    def view(self, caller: Caller, request: CostsRequest) -> CostsReply:
        """What was spent, grouped, with its sum; outside of any repository in all of them."""
        self.prices()  # a table that is wrong is told here, where somebody looks
        scope = lookup.scope(self._context, caller, request)
        everywhere = request.get("all_repos") and scope.caller is None
        repo = None if everywhere else scope.repo_id
        by = request.get("by") or "agent"
        since = _since(request.get("since"), self._context.clock.now())

        most = None if request.get("all") else cost_groups.ENDED_SHOWN

        def read(connection: Any) -> CostsReply:
            return {
                "by": by,
                "since": since,
                "repo": repo,
                **cost_groups.summed(connection, by, repo=repo, since=since, most=most),
                "refused": _refused(connection, repo),
            }

        return self._context.store.read(read)

    def prices(self) -> Table:
        """The prices in force; a person's own file that is wrong is an error that says where."""
        if self._bundled is None:
            data = (resources.files("windlass.data") / "pricing.json").read_bytes()
            self._bundled = pricing.parse(data, "the built-in prices")
        path = self._context.folders.home / OWN_PRICES
        try:
            own = path.read_bytes()
        except FileNotFoundError:
            return self._bundled
        except OSError as error:
            raise ConfigError(
                f"{path}: {error.strerror}", "make it readable, or remove it"
            ) from None
        return self._bundled.overlaid(pricing.parse(own, str(path)))

    def prices_in_force(self) -> Table:
        """The prices to count with: spending goes on whatever is wrong with a file."""
        try:
            return self.prices()
        except ConfigError as error:
            if self._bundled is None:
                raise
            if self._complained != error.message:
                self._complained = error.message
                log.warning("counting with the built-in prices: %s", error.message)
            return self._bundled

    def _source(self, agent: Agent, session: Session) -> ConversationSource:
        """Asks once a session: the answer takes a git, and we are asked at every look."""
        current = (session.number, agent.conversation)  # a person may clear it within a session
        asked, source = self._sources.get(agent.uid, (None, None))
        if source is None or asked != current:
            source = self._find(self._context, agent, session)
            self._sources[agent.uid] = (current, source)
        return source

    def _count_some(self, agent: Agent, session: Session, source: ConversationSource) -> Counted:
        uid, metered = agent.uid, source.metered
        kept, paid, models = self._context.store.read(lambda c: _so_far(c, uid))
        below = self._context.folders.agent(uid)
        transcript, files = Path(source.transcript), kept.get("files", {})
        new = conversations.read(transcript, files, below=below)
        if not new.places and kept.get("metered") == metered:
            return Counted(anything=False, flaw=new.flaw)
        seen = dict.fromkeys(kept.get("seen", ()))
        counted = _unseen(drivers.dialect(agent.driver), new.lines, seen)
        messages = [message for message in counted if not _inherited(message, agent)]
        table = self.prices_in_force()
        most = usage.most_usd(self._context.clock.now() - agent.created_at) - paid
        believed, refused = _believed(messages, table, most)
        fresh = {
            "metered": metered,
            "files": conversations.latest(transcript, files, new.places),
            "seen": list(seen)[-_REMEMBERED:],
        }

        def change(writing: Writing) -> None:
            if spending.mark(writing.connection, uid, MARK) != kept:
                return  # somebody else has read them meanwhile; the next round sees how far
            for (day, model), parts in _by_day(believed, agent, models, writing.now).items():
                spending.add(
                    writing,
                    uid,
                    session.number,
                    day=day,
                    model=model,
                    source="transcript",
                    used=usage.total(part.usage for part in parts),
                    cost=sum(table.cost(part.model, part.usage) for part in parts),
                    notional=not metered,
                )
            _tell_of_refused(writing, agent, "conversation", refused)
            for name in new.overlong:
                _tell_of_overlong(writing, agent, new.places[name][0])
            spending.put_mark(writing, uid, session.number, MARK, fresh)

        self._context.store.write(change)
        return Counted(anything=bool(new.places), flaw=new.flaw)


def day_of(moment: float) -> str:
    """The day of a moment, as the person's calendar has it."""
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def _so_far(connection: Any, uid: Uid) -> tuple[dict[str, Any], float, set[str]]:
    """How far an agent's conversations were read, what that came to, and of which models."""
    paid = [spending.total(connection, agent=uid, notional=kind) for kind in (True, False)]
    return spending.mark(connection, uid, MARK), sum(paid), spending.models(connection, uid)


def _believed(
    messages: list[CountedMessage], table: Table, most: float
) -> tuple[list[CountedMessage], list[str]]:
    """The answers that may have been, up to so many USD, and what is wrong with the others."""
    believed = []
    refused = [message.flaw for message in messages if message.flaw]
    for message in messages:
        cost = table.cost(message.model, message.usage)
        if cost > most:
            refused.append(_too_fast(cost))
            continue
        most -= cost
        believed.append(message)
    return believed, refused


def _too_fast(usd: float) -> str:
    return f"{usd:.2f} USD in so short a time"


def _tell_of_refused(writing: Writing, agent: Agent, source: str, flaws: list[str]) -> None:
    """One event for all of it: who forges a million of them must not fill the log."""
    if flaws:
        event = UsageRefused(source=source, reports=len(flaws), why=flaws[0])
        writing.emit(event, repo=agent.repo, agent=agent.uid)


def _tell_of_overlong(writing: Writing, agent: Agent, offset: int) -> None:
    longest = line_reader.LONGEST_LINE
    event = LineSkipped(file="conversation", offset=offset - longest - 1, longest=longest)
    writing.emit(event, repo=agent.repo, agent=agent.uid)


def _by_day(
    messages: list[CountedMessage], agent: Agent, models: set[str], now: float
) -> dict[tuple[str, str], list[CountedMessage]]:
    """Answers by day and model; one that names no possible time counts as of now."""
    parts: dict[tuple[str, str], list[CountedMessage]] = {}
    for message in messages:
        at = message.at
        moment = at if at is not None and agent.created_at <= at <= now else now
        model = usage.known_as(message.model, models)
        parts.setdefault((day_of(moment), model), []).append(message)
    return parts


def _inherited(message: CountedMessage, agent: Agent) -> bool:
    """Whether another agent paid for it: a fork begins with a copy of what that one was told."""
    return agent.fork_of is not None and message.at is not None and message.at < agent.created_at


def _unseen(dialect: Dialect, lines: list[bytes], seen: dict[str, None]) -> list[CountedMessage]:
    """The answers that these lines tell of for the first time; their marks are added."""
    messages = []
    for message in (said for line in lines for said in dialect.message_usage(line)):
        if message.usage == Usage() and not message.flaw:
            continue
        if message.mark not in seen:
            seen[message.mark] = None
            messages.append(message)
    return messages


def _beyond(now: Usage, before: Usage) -> Usage:
    return Usage(
        input_tokens=max(0, now.input_tokens - before.input_tokens),
        output_tokens=max(0, now.output_tokens - before.output_tokens),
        cache_creation_input_tokens=max(
            0, now.cache_creation_input_tokens - before.cache_creation_input_tokens
        ),
        cache_read_input_tokens=max(
            0, now.cache_read_input_tokens - before.cache_read_input_tokens
        ),
    )


def _refused(connection: Any, repo: RepoId | None) -> dict[str, int]:
    """How many reports of each agent were refused; of the latest, as somebody may forge many."""
    counts: Counter[Uid] = Counter()
    for event in rows.events(connection, subject=USAGE_REFUSED, last=_REMEMBERED):
        if event.agent is not None and repo in (None, event.repo):
            counts[event.agent] += events.read(UsageRefused, event).reports
    names = rows.names(connection, counts)
    return {names[uid]: reports for uid, reports in sorted(counts.items()) if uid in names}


def _since(text: str | None, now: float) -> str | None:
    if not text:
        return None
    try:
        return time.strftime("%Y-%m-%d", time.strptime(text, "%Y-%m-%d"))
    except ValueError:
        pass
    try:
        return day_of(max(0.0, now - ages.seconds(text)))
    except (UserError, OverflowError):
        raise UserError(
            f"{text!r} is no day and no duration", "write 2026-01-31, or 7d for a week ago"
        ) from None
