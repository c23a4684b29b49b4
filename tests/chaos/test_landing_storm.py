"""Landing under everything at once: main moves only to what was proven, and everything ends.

Changes that are good, bad, bad only together and in conflict are proposed; the person commits to
main and edits in its checkout; the daemon dies at any step. Dice decide what comes next, and a
seed says how they fall.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import Killed
from tests.daemon.landing.landing_ground import LandingGround
from tests.daemon.landing.upstream_ground import UpstreamGround
from tests.support.contexts import Turned, lent

pytestmark = pytest.mark.slow
CONFIG = '[gate]\n[[gate.check]]\nname = "c"\nrun = "sh check.sh"\ntests = "none"\n'
CHECK = """
for bad in bad*.txt; do test ! -e "$bad" || exit 1; done
for pair in 1 2 3 4; do test ! -e "left$pair.txt" || test ! -e "right$pair.txt" || exit 1; done
"""
POINTS = [
    f"{step}.{when}"
    for step in (
        *("job.landing.advance", "job.gate.advance", "landing.try.try", "landing.try.finish"),
        *("gate.layer.make", "gate.check.run", "gate.check.finish"),
        *("landing.land.plan", "landing.land.apply", "landing.land.finish", "landing.stop.tell"),
        *("landing.land.push", "landing.land.follow"),
    )
    for when in ("before", "after")
]
LAST = [point for point in POINTS if point.startswith(("gate.check", "landing.land"))]
ENDED = {"landed", "rejected", "conflict"}


class Storm:
    """A repository, its person, and the authors of changes; what ought to become of each."""

    foreign = "person: "
    """How the subjects of commits begin that went past the queue."""

    def __init__(self, ground: LandingGround, clock: Turned, seed: int) -> None:
        self.ground = ground
        self.clock = clock
        self.dice = random.Random(seed)  # noqa: S311 - dice
        self.base = ground.git("rev-parse", "main")
        self.desk = ground.root.parent / "desk"
        ground.git("worktree", "add", "-q", "--detach", str(self.desk), "main")
        self.count = 0
        self.good: set[str] = set()
        self.bad: set[str] = set()
        self.pairs: list[set[str]] = []
        self.edits: set[str] = set()
        self.history: list[str] = []

    def step(self) -> None:
        """Does the next thing."""
        act = self.dice.choice(
            [
                *(self.proposes_good, self.proposes_good, self.proposes_bad),
                *(self.proposes_pair, self.proposes_conflict),
                *(self.person_commits, self.person_edits, self.person_is_in_the_way),
                *(self.person_comes_between, self.dies, self.dies, self.settles),
            ]
        )
        self.history.append(act.__name__)
        act()

    def _propose(self, branch: str, file: str, text: str = "text\n") -> None:
        git = ("-C", str(self.desk))
        self.ground.git(*git, "checkout", "-q", "--detach", self.dice.choice(["main", self.base]))
        (self.desk / file).write_text(text)
        self.ground.git(*git, "add", file)
        self.ground.git(*git, "commit", "-q", "-m", branch)
        self.ground.git(*git, "branch", "-f", branch)
        self.ground.submit(branch)

    def _next(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def proposes_good(self) -> None:
        """One that does no harm."""
        name = self._next("good")
        self.good.add(name)
        self._propose(name, f"{name}.txt")

    def proposes_bad(self) -> None:
        """One that is red wherever it is."""
        name = self._next("bad")
        self.bad.add(name)
        self._propose(name, f"{name}.txt")

    def proposes_pair(self) -> None:
        """Two that are red together alone."""
        number = len(self.pairs) + 1
        if number > 4:
            return
        sides = [f"left{number}", f"right{number}"]
        self.dice.shuffle(sides)
        self.pairs.append(set(sides))
        for side in sides:
            self._propose(side, f"{side}.txt")

    def proposes_conflict(self) -> None:
        """Two that write the same file each in its own way."""
        sides = {self._next("clash"), self._next("clash")}
        file = f"{min(sides)}.txt"
        self.pairs.append(sides)
        for side in sides:
            self._propose(side, file, f"{side}\n")

    def person_commits(self) -> None:
        """The person commits to the target, past the queue."""
        name = f"{self._next('own')}.txt"
        (self.ground.root / name).write_text("own\n")
        self.ground.git("add", name)
        self.ground.git("commit", "-q", "-m", f"person: {name}", "--", name)

    def person_edits(self) -> None:
        """The person edits what no change touches."""
        self.edits.add("notes.txt")
        (self.ground.root / "notes.txt").write_text(f"{self._next('edit')}\n")

    def person_is_in_the_way(self) -> None:
        """The person has a file, untracked, where a change that waits would bring one."""
        waiting = [b for b, s in self.ground.states().items() if b in self.good and s != "landed"]
        for branch in waiting[:1]:
            file = f"{branch}.txt"
            if not (self.ground.root / file).exists():
                (self.ground.root / file).write_text("mine\n")
                self.edits.add(file)

    def dies(self) -> None:
        """The daemon dies somewhere on its way, and another one goes on."""
        point = self.dice.choice(POINTS)
        self.history.append(point)
        self.ground.dies_at = point
        with suppress(Killed):
            self.ground.settle()
        self.ground.start_daemon()

    def person_comes_between(self) -> None:
        """The person commits to the target somewhere on the daemon's way."""
        failpoints, point = self.ground.context.failpoints, self.dice.choice(LAST)
        goes_on, left = failpoints.reached, [point]

        def reached(name: str) -> None:
            if name in left:
                left.remove(name)
                self.person_commits()
            goes_on(name)

        failpoints.reached = reached  # type: ignore[method-assign]
        self.settles()
        failpoints.reached = goes_on  # type: ignore[method-assign]

    def settles(self) -> None:
        """Everything is done that can be done now."""
        self.ground.settle()

    def end(self) -> None:
        """The person clears what is in the way, and proposes once more what was held for it."""
        for file in sorted(self.edits - {"notes.txt"}):
            (self.ground.root / file).unlink()
        self.edits &= {"notes.txt"}
        for _ in range(8):
            self.ground.settle()
            self.clock.time += 700.0
            self.ground.engine.wake_due()
            for branch, state in self.ground.states().items():
                if state == "held":
                    self.ground.submit(branch)

    def check(self) -> None:
        """What holds whatever came."""
        ground, states = self.ground, self.ground.states()
        assert {b: s for b, s in states.items() if s not in ENDED} == {}
        assert {b: s for b, s in states.items() if b in self.good and s != "landed"} == {}
        assert {b: s for b, s in states.items() if b in self.bad and s != "rejected"} == {}
        for pair in self.pairs:
            landed = [side for side in pair if states[side] == "landed"]
            assert len(landed) == 1, (pair, states)
        status = ground.git("status", "--porcelain").splitlines()
        assert {line.split()[-1] for line in status} == self.edits
        assert len(self._proven()) <= len([s for s in states.values() if s == "landed"])

    def line(self, shown: str) -> str:
        """The target's own line, since the beginning."""
        return self.ground.git("log", "--first-parent", shown, f"{self.base}..main")

    def _proven(self) -> list[str]:
        """The commits of ours on main's own line, each of which has a green verdict."""
        said = self.line("--format=%H %T %s")
        ours = []
        for commit, tree, subject in (line.split(" ", 2) for line in said.splitlines()):
            if subject.startswith(self.foreign):
                names = self.ground.git("show", "--format=", "--name-only", commit).splitlines()
                assert names == [subject.removeprefix(self.foreign)]
                continue
            known = self.ground.prove(tree)
            assert (known["outcome"], known["cached"]) == ("passed", True), subject
            ours.append(commit)
        return ours


class RemoteStorm(Storm):
    """The target is a remote's branch: what goes past the queue is pushed by somebody else."""

    foreign = "theirs: "

    def __init__(self, ground: UpstreamGround, clock: Turned, seed: int) -> None:
        super().__init__(ground, clock, seed)
        self.upstream = ground
        ground.begin_remote()

    def person_commits(self) -> None:
        """Somebody pushes to the target."""
        self.upstream.commit_upstream(f"{self._next('own')}.txt")

    def line(self, shown: str) -> str:
        """The remote's own line."""
        self.upstream.git("fetch", "-q", "origin")
        return self.upstream.remote("log", "--first-parent", shown, f"{self.base}..main")


FILES = {"check.sh": CHECK, "notes.txt": "notes\n", ".windlass/config.toml": CONFIG}


@pytest.fixture(params=[Storm, RemoteStorm])
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int], Storm]]:
    """Main is green."""
    clock, kind = Turned(), request.param
    where = UpstreamGround if kind is RemoteStorm else LandingGround
    with lent(clock) as context:
        made = gate_ground.make_as(where, context, tmp_path / "shop", FILES)
        yield lambda seed: kind(made, clock, seed)


def ride(storm: Storm, seed: int, *, steps: int) -> None:
    """One storm, from its beginning to the end of all that it began."""
    try:
        for _ in range(steps):
            storm.step()
        storm.end()
        storm.check()
    except BaseException as error:
        error.add_note(f"seed {seed}: {storm.history}")
        raise


@pytest.mark.parametrize("seed", [0, 4])
def test_in_a_short_storm_main_moves_only_to_what_was_proven(
    begin: Callable[[int], Storm], seed: int
) -> None:
    ride(begin(seed), seed, steps=20)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 140))
def test_in_a_long_storm_main_moves_only_to_what_was_proven(
    begin: Callable[[int], Storm], seed: int
) -> None:
    ride(begin(seed), seed, steps=50)
