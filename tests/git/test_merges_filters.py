"""In a person's own checkout their filters and line ends hold when a branch is moved under it.

What git shows there afterwards is what `git pull` would have made; what a filter cannot write is
refused while nothing has moved.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.test_merges import plan, work
from tests.git.test_merges_half_moved import MOMENTS, killed

from windlass.core.errors import Conflict, GitError
from windlass.git import bounds, merges, workspaces
from windlass.git.repository import Repository

ROT = ("tr a-z n-za-m", "tr n-za-m a-z")


def _set_up(place: Path | str, *where: str, clean: str = ROT[0], smudge: str = ROT[1]) -> None:
    for key, value in {"clean": clean, "smudge": smudge, "required": "true"}.items():
        git(place, "config", *where, f"filter.rot.{key}", value)


EVERYWHERE = pytest.mark.parametrize("place", ["global", "local", "linked"], indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, repo: Repository, ws: Path, tmp_path: Path) -> Path:
    """A checkout of main with a filter, set up by its person, and one file that it is for."""
    checkout, where = Path(repo.root), getattr(request, "param", "local")
    if where == "linked":
        checkout = tmp_path / "linked"
        git(repo.root, "switch", "-q", "-c", "parked")
        git(repo.root, "worktree", "add", "-q", checkout, "main")
    _set_up(checkout, *(["--global"] if where == "global" else []))
    work(checkout, ".gitattributes", "*.sec filter=rot\n")
    work(checkout, "keys/old.sec", "secret\n")
    git(ws, "-c", "filter.rot.smudge=cat", "-c", "filter.rot.clean=cat", "merge", "-q", "main")
    assert git(checkout, "show", "main:keys/old.sec") == "frperg"
    return checkout


def _brought(ws: Path) -> None:
    """The agent, who has no filter, commits what git keeps."""
    for name, content in (("keys/old.sec", "frperg\nzber\n"), ("keys/new.sec", "arj\n")):
        blob = git(ws, "hash-object", "-w", "--no-filters", "--stdin", stdin=content.encode())
        git(ws, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    git(ws, "commit", "-q", "-m", "secrets")


def _shows_the_merge(place: Path) -> None:
    assert (place / "keys/old.sec").read_text() == "secret\nmore\n"
    assert (place / "keys/new.sec").read_text() == "new\n"
    assert git(place, "status", "--porcelain") == ""
    (place / "readme.txt").write_text("mine\n")
    git(place, "commit", "-q", "-a", "-m", "mine")
    assert git(place, "show", "--format=", "--name-only", "HEAD") == "readme.txt"


def _as_before(place: Path) -> None:
    assert (place / "keys/old.sec").read_text() == "secret\n"
    assert not (place / "keys/new.sec").exists()
    assert git(place, "status", "--porcelain") == ""


@EVERYWHERE
def test_a_filter_of_the_persons_writes_what_lands(repo: Repository, ws: Path, place: Path) -> None:
    _brought(ws)
    merges.apply(repo, plan(repo))
    _shows_the_merge(place)


def test_a_filtered_file_that_was_only_touched_is_no_edit(
    repo: Repository, ws: Path, place: Path
) -> None:
    _brought(ws)
    (place / "keys/old.sec").write_text("secret\n")
    assert merges.rehearse(repo, plan(repo)) == []
    merges.refuse_dirty(repo, str(place))
    merges.apply(repo, plan(repo))
    _shows_the_merge(place)


def test_an_edit_of_a_filtered_file_is_in_the_way(repo: Repository, ws: Path, place: Path) -> None:
    _brought(ws)
    (place / "keys/old.sec").write_text("mine\n")
    with pytest.raises(Conflict, match=r"your edits of keys/old\.sec are in the way"):
        merges.apply(repo, plan(repo))
    assert (place / "keys/old.sec").read_text() == "mine\n"


@EVERYWHERE
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_move_of_filtered_files_that_is_killed_is_put_back(
    repo: Repository, ws: Path, place: Path, moment: str
) -> None:
    _brought(ws)
    killed(repo, plan(repo), moment)
    (place / "keys/new.sec").write_text("ne")
    merges.rehearse(repo, plan(repo))
    _as_before(place)
    merges.apply(repo, plan(repo))
    _shows_the_merge(place)


@pytest.mark.parametrize("key", ["smudge", "clean"])
def test_a_filter_that_fails_is_told_and_nothing_has_moved(
    repo: Repository, ws: Path, place: Path, key: str
) -> None:
    """As where an LFS file cannot be fetched, or git-crypt is locked."""
    _brought(ws)
    (place / "keys/old.sec").write_text("secret\n")
    broken = f"filter.rot.{key}"
    works = git(place, "config", broken)
    git(place, "config", broken, "echo no key >&2; false")
    old = git(place, "rev-parse", "main")
    for move in (merges.rehearse, merges.apply):
        with pytest.raises(Conflict, match=r"your git filters (do not write|cannot read)"):
            move(repo, plan(repo))
    git(place, "config", broken, works)
    assert git(place, "rev-parse", "main") == old
    _as_before(place)


def test_a_filter_that_does_not_end_is_ended(
    repo: Repository, ws: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _brought(ws)
    git(place, "config", "filter.rot.smudge", "cat >/dev/null; exec sleep 1000")
    monkeypatch.setattr(bounds, "FILTERS", 0.5)
    with pytest.raises(Conflict, match=r"keys/new\.sec, keys/old\.sec: .* did not finish within"):
        merges.apply(repo, plan(repo))
    _as_before(place)


def test_a_filter_that_fails_only_in_the_move_has_all_put_back(
    repo: Repository, ws: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wrote the same a moment before: what it wrote earlier it writes again."""
    _brought(ws)
    monkeypatch.setattr("windlass.git.filters.refuse_failing", lambda *_: None)
    fails = f"t=$(cat); case $t in *zber*) exit 1;; esac; echo $t | {ROT[1]}"
    git(place, "config", "filter.rot.smudge", f"sh -c '{fails}'")
    with pytest.raises(GitError, match="smudge filter"):
        merges.apply(repo, plan(repo))
    _as_before(place)


def test_line_ends_are_those_of_the_persons_settings(repo: Repository, ws: Path) -> None:
    git(repo.root, "config", "--global", "core.autocrlf", "true")
    readme = Path(repo.root) / "readme.txt"
    readme.unlink()
    git(repo.root, "checkout", "-q", "readme.txt")
    readme.write_bytes(readme.read_bytes())
    assert readme.read_bytes() == b"hello\r\n"
    blob = git(ws, "hash-object", "-w", "--no-filters", "--stdin", stdin=b"hello\nmore\n")
    git(ws, "update-index", "--cacheinfo", f"100644,{blob},readme.txt")
    git(ws, "commit", "-q", "-m", "more")
    merges.apply(repo, plan(repo))
    assert readme.read_bytes() == b"hello\r\nmore\r\n"
    assert git(repo.root, "status", "--porcelain") == ""


def test_hooks_do_not_run(repo: Repository, ws: Path, tmp_path: Path) -> None:
    """No commit of theirs is made, and their editor's terminal is not here."""
    work(ws, "new.txt")
    marker = tmp_path / "marker"
    for name in ("post-index-change", "post-checkout", "reference-transaction", "post-merge"):
        hook = Path(repo.git_dir) / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert not marker.exists()
    git(repo.root, "status")
    git(repo.root, "update-index", "--force-write-index")
    assert marker.exists(), "plain git runs them, so this test can fail"


def test_what_an_agent_has_checked_out_runs_no_filter(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    """Its files are its own to write, and what runs over them is in a box or nowhere."""
    parent = tmp_path / "ws" / "p1"
    workspaces.create(repo, path=str(parent), branch="agent/p1", base="main", agent="p1")
    marker = tmp_path / "marker"
    _set_up(repo.root, "--global", smudge=f"tee {marker}")
    work(parent, ".gitattributes", "*.sec filter=rot\n")
    blob = git(ws, "hash-object", "-w", "--no-filters", "--stdin", stdin=b"arj\n")
    git(ws, "update-index", "--add", "--cacheinfo", f"100644,{blob},new.sec")
    git(ws, "commit", "-q", "-m", "secret")
    merges.apply(repo, plan(repo, "agent/p1"))
    assert (parent / "new.sec").read_text() == "arj\n"
    assert not marker.exists()
