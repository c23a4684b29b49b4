"""The job of proving one tree: first its dependencies, then every check, then one outcome.

A tree that is not green without the network may be tried once more with it.

Pure. Effects are `gate.layer`, `gate.check`, for one that is cancelled `gate.stop`, and `gate.tell`
at the end of one that a person has begun.
"""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.core import jobs, shapes
from windlass.core.gate import verdicts
from windlass.core.gate.spec import GateSpec
from windlass.core.gate.verdicts import Outcome
from windlass.core.jobs import Decision, Effect, Job, JobKind, News

LAYER, CHECK, STOP, TELL = "gate.layer", "gate.check", "gate.stop", "gate.tell"
CANCELLED = "cancelled"
"""Why a check has no outcome whose run nobody wants any more."""
_FIRST_CHECK = 2
"""The number of the effect that is the first check: before it comes the layer."""


class CheckEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How one check of a run ended."""

    name: str
    outcome: Outcome
    why: str = ""
    verdict: int | None = None
    """The number of its verdict, where there is one."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One of two ways in which a tree was tried."""

    tree: str
    network: bool
    ends: tuple[CheckEnd, ...]


class GateState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands."""

    tree: str
    gate: GateSpec
    todo: tuple[str, ...]
    """The checks that have to be run: of the others the verdict is known."""
    ends: tuple[CheckEnd, ...] = ()
    layer: dict[str, Any] | None = None
    """What was made for it to stand on, once that is known."""
    target: str = ""
    """The target's tip then."""
    fresh: bool = False
    """Whether checks are run whatever is known of them."""
    authors: tuple[str, ...] = ()
    """The agents on whose branches the tree was then."""
    approved: bool = False
    """Whether a person lets its own setup reach what the target's does."""
    tells: bool = False
    """Whether the person is told of its end."""
    network_tree: str = ""
    """The tree to be tried with the network, if this one is not green without; none: no try."""
    before: Attempt | None = None
    """How it ended without the network, while it is tried with it; afterwards the worse of both."""


def begun(state: GateState) -> dict[str, Any]:
    """The state of a new job as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def advance(data: dict[str, Any], news: News) -> Decision:
    """Goes from the layer to the checks, and is over when each of them has ended."""
    state = shapes.convert(data, GateState)
    if news.kind == jobs.BEGUN:
        wanted = {name: data[name] for name in ("tree", "gate", "authors", "approved")}
        return Decision(data, (Effect(LAYER, wanted),))
    if news.kind == jobs.CANCELLED:
        ends = [
            CheckEnd(name=name, outcome="could-not-run", why=CANCELLED) for name in _open(state)
        ]
        ended = msgspec.structs.replace(state, ends=(*state.ends, *ends), tells=False)
        over = _over(ended, (Effect(STOP, {"job": news.data["job"]}),))
        return over._replace(result={**(over.result or {}), "cancelled": True})
    if news.kind != jobs.EFFECT or news.data["what"] in (STOP, TELL):
        return Decision(data)
    if news.data["what"] == LAYER:
        return _layer_made(state, news.data)
    return _check_ended(state, news.data)


def _with_all(job: Job) -> dict[str, Any]:
    """The state of a run from before it knew authors, and its layer the versions of tools."""
    layer = job.state.get("layer")
    if layer is not None:
        layer = {"versions": job.state.get("versions", ""), **layer}
    return begun(shapes.convert({**job.state, "layer": layer}, GateState))


KIND = JobKind("gate", advance, version=2, upgrades={1: _with_all})


def _layer_made(state: GateState, effect: dict[str, Any]) -> Decision:
    made = effect.get("result") or {}
    why = _failure(effect) or made.get("why", "")
    if why:
        ends = tuple(CheckEnd(name=name, outcome="could-not-run", why=why) for name in state.todo)
        return _over(msgspec.structs.replace(state, ends=ends, layer=made))
    return _begin_checks(msgspec.structs.replace(state, layer=made))


def _begin_checks(state: GateState) -> Decision:
    data = begun(state)
    common = {name: data[name] for name in ("tree", "gate", "fresh", "layer")}
    effects = tuple(Effect(CHECK, {**common, "check": name}) for name in state.todo)
    return Decision(data, effects)


def _check_ended(state: GateState, effect: dict[str, Any]) -> Decision:
    why = _failure(effect)
    if why:
        # A second try has the same checks in the same order.
        name = state.todo[(effect["number"] - _FIRST_CHECK) % len(state.todo)]
        end = CheckEnd(name=name, outcome="could-not-run", why=why)
    else:
        end = shapes.convert(effect["result"], CheckEnd)
    state = msgspec.structs.replace(state, ends=(*state.ends, end))
    if _open(state):
        return Decision(begun(state))
    if state.network_tree and not state.gate.network and _outcome(state) != "passed":
        return _checks_with_network(state)
    return _over(_better(state))


def _checks_with_network(state: GateState) -> Decision:
    """Begins the second try; one that is cancelled is no third."""
    before = Attempt(tree=state.tree, network=False, ends=state.ends)
    again = _as(state, Attempt(tree=state.network_tree, network=True, ends=()))
    return _begin_checks(msgspec.structs.replace(again, network_tree="", before=before))


def _better(state: GateState) -> GateState:
    """What counts of two tries: that without the network, unless only the other one is green."""
    if state.before is None or _outcome(state) == "passed":
        return state
    other = Attempt(tree=state.tree, network=state.gate.network, ends=state.ends)
    return msgspec.structs.replace(_as(state, state.before), before=other)


def _as(state: GateState, attempt: Attempt) -> GateState:
    gate = msgspec.structs.replace(state.gate, network=attempt.network)
    return msgspec.structs.replace(state, tree=attempt.tree, gate=gate, ends=attempt.ends)


def _outcome(state: GateState) -> Outcome:
    return verdicts.worst(end.outcome for end in state.ends)


def _open(state: GateState) -> list[str]:
    ended = {end.name for end in state.ends}
    return [name for name in state.todo if name not in ended]


def _failure(effect: dict[str, Any]) -> str:
    """Why an effect has no result of its own."""
    if effect["status"] == "done":
        return ""
    error = effect.get("error") or {}
    return str(error.get("message", effect["status"]))


def _over(state: GateState, effects: tuple[Effect, ...] = ()) -> Decision:
    data = begun(state)
    result = {
        "outcome": _outcome(state),
        "ends": data["ends"],
        "layer": data["layer"],
    }
    if state.tells:
        effects = (*effects, Effect(TELL, {}))
    return Decision(data, effects, result=result)
