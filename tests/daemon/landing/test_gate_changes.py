"""Changes to the gate itself: each lands alone, passed by the gate before and after it."""

from __future__ import annotations

import pytest
from tests.daemon.gate.gate_ground import GATE
from tests.daemon.landing.landing_ground import LandingGround

from windlass.core.errors import ConfigError
from windlass.store import verdicts

CONFIG = ".windlass/config.toml"
MORE = GATE + '\n[[gate.check]]\nname = "more"\nrun = "test -e more.txt"\ntests = "none"\n'
NETWORK = GATE.replace("[gate]", "[gate]\nnetwork = true")


def test_a_gate_that_its_own_tree_does_not_pass_does_not_land(ground: LandingGround) -> None:
    """The old gate finds it green: whoever came next would have paid for it."""
    ground.commit({CONFIG: MORE}, branch="stricter")
    name = ground.submit("stricter")
    ground.settle()
    change = ground.change(name)
    assert change["state"] == "rejected"
    assert change["why"].startswith("more failed")


def test_a_gate_change_lands_alone_when_both_gates_pass(ground: LandingGround) -> None:
    """Those beside it land before and after, each by the gate that counts then."""
    ground.commit({CONFIG: MORE, "more.txt": "here\n"}, branch="stricter")
    ground.commit({"one.py": "one = 1\n"}, branch="one")
    ground.commit({"two.py": "two = 1\n"}, branch="two")
    names = [ground.submit(branch) for branch in ("one", "stricter", "two")]
    ground.settle()
    assert set(ground.states().values()) == {"landed"}
    commits = [ground.change(name)["commit"] for name in names]
    assert len(set(commits)) == 3
    tree = ground.change(names[1])["tree"]
    known = ground.context.store.read(lambda c: verdicts.of_trees(c, ground.proofs_repo, [tree]))
    assert "more" in known[tree]


def test_a_red_one_does_not_land_by_changing_its_gate_to_true(ground: LandingGround) -> None:
    """The gate as it was has its say."""
    weak = GATE[: GATE.index("[gate]")] + '[[gate.check]]\nname = "t"\nrun = "true"\ntests="none"\n'
    ground.commit({CONFIG: weak, "calc.py": "def add(a, b):\n    return a - b\n"}, branch="sly")
    name = ground.submit("sly")
    ground.settle()
    assert ground.change(name)["state"] == "rejected"


def test_what_a_gate_change_widens_waits_for_approval_which_accepts_it(
    ground: LandingGround,
) -> None:
    """Also where the person proposes it: the lines are shown, and accepted with it."""
    ground.commit({CONFIG: NETWORK}, branch="wider")
    name = ground.submit("wider")
    ground.settle()
    change = ground.change(name)
    assert change["state"] == "held"
    assert "gate.network = true instead of false" in change["why"]
    ground.judge("approve", name)
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    ground.commit({"more.py": "more = 1\n"}, branch="next")
    ground.submit("next")
    ground.settle()
    assert ground.states()["next"] == "landed"


def test_a_gate_that_is_none_once_it_is_merged_goes_back_by_itself(ground: LandingGround) -> None:
    """Each of both was a gate: nobody could tell before, and nobody else waits for it."""
    room = GATE + "".join(f"# {number}\n" for number in range(20))
    ground.commit({CONFIG: room})
    ground.commit({CONFIG: room + "[landing]\nmax_attempts = 2\n"}, branch="last")
    ground.commit({"one.py": "one = 1\n"}, branch="one")
    name, other = ground.submit("last"), ground.submit("one")
    ground.commit({CONFIG: room.replace("# 3\n", "[landing]\nmax_attempts = 1\n# 3\n")})
    ground.settle()
    change = ground.change(name)
    assert change["state"] == "rejected"
    assert change["why"].startswith("merged, its gate is none: ")
    assert ground.change(other)["state"] == "landed"


@pytest.mark.parametrize("how", ["deleted", "emptied", "a folder"])
def test_a_change_that_takes_the_gate_away_is_refused(ground: LandingGround, how: str) -> None:
    """No check is no pass: it landed by none at all, and nobody else could after it."""
    left: dict[str, dict[str, str | None]] = {
        "deleted": {CONFIG: None},
        "emptied": {CONFIG: "[landing]\nmax_attempts = 2\n"},
        "a folder": {CONFIG: None, f"{CONFIG}/notes.txt": "no gate\n"},
    }
    ground.commit(left[how], branch="gone")
    with pytest.raises(ConfigError, match="it would leave main without a gate"):
        ground.submit("gone")


def test_a_change_that_is_without_a_gate_once_it_is_merged_goes_back(ground: LandingGround) -> None:
    """Its head has one: somebody else has taken the other half away since."""
    room = "".join(f"# {number}\n" for number in range(20))
    first = '[[gate.check]]\nname = "a"\nrun = "true"\ntests = "none"\n'
    second = first.replace('"a"', '"b"')
    ground.commit({CONFIG: first + room + second})
    ground.commit({CONFIG: first + room}, branch="one")
    ground.commit({CONFIG: room + second}, branch="other")
    names = [ground.submit("one"), ground.submit("other")]
    ground.settle()
    changes = [ground.change(name) for name in names]
    assert [change["state"] for change in changes] == ["landed", "rejected"]
    assert "without a gate" in changes[1]["why"]


def test_a_foreign_commit_that_widens_the_gate_holds_the_queue(ground: LandingGround) -> None:
    """It says what to type."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit({CONFIG: NETWORK})
    name = ground.submit("mine")
    ground.settle()
    change = ground.change(name)
    assert change["state"] == "held"
    assert "wl trust" in change["why"]
