"""Ignored files of the person's own that a new agent gets: whoever starts it is told of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.replies import as_declared
from tests.support.workshop import Workshop

from windlass.core.errors import ConfigError
from windlass.git import included


def prepare(workshop: Workshop) -> None:
    """A checkout with two files and a link that git ignores, which the person wants included."""
    (workshop.context.folders.home / "config.toml").write_text(
        "[workspace]\ninclude = ['.env', '*.key', 'out*']\n"
    )
    (workshop.repo / ".git/info/exclude").write_text(".env\n*.key\nout*\n")
    (workshop.repo / ".env").write_text("A=1\n")
    (workshop.repo / "a.key").write_text("k\n")
    (workshop.repo / os.fsdecode(b"out\xff")).symlink_to("/etc/passwd")


@pytest.mark.parametrize("isolation", ["box", "hooks"])
def test_a_spawn_says_how_many_files_of_the_person_it_copied(
    workshop: Workshop, isolation: str
) -> None:
    prepare(workshop)
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation=isolation)
    as_declared("spawn", made)
    assert (made["included"], len(made["left_out"])) == (2, 1)
    assert sorted(path.name for path in Path(made["workspace"]).iterdir()) == [
        ".env",
        ".git",
        "a.key",
    ]


def test_a_spawn_with_too_much_to_copy_is_refused_and_leaves_nothing(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(workshop)
    monkeypatch.setattr(included, "MOST_BYTES", 5)
    with pytest.raises(ConfigError, match=r"workspace\.include names 3 files"):
        workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    assert workshop.ask("agents") == []
