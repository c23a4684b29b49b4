"""Dependencies: made once, from the target, at one path, and never changed by who uses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import CODE, GateGround

from windlass.daemon.gate.places import GatePlaces

SETUP = """
set -e
mkdir -p deps/bin packages/a/modules
cp lock.txt deps/lock
pwd >deps/where
cat source.txt >deps/from
echo "$HOME" >"$HOME/kept"
date +%N >deps/made
echo leftover >leftover
"""
CHECK = """
cat deps/lock deps/where deps/from "$HOME/kept" deps/made
ls packages/a/modules >/dev/null
test ! -e leftover || echo LEFTOVER
echo changed >deps/lock; rm -rf deps/bin; echo mine >"$HOME/mine"
"""
CONFIG = """
[gate]
setup = "sh ./setup.sh"
setup_network = false
deps = ["deps", "**/modules"]
inputs = ["lock.txt"]
[[gate.check]]
name = "c"
run = "sh ./check.sh"
tests = "none"
"""
FILES = {
    **CODE,
    "setup.sh": SETUP,
    "check.sh": CHECK,
    "lock.txt": "lock 1\n",
    "source.txt": "from main\n",
    "packages/a/file": "",
    ".windlass/config.toml": CONFIG,
}


@pytest.fixture
def layered(ground: GateGround) -> GateGround:
    """A gate with a setup."""
    ground.commit(FILES)
    return ground


def said(ground: GateGround, rev: str = "", **more: bool) -> list[str]:
    """What the check prints."""
    done = ground.prove(rev, **more)
    log = Path(done["checks"][0]["log"]).read_text()
    assert done["outcome"] == "passed", (done, log)
    return log.splitlines()


def test_checks_see_what_the_setup_made_at_the_path_where_it_was_made(layered: GateGround) -> None:
    """And nothing else that it left."""
    lock, where, source, home, _ = said(layered)
    assert (lock, where, source) == ("lock 1", "/windlass/tree", "from main")
    assert home == "/windlass/home"


def test_it_is_made_once_and_no_run_changes_it(layered: GateGround) -> None:
    """The second run has what the first one had, to the nanosecond."""
    assert said(layered) == said(layered, fresh=True)


def test_a_change_is_tested_with_dependencies_that_are_made_from_the_target(
    layered: GateGround,
) -> None:
    """What a change does to the files of a setup that are no inputs supplies nobody's."""
    layered.commit({"source.txt": "from a change\n"}, branch="sly")
    assert said(layered, "sly")[2] == "from main"
    assert said(layered)[2] == "from main"


def test_a_change_with_inputs_of_its_own_has_a_layer_of_its_own(layered: GateGround) -> None:
    """Made from its tree; the target's stays what it is."""
    layered.commit({"lock.txt": "lock 2\n", "source.txt": "from a change\n"}, branch="newer")
    assert said(layered, "newer")[::2][:2] == ["lock 2", "from a change"]
    assert said(layered)[0] == "lock 1"


def test_what_was_made_from_a_change_is_that_change_s_alone(layered: GateGround) -> None:
    """Its setup did what its files say: nothing else is tested with that, whatever lands."""
    sly = {"lock.txt": "lock 2\n", "source.txt": "from a sly change\n"}
    layered.commit(sly, branch="sly")
    assert said(layered, "sly")[2] == "from a sly change"
    layered.commit({"lock.txt": "lock 2\n"}, branch="honest")
    assert said(layered, "honest")[2] == "from main"
    layered.git("merge", "-q", "--ff-only", "honest")
    assert said(layered)[2] == "from main"


SEES = """
sh deps/run && sh "$(cat "$HOME/where")/deps/run"
test ! -e mark && echo >mark && echo >deps/run
"""


@pytest.mark.parametrize("way", ["overlay", "copies"])
def test_without_a_box_a_run_sees_the_layer_where_that_was_made(
    ground: GateGround, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Its paths hold there, in the tree and in the home; and nothing that a run writes stays."""
    if way == "copies":
        monkeypatch.setattr("windlass.box.overlay.works", lambda _: False)
    setup = "mkdir deps; echo cat $PWD/calc.py >deps/run; pwd >$HOME/where"
    own = f'[gate]\nbox = false\nsetup = "{setup}"\ndeps = ["deps"]\n'
    own += '[[gate.check]]\nname = "c"\nrun = "sh ./sees.sh"\ntests = "none"\n'
    (Path(ground.context.folders.home) / "config.toml").write_text(own)
    ground.commit({"sees.sh": SEES, "calc.py": "first\n"})
    assert said(ground) == ["first", "first"]
    ground.commit({"calc.py": "changed\n"}, branch="change")
    assert said(ground, "change") == ["changed", "changed"]
    assert said(ground, fresh=True) == ["first", "first"]


def test_a_copied_layer_is_not_led_out_by_a_link_of_the_tree(
    ground: GateGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change puts a link in the place of the folder that its dependencies lie in."""
    monkeypatch.setattr("windlass.box.overlay.works", lambda _: False)
    outside = Path(ground.context.folders.home) / "outside"
    outside.mkdir()
    own = '[gate]\nsetup = "mkdir -p a/deps; echo x >a/deps/made"\ndeps = ["a/deps"]\n'
    own += '[[gate.check]]\nname = "c"\nrun = "cat a/deps/made"\ntests = "none"\n'
    ground.commit({"a/kept.txt": "kept\n", ".windlass/config.toml": own})
    assert said(ground) == ["x"]
    ground.git("checkout", "-q", "-b", "sly")
    ground.git("rm", "-q", "a/kept.txt")
    (ground.root / "a").symlink_to(outside)
    ground.git("add", "a")
    ground.git("commit", "-q", "-m", "sly")
    ground.git("checkout", "-q", "main")
    assert said(ground, "sly") == ["x"]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        ("exit 3", "gate.setup ended with 3"),
        ("true", "gate.setup made nothing that gate.deps names"),
        ("ln -s /etc deps", "deps is a link"),
        ("mkdir -p packages/modules; echo x >packages/modules/x; true", None),
    ],
)
def test_what_cannot_be_made_is_told_and_nothing_of_it_stays(
    layered: GateGround, setup: str, why: str | None
) -> None:
    """Whatever the checks would say, they could not run."""
    layered.commit({"setup.sh": setup, "check.sh": "true", "lock.txt": setup})
    done = layered.prove()
    if why is None:
        assert done["outcome"] == "passed"
        return
    assert done["outcome"] == "could-not-run"
    assert why in done["checks"][0]["why"]
    places = GatePlaces(layered.context.folders.home, layered.proofs_repo)
    assert list(places.layers.glob("*")) == []
    assert layered.verdicts() == 0


def test_a_tracked_path_is_no_dependency(layered: GateGround) -> None:
    """Else a layer would stand in the place of what is to be tested."""
    layered.commit({".windlass/config.toml": CONFIG.replace('"deps",', '"deps", "packages",')})
    done = layered.prove()
    assert done["outcome"] == "could-not-run"
    assert "packages/a/file is part of the tree itself" in done["checks"][0]["why"]


def test_inputs_that_land_while_a_run_is_under_way_have_their_layer_made_from_the_target(
    layered: GateGround,
) -> None:
    layered.commit({"lock.txt": "lock 2\n", "source.txt": "from sly\n"}, branch="sly")
    begun = layered.begin("sly")
    layered.commit({"lock.txt": "lock 2\n"})
    layered.settle()
    log = Path(layered.ended(begun["job"])["checks"][0]["log"]).read_text()
    assert log.splitlines()[2] == "from main"
    assert said(layered)[2] == "from main"


def test_a_change_that_commits_what_a_layer_would_cover_is_not_proven(layered: GateGround) -> None:
    """The layer's file would be tested, and the change's would land."""
    layered.prove()
    layered.commit({"deps/from": "from sly\n"}, branch="sly")
    done = layered.prove("sly")
    assert done["outcome"] == "could-not-run"
    assert "deps/from is part of the tree itself" in done["checks"][0]["why"]
