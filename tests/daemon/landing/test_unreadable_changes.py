"""Changes on which git itself fails: each comes back with what git says, and is not tried for ever.

Only plain git on a repository without checks makes such trees; a clone of an agent's brings none.
"""

from __future__ import annotations

import subprocess

import pytest
from tests.daemon.landing.landing_ground import LandingGround

Entry = tuple[str, str, str]
MISSING = "12" * 20


def written(ground: LandingGround, kind: str, data: bytes) -> str:
    """An object as it is, however odd."""
    words = ["git", "hash-object", "-w", "-t", kind, "--literally", "--stdin"]
    done = subprocess.run(words, cwd=ground.root, input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def propose(ground: LandingGround, branch: str, *entries: Entry) -> str:
    """Proposes a branch with a commit of just these entries beside what main has."""
    ours = [line.split(None, 3) for line in ground.git("ls-tree", "main").splitlines()]
    new = {name: (mode.lstrip("0"), name, oid) for mode, _, oid, name in ours}
    new |= {name: (mode, name, oid) for mode, name, oid in entries}
    tree = written(
        ground,
        "tree",
        b"".join(f"{m} {n}\0".encode() + bytes.fromhex(oid) for m, n, oid in new.values()),
    )
    parent = ground.git("rev-parse", "main")
    who = "Ann <ann@example.org> 1700000000 +0000"
    text = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nodd\n"
    ground.git("update-ref", f"refs/heads/{branch}", written(ground, "commit", text.encode()))
    return ground.submit(branch)


@pytest.fixture
def blob(ground: LandingGround) -> str:
    """A file's contents."""
    return written(ground, "blob", b"x = 1\n")


@pytest.mark.parametrize("name", ["a/b", "src/", "q/r/s"])
def test_a_change_that_git_dies_of_comes_back_with_its_reason(
    ground: LandingGround, blob: str, name: str
) -> None:
    change = propose(ground, "odd", ("100644", name, blob))
    ground.settle()
    shown = ground.change(change)
    assert shown["state"] == "conflict", shown
    assert "Assertion" in shown["why"]


def test_a_change_that_lacks_a_file_comes_back_with_its_reason(ground: LandingGround) -> None:
    """What is missing is missed only where git has to read it: two have changed that file."""
    ground.commit({"lib.py": "lib = 1\n"})
    change = propose(ground, "odd", ("100644", "lib.py", MISSING))
    ground.commit({"lib.py": "lib = 2\n"})
    ground.settle()
    shown = ground.change(change)
    assert shown["state"] == "conflict", shown
    assert "unable to read blob" in shown["why"]


def test_it_holds_nobody_beside_it(ground: LandingGround, blob: str) -> None:
    """Behind others it is not known on which of them git fails, until it is alone."""
    ground.commit({"more.py": "more = 1\n"}, branch="first")
    ground.commit({"other.py": "other = 1\n"}, branch="last")
    ground.submit("first")
    propose(ground, "odd", ("100644", "a/b", blob))
    ground.submit("last")
    ground.settle()
    assert ground.states() == {"first": "landed", "odd": "conflict", "last": "landed"}
