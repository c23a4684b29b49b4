"""The mirror has objects of its own: what its refs reach, and nothing else of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.git.boxing import box
from tests.git.come_home import fetch
from tests.git.conftest import git, snapshot
from tests.git.differences import shown
from tests.git.test_clones import inside, is_good, make
from tests.git.test_merges_clone import boxed, plan
from tests.git.test_mirror import advance, refs

from windlass.core.errors import Conflict, GitError
from windlass.git import (
    merges,
    mirror,
    object_transfer,
    registered,
    repository,
    trash,
    workspaces,
)
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

_ALL = ("cat-file", "--batch-all-objects", "--batch", "--buffer")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def clone(repo: Repository, tmp_path: Path) -> Path:
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    return path


def packs(folder: Path) -> dict[str, int]:
    found = (folder / "objects/pack").glob("*.pack")
    return {path.name: path.stat().st_size for path in found}


def prune(repo: Repository) -> None:
    git(repo.root, "reflog", "expire", "--expire=now", "--all")
    git(repo.root, "gc", "-q", "--prune=now")


def hide(repo: Repository, ws: Path) -> list[str]:
    """Leaves in the repository what no branch, tag or remote reaches."""
    root = Path(repo.root)
    (root / "readme.txt").write_text("SECRET-stash\n")
    git(root, "stash", "-q")
    (root / "readme.txt").write_text("SECRET-dangling\n")
    git(root, "commit", "-q", "-a", "-m", "dangling")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "hash-object", "-w", "--stdin", stdin=b"SECRET-loose\n")
    (ws / "untracked").write_text("SECRET-trash\n")
    (ws / ".env").write_text("SECRET-ignored\n")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    return ["SECRET-stash", "SECRET-dangling", "SECRET-loose", "SECRET-trash", "SECRET-ignored"]


def test_a_box_cannot_read_what_no_ref_shows_by_listing_objects(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    secrets = hide(repo, ws)
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    said = inside(repo, path, *_ALL)
    assert "one = 1" in said, "what main has is there"
    assert [secret for secret in secrets if secret in said] == []
    told = inside(repo, path, "fetch", "origin", git(repo.root, "rev-parse", "stash"), ok=128)
    assert "not our ref" in told


def test_listing_objects_does_show_it_all_where_the_repositorys_own_are_borrowed(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    secrets = hide(repo, ws)
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    theirs = f"{repo.git_dir}/objects"
    (path / ".git/objects/info/alternates").write_text(f"{theirs}\n")
    words = box(writable=[path], readable=[theirs])
    said = subprocess.run([*words, "git", "-C", path, *_ALL], capture_output=True, check=True)
    assert [
        secret for secret in secrets if secret not in said.stdout.decode(errors="replace")
    ] == []


def test_a_commit_adds_one_small_pack_and_nothing_new_adds_none(
    repo: Repository, folder: Path
) -> None:
    (Path(repo.root) / "large").write_bytes(os.urandom(1 << 18))
    advance(repo, "other")
    git(repo.root, "add", "large")
    git(repo.root, "commit", "-q", "-m", "large")
    mirror.refresh(repo, str(folder))
    first = packs(folder)
    advance(repo, "small")
    mirror.refresh(repo, str(folder))
    added = packs(folder).items() - first.items()
    assert [size < 4096 for _, size in added] == [True]
    git(repo.root, "branch", "again", "HEAD~1")
    assert mirror.refresh(repo, str(folder)), "the branch is news, its commits are not"
    assert len(packs(folder)) == 2
    git(folder, "fsck", "--strict")


def test_a_mirror_that_borrowed_is_made_one_that_does_not(repo: Repository, folder: Path) -> None:
    for name in ("refs", "objects/info", "objects/pack"):
        (folder / name).mkdir(parents=True)
    (folder / "objects/info/alternates").write_text(f"{repo.git_dir}/objects\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "windlass-seen").write_text("0" * 64)
    mirror.refresh(repo, str(folder))
    assert not (folder / "objects/info/alternates").exists()
    git(folder, "fsck", "--strict")
    assert refs(folder) == refs(repo.root)


@pytest.mark.parametrize("lost", ["objects", "objects/pack", "HEAD", "windlass-tips", ""])
def test_a_mirror_that_lost_something_is_made_whole(
    repo: Repository, folder: Path, lost: str
) -> None:
    mirror.refresh(repo, str(folder))
    advance(repo, "one")
    mirror.refresh(repo, str(folder))
    victim = folder / lost
    if victim.is_dir():
        shutil.rmtree(victim)
    else:
        victim.unlink()
        advance(repo, "two")
    mirror.refresh(repo, str(folder))
    git(folder, "fsck", "--strict")
    assert refs(folder) == refs(repo.root)


def test_many_packs_become_few_and_keep_what_no_ref_reaches_any_more(
    repo: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_transfer, "_MANY", 6)
    git(repo.root, "checkout", "-q", "-b", "topic")
    left = advance(repo, "topic")
    mirror.refresh(repo, str(folder))
    git(repo.root, "checkout", "-q", "main")
    git(repo.root, "branch", "-D", "topic")
    for number in range(12):
        advance(repo, f"n{number}")
        mirror.refresh(repo, str(folder))
    assert len(packs(folder)) < 6
    listed = git(folder, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    assert f"in-pack: {len(listed)}" in git(folder, "count-objects", "-v"), "none is there twice"
    assert git(folder, "show", f"{left}:topic") == "topic"
    git(folder, "fsck", "--strict")
    before = packs(folder)
    assert not mirror.refresh(repo, str(folder))
    assert packs(folder) == before


def test_a_ref_to_lost_history_keeps_no_other_from_coming(repo: Repository, folder: Path) -> None:
    git(repo.root, "checkout", "-q", "-b", "broken")
    lost = advance(repo, "lost")
    advance(repo, "after")
    git(repo.root, "checkout", "-q", "main")
    good = advance(repo, "good")
    (Path(repo.git_dir) / "objects" / lost[:2] / lost[2:]).unlink()
    mirror.refresh(repo, str(folder))
    assert git(folder, "show", f"{good}:good") == "good"
    better = advance(repo, "better")
    mirror.refresh(repo, str(folder))
    assert git(folder, "show", f"{better}:better") == "better"


def test_a_repository_that_cannot_be_read_is_no_empty_mirror(
    repo: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not taken for damage: what failed is the packing, and it may be better next time."""

    def full(*_: object, **__: object) -> None:
        raise GitError("no space left on device", "")

    with monkeypatch.context() as patched:
        patched.setattr(object_transfer, "_send", full)
        with pytest.raises(GitError, match="no space"):
            mirror.refresh(repo, str(folder))
    assert not (folder / "packed-refs").exists()
    assert mirror.refresh(repo, str(folder))
    git(folder, "fsck", "--strict")


def test_history_that_is_no_longer_cut_off_is_brought(
    repo: Repository, folder: Path, tmp_path: Path
) -> None:
    advance(repo, "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.root}", "short")
    short = repository.discover(str(tmp_path / "short"))
    mirror.refresh(short, str(folder))
    assert git(folder, "log", "--format=%s", "main") == "second"
    git(short.root, "fetch", "-q", "--unshallow")
    mirror.refresh(short, str(folder))
    assert git(folder, "log", "--format=%s", "main") == "second\nfirst"
    git(folder, "fsck", "--strict")


def test_a_partial_repository_lends_what_it_has(
    repo: Repository, folder: Path, tmp_path: Path
) -> None:
    git(repo.root, "branch", "old")
    (Path(repo.root) / "src/one.py").write_text("one = 2\n")
    git(repo.root, "commit", "-q", "-a", "-m", "second")
    git(repo.root, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo.root}", "part")
    part = repository.discover(str(tmp_path / "part"))
    git(part.root, "branch", "old", "origin/old")
    make(part, tmp_path / "ws" / "c1")
    assert is_good(part, tmp_path / "ws/c1")
    older = tmp_path / "ws" / "c2"
    where = {"path": str(older), "branch": "agent/c2", "base": "old", "agent": "c2"}
    with pytest.raises(GitError):
        workspaces.create(part, **where, origin=str(folder))
    git(part.root, "show", "old:src/one.py")
    workspaces.create(part, **where, origin=str(folder))
    assert (older / "src/one.py").read_text() == "one = 1\n"
    (older / "work").write_text("work\n")
    inside(part, older, "add", "work")
    inside(part, older, "commit", "-q", "-m", "work")
    assert fetch(part, older, "agent/c2")


def test_a_merge_reaches_a_clone_after_the_repository_was_tidied(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    boss = tmp_path / "ws" / "boss"
    make(repo, boss, "boss")
    (ws / "new.txt").write_text("new\n")
    git(ws, "add", "-A")
    git(ws, "commit", "-q", "-m", "new")
    prune(repo)
    chosen = plan(repo)
    merges.rehearse(repo, chosen, box=boxed(repo, boss))
    merges.apply(repo, chosen, box=boxed(repo, boss))
    prune(repo)
    assert inside(repo, boss, "rev-parse", "HEAD") == chosen.new
    assert inside(repo, boss, "status", "--porcelain") == ""
    assert inside(repo, boss, "fsck") == ""


def test_a_restored_clone_has_its_own_work_in_its_box(
    repo: Repository, clone: Path, folder: Path
) -> None:
    for text in ("first\n", "second\n"):
        (clone / "readme.txt").write_text(text)
        inside(repo, clone, "stash", "-q")
    (clone / "staged").write_text("staged\n")
    inside(repo, clone, "add", "staged")
    (clone / "staged").write_text("edited\n")

    def told() -> tuple[object, ...]:
        asked = (("status", "--porcelain"), ("stash", "list"), ("show", ":staged"))
        return (snapshot(clone), *(inside(repo, clone, *args) for args in asked))

    before = told()
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    workspaces.remove(repo, path=str(clone), branch="agent/c1", agent="c1")
    prune(repo)
    entry = trash.find(repo, "c1")
    trash.restore(repo, entry, path=str(clone), branch="agent/c1", agent="c1", origin=str(folder))
    assert told() == before
    trash.empty(repo, {entry.ref: entry.commit})
    prune(repo)
    assert inside(repo, clone, "show", "stash@{1}:readme.txt") == "first"
    assert "SECRET" not in git(folder, *_ALL)
    assert "edited" not in git(folder, *_ALL), "another agent's box does not have it"


def test_what_only_the_mirror_has_any_more_comes_home(repo: Repository, clone: Path) -> None:
    """A branch that a clone built on was deleted and tidied away meanwhile."""
    git(repo.root, "checkout", "-q", "-b", "topic")
    topic = advance(repo, "topic")
    git(repo.root, "checkout", "-q", "main")
    mirror.refresh(repo, str(clone.parent.parent / "mirror"))
    inside(repo, clone, "fetch", "-q", "origin")
    inside(repo, clone, "reset", "-q", "--hard", "origin/topic")
    (clone / "work").write_text("work\n")
    inside(repo, clone, "add", "work")
    inside(repo, clone, "commit", "-q", "-m", "work")
    git(repo.root, "branch", "-D", "topic")
    prune(repo)
    git(repo.root, "cat-file", "-e", topic, ok=1)
    assert "work" in shown(repo, clone, stat=True).decode()
    assert workspaces.status(repo, str(clone)).clean
    kept = salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    assert kept.summary.commits == 2
    tip = fetch(repo, clone)
    assert git(repo.root, "rev-parse", f"{tip}~1") == topic
    git(repo.root, "fsck", "--strict")


def test_a_clone_that_borrowed_otherwise_is_refused_a_merge_until_it_is_led_to_the_mirror(
    repo: Repository, ws: Path, tmp_path: Path, folder: Path
) -> None:
    boss = tmp_path / "ws" / "boss"
    make(repo, boss, "boss")
    (ws / "new.txt").write_text("new\n")
    git(ws, "add", "-A")
    git(ws, "commit", "-q", "-m", "new")
    (entry,) = (Path(repo.private) / "clones").iterdir()
    entry.write_text(f"{boss}\0agent/boss")
    (boss / ".git/objects/info/alternates").write_text(f"{repo.git_dir}/objects\n")
    assert registered.clones(repo) == {"agent/boss": str(boss)}
    with pytest.raises(Conflict, match="older Windlass"):
        merges.apply(repo, plan(repo), box=boxed(repo, boss))
    workspaces.ensure(repo, path=str(boss), branch="agent/boss", agent="boss", origin=str(folder))
    merges.apply(repo, plan(repo), box=boxed(repo, boss))
    assert inside(repo, boss, "fsck") == ""
    assert (boss / "new.txt").exists()


def test_a_clone_is_led_nowhere_through_a_link(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "alternates").write_text("mine\n")
    shutil.rmtree(clone / ".git/objects/info")
    (clone / ".git/objects/info").symlink_to(victim)
    other = str(tmp_path / "other")
    workspaces.ensure(repo, path=str(clone), branch="agent/c1", agent="c1", origin=other)
    assert (victim / "alternates").read_text() == "mine\n"
    assert registered.origin_of(repo, str(clone)) == other


def test_where_an_agent_began_is_brought_though_no_branch_reaches_it(
    repo: Repository, clone: Path, folder: Path
) -> None:
    began = git(repo.root, "rev-parse", "main")
    git(repo.root, "commit", "-q", "--amend", "-m", "other")
    git(repo.root, "update-ref", "refs/heads/agent/c1", "main")
    prune(repo)
    shutil.rmtree(folder)
    mirror.refresh(repo, str(folder))
    assert inside(repo, clone, "log", "-1", "--format=%s", began) == "first"


@pytest.mark.parametrize("how", ["branch", "head", "stash", "index", "log", "tree"])
def test_an_id_that_an_agent_has_heard_of_gives_it_nothing_when_it_is_restored(
    repo: Repository, ws: Path, clone: Path, folder: Path, how: str
) -> None:
    """Kept and put back, it would come into the clone: so only what the clone can see is kept."""
    secrets = hide(repo, ws)
    heard = git(repo.root, "rev-parse", "stash")
    blob = git(repo.root, "rev-parse", "stash:readme.txt")
    name = clone / ".git/refs/heads/agent/c1"
    if how == "branch":
        (clone / ".git/refs/heads/heard").write_text(f"{heard}\n")
    if how == "head":
        (clone / ".git/HEAD").write_text(f"{heard}\n")
    if how == "stash":
        (clone / ".git/logs/refs").mkdir(parents=True, exist_ok=True)
        line = f"{'0' * 40} {heard} A <a@b> 1 +0000\tWIP on agent/c1: x\n"
        (clone / ".git/logs/refs/stash").write_text(line)
    if how == "index":
        inside(repo, clone, "update-index", "--add", "--cacheinfo", f"100644,{blob},heard")
    if how == "log":
        (clone / ".git/ORIG_HEAD").write_text(f"{heard}\n")
    if how == "tree":
        entry = f"100644 blob {blob}\theard\n".encode()
        tree = git(clone, "mktree", "--missing", stdin=entry)
        name.parent.mkdir(exist_ok=True)
        name.write_text(git(clone, "commit-tree", "-m", "x", "-p", "HEAD", tree) + "\n")
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    workspaces.remove(repo, path=str(clone), branch="agent/c1", agent="c1")
    trash.restore(
        repo,
        trash.find(repo, "c1"),
        path=str(clone),
        branch="agent/c1",
        agent="c1",
        origin=str(folder),
    )
    said = inside(repo, clone, *_ALL)
    assert "one = 1" in said
    assert [secret for secret in secrets if secret in said] == []
