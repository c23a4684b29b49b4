"""The job that lands changes on one branch: it hears of every change and verdict, and never ends.

Pure. What is to be done is asked of the plan after each piece of news; while one effect is under
way there is no other, because each begins from what the last one left. A change is in the queue
from `change.queued` until `change.landed` or `change.stopped`: what an effect says at its end is
about the revision that it began with, and that may be another by then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from windlass.core import jobs, shapes
from windlass.core.events import (
    AgentEnded,
    AgentReported,
    AgentRestored,
    ChangeLanded,
    ChangeQueued,
    ChangeStopped,
    JobDone,
    JobSetAside,
)
from windlass.core.gate import job as gate_job
from windlass.core.jobs import Decision, Effect, Job, JobKind, News
from windlass.core.landing import holds, pauses
from windlass.core.landing import plan as plans
from windlass.core.landing.changes import SATISFIED
from windlass.core.landing.plan import TIP, Group, Outcome, Plan
from windlass.core.landing.queue import LandingState, Stopped, Try, Waiting
from windlass.core.states import State as AgentState

TRY, LAND, STOP = "landing.try", "landing.land", "landing.stop"
"""Make the tree of a group and have it gated; move the branch; say of changes why they stop."""
PROPOSE, RETIRE = "landing.propose", "landing.retire"
"""Propose what an agent that is done has; end the author of what landed. The queue waits for
neither."""
ORPHAN = "landing.orphan"
"""Settle what becomes of the changes of an agent that has ended, or is back."""
TELL = "landing.tell"
"""Say of one of these three, or of a stop, that it failed: nobody else would know."""
CANCEL = "landing.cancel"
"""End runs that nobody needs any more: of what was dropped, blocked or is another by now."""
RECOVER = "landing.recover"
"""Look whether a target that was not green is by now: then what was held for that goes on."""
_SLOTS = 1
_PAUSE = 10.0
_LONGEST_PAUSE = 600.0
"""Seconds until what failed is tried again (a remote is asked): the first ones, and the most."""
_MOST_MISSES = 10
_UNKNOWN = "unknown"
"""The tip on which landing halts, where nobody knows which."""
_LOOK_AGAIN = 60.0
"""Seconds until it is looked again whether a person has mended the target."""


def begun(target: str, queue: Iterable[Waiting] = ()) -> dict[str, Any]:
    """The state of a new job as it is kept; what waits already was another's, which is no more."""
    return _kept(LandingState(target=target, queue=tuple(queue)))


def advance(data: dict[str, Any], news: News) -> Decision:
    """Takes in a change, a verdict or the end of an effect, and says what is done next."""
    known = shapes.convert(data, LandingState)
    decision = _advance(pauses.at(known, news.at), news)
    state = decision.state
    if not state["red"] or state["busy"] or state["look"] or decision.wake_at is not None:
        return decision
    wake_at = news.at + _LOOK_AGAIN
    return decision._replace(state={**state, "wake_at": wake_at}, wake_at=wake_at)


def _advance(state: LandingState, news: News) -> Decision:
    if news.kind == jobs.BEGUN:
        return _next(state)
    if news.kind == ChangeQueued.kind:
        return _next(_queued(state, news.data))
    if news.kind == ChangeStopped.kind:
        gone = {news.data["change"]}
        is_satisfied = news.data["state"] in SATISFIED
        return _next(_with_landed(state, gone) if is_satisfied else _without(state, gone))
    if news.kind == AgentReported.kind and news.data["state"] == AgentState.COMPLETE:
        return _decided(state, Effect(PROPOSE, {"uid": news.agent}))
    if news.kind in (AgentEnded.kind, AgentRestored.kind):
        return _decided(state, Effect(ORPHAN, {"uid": news.agent, "target": state.target}))
    if news.kind == ChangeLanded.kind:
        return _next(_with_landed(state, {news.data["change"]}))
    if news.kind == jobs.WOKEN:
        return _looking(pauses.from_outside(msgspec.structs.replace(state, wake_at=None)))
    if news.kind in (JobDone.kind, JobSetAside.kind) and news.data["what"] == gate_job.KIND.name:
        is_green = (news.data.get("result") or {}).get("outcome") == "passed"
        state = _judged(state, news.data)
        return _looking(state) if is_green else _next(state)
    if news.kind == jobs.EFFECT:
        return _ended(state, news.data)
    return _decided(state)


def _ended(state: LandingState, effect: dict[str, Any]) -> Decision:
    """Goes on from the effect that is under way; an earlier one may end once more, by hand."""
    if effect["what"] in (PROPOSE, RETIRE, ORPHAN):
        return _decided(state, *told_failure(effect))
    if effect["what"] == RECOVER:
        return _looked(state, effect)
    result = effect.get("result") or {}
    if effect["what"] != state.busy or state.number not in (0, effect["number"]):
        return _landed_late(state, result) if effect["what"] == LAND else _decided(state)
    state = msgspec.structs.replace(state, busy="", number=0)
    if result.get("waits"):
        # Another git is at work in a checkout, or a disk is full: then it goes on as it is.
        state = msgspec.structs.replace(state, ended={}, revised=())
        return _decided(pauses.resting(state))
    return _ENDS[effect["what"]](state, effect)


def _looking(state: LandingState) -> Decision:
    """Goes on, and has a target looked at that was red: somebody may have mended it by hand."""
    if not state.red or state.look:
        return _next(state)
    state = msgspec.structs.replace(state, look=state.sequence + 1)
    return _next(state, Effect(RECOVER, {"target": state.target, "red": state.red}))


def _looked(state: LandingState, effect: dict[str, Any]) -> Decision:
    """Nothing halts any more, or another tip does, or nobody knows yet."""
    if effect["number"] != state.look:
        return _decided(state)
    result = effect.get("result") or {}
    red = result.get("red", state.red) if effect["status"] == "done" else state.red
    return _next(msgspec.structs.replace(state, look=0, red=red))


def _landed_late(state: LandingState, result: dict[str, Any]) -> Decision:
    """A landing that was halted is over, because the person had it tried once more."""
    if unsettled := result.get("unsettled"):
        return _next(msgspec.structs.replace(state, pushed=unsettled))
    if not result.get("landed"):
        return _decided(state)
    return _next(_forgotten(state), *retired(result))


def _decided(state: LandingState, *effects: Effect) -> Decision:
    wanted = {tried.job for tried in state.tries if tried.outcome is None and not tried.stale}
    if runs := [run for run in dict.fromkeys(state.unwanted) if run and run not in wanted]:
        effects = (*effects, Effect(CANCEL, {"target": state.target, "runs": runs}))
    state = msgspec.structs.replace(state, unwanted=())
    state = msgspec.structs.replace(state, sequence=state.sequence + len(effects))
    return Decision(_kept(state), effects, wake_at=state.wake_at)


def _kept(state: LandingState) -> dict[str, Any]:
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def _queued(state: LandingState, change: dict[str, Any]) -> LandingState:
    """A new revision takes the place of the one before; what was tried with that is no use."""
    if change["target"] != state.target:
        return state
    new = Waiting(
        change["change"],
        change["head"],
        tuple(change.get("needs", ())),
        alone=change.get("alone", False),
    )
    known = next((waiting for waiting in state.queue if waiting.change == new.change), None)
    is_tried = state.busy in (TRY, LAND) or any(_is_tried(t, new.change) for t in state.tries)
    if known is not None and (known.restless or is_tried):
        new = msgspec.structs.replace(new, restless=True)
    state = _cancelled(state, [t.group for t in state.tries if new.change in t.group])
    # What was red before is looked at again: that is why somebody proposes it once more.
    tries = tuple(
        tried
        for tried in state.tries
        if tried.outcome is None
        or (new.change not in tried.group and (tried.group or tried.outcome == "passed"))
    )
    others = tuple(w for w in state.queue if w.change != new.change)
    queue = (*others, new)
    if known is not None and not new.restless:
        queue = tuple(new if w.change == new.change else w for w in state.queue)
    revised = (*state.revised, new.change) if state.busy == TRY else ()
    state = msgspec.structs.replace(state, tries=tries, queue=queue, revised=revised, pauses=0)
    return pauses.from_outside(state)


def _cancelled(state: LandingState, groups: Collection[Group]) -> LandingState:
    """Has the runs of groups ended that are under way; what comes of them says nothing."""
    unwanted = [t.job for t in state.tries if t.group in groups and _is_running(t)]
    tries = tuple(
        msgspec.structs.replace(t, stale=True) if t.group in groups and _is_running(t) else t
        for t in state.tries
    )
    unwanted = [*state.unwanted, *unwanted]
    return msgspec.structs.replace(state, tries=tries, unwanted=tuple(unwanted))


def _forgotten(state: LandingState) -> LandingState:
    """The target is at another commit by now, or what is known of it counts no more."""
    state = _cancelled(state, [tried.group for tried in state.tries])
    return msgspec.structs.replace(state, tip="", tries=(), deferred=())


def _outrun(state: LandingState, group: Collection[str]) -> LandingState:
    """Counts that the target has moved on while these were in the gate."""
    queue = tuple(
        msgspec.structs.replace(w, moved=w.moved + 1) if w.change in group else w
        for w in state.queue
    )
    return msgspec.structs.replace(state, queue=queue)


def _is_running(tried: Try) -> bool:
    return tried.outcome is None and not tried.stale


def _is_tried(tried: Try, change: str) -> bool:
    return change in tried.group and tried.outcome is None


def _without(state: LandingState, gone: set[str]) -> LandingState:
    queue = tuple(waiting for waiting in state.queue if waiting.change not in gone)
    rested = state.pauses if len(queue) == len(state.queue) else 0
    return msgspec.structs.replace(state, queue=queue, deferred=(), pauses=rested)


def _with_landed(state: LandingState, landed: set[str]) -> LandingState:
    """Who waited for these need not any more: the target has all of them."""
    state = _without(state, landed)
    queue = tuple(
        msgspec.structs.replace(w, needs=tuple(name for name in w.needs if name not in landed))
        for w in state.queue
    )
    return msgspec.structs.replace(state, queue=queue)


def _judged(state: LandingState, ended: dict[str, Any]) -> LandingState:
    """The outcome of a run, where one of ours was waiting for it."""
    result = ended.get("result") or {}
    outcome = None if result.get("cancelled") else result.get("outcome", "could-not-run")
    known = {ended["job"]: outcome}
    before, tries = state.tries, _judged_whole(state.tries, known)
    kept = {**state.ended, **known} if state.busy == TRY else {}
    state = _rested(msgspec.structs.replace(state, tries=tries, ended=kept))
    return pauses.from_outside(state) if tries != before else state


def _rested(state: LandingState) -> LandingState:
    """Who was tried to the end as it is, is restless no more."""
    tried = {name for tried in state.tries if tried.outcome is not None for name in tried.group}
    queue = tuple(
        msgspec.structs.replace(w, restless=False) if w.change in tried else w for w in state.queue
    )
    return msgspec.structs.replace(state, queue=queue)


def _judged_whole(tries: Iterable[Try], ended: Mapping[str, Outcome | None]) -> tuple[Try, ...]:
    """Takes in how runs ended, and leaves out what says nothing: who needs that tries it again.

    So is what the gate as it was has found green: it is tried once more, by its own.
    """
    found = []
    for tried in tries:
        is_over = tried.outcome is None and tried.job in ended
        outcome = ended[tried.job] if is_over else tried.outcome
        says_nothing = tried.stale or outcome is None or (tried.by_old_gate and outcome == "passed")
        if not is_over or not says_nothing:
            found.append(msgspec.structs.replace(tried, outcome=outcome))
    return tuple(found)


def _tried(state: LandingState, effect: dict[str, Any]) -> Decision:
    """A group has its tree, and its run has begun; or some of it cannot be tried at all."""
    ended, was_revised = state.ended, state.revised
    state = msgspec.structs.replace(state, ended={}, revised=())
    if why := _failure(effect):
        return _hold_all(state, why)
    result = effect["result"]
    if result.get("is_unreachable"):
        return _pause(state)
    state = msgspec.structs.replace(state, misses=0)
    if why := result.get("held"):
        return _hold_all(state, why)
    if result["tip"] != state.tip:
        state = _outrun(state, {name for tried in state.tries for name in tried.group})
        state = msgspec.structs.replace(_forgotten(state), tip=result["tip"])
    made = [shapes.convert(tried, Try) for tried in result["tries"]]
    known = {tried.group for tried in made}
    before = (tried for tried in state.tries if tried.group not in known)
    state = msgspec.structs.replace(state, tries=(*before, *made))
    useless = [
        group
        for group in known
        if not set(was_revised).isdisjoint(group) or not _has_its_needs(group, state.queue)
    ]
    state = _cancelled(state, useless)
    tries = _judged_whole(
        (t for t in state.tries if t.group not in useless or t.outcome is None), ended
    )
    deferred = (*state.deferred, *result.get("deferred", ()))
    state = _rested(msgspec.structs.replace(state, tries=tries, deferred=deferred))
    stopped = [shapes.convert(found, Stopped) for found in result["stopped"]]
    present = {(waiting.change, waiting.head) for waiting in state.queue}
    return _stop(state, [found for found in stopped if (found.change, found.head) in present])


def _has_its_needs(group: Group, queue: Iterable[Waiting]) -> bool:
    """Whether nothing has left a group, as it was made, that others in it need."""
    needs = {need for w in queue if w.change in group for need in w.needs}
    return needs.issubset(group)


def _landed(state: LandingState, effect: dict[str, Any]) -> Decision:
    """The branch has moved, or something is in its way, or it is at another commit by now."""
    if why := _failure(effect):
        return _pause(state) if state.pushed is not None else _hold_all(state, why)
    before = msgspec.structs.replace(state, pushed=None)
    result = effect["result"]
    if result.get("unsettled"):
        return _pause(msgspec.structs.replace(state, pushed=result["unsettled"]))
    state = msgspec.structs.replace(before, misses=0)
    if result.get("requested"):
        return _next(state)
    if marks := result.get("marks"):
        group = tuple(result["group"])
        edits = tuple(result.get("edits", ()))
        tries = tuple(_marked(t, marks, edits) if t.group == group else t for t in state.tries)
        return _next(msgspec.structs.replace(state, tries=tries))
    state = _outrun(state, result["group"] if result.get("moved") else ())
    state = _forgotten(state)
    if result["landed"]:
        return _next(msgspec.structs.replace(state, red=""), *retired(result))
    in_the_way = [
        Stopped(change=waiting.change, head=waiting.head, state="held", why=found)
        for waiting in state.queue
        if (found := result["in_the_way"].get(waiting.change))
    ]
    return _stop(state, in_the_way)


def retired(result: dict[str, Any]) -> tuple[Effect, ...]:
    """What is done with the authors of what has landed."""
    return tuple(Effect(RETIRE, author) for author in result.get("authors", ()))


def told_failure(effect: dict[str, Any]) -> tuple[Effect, ...]:
    """Tells of an effect that nobody waits for, where that has failed."""
    why = _failure(effect)
    told = {"what": effect["what"], "number": effect["number"], "why": why}
    return (Effect(TELL, told),) if why else ()


def _pause(state: LandingState, *first: Effect) -> Decision:
    """Has it tried again after a while, longer each time; other news does it at once."""
    pause = min(_LONGEST_PAUSE, _PAUSE * 2**state.misses)
    misses = min(state.misses + 1, _MOST_MISSES)
    wake_at = state.now + pause
    return _decided(msgspec.structs.replace(state, misses=misses, wake_at=wake_at), *first)


def _marked(tried: Try, marks: list[str], edits: tuple[str, ...]) -> Try:
    return msgspec.structs.replace(tried, outcome="marked", marks=tuple(marks), edits=edits)


def _stopped(state: LandingState, effect: dict[str, Any]) -> Decision:
    """Who was told why has left already, by the event: one that is revised meanwhile is here.

    Where nobody could be told all wait, and it is tried again after a while.
    """
    if _failure(effect):
        return _pause(state, *(told_failure(effect) if not state.misses else ()))
    return _next(msgspec.structs.replace(state, misses=0))


_ENDS = {TRY: _tried, LAND: _landed, STOP: _stopped}


def _next(state: LandingState, *first: Effect) -> Decision:
    """Asks the plan, where nothing is under way; what is done in any case comes first."""
    if first:
        then = _next(msgspec.structs.replace(state, sequence=state.sequence + len(first)))
        return then._replace(effects=(*first, *then.effects))
    if state.busy:
        return _decided(state)
    if state.pushed is not None:
        return _do(state, LAND, **state.pushed)
    known = {tried.group: tried.outcome for tried in state.tries if tried.outcome is not None}
    running = [tried.group for tried in state.tries if _is_running(tried)]
    decision = plans.plan(state.ready, known, running, _SLOTS)
    waiting = {waiting.change for waiting in state.queue}
    # Who is not tried just now may be so again: that run still says something.
    unwanted = [g for g in decision.cancel if decision.land or not waiting.issuperset(g)]
    state = _cancelled(state, unwanted)
    if decision.land:
        return _do(state, LAND, tried=_kept_try(state, decision.land), tip=state.tip)
    if decision.reject or decision.hold:
        if _red_tip(state) is not None:
            state = msgspec.structs.replace(state, red=state.tip, look=0)
        return _stop(state, _sent_back(state, decision))
    if decision.start:
        groups = [list(group) for group in decision.start]
        moved = {waiting.change: waiting.moved for waiting in state.queue if waiting.moved}
        return _do(state, TRY, groups=groups, misses=state.misses, moved=moved)
    return _decided(state)


def _kept_try(state: LandingState, group: Group) -> dict[str, Any]:
    kept: dict[str, Any] = msgspec.to_builtins(_try(state, group))
    return kept


def _try(state: LandingState, group: Group) -> Try:
    return next(tried for tried in state.tries if tried.group == group and not tried.stale)


def _red_tip(state: LandingState) -> Try | None:
    """How the tip fares by itself, where that is not green."""
    of_tip = (t for t in state.tries if t.group == TIP and t.outcome is not None and not t.stale)
    return next((tried for tried in of_tip if tried.outcome != "passed"), None)


def _sent_back(state: LandingState, decision: Plan) -> list[Stopped]:
    heads = {waiting.change: waiting.head for waiting in state.queue}
    alone = {tried.group: tried for tried in state.tries if not tried.stale}
    why, red_tip = holds.COULD_NOT_RUN, _red_tip(state)
    if red_tip is not None:
        why = holds.halted(state.target, red_tip.outcome or "")
    rejected = [
        Stopped(change=name, head=heads[name], state="rejected", tried=alone[(name,)])
        for name in decision.reject
    ]
    held = []
    for name in decision.hold:
        tried = alone.get((name,))
        told = "; ".join(tried.marks) if tried is not None and tried.marks else why
        held.append(Stopped(change=name, head=heads[name], state="held", why=told, tried=tried))
    return [*rejected, *held]


def _stop(state: LandingState, stopped: list[Stopped]) -> Decision:
    if not stopped:
        return _next(state)
    if any(holds.is_halted(found.why, state.target) for found in stopped):
        # Whether it goes on, only a look can tell.
        state = msgspec.structs.replace(state, red=state.red or _UNKNOWN, look=0)
    return _do(state, STOP, stopped=msgspec.to_builtins(stopped), tip=state.tip)


def _hold_all(state: LandingState, why: str) -> Decision:
    held = [
        Stopped(change=waiting.change, head=waiting.head, state="held", why=why)
        for waiting in state.queue
    ]
    return _stop(state, held)


def _do(state: LandingState, what: str, **data: Any) -> Decision:
    """Begins an effect; the same as before waits for its moment, whatever has become of that."""
    if pauses.is_again(state, what):
        return _decided(pauses.resting(state))
    state = pauses.with_begun(state, what)
    state = msgspec.structs.replace(state, busy=what, number=state.sequence + 1, wake_at=None)
    heads = {waiting.change: waiting.head for waiting in state.queue}
    return _decided(state, Effect(what, {"target": state.target, "heads": heads, **data}))


def _failure(effect: dict[str, Any]) -> str:
    """Why an effect has no result of its own."""
    if effect["status"] == "done":
        return ""
    error = effect.get("error") or {}
    hint = f"; {error['hint']}" if error.get("hint") else ""
    return str(error.get("message", effect["status"])) + hint


def _counted(job: Job) -> dict[str, Any]:
    """The state of a job that did not count its effects: which is under way, its name says."""
    tries = [{**tried, "by_old_gate": tried.get("half", False)} for tried in job.state["tries"]]
    names = {"tries": tries, "deferred": job.state.get("later", ())}
    # Whether it halts, only a look can tell.
    red = {"red": _UNKNOWN}
    return {**job.state, **names, **red, "sequence": job.sequence, "number": 0}


KIND = JobKind(
    "landing",
    advance,
    version=2,
    upgrades={1: _counted},
    hears=frozenset(
        {
            *(AgentEnded.kind, AgentReported.kind, AgentRestored.kind),
            *(ChangeLanded.kind, ChangeQueued.kind, ChangeStopped.kind),
            *(JobDone.kind, JobSetAside.kind),
        }
    ),
)
