"""Patterns of paths in a tree."""

from __future__ import annotations

import pytest

from windlass.core.gate import patterns


@pytest.mark.parametrize(
    ("path", "pattern", "is_named"),
    [
        (".venv", ".venv", True),
        (".venv/bin", ".venv", False),
        ("a/.venv", ".venv", False),
        ("node_modules", "**/node_modules", True),
        ("packages/a/node_modules", "**/node_modules", True),
        ("packages/a/dist", "packages/*/dist", True),
        ("packages/a/b/dist", "packages/*/dist", False),
        ("src/x.c", "**/*.c", True),
        ("x.c", "**/*.c", True),
        ("x.cc", "**/*.c", False),
        ("a/b/c", "a/**", True),
        ("lock", "./lock", True),
        ("a\nb", "a?b", True),
    ],
)
def test_a_star_stays_within_a_name_and_two_are_any_folders(
    path: str, pattern: str, is_named: bool
) -> None:
    assert patterns.matches(path, [pattern]) is is_named


def test_what_lies_in_a_named_folder_is_meant_too() -> None:
    assert patterns.matches_below("requirements/tests/a.txt", ["requirements"])
    assert patterns.matches_below("a/b/x.c", ["**/b"])
    assert not patterns.matches_below("a/b/x.c", ["b"])


@pytest.mark.parametrize(
    ("path", "pattern", "below"),
    [
        (".venv", ".venv", True),
        (".venv/bin/python", ".venv", True),
        (".venvs/x", ".venv", False),
        ("packages/a/dist/x", "packages/*/dist", True),
        ("packages/a/b/dist", "packages/*/dist", False),
        ("a/b/node_modules/c", "**/node_modules", True),
        ("a/b/node_modules_c", "**/node_modules", False),
    ],
)
def test_what_lies_below_something_named_is_named(path: str, pattern: str, below: bool) -> None:
    assert patterns.matches_below(path, [pattern]) is below


@pytest.mark.parametrize(
    ("folder", "pattern", "may"),
    [
        ("reports", "reports/*.xml", True),
        ("reports/deep", "reports/*.xml", False),
        ("other", "reports/*.xml", False),
        ("a", "a/*/b/*.xml", True),
        ("a/x/b", "a/*/b/*.xml", True),
        ("a/x/c", "a/*/b/*.xml", False),
        ("any/where", "**/*.xml", True),
        ("target/any/where", "target/**", True),
        ("x", "*.xml", False),
    ],
)
def test_only_folders_that_may_hold_something_named_are_looked_into(
    folder: str, pattern: str, may: bool
) -> None:
    assert patterns.may_hold(folder, [pattern]) is may
