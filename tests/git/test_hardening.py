"""Git run by the daemon over agent-written files executes nothing that the agent wrote.

Every attack is first shown to work on plain git, so that these tests can fail.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.git.come_home import fetch
from tests.git.conftest import git
from tests.git.differences import materialise, shown

from windlass.core.errors import WindlassError
from windlass.git import merges, mirror, repository, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

Attack = Callable[[Repository, Path, str], None]
ATTACKS: list[Attack] = []
CLONE_ATTACKS: list[Attack] = []


def clone_attack(function: Attack) -> Attack:
    """Registers an attack that an agent makes in a clone of its own."""
    CLONE_ATTACKS.append(function)
    return function


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


@clone_attack
def own_configuration(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    git(ws, "config", "core.fsmonitor", command)


@clone_attack
def configuration_that_is_included(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    git(ws, "config", "include.path", "../more")
    git(ws, "config", "--file", ws / "more", "core.fsmonitor", command)


@clone_attack
def own_worktree_configuration(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    git(ws, "config", "extensions.worktreeConfig", "true")
    git(ws, "config", "--worktree", "core.fsmonitor", command)


@clone_attack
def own_filters(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    git(ws, "config", "filter.evil.clean", command)
    git(ws, "config", "filter.more.process", command)
    git(ws, "config", "filter.more.required", "true")
    (ws / ".gitattributes").write_text("*.txt filter=evil\n*.py filter=more\n")
    (ws / "readme.txt").write_text("other\n")
    (ws / "src/one.py").write_text("other\n")


@clone_attack
def own_hooks(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = ws / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{command}\n")
        hook.chmod(0o755)
    (ws / "readme.txt").write_text("other\n")


@clone_attack
def own_common_folder(repo: Repository, ws: Path, command: str) -> None:
    evil = hostile(Path(repo.root).parent / "evil", command)
    (ws / ".git/commondir").write_text(f"{evil}/.git\n")


@clone_attack
def git_folder_becomes_a_pointer(repo: Repository, ws: Path, command: str) -> None:
    evil = hostile(Path(repo.root).parent / "evil", command)
    shutil.rmtree(ws / ".git")
    (ws / ".git").write_text(f"gitdir: {evil}/.git\n")


@clone_attack
def git_folder_becomes_a_link(repo: Repository, ws: Path, command: str) -> None:
    evil = hostile(Path(repo.root).parent / "evil", command)
    shutil.rmtree(ws / ".git")
    (ws / ".git").symlink_to(evil / ".git")


@clone_attack
def own_external_diff(repo: Repository, ws: Path, command: str) -> None:
    assert repo.root
    git(ws, "config", "diff.external", command)
    git(ws, "config", "diff.evil.textconv", command)
    (ws / ".gitattributes").write_text("* diff=evil\n")
    (ws / "readme.txt").write_text("other\n")


@clone_attack
def what_is_lacking_is_asked_for(repo: Repository, ws: Path, command: str) -> None:
    """A lost object is asked for at a remote that is a program."""
    assert repo.root
    git(ws, "config", "core.repositoryFormatVersion", "1")
    git(ws, "config", "extensions.partialClone", "evil")
    git(ws, "config", "remote.evil.promisor", "true")
    git(ws, "config", "remote.evil.url", f"ext::sh -c {command.replace(' ', '% ')}")
    git(ws, "config", "protocol.ext.allow", "always")
    blob = git(ws, "hash-object", "-w", "--stdin", stdin=b"lost\n")
    git(ws, "update-index", "--add", "--cacheinfo", f"100644,{blob},lost")
    git(ws, "commit", "-q", "-m", "lost")
    (ws / ".git/objects" / blob[:2] / blob[2:]).unlink()


for _nested in (nested_repository_as_gitlink, nested_repository_with_clean_filter):
    clone_attack(_nested)


def plain(ws: Path) -> None:
    """What an unsuspecting daemon would run."""
    for args in (["status"], ["diff"], ["add", "-A"], ["diff", "--cached"], ["branch", "x"]):
        subprocess.run(["git", *args], cwd=ws, capture_output=True, check=False, timeout=60)


def ours(repo: Repository, ws: Path, into: Path, *, origin: str | None = None) -> None:
    """Everything that this package does in or near a workspace."""
    workspaces.status(repo, str(ws))
    shown(repo, ws)
    shown(repo, ws, stat=True)
    materialise(repo, ws, into / "two")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    trash.restore(
        repo, trash.find(repo, "a1"), path=str(into / "back"), branch="back", origin=origin
    )


@pytest.fixture
def clone(repo: Repository, tmp_path: Path) -> Path:
    """The workspace of agent `a1`, a clone."""
    mirror.refresh(repo, str(tmp_path / "mirror"))
    workspaces.create(
        repo,
        path=str(tmp_path / "ws/c1"),
        branch="agent/a1",
        base="main",
        agent="a1",
        origin=str(tmp_path / "mirror"),
    )
    return tmp_path / "ws/c1"


@pytest.mark.parametrize("prepare", CLONE_ATTACKS, ids=lambda one: one.__name__)
def test_an_attack_from_a_clone_does_not_work_on_us(
    repo: Repository, clone: Path, tmp_path: Path, prepare: Attack
) -> None:
    marker = tmp_path / "marker"
    prepare(repo, clone, f"touch {marker}; false")
    marker.unlink(missing_ok=True)
    with contextlib.suppress(WindlassError):
        fetch(repo, clone, "agent/a1")
    with contextlib.suppress(WindlassError):
        merges.refuse_dirty(repo, str(clone))
    ours(repo, clone, tmp_path, origin=str(tmp_path / "mirror"))
    assert not marker.exists()


@pytest.mark.parametrize("prepare", CLONE_ATTACKS, ids=lambda one: one.__name__)
def test_the_attack_from_a_clone_does_work_on_plain_git(
    repo: Repository, clone: Path, tmp_path: Path, prepare: Attack
) -> None:
    marker = tmp_path / "marker"
    prepare(repo, clone, f"touch {marker}; false")
    marker.unlink(missing_ok=True)
    plain(clone)
    assert marker.exists()


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_a_pipe_in_the_configuration_holds_nobody_up(
    repo: Repository, tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    """A worktree's own configuration, or a file that a clone's includes."""
    place: Path = request.getfixturevalue("ws" if kind == "worktree" else "clone")
    if kind == "worktree":
        git(repo.root, "config", "extensions.worktreeConfig", "true")
        os.mkfifo(Path(git(place, "rev-parse", "--absolute-git-dir")) / "config.worktree")
    else:
        git(place, "config", "include.path", str(tmp_path / "pipe"))
        os.mkfifo(tmp_path / "pipe")
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(["git", "status"], cwd=place, capture_output=True, check=False, timeout=0.5)
    with ThreadPoolExecutor(1) as pool:
        workspaces.status(repo, str(place))
        shown(repo, place, stat=True)
        salvage(repo, path=str(place), agent="a1", stamp="1", meta={})
        done = pool.submit(workspaces.remove, repo, path=str(place), branch="agent/a1", agent="a1")
        done.result(timeout=50)
    assert not place.exists()


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
