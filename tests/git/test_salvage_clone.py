"""A workspace that is a clone comes home whole, and brings nothing that is not its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot

from windlass.core.errors import GitError
from windlass.git import repository, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage


@pytest.fixture(params=["shared", "full"])
def clone(repo: Repository, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A clone of the repository, as boxed agents have it."""
    path = tmp_path / "clone"
    how = ["--shared"] if request.param == "shared" else ["--no-hardlinks"]
    git(tmp_path, "clone", "-q", *how, repo.root, path)
    git(path, "checkout", "-q", "-b", "agent/c1")
    git(repo.root, "update-ref", "refs/windlass/base/c1", "main")
    return path


def commit(where: Path, name: str) -> str:
    (where / name).write_text(f"{name}\n")
    git(where, "add", name)
    git(where, "commit", "-q", "-m", f"add {name}")
    return git(where, "rev-parse", "HEAD")


def test_everything_in_a_clone_comes_home(repo: Repository, clone: Path, tmp_path: Path) -> None:
    lost = commit(clone, "lost")
    git(clone, "reset", "-q", "--hard", "HEAD~1")
    tip = commit(clone, "work")
    git(clone, "checkout", "-q", "-b", "side")
    side = commit(clone, "side")
    git(clone, "tag", "-a", "-m", "note", "v1")
    tag = git(clone, "rev-parse", "v1")
    git(clone, "checkout", "-q", "agent/c1")
    (clone / "readme.txt").write_text("stashed\n")
    git(clone, "stash", "-q")
    stash = git(clone, "rev-parse", "stash@{0}")
    (clone / "staged").write_text("staged\n")
    git(clone, "add", "staged")
    (clone / "loose").write_text("untracked\n")
    before = snapshot(clone)
    status = git(clone, "status", "--porcelain")

    kept = salvage(repo, path=str(clone), agent="c1", stamp="1", meta={}, branch="agent/c1")
    workspaces.remove(repo, path=str(clone), branch="agent/c1", agent="c1")
    git(repo.root, "gc", "-q", "--prune=now")
    assert kept.summary.stashes == 1
    for oid in (lost, side, stash, tip):
        assert git(repo.root, "cat-file", "-t", oid) == "commit"

    back = trash.restore(
        repo, trash.find(repo, "c1"), path=str(tmp_path / "back"), branch="agent/c1"
    )
    assert snapshot(back.path) == before
    assert git(back.path, "status", "--porcelain") == status
    assert git(back.path, "rev-parse", "HEAD") == tip
    assert git(back.path, "stash", "list", "--format=%H") == stash
    assert repository.read_ref(repo, "refs/windlass/restored/c1/1/heads/side") == side
    assert repository.read_ref(repo, "refs/windlass/restored/c1/1/tags/v1") == tag
    git(repo.root, "fsck", "--strict")


def test_a_clone_is_looked_at_without_obeying_it(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    commit(clone, "work")
    marker = tmp_path / "marker"
    evil = f"touch {marker}; false"
    for key in ("core.fsmonitor", "filter.e.clean", "filter.e.smudge", "diff.external"):
        git(clone, "config", key, evil)
    git(clone, "config", "uploadpack.packObjectsHook", evil)
    (clone / ".gitattributes").write_text("* filter=e\n")
    (clone / "readme.txt").write_text("other\n")
    marker.unlink(missing_ok=True)
    seen = workspaces.status(repo, str(clone))
    assert seen.unstaged == ["readme.txt"]
    assert seen.untracked == [".gitattributes"]
    assert b"+other" in workspaces.diff(repo, str(clone), "main", stat=False, color=False)
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    assert not marker.exists()
    git(clone, "status")
    assert marker.exists(), "plain git runs it, so this test can fail"


@pytest.fixture
def secret(tmp_path: Path) -> tuple[Path, str]:
    """Another repository that the agent must not be able to pull in."""
    path = tmp_path / "secret"
    git(tmp_path, "init", "-q", path)
    return path, commit(path, "secret")


def test_alternates_of_a_clone_leak_no_other_repository(
    repo: Repository, clone: Path, secret: tuple[Path, str]
) -> None:
    path, oid = secret
    alternates = clone / ".git/objects/info/alternates"
    with alternates.open("a") as file:
        file.write(f"{path}/.git/objects\n")
    git(clone, "update-ref", "refs/heads/stolen", oid)
    assert git(clone, "log", "-1", "--format=%s", "stolen") == "add secret", "the clone sees it"
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    git(repo.root, "cat-file", "-e", oid, ok=1)


def test_linked_object_files_of_a_clone_leak_nothing(
    repo: Repository, clone: Path, secret: tuple[Path, str]
) -> None:
    path, oid = secret
    for name in (oid, git(path, "rev-parse", "HEAD^{tree}"), git(path, "rev-parse", "HEAD:secret")):
        target = clone / ".git/objects" / name[:2]
        target.mkdir(exist_ok=True)
        (target / name[2:]).symlink_to(path / ".git/objects" / name[:2] / name[2:])
    git(clone, "update-ref", "refs/heads/stolen", oid)
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    git(repo.root, "cat-file", "-e", oid, ok=1)


def test_a_git_folder_that_is_a_link_is_not_entered(
    repo: Repository, clone: Path, secret: tuple[Path, str]
) -> None:
    path, oid = secret
    (clone / ".git").rename(clone.parent / "hidden")
    (clone / ".git").symlink_to(path / ".git")
    kept = salvage(repo, path=str(clone), agent="c1", stamp="1", meta={}, branch="main")
    git(repo.root, "cat-file", "-e", oid, ok=1)
    assert git(repo.root, "show", f"{kept.commit}:files/readme.txt") == "hello"


def test_an_object_that_lies_about_its_id_fails_the_salvage(repo: Repository, clone: Path) -> None:
    tip = commit(clone, "work")
    blob = git(clone, "rev-parse", "HEAD:work")
    other = git(clone, "hash-object", "-w", "--stdin", stdin=b"something else\n")
    place = clone / ".git/objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes((clone / ".git/objects" / other[:2] / other[2:]).read_bytes())
    with pytest.raises(GitError):
        salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    git(repo.root, "cat-file", "-e", tip, ok=1)
    assert trash.entries(repo) == []
