"""Submodules: in agents' workspaces with their files, looked into, and kept at an ending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.workshop import Workshop, git

from windlass.git import submodules
from windlass.git.repository import Repository

LOCAL = ("-c", "protocol.file.allow=always")
LIB = "deps/a library"
isolations = pytest.mark.parametrize("isolation", ["hooks", "box"])


@pytest.fixture
def library(workshop: Workshop) -> Path:
    """A repository that the person's own has for a submodule."""
    made = workshop.repo.parent / "library"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    (made / "code.py").write_text("one\n")
    git(made, "add", "code.py")
    git(made, "commit", "-q", "-m", "first")
    git(workshop.repo, *LOCAL, "submodule", "--quiet", "add", str(made), LIB)
    git(workshop.repo, "commit", "-q", "-m", "uses it")
    return made


def spawn(workshop: Workshop, isolation: str = "hooks", **more: Any) -> dict[str, Any]:
    asked = {"goal": "g", "name": "fox", "driver": "standin", "isolation": isolation, **more}
    made: dict[str, Any] = workshop.ask("spawn", **asked)
    return made


def work(workshop: Workshop) -> dict[str, Any]:
    (agent,) = workshop.ask("status", agent="fox")["agents"]
    found: dict[str, Any] = agent["work"]
    return found


def edited(folder: Path) -> None:
    (folder / "code.py").write_text("two\n")


def committed(folder: Path) -> None:
    edited(folder)
    git(folder, "commit", "-q", "-am", "second")


@isolations
def test_a_workspace_has_their_files_from_the_persons_own_clone(
    workshop: Workshop, library: Path, isolation: str
) -> None:
    library.rename(library.with_name("away"))  # nothing but the clone can give them
    made = spawn(workshop, isolation)
    assert made["submodules"] == []
    inner = Path(made["workspace"]) / LIB
    assert (inner / "code.py").read_text() == "one\n"
    assert git(inner, "status", "--porcelain") == ""
    assert git(inner, "log", "--format=%s") == "first\n"
    assert git(inner, "rev-parse", "HEAD") == git(workshop.repo / LIB, "rev-parse", "HEAD")
    assert not list(Path(made["workspace"]).parent.glob(".submodule-*"))
    assert git(inner, "remote") == ""
    assert not (inner / ".git/objects/info/alternates").exists()
    assert git(Path(made["workspace"]), "status", "--porcelain") == ""
    assert work(workshop)["clean"]


def test_objects_of_a_submodule_are_copies(workshop: Workshop, library: Path) -> None:
    """Who shares a file with the person can change it under them."""
    assert library.exists()
    inner = Path(spawn(workshop)["workspace"]) / LIB
    files = [path for path in (inner / ".git/objects").rglob("*") if path.is_file()]
    assert files
    assert all(path.stat().st_nlink == 1 for path in files)


def test_one_that_the_persons_clone_does_not_have_is_named_as_empty(
    workshop: Workshop, library: Path
) -> None:
    assert library.exists()
    git(workshop.repo, "submodule", "deinit", "-q", "-f", LIB)
    modules = workshop.repo / ".git/modules"
    modules.rename(modules.with_name("elsewhere"))
    made = spawn(workshop)
    assert made["submodules"] == [LIB]
    assert list((Path(made["workspace"]) / LIB).iterdir()) == []


@isolations
@pytest.mark.parametrize("change", [edited, committed])
def test_work_in_one_is_named_by_status_diff_and_merge_check(
    workshop: Workshop, library: Path, isolation: str, change: Any
) -> None:
    assert library.exists()
    change(Path(spawn(workshop, isolation)["workspace"]) / LIB)
    assert work(workshop)["nested"] == [LIB]
    assert not work(workshop)["clean"]
    assert workshop.ask("diff", agent="fox")["nested"] == [LIB]
    assert workshop.ask("merge-check", agent="fox")["uncommitted"] == [LIB]


@isolations
def test_a_merge_that_needs_a_commit_which_is_nowhere_else_is_told_of(
    workshop: Workshop, library: Path, isolation: str
) -> None:
    place = Path(spawn(workshop, isolation)["workspace"])
    committed(place / LIB)
    git(place, "add", LIB)
    git(place, "commit", "-q", "-m", "uses the second")
    assert workshop.ask("merge-check", agent="fox")["submodules"] == [LIB]
    git(place / LIB, "push", "-q", str(library), "HEAD:refs/heads/second")
    git(workshop.repo / LIB, *LOCAL, "fetch", "-q", "origin", "second")
    assert "submodules" not in workshop.ask("merge-check", agent="fox")


@isolations
@pytest.mark.parametrize("change", [edited, committed])
def test_what_is_in_one_is_kept_at_an_ending_and_brought_back(
    workshop: Workshop, library: Path, isolation: str, change: Any
) -> None:
    assert library.exists()
    inner = Path(spawn(workshop, isolation)["workspace"]) / LIB
    change(inner)
    tip = git(inner, "rev-parse", "HEAD")
    workshop.ask("end", agents=["fox"], force=True)
    assert not inner.exists()
    (back,) = workshop.ask("undo")["restored"]
    inner = Path(back["workspace"]) / LIB
    assert (inner / "code.py").read_text() == "two\n"
    assert git(inner, "rev-parse", "HEAD") == tip


@pytest.mark.parametrize("name", ["../../outside", "/outside", "a/../../outside", ".git/x"])
def test_a_name_that_leads_elsewhere_is_not_followed(
    workshop: Workshop, library: Path, name: str
) -> None:
    outside = workshop.repo / ".git/modules" / name
    if name != "/outside":
        outside.parent.mkdir(parents=True, exist_ok=True)
        git(workshop.repo, "clone", "-q", "--bare", str(library), str(outside.resolve()))
    git(workshop.repo, "submodule", "deinit", "-q", "-f", LIB)
    own = workshop.repo / ".git/modules" / LIB
    own.rename(workshop.repo / ".git/away")
    text = (workshop.repo / ".gitmodules").read_text()
    (workshop.repo / ".gitmodules").write_text(text.replace(f'"{LIB}"', f'"{name}"'))
    git(workshop.repo, "commit", "-q", "-am", "another name")
    assert spawn(workshop)["submodules"] == [LIB]


def test_a_path_that_is_no_gitlink_is_no_submodule(workshop: Workshop, library: Path) -> None:
    """What .gitmodules says is an agent's to write; the tree says what is one."""
    assert library.exists()
    (workshop.repo / "plain").mkdir()
    (workshop.repo / "plain/file").write_text("x")
    lines = '[submodule "b"]\n\tpath = plain\n\turl = x\n[submodule "c"]\n\tpath = ../up\n'
    with (workshop.repo / ".gitmodules").open("a") as file:
        file.write(lines)
    git(workshop.repo, "add", "plain", ".gitmodules")
    git(workshop.repo, "commit", "-q", "-m", "lies")
    repo = Repository(root=str(workshop.repo), git_dir=str(workshop.repo / ".git"))
    assert [found.path for found in submodules.of_commit(repo, "HEAD")] == [LIB]
