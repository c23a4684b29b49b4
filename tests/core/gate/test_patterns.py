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
