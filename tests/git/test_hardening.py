"""Git run by the daemon over agent-written files executes nothing that the agent wrote.

Every attack is first shown to work on plain git, so that these tests can fail.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.conftest import git

from windlass.git import repository, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

Attack = Callable[[Repository, Path, str], None]
ATTACKS: list[Attack] = []


def attack(function: Attack) -> Attack:
    """Registers an attack: given the repository, the workspace and a command that leaves a mark."""
    ATTACKS.append(function)
    return function


def hostile(where: Path, command: str) -> Path:
    """Makes a repository whose configuration runs a command."""
    git(where.parent, "init", "-q", where)
    git(where, "commit", "-q", "--allow-empty", "-m", "hostile")
    git(where, "config", "core.fsmonitor", command)
    return where


@attack
def git_pointer_rewritten(repo: Repository, ws: Path, command: str) -> None:
    evil = hostile(Path(repo.root).parent / "evil", command)
    (ws / ".git").write_text(f"gitdir: {evil}/.git\n")


@attack
def git_pointer_becomes_a_folder(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    (ws / ".git").unlink()
    hostile(ws, command)


@attack
def commondir_rewritten(repo: Repository, ws: Path, command: str) -> None:
    evil = hostile(Path(repo.root).parent / "evil", command)
    admin = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    (admin / "commondir").write_text(f"{evil}/.git\n")
    (admin / "HEAD").write_text(git(evil, "rev-parse", "HEAD") + "\n")


@attack
def worktree_config(repo: Repository, ws: Path, command: str) -> None:
    git(repo.root, "config", "extensions.worktreeConfig", "true")
    git(ws, "config", "--worktree", "core.fsmonitor", command)


@attack
def filter_in_worktree_config(repo: Repository, ws: Path, command: str) -> None:
    git(repo.root, "config", "extensions.worktreeConfig", "true")
    git(ws, "config", "--worktree", "filter.evil.clean", command)
    (ws / ".gitattributes").write_text("* filter=evil\n")
    (ws / "readme.txt").write_text("other\n")


@attack
def filter_in_common_config(repo: Repository, ws: Path, command: str) -> None:
    git(repo.root, "config", "filter.evil.process", command)
    git(repo.root, "config", "filter.evil.required", "true")
    (ws / ".gitattributes").write_text("* filter=evil\n")
    (ws / "readme.txt").write_text("other\n")


@attack
def nested_repository_as_gitlink(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    hostile(ws / "sub", command)
    git(ws, "-c", "core.fsmonitor=false", "-c", "advice.addEmbeddedRepo=false", "add", "sub")


@attack
def nested_repository_with_clean_filter(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    git(ws, "init", "-q", "sub")
    (ws / "sub/f").write_text("f\n")
    git(ws / "sub", "add", "f")
    git(ws / "sub", "commit", "-q", "-m", "sub")
    git(ws, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    git(ws / "sub", "config", "filter.evil.clean", command)
    (ws / "sub/.gitattributes").write_text("* filter=evil\n")
    os.utime(ws / "sub/f", (1, 1))


@attack
def hooks_in_the_common_folder(repo: Repository, ws: Path, command: str) -> None:
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = Path(repo.git_dir) / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{command}\n")
        hook.chmod(0o755)
    (ws / "readme.txt").write_text("other\n")


@attack
def external_diff_and_textconv(repo: Repository, ws: Path, command: str) -> None:
    git(repo.root, "config", "diff.external", command)
    git(repo.root, "config", "diff.evil.command", command)
    git(repo.root, "config", "diff.evil.textconv", command)
    (ws / ".gitattributes").write_text("* diff=evil\n")
    (ws / "readme.txt").write_text("other\n")


def plain(ws: Path) -> None:
    """What an unsuspecting daemon would run."""
    for args in (["status"], ["diff"], ["add", "-A"], ["diff", "--cached"], ["branch", "x"]):
        subprocess.run(["git", *args], cwd=ws, capture_output=True, check=False, timeout=60)


def ours(repo: Repository, ws: Path, into: Path) -> None:
    """Everything that this package does in or near a workspace."""
    base = git(repo.root, "rev-parse", "main")
    workspaces.status(repo, str(ws))
    workspaces.diff(repo, str(ws), base, stat=False, color=True)
    workspaces.diff(repo, str(ws), base, stat=True, color=False)
    workspaces.materialise(repo, str(ws), base, str(into / "two"))
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    trash.restore(repo, trash.find(repo, "a1"), path=str(into / "back"), branch="back")


@pytest.mark.parametrize("prepare", ATTACKS, ids=lambda one: one.__name__)
def test_an_attack_that_works_on_plain_git_does_not_work_on_us(
    repo: Repository, ws: Path, tmp_path: Path, prepare: Attack
) -> None:
    marker = tmp_path / "marker"
    prepare(repo, ws, f"touch {marker}; false")
    marker.unlink(missing_ok=True)
    ours(repo, ws, tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize("prepare", ATTACKS, ids=lambda one: one.__name__)
def test_the_attack_does_work_on_plain_git(
    repo: Repository, ws: Path, tmp_path: Path, prepare: Attack
) -> None:
    marker = tmp_path / "marker"
    prepare(repo, ws, f"touch {marker}; false")
    marker.unlink(missing_ok=True)
    plain(ws)
    assert marker.exists()


def test_files_of_another_user_are_no_obstacle(repo: Repository, ws: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for here, folders, names in os.walk(ws.parent.parent):
        for name in [*folders, *names]:
            os.chown(Path(here) / name, 12345, 12345, follow_symlinks=False)
    assert repository.discover(str(ws)) == repo
    assert workspaces.status(repo, str(ws)).clean
    plainly = subprocess.run(["git", "status"], cwd=ws, capture_output=True, check=False)
    assert b"dubious ownership" in plainly.stderr, "plain git refuses, so this test can fail"
