"""Whatever happens to a queue in whatever order, no change is lost and each comes to its end."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core import jobs
from windlass.core.gate import job as gate_job
from windlass.core.jobs import Effect, News
from windlass.core.landing import holds
from windlass.core.landing import job as landing
from windlass.core.landing.changes import ENDED, OPEN

NAMES = tuple(f"c{number}" for number in range(1, 13))


class World:
    """A queue, the rows that it is about, and the runs of the gate, as the daemon has them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - what happens, and in which order
        self.data = landing.begun("main")
        self.heads: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.bad: set[str] = set()
        """Heads that are red by themselves."""
        self.landed: list[str] = []
        self.tip = 0
        self.is_red = False
        """Whether nothing is green on the target as it is now."""
        self.halted: set[str] = set()
        """What is held for that."""
        self.effects: list[tuple[int, Effect]] = []
        self.runs: dict[str, set[str]] = {}
        """Runs under way, each with the heads that its tree is made of."""
        self.begun = 0
        self.sequence = 0
        self.proposed = 0

    def hear(self, kind: str, **data: Any) -> None:
        """Tells the queue of something that was committed."""
        decision = landing.advance(self.data, News(id=1, kind=kind, at=0.0, data=data))
        self.data = decision.state
        for effect in decision.effects:
            self.sequence += 1
            self.effects.append((self.sequence, effect))
        busy = [effect for _, effect in self.effects if effect.what in (landing.TRY, landing.LAND)]
        assert len(busy) <= 1, "two effects at once, of which each begins where the last one ended"

    def propose(self) -> None:
        """A change, or the next revision of one; it may need some of those before it."""
        name = self.dice.choice(NAMES)
        if self.states.get(name) in ENDED:
            return
        self.proposed += 1
        self.heads[name] = f"{name}.{self.proposed}"
        if self.dice.random() < 0.4:
            self.bad.add(self.heads[name])
        before = [other for other in NAMES[: NAMES.index(name)] if other in self.states]
        self.needs.setdefault(name, tuple(n for n in before if self.dice.random() < 0.2))
        self._enter(name)

    def _enter(self, name: str) -> None:
        lacking = [need for need in self.needs[name] if self.states[need] != "landed"]
        if any(self.states[need] not in OPEN for need in lacking):
            was = self.states.get(name)
            self.states[name] = "held"
            if was in OPEN:
                self._leave(name, "held")
            return
        self.states[name] = "queued"
        head, alone = self.heads[name], self.dice.random() < 0.1
        queued = {"change": name, "target": "main", "head": head, "needs": lacking, "alone": alone}
        self.hear("change.queued", **queued)

    def drop(self) -> None:
        """Somebody wants one of them no more."""
        if waiting := [name for name, state in self.states.items() if state in OPEN]:
            self._leave(self.dice.choice(waiting), "dropped")

    def push(self) -> None:
        """Somebody else moves the target, and breaks it or mends it."""
        self.tip += 1
        self.is_red = self.dice.random() < 0.4

    def wake(self) -> None:
        """The moment comes that the queue waits for, if it waits for one."""
        if self.data["wake_at"] is not None:
            self.hear(jobs.WOKEN)

    def end_run(self, *, honest: bool = False) -> None:
        """A run of the gate ends, by its tree; or nobody knows."""
        if not self.runs:
            return
        run = self.dice.choice(sorted(self.runs))
        heads = self.runs.pop(run)
        result: dict[str, Any] = {"outcome": "failed" if heads & {*self.bad, "red"} else "passed"}
        if not honest and self.dice.random() < 0.2:
            result = {"outcome": "could-not-run", "cancelled": True}
        self.hear("job.done", what=gate_job.KIND.name, job=run, result=result)

    def end_effect(self, *, honest: bool = False) -> None:
        """The first effect ends, well or not."""
        if not self.effects:
            return
        number, effect = self.effects.pop(0)
        if not honest and self.dice.random() < 0.2:
            error = {"message": "it broke"}
            ended = {"what": effect.what, "number": number, "status": "failed", "error": error}
            self.hear(jobs.EFFECT, **ended)
            return
        does = {landing.TRY: self._try, landing.LAND: self._land, landing.STOP: self._stop}
        result = does.get(effect.what, self._beside)(effect.data)
        if self.dice.random() < 0.3 and not honest:
            self.propose()  # before anybody hears of the end
        self.hear(jobs.EFFECT, what=effect.what, number=number, status="done", result=result)

    def _is_here(self, name: str, head: str) -> bool:
        return self.heads[name] == head and self.states[name] in OPEN

    def _leave(self, name: str, state: str) -> None:
        self.states[name] = state
        self.hear("change.stopped", change=name, target="main", state=state)
        for other, known in list(self.states.items()):
            if known in OPEN and name in self.needs[other]:
                self._leave(other, "held")

    def _try(self, data: dict[str, Any]) -> dict[str, Any]:
        tries, stopped, heads = [], [], data["heads"]
        for asked in data["groups"]:
            group = [name for name in asked if self._is_here(name, heads[name])]
            stopped += [
                {"change": name, "head": heads[name], "state": "held"}
                for name in asked
                if name not in group
            ]
            if group or not asked:
                self.begun += 1
                run = f"run{self.begun}"
                self.runs[run] = {*(heads[name] for name in group), *["red"] * self.is_red}
                tries.append({"group": group, "tree": f"{self.tip}:{group}", "job": run})
        return {"tip": str(self.tip), "tries": tries, "stopped": stopped, "deferred": []}

    def _land(self, data: dict[str, Any]) -> dict[str, Any]:
        group, heads = data["tried"]["group"], data["heads"]
        is_same = data["tried"]["tree"].startswith(f"{self.tip}:")
        lands = is_same and all(self._is_here(name, heads[name]) for name in group)
        for name in group if lands else ():
            assert heads[name] not in self.bad, "what is red has landed"
            self.states[name] = "landed"
            self.landed.append(heads[name])
            self.hear("change.landed", change=name, target="main")
            assert all(self.states[need] == "landed" for need in self.needs[name])
            for other, known in list(self.states.items()):
                if known == "held" and name in self.needs[other]:
                    self._enter(other)
        if lands:
            assert not self.is_red, "something landed on a red target that did not mend it"
            self.tip += 1
            self._release()
        return {"landed": lands, "group": group, "in_the_way": {}}

    def _stop(self, data: dict[str, Any]) -> dict[str, Any]:
        for stopped in data["stopped"]:
            name = stopped["change"]
            if self._is_here(name, stopped["head"]):
                if stopped["state"] == "rejected":
                    assert self.heads[name] in self.bad, "a good change was sent back"
                if stopped["state"] == "held" and holds.is_halted(stopped["why"], "main"):
                    self.halted.add(name)
                self._leave(name, stopped["state"])
            elif self.states[name] not in OPEN:
                self._leave(name, self.states[name])
        return {"changes": []}

    def _beside(self, data: dict[str, Any]) -> dict[str, Any]:
        for run in data.get("runs", ()):
            if self.runs.pop(run, None) is not None:
                result = {"outcome": "could-not-run", "cancelled": True}
                self.hear("job.done", what=gate_job.KIND.name, job=run, result=result)
        if "red" not in data:
            return {}
        if self.halted and self.is_red:
            return {"red": str(self.tip)}
        self._release()
        return {"red": ""}

    def _release(self) -> None:
        """What was held for a red target goes on."""
        for name in sorted(self.halted):
            self.halted.discard(name)
            if self.states[name] == "held":
                self._enter(name)

    def come_to_rest(self) -> None:
        """From now on nothing fails, and nobody does anything but mend the target."""
        self.tip, self.is_red = self.tip + self.is_red, False
        for _ in range(300):
            if self.effects:
                self.end_effect(honest=True)
            elif self.runs:
                self.end_run(honest=True)
            elif self.data["wake_at"] is not None:
                self.wake()
            else:
                return
        raise AssertionError(f"it never comes to rest: {self.data}")


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=1, max_value=90))
@settings(max_examples=300, deadline=None)
def test_every_change_comes_to_its_end_whatever_happens_in_whatever_order(
    seed: int, events: int
) -> None:
    """None waits for ever, no red one lands, no good one is sent back, and no run is left over."""
    world = World(seed)
    for _ in range(events):
        does = (world.propose, world.drop, world.push, world.wake)
        often = (world.end_run, world.end_effect, world.end_effect, world.propose)
        world.dice.choice((*does, *often, *often))()
    world.come_to_rest()
    waiting = {name for name, state in world.states.items() if state in OPEN}
    assert waiting == set(), "it waits for ever"
    assert not world.data["queue"]
    assert world.runs == {}
    assert not [name for name in world.halted if world.states[name] == "held"]
