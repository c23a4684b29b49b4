"""The mirror shows the repository's refs to clones, and is theirs to read alone."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.test_clones import inside, make

from windlass.git import homecoming, mirror, repository
from windlass.git.repository import Repository


@pytest.fixture
def clone(repo: Repository, tmp_path: Path) -> Path:
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    return path


def refs(where: Path | str) -> str:
    return git(
        where, "for-each-ref", "--format=%(objectname) %(refname) %(objecttype) %(*objectname)"
    )


def advance(repo: Repository, name: str) -> str:
    (Path(repo.root) / name).write_text(f"{name}\n")
    git(repo.root, "add", name)
    git(repo.root, "commit", "-q", "-m", name)
    return git(repo.root, "rev-parse", "HEAD")


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_mirror_shows_what_the_repository_has(tmp_path: Path, home: Path, kind: str) -> None:
    assert home.is_dir()
    git(tmp_path, "init", "-q", f"--object-format={kind}", "repo")
    repo = repository.discover(str(tmp_path / "repo"))
    folder = tmp_path / "deep/mirror"
    assert mirror.refresh(repo, str(folder)), "even without a commit"
    advance(repo, "one")
    git(repo.root, "tag", "-a", "-m", "note", "v1")
    git(repo.root, "branch", "topic")
    git(repo.root, "update-ref", "refs/remotes/upstream/main", "HEAD")
    shown = refs(repo.root)
    git(repo.root, "update-ref", "refs/windlass/base/a1", "HEAD")
    (Path(repo.root) / "one").write_text("stashed\n")
    git(repo.root, "stash", "-q")
    assert mirror.refresh(repo, str(folder))
    assert refs(folder) == shown
    assert git(folder, "symbolic-ref", "HEAD") == git(repo.root, "symbolic-ref", "HEAD")
    git(folder, "fsck", "--strict")
    assert not (folder / "objects/info/alternates").exists()


def test_nothing_is_written_where_nothing_changed(repo: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "mirror"

    def written() -> dict[str, tuple[int, int]]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}

    assert mirror.refresh(repo, str(folder))
    before = written()
    assert not mirror.refresh(repo, str(folder))
    git(repo.root, "update-ref", "refs/windlass/x", "HEAD")
    assert not mirror.refresh(repo, str(folder))
    assert written() == before
    git(repo.root, "pack-refs", "--all")
    assert not mirror.refresh(repo, str(folder)), "the same refs in another place are no news"


@pytest.mark.parametrize(
    "change",
    [
        ("commit", "-q", "--allow-empty", "-m", "x"),
        ("branch", "new"),
        ("branch", "-D", "old"),
        ("branch", "-m", "old", "older"),
        ("tag", "v1"),
        ("checkout", "-q", "old"),
        ("checkout", "-q", "--detach"),
        ("update-ref", "refs/remotes/o/main", "HEAD"),
    ],
    ids=" ".join,
)
def test_every_move_is_news(repo: Repository, tmp_path: Path, change: tuple[str, ...]) -> None:
    folder = tmp_path / "mirror"
    git(repo.root, "branch", "old")
    git(repo.root, "pack-refs", "--all")
    mirror.refresh(repo, str(folder))
    git(repo.root, *change)
    assert mirror.refresh(repo, str(folder))
    assert refs(folder) == refs(repo.root)
    assert git(folder, "rev-parse", "--symbolic-full-name", "HEAD") == git(
        repo.root, "rev-parse", "--symbolic-full-name", "HEAD"
    )


def test_refreshing_at_once_ends_with_what_is_so(repo: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "mirror"

    def step(number: int) -> None:
        if number % 4 == 0:
            git(repo.root, "branch", f"b{number}")
        mirror.refresh(repo, str(folder))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(step, range(32)))
    mirror.refresh(repo, str(folder))
    assert refs(folder) == refs(repo.root)
    assert not list(folder.glob(".new*"))


def test_a_boxed_agent_fetches_and_rebases_onto_what_main_is_now(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    (clone / "work").write_text("work\n")
    inside(repo, clone, "add", "work")
    inside(repo, clone, "commit", "-q", "-m", "work")
    for name in ("first", "second"):
        tip = advance(repo, name)
        assert mirror.refresh(repo, str(tmp_path / "mirror"))
        inside(repo, clone, "fetch", "-q", "origin")
        inside(repo, clone, "rebase", "-q", "origin/main")
        assert inside(repo, clone, "rev-parse", "HEAD~1") == tip
        assert (clone / name).exists()
    git(repo.root, "branch", "gone")
    mirror.refresh(repo, str(tmp_path / "mirror"))
    inside(repo, clone, "fetch", "-q", "origin")
    git(repo.root, "branch", "-D", "gone")
    mirror.refresh(repo, str(tmp_path / "mirror"))
    inside(repo, clone, "fetch", "-q", "--prune", "origin")
    assert "gone" not in inside(repo, clone, "branch", "-r")


def test_a_push_from_a_box_says_that_nothing_has_to_be_pushed(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    inside(repo, clone, "commit", "-q", "--allow-empty", "-m", "work")
    for args in (("push", "origin", "HEAD:main"), ("push", "--force", "origin", "agent/c1")):
        said = inside(repo, clone, *args, ok=128)
        assert "commits on your branch reach the repository by themselves" in said
    main = git(repo.root, "rev-parse", "main")
    forced = ("push", "-q", "--receive-pack=git-receive-pack", "origin", "HEAD:main")
    said = inside(repo, clone, *forced, ok=1)
    assert "read-only file system" in said.lower() or "unable to" in said.lower()
    assert git(tmp_path / "mirror", "rev-parse", "main") == main


def test_a_tag_whose_object_is_lost_hides_no_branch(repo: Repository, tmp_path: Path) -> None:
    git(repo.root, "tag", "-a", "-m", "note", "v1")
    oid = git(repo.root, "rev-parse", "v1")
    (Path(repo.git_dir) / "objects" / oid[:2] / oid[2:]).unlink()
    mirror.refresh(repo, str(tmp_path / "mirror"))
    assert git(tmp_path / "mirror", "rev-parse", "main") == git(repo.root, "rev-parse", "main")


def test_an_agent_that_holds_the_mirror_locked_holds_nobody_up(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    """Whoever can read a file can lock it; so no file that a box sees is a lock of ours."""
    git(repo.root, "branch", "news")
    shown = [tmp_path / "mirror", *(tmp_path / "mirror").rglob("*"), clone, clone / ".git"]
    locks = [os.open(path, os.O_RDONLY) for path in shown]
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert mirror.refresh(repo, str(tmp_path / "mirror"))
    homecoming.signature(str(clone), "agent/c1")
    for lock in locks:
        os.close(lock)
