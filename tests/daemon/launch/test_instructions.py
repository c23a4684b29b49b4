"""The files that a person adds to prompts: read only where nobody could have put something else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.agents import an_agent
from tests.support.contexts import REPO

from windlass.core.errors import ConfigError
from windlass.core.roles import MANAGER, WORKER
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import instructions
from windlass.project import role_files
from windlass.store import rows


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def too_much(path: Path) -> None:
    path.write_text("a" * (role_files.LARGEST + 1))


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / role_files.FOLDER
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize("make", [a_link, a_pipe, a_folder, too_much, no_text])
@pytest.mark.parametrize("name", ["all", "worker"])
def test_what_is_no_plain_text_is_refused_by_name(
    tmp_path: Path, folder: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(folder / f"{name}.md")
    with pytest.raises(ConfigError) as refused:
        instructions.require_readable(str(tmp_path), WORKER)
    assert str(folder / f"{name}.md") in refused.value.message
    assert refused.value.hint


def test_what_another_role_is_told_is_not_read(tmp_path: Path, folder: Path) -> None:
    a_link(folder / "worker.md")
    instructions.require_readable(str(tmp_path), MANAGER)


@pytest.mark.parametrize("link", [".windlass", role_files.FOLDER])
def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path, link: str) -> None:
    real = tmp_path / "real"
    repo = tmp_path / "repo"
    for made in (real / "roles", (repo / link).parent):
        made.mkdir(parents=True)
    for place in (real, real / "roles"):
        (place / "all.md").write_text("from elsewhere")
    (repo / link).symlink_to(real)
    with pytest.raises(ConfigError, match="is a link"):
        instructions.require_readable(str(repo), WORKER)


def test_what_is_as_large_as_may_be_is_told(tmp_path: Path, folder: Path) -> None:
    (folder / "all.md").write_text("a" * role_files.LARGEST)
    instructions.require_readable(str(tmp_path), WORKER)


def test_no_folder_is_no_problem(tmp_path: Path) -> None:
    instructions.require_readable(str(tmp_path), WORKER)


def recorded(context: Context) -> list[str]:
    """Why prompts were said to be incomplete, as one agent after the other is started."""
    agent = an_agent("kit", repo=REPO)
    context.folders.instructions(agent.uid).parent.mkdir(parents=True, exist_ok=True)
    instructions.write(context, agent)
    events = context.store.read(rows.events)
    return [str(one.data["why"]) for one in events if one.kind == "prompt.incomplete"]


def test_a_file_that_has_no_roles_name_is_said_to_be_told_to_nobody(context: Context) -> None:
    folder = context.folders.home / "shop" / role_files.FOLDER
    assert recorded(context) == []
    folder.mkdir(parents=True)
    for name in ("all.md", "worker.md", "manager.md", "reviewer.md", ".hidden"):
        (folder / name).write_text("words")
    assert recorded(context) == []
    (folder / "Reviewer.md").write_text("words")
    (folder / os.fsdecode(b"\xff\n")).write_text("words")
    (why,) = recorded(context)
    assert "Reviewer.md" in why
    assert "only all.md and <role>.md, in small letters" in why
    assert "\n" not in why
    for number in range(9):
        (folder / f"{number}.md").write_text("words")
    assert "3.md, 4.md and 6 more" in recorded(context)[-1]


def test_files_beside_a_link_are_nobodys(context: Context, tmp_path: Path) -> None:
    (tmp_path / "Reviewer.md").write_text("words")
    folder = context.folders.home / "shop" / role_files.FOLDER
    folder.parent.mkdir()
    folder.symlink_to(tmp_path)
    assert recorded(context) == []
