"""Operations: the kinds of intents that there are, each with its steps, and what begins one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from windlass.core.events import IntentOpen
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import intent_upgrades
from windlass.daemon.kernel.branch_moves import BranchMove
from windlass.daemon.kernel.intent_upgrades import Progress, Upgrade
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

_STOPS = "stops"
"""The agents whose sessions an intent ends or starts anew, in its data."""

_ENDINGS = ("end", "merge", "landing.retire")
"""The kinds of intents after which a workspace is gone."""

NOWHERE = RepoId("")
"""Where an intent belongs that concerns no repository: a change of the person's own settings."""

Effect = Callable[[RunningIntent], None]


class Step(NamedTuple):
    """One idempotent effect, what takes it back, and for which data there is anything to do."""

    name: str
    do: Effect
    undo: Effect | None = None
    needed: Callable[[Mapping[str, Any]], bool] = lambda _: True


class Operation(NamedTuple):
    """A kind of intent.

    Its `version` rises when a release means something else by the data or by a step's name; then
    `upgrades` has the rule from the version before. Steps may be added and reordered without that.
    `counted` names the steps as the releases had them that only counted them, where that differs.
    It is not about the agents that it `touches`, but it changes their workspaces: nothing else is
    done with them meanwhile. Of the agents that it `stops` no session fails by itself meanwhile:
    their intents say so in their data, for whoever sees one end. What only `ends` its agents is
    begun whatever else was set aside of them. What `moves` a branch is never set aside: it is
    halted, and nothing else moves that branch before the person has decided. Its result says as
    well how things are `standing`, asked in the transaction of its end: for a job that hears from
    then on what becomes of them. Results that older releases kept say nothing of what is in
    `unsaid`: that is what they mean by it.
    """

    kind: str
    steps: tuple[Step, ...]
    locks: Callable[[Mapping[str, Any]], list[Uid]]
    result: Callable[[RunningIntent], Mapping[str, Any]]
    version: int = 1
    upgrades: Mapping[int, Upgrade] = MappingProxyType({})
    counted: tuple[str, ...] = ()
    touches: Callable[[Mapping[str, Any]], list[Uid]] = lambda _: []
    stops: Callable[[Mapping[str, Any]], list[Uid]] = lambda _: []
    ends: bool = False
    moves: Callable[[Mapping[str, Any]], BranchMove | None] = lambda _: None
    unsaid: Mapping[str, Any] = MappingProxyType({})
    standing: Callable[[RunningIntent], Mapping[str, Any]] = lambda _: {}

    def progress(self, intent: Intent) -> Progress:
        """Returns how far an intent is; raises where this release cannot know, or gives it up."""
        names = [step.name for step in self.steps]
        data, done = intent_upgrades.upgraded(
            intent,
            version=self.version,
            steps=names,
            counted=self.counted or names,
            upgrades=self.upgrades,
        )
        return Progress(self.recorded(data), done)

    def begun(self, intent: Intent) -> tuple[str, ...]:
        """Returns the steps that are done, and the one that may have been begun since."""
        left = (s.name for s in self.steps if s.name not in intent.done and s.needed(intent.data))
        return (*intent.done, *itertools.islice(left, 1))

    def holds(self, data: Mapping[str, Any]) -> list[Uid]:
        """Returns the agents that nothing else may be done with meanwhile."""
        return [*self.locks(data), *self.touches(data)]

    def kept_result(self, intent: Intent) -> dict[str, Any]:
        """Returns how a finished intent ended, in the words of this release."""
        return {**self.unsaid, **(intent.result or {})}

    def recorded(self, data: dict[str, Any]) -> dict[str, Any]:
        """Returns the data of an intent with what is recorded for everybody to see."""
        stopped = self.stops(data)
        return {**data, _STOPS: stopped} if stopped else data


def of_one_agent(data: Mapping[str, Any]) -> list[Uid]:
    """Returns the one agent that an operation's data name."""
    return [Uid(data["uid"])]


def stops(intent: Intent, agent: Uid) -> bool:
    """Returns whether an open intent ends the session of an agent, or starts it anew."""
    return agent in intent.data.get(_STOPS, ())


def ends(intent: Intent, agent: Uid) -> bool:
    """Returns whether an open intent ends an agent, its workspace with it."""
    return intent.kind in _ENDINGS and stops(intent, agent)


class IntentDraft(NamedTuple):
    """What is needed to set out: who wants it, where, and the first transaction.

    `prepare` runs in the transaction that records the intent; what it raises means that nothing
    was begun.
    """

    repo: RepoId
    caller: Uid | None
    prepare: Callable[[Writing], dict[str, Any]]


def set_out(writing: Writing, operation: Operation, key: str, begin: IntentDraft) -> Intent:
    """Records a new intent of an operation, as this release means it, in the caller's transaction.

    Where the operation needs no step for it, nobody finishes it: `Intents` does that.
    """
    intent = Intent(
        id=key,
        kind=operation.kind,
        repo=begin.repo,
        caller=begin.caller,
        data=operation.recorded(begin.prepare(writing)),
        step=0,
        status="open",
        created_at=writing.now,
        updated_at=writing.now,
        version=operation.version,
        tries=1,
    )
    rows.add_intent(writing, intent)
    writing.emit(IntentOpen(intent=key, what=operation.kind), repo=begin.repo)
    return intent
