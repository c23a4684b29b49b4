"""A person works in a checkout of the target between every two steps of a landing.

Each act is done once at every point that the daemon comes to, and inside of the move of the branch
itself. What they commit is theirs alone, what they had staged or edited is still there, and main's
own line has nothing but theirs and what was proven.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import Turned

from windlass.git import checkout, index_lock, merges

INSIDE = {
    "take": (index_lock, "take"),
    "follow": (checkout.Follower, "follow"),
    "swap": (merges, "set_ref"),
    "release": (index_lock, "release"),
    "places": (merges, "places"),
}
"""Inside of the move, most of it while the lock of the person's index is ours."""


class Person:
    """Somebody at work in one checkout."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.count = 0
        self.own: set[str] = set()
        """What they have staged or edited and not committed."""

    def git(self, *args: str) -> bool:
        """Runs git as they would; false where it refuses, as while another is at work there."""
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        words = ["git", *who, *args]
        return (
            subprocess.run(words, cwd=self.place, capture_output=True, check=False).returncode == 0
        )

    def _write(self, kind: str) -> str:
        self.count += 1
        name = f"{kind}{self.count}.txt"
        (self.place / name).write_text(f"{kind}\n")
        return name

    def commits(self) -> None:
        """Commits a file of their own."""
        name = self._write("own")
        if not self.git("add", name) or not self.git("commit", "-q", "-m", f"person: {name}"):
            self.git("reset", "-q", "--", name)
            (self.place / name).unlink()

    def stages(self) -> None:
        """Stages a file, and commits nothing."""
        name = self._write("staged")
        self.own.add(name)
        self.git("add", name)

    def edits(self) -> None:
        """Edits a file that is committed."""
        (self.place / "notes.txt").write_text(f"{self.count}\n")
        self.own.add("notes.txt")

    def switches(self) -> None:
        """Goes to a new branch, or back."""
        self.count += 1
        if self.count % 2:
            self.git("switch", "-q", "-c", f"topic{self.count}")
        else:
            self.git("switch", "-q", "--ignore-other-worktrees", "main")

    def detaches(self) -> None:
        """Looks at an older commit, or comes back."""
        self.count += 1
        where = ("--detach", "main~1") if self.count % 2 else ("--ignore-other-worktrees", "main")
        self.git("switch", "-q", *where)

    def rebases(self) -> None:
        """Has a branch of their own follow main."""
        self.count += 1
        match self.count % 3:
            case 1:
                self.git("switch", "-q", "-C", "topic", "own")
            case 2:
                self.git("rebase", "-q", "main")
            case _:
                self.git("switch", "-q", "--ignore-other-worktrees", "main")

    def stashes(self) -> None:
        """Puts an edit away, and takes it out again."""
        if self.git("rev-parse", "-q", "--verify", "refs/stash"):
            self.git("stash", "pop", "-q")
        else:
            self.edits()
            self.git("stash", "-q")


ACTS: list[Callable[[Person], None]] = [
    Person.commits,
    Person.stages,
    Person.edits,
    Person.switches,
    Person.detaches,
    Person.rebases,
    Person.stashes,
]


def at_every_point(
    ground: LandingGround, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]
) -> set[str]:
    """Has something done the first time that each point is come to; the points, as they come."""
    seen: set[str] = set()

    def reached(name: str) -> None:
        if name not in seen:
            seen.add(name)
            act()

    ground.context.failpoints.reached = reached  # type: ignore[method-assign]
    for name, (owner, attribute) in INSIDE.items():
        real = getattr(owner, attribute)

        def late(*args: Any, _real: Any = real, _name: str = name, **more: Any) -> Any:
            reached(f"{_name}.before")
            done = _real(*args, **more)
            reached(f"{_name}.after")
            return done

        monkeypatch.setattr(owner, attribute, late)
    return seen


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_what_a_person_does_between_any_two_steps_stays_theirs(
    ground: LandingGround,
    clock: Turned,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Person], None],
    *,
    linked: bool,
) -> None:
    base = ground.commit({"notes.txt": "notes\n"})
    ground.commit({"own.txt": "own\n"}, branch="own")
    ground.commit({"more.py": "more = 1\n", "deep/more.py": "more = 1\n"}, branch="mine")
    place = ground.root
    if linked:
        place = tmp_path / "linked"
        ground.git("switch", "-q", "-c", "parked")
        ground.git("worktree", "add", "-q", str(place), "main")
    person = Person(place)
    seen = at_every_point(ground, monkeypatch, lambda: act(person))
    ground.submit("mine")
    for _ in range(10):
        ground.settle()
        clock.time += 20.0
        ground.engine.wake_due()
    monkeypatch.undo()
    (change,) = ground.changes()
    assert change.state == "landed", ground.change(change.id)
    assert {"landing.land.apply.before", "swap.before"} <= seen
    _own_line_is_proven_or_theirs(ground, base)
    _shows_nothing_but_their_own(ground, person)


def _own_line_is_proven_or_theirs(ground: LandingGround, base: str) -> None:
    ours = 0
    said = ground.git("log", "--first-parent", "--format=%H %T %s", f"{base}..main")
    for commit, tree, subject in (line.split(" ", 2) for line in said.splitlines()):
        if subject.startswith("person: "):
            names = ground.git("show", "--format=", "--name-only", commit).splitlines()
            assert names == [subject.removeprefix("person: ")]
            continue
        ours += 1
        assert ground.prove(tree)["cached"] is True, subject
    assert ours == 1


def _shows_nothing_but_their_own(ground: LandingGround, person: Person) -> None:
    """What a commit of all that lies there would change."""
    if person.git("rev-parse", "-q", "--verify", "refs/stash"):
        assert person.git("stash", "pop", "-q")
    said = ground.git("-C", str(person.place), "status", "--porcelain", "-uall").splitlines()
    assert {line.split()[-1] for line in said} == person.own
    assert person.git("switch", "-q", "--ignore-other-worktrees", "main")
    assert (person.place / "more.py").exists()
