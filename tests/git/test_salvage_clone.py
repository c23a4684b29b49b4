"""A workspace that is a clone comes home whole, and brings nothing that is not its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot
from tests.git.differences import shown

from windlass.git import mirror, repository, trash, workspaces
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
    assert b"+other" in shown(repo, clone)
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


def test_objects_of_which_one_lies_about_its_id_are_kept_as_raw_bytes(
    repo: Repository, clone: Path
) -> None:
    tip = commit(clone, "work")
    blob = git(clone, "rev-parse", "HEAD:work")
    other = git(clone, "hash-object", "-w", "--stdin", stdin=b"something else\n")
    place = clone / ".git/objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes((clone / ".git/objects" / other[:2] / other[2:]).read_bytes())
    kept = salvage(repo, path=str(clone), agent="c1", stamp="1", meta={})
    git(repo.root, "cat-file", "-e", tip, ok=1)
    raw = git(repo.root, "ls-tree", "--name-only", kept.commit).split()
    assert "objects.tar" in raw
    (entry,) = trash.entries(repo)
    assert any("raw bytes in objects.tar" in drop.reason for drop in entry.dropped)
    git(repo.root, "fsck", "--strict")


@pytest.fixture
def mirrored(repo: Repository, tmp_path: Path) -> str:
    """What clones call origin."""
    mirror.refresh(repo, str(tmp_path / "mirror"))
    return str(tmp_path / "mirror")


@pytest.fixture
def boxed(repo: Repository, tmp_path: Path, mirrored: str) -> Path:
    """A boxed agent's workspace as we make it."""
    git(repo.root, "tag", "-a", "-m", "note", "released")
    git(repo.root, "branch", "elsewhere")
    path = tmp_path / "ws" / "c1"
    workspaces.create(
        repo, path=str(path), branch="agent/c1", base="main", agent="c1", origin=mirrored
    )
    return path


def test_a_branch_that_only_its_clone_has_is_back_after_a_salvage_and_a_restore(
    repo: Repository, boxed: Path, mirrored: str
) -> None:
    tip = commit(boxed, "work")
    git(repo.root, "update-ref", "-d", "refs/heads/agent/c1")
    salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={}, branch="agent/c1")
    workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
    entry = trash.find(repo, "c1")
    trash.restore(repo, entry, path=str(boxed), branch="agent/c1", agent="c1", origin=mirrored)
    assert git(repo.root, "rev-parse", "agent/c1") == tip


def test_a_salvage_of_a_clone_keeps_nothing_of_the_one_that_it_follows(
    repo: Repository, boxed: Path, mirrored: str
) -> None:
    older = salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    for stamp in ("2", "3"):
        workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
        entry = trash.find(repo, "c1")
        trash.restore(repo, entry, path=str(boxed), branch="agent/c1", agent="c1", origin=mirrored)
        newer = salvage(repo, path=str(boxed), agent="c1", stamp=stamp, meta={})
        assert newer.summary.commits == 0
    assert older.commit not in git(repo.root, "rev-list", newer.ref).split()


def test_a_boxed_agent_is_restored_as_it_was_into_a_clone(
    repo: Repository, boxed: Path, mirrored: str
) -> None:
    tip = commit(boxed, "work")
    git(boxed, "checkout", "-q", "-b", "side")
    side = commit(boxed, "side")
    git(boxed, "tag", "-a", "-m", "note", "v1")
    git(boxed, "checkout", "-q", "agent/c1")
    for text in ("first\n", "second\n"):
        (boxed / "readme.txt").write_text(text)
        git(boxed, "stash", "-q")
    (boxed / "staged").write_text("staged\n")
    git(boxed, "add", "staged")
    (boxed / "loose").write_text("untracked\n")
    git(boxed, "config", "alias.mine", "status")
    commit(Path(repo.root), "elsewhere")
    mirror.refresh(repo, mirrored)
    git(boxed, "fetch", "-q", "origin")

    def told() -> tuple[object, ...]:
        return (
            snapshot(boxed),
            git(boxed, "status", "--porcelain"),
            git(boxed, "for-each-ref", "refs/heads", "refs/tags", "refs/stash"),
            git(boxed, "stash", "list", "--format=%H %gs"),
            git(boxed, "config", "alias.mine"),
            git(boxed, "reflog", "--format=%H %gs"),
        )

    before = told()
    kept = salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    assert (kept.summary.commits, kept.summary.stashes) == (2, 2)
    workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
    git(repo.root, "gc", "-q", "--prune=now")
    entry = trash.find(repo, "c1")
    for _ in range(2):
        trash.restore(repo, entry, path=str(boxed), branch="agent/c1", agent="c1", origin=mirrored)
    git(boxed, "fetch", "-q", "origin")
    assert told() == before
    assert git(repo.root, "rev-parse", "agent/c1") == tip
    assert repository.checkouts(repo)["agent/c1"] == str(boxed)
    assert repository.read_ref(repo, "refs/windlass/base/c1") is not None
    assert git(repo.root, "stash", "list") == ""
    trash.empty(repo, {entry.ref: entry.commit})
    git(repo.root, "reflog", "expire", "--expire=now", "--all")
    git(repo.root, "gc", "-q", "--prune=now")
    assert git(boxed, "log", "-1", "--format=%H", "side") == side, "it borrows what we keep"
    git(boxed, "stash", "show", "-p", "stash@{1}")


def test_a_salvage_of_a_clone_claims_nothing_that_is_the_repositorys(
    repo: Repository, boxed: Path, mirrored: str
) -> None:
    others = commit(Path(repo.root), "others")
    git(repo.root, "tag", "-f", "released")
    mirror.refresh(repo, mirrored)
    git(boxed, "fetch", "-q", "--tags", "-f", "origin")
    tip = commit(boxed, "work")
    kept = salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    assert kept.summary.commits == 1
    parents = git(repo.root, "log", "-1", "--format=%P", kept.commit).split()
    assert tip in parents
    assert others not in parents


@pytest.mark.parametrize("was", ["worktree", "clone"])
def test_a_workspace_is_restored_as_the_other_kind(
    repo: Repository, boxed: Path, ws: Path, tmp_path: Path, was: str
) -> None:
    path, agent = (ws, "a1") if was == "worktree" else (boxed, "c1")
    commit(path, "work")
    (path / "readme.txt").write_text("stashed\n")
    git(path, "stash", "-q")
    (path / "staged").write_text("staged\n")
    git(path, "add", "staged")
    before = snapshot(path), git(path, "status", "--porcelain"), git(path, "rev-parse", "HEAD")
    salvage(repo, path=str(path), agent=agent, stamp="1", meta={})
    workspaces.remove(repo, path=str(path), branch=f"agent/{agent}", agent=agent)
    origin = str(tmp_path / "mirror") if was == "worktree" else None
    back = tmp_path / "back"
    trash.restore(repo, trash.find(repo, agent), path=str(back), branch="agent/back", origin=origin)
    assert (back / ".git").is_dir() is (was == "worktree")
    assert (
        snapshot(back),
        git(back, "status", "--porcelain"),
        git(back, "rev-parse", "HEAD"),
    ) == before
    assert git(back, "symbolic-ref", "HEAD") == "refs/heads/agent/back"
    assert git(back, "stash", "list").count("\n") == 0
    assert git(back, "stash", "list") != ""
    git(back, "fsck")


def test_a_rebase_goes_on_in_a_restored_clone(repo: Repository, boxed: Path, mirrored: str) -> None:
    (Path(repo.root) / "readme.txt").write_text("theirs\n")
    git(repo.root, "commit", "-q", "-a", "-m", "theirs")
    mirror.refresh(repo, mirrored)
    (boxed / "readme.txt").write_text("ours\n")
    git(boxed, "commit", "-q", "-a", "-m", "ours")
    git(boxed, "fetch", "-q", "origin")
    git(boxed, "rebase", "-q", "origin/main", ok=1)
    salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
    trash.restore(
        repo,
        trash.find(repo, "c1"),
        path=str(boxed),
        branch="agent/c2",
        agent="c1",
        origin=mirrored,
    )
    assert workspaces.status(repo, str(boxed)).operation == "rebase"
    (boxed / "readme.txt").write_text("both\n")
    git(boxed, "add", "readme.txt")
    git(boxed, "-c", "core.editor=true", "rebase", "--continue")
    assert git(boxed, "symbolic-ref", "HEAD") == "refs/heads/agent/c2"
    assert git(boxed, "log", "-1", "--format=%s") == "ours"


@pytest.mark.parametrize(
    "moment",
    [
        "windlass.git.clones.sow",
        "windlass.git.putback_files.FilePutBack.put",
        "windlass.git.putback.ClonePutBack._finish",
        "windlass.git.putback_outside.put_back_refs",
    ],
)
def test_a_restore_that_was_killed_is_done_anew(
    repo: Repository, boxed: Path, mirrored: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    commit(boxed, "work")
    (boxed / "loose").write_text("untracked\n")
    before = snapshot(boxed)
    salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
    entry = trash.find(repo, "c1")

    def back() -> None:
        trash.restore(repo, entry, path=str(boxed), branch="agent/c1", agent="c1", origin=mirrored)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(moment, die)
        with pytest.raises(KeyboardInterrupt):
            back()
    back()
    assert snapshot(boxed) == before
    assert git(boxed, "status", "--porcelain") == "?? loose"


def test_git_files_that_were_links_do_not_lead_a_restore_out(
    repo: Repository, boxed: Path, tmp_path: Path, mirrored: str
) -> None:
    """Git writes an index that is a link through the link."""
    precious = tmp_path / "precious"
    precious.write_bytes((boxed / ".git/index").read_bytes())
    (boxed / ".git/index").unlink()
    (boxed / ".git/index").symlink_to(precious)
    git(boxed, "rm", "-q", "--cached", "readme.txt")
    assert precious.read_bytes() != b"", "plain git followed it, so this test can fail"
    before = precious.read_bytes()
    salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
    for origin, name in ((None, "one"), (mirrored, "two")):
        trash.restore(
            repo,
            trash.find(repo, "c1"),
            path=str(tmp_path / name),
            branch=name,
            origin=origin,
        )
        assert precious.read_bytes() == before


def test_a_commit_whose_files_are_lost_does_not_stop_the_rest(
    repo: Repository, boxed: Path, tmp_path: Path
) -> None:
    good = commit(boxed, "good")
    commit(boxed, "bad")
    tree = git(boxed, "rev-parse", "HEAD^{tree}")
    (boxed / ".git/objects" / tree[:2] / tree[2:]).unlink()
    (boxed / "loose").write_text("untracked\n")
    before = snapshot(boxed)
    kept = salvage(repo, path=str(boxed), agent="c1", stamp="1", meta={})
    assert any("missing" in one.reason for one in trash.find(repo, "c1").dropped)
    workspaces.remove(repo, path=str(boxed), branch="agent/c1", agent="c1")
    assert good in git(repo.root, "log", "--format=%H", kept.commit)
    back = trash.restore(
        repo, trash.find(repo, "c1"), path=str(tmp_path / "back"), branch="agent/back"
    )
    assert snapshot(back.path) == before
