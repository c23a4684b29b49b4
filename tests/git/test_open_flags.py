"""Files of agents are opened in one way, which one module knows."""

from __future__ import annotations

from pathlib import Path

from windlass.git import open_flags


def test_no_other_module_of_git_says_how_files_of_agents_are_opened() -> None:
    ours = Path(open_flags.__file__)
    said = [file.name for file in ours.parent.glob("*.py") if "O_NOFOLLOW" in file.read_text()]
    assert said == [ours.name]
