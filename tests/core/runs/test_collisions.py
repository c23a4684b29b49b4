"""Which scopes name the same paths."""

from __future__ import annotations

import pytest

from windlass.core.runs import collisions, room


@pytest.mark.parametrize(
    ("scope", "paths"),
    [
        ("`src/api.py`: the handler", ("src/api.py",)),
        ("change src/api.py and docs/", ("src/api.py", "docs")),
        ("setup.cfg, README.md.", ("setup.cfg", "README.md")),
        ("./src/*.py (all of them)", ("src/*.py",)),
        ("the login page", ()),
        ("see https://example.org/a.py", ()),
        ("/etc/passwd ../other ~/x", ()),
    ],
)
def test_what_looks_like_a_path_in_a_scope_counts(scope: str, paths: tuple[str, ...]) -> None:
    assert collisions.paths([scope]) == paths


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("src/api.py", "src/api.py", True),
        ("src", "src/api.py", True),
        ("src/a", "src/ab", False),
        ("src/*.py", "src/api.py", True),
        ("src/*.py", "docs/api.py", False),
        ("src/*.py", "src/api.md", False),
        ("src/*.py", "src", True),
        ("src/a*", "src/*.py", True),
        ("src/a*", "docs/*", False),
    ],
)
def test_paths_overlap_in_either_order(one: str, other: str, *, same: bool) -> None:
    assert collisions.overlap(one, other) is same
    assert collisions.overlap(other, one) is same


def test_the_first_task_that_has_the_same_is_named_with_the_path() -> None:
    others = {"A-1": ["docs/"], "A-2": ["src/"]}
    found = collisions.first(["`src/api.py`"], others)
    assert found is not None
    assert found.sentence == "A-2 works on src/api.py"
    assert collisions.first(["everything"], others) is None


def test_a_machine_that_is_short_of_anything_says_of_what() -> None:
    assert room.lacks(memory=None, disk=None) == ""
    assert room.lacks(memory=4096, disk=99999) == ""
    assert "100 MiB of memory" in room.lacks(memory=100, disk=99999)
    assert "100 MiB of disk" in room.lacks(memory=4096, disk=100)
