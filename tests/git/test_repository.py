from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git

from windlass.core.errors import Conflict, GitError
from windlass.git import mainline, repository, workspace_state
from windlass.git.repository import Repository


def test_every_folder_of_a_repository_leads_to_the_same_one(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    (ws / "deep").mkdir()
    git(repo.root, "worktree", "add", "-q", "--detach", tmp_path / "odd\nname")
    for place in (
        repo.root,
        f"{repo.root}/src",
        repo.git_dir,
        ws,
        ws / "deep",
        tmp_path / "odd\nname",
    ):
        assert repository.discover(str(place)) == repo


def test_a_link_to_a_repository_leads_to_it(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo.root)
    assert repository.discover(str(tmp_path / "link")) == repo


def test_a_git_folder_kept_elsewhere_is_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", tmp_path / "store", tmp_path / "tree")
    found = repository.discover(str(tmp_path / "tree"))
    assert found == Repository(root=str(tmp_path / "tree"), git_dir=str(tmp_path / "store"))


def test_a_folder_outside_any_repository_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not in a git repository") as caught:
        repository.discover(str(tmp_path))
    assert "git init" in caught.value.hint
    with pytest.raises(GitError, match="not a folder"):
        repository.discover(str(tmp_path / "missing"))


def test_a_bare_repository_is_refused_also_from_its_worktrees(
    repo: Repository, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", repo.root, "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", tmp_path / "linked", "main")
    for place in (tmp_path / "bare.git", tmp_path / "linked"):
        with pytest.raises(GitError, match="bare repository"):
            repository.discover(str(place))


def test_a_repository_without_commits_is_told_to_make_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "fresh")
    fresh = repository.discover(str(tmp_path / "fresh"))
    assert repository.head_branch(fresh) == "main"
    assert repository.resolve(fresh, "HEAD") is None
    with pytest.raises(GitError, match="no commit yet") as caught:
        repository.require_commit(fresh)
    assert "git commit" in caught.value.hint


def test_head_names_its_branch_unless_it_is_detached(repo: Repository) -> None:
    assert repository.head_branch(repo) == "main"
    git(repo.root, "checkout", "-q", "--detach")
    assert repository.head_branch(repo) is None


def test_a_ref_that_stands_for_another_names_it_wherever_that_is_kept(repo: Repository) -> None:
    """Also where all others are packed, and where what it names is not there."""
    ref = "refs/remotes/origin/HEAD"
    assert repository.symbolic_ref(repo, ref) is None
    for name in ("main", "gone"):
        git(repo.root, "symbolic-ref", ref, f"refs/remotes/origin/{name}")
        git(repo.root, "pack-refs", "--all")
        assert repository.symbolic_ref(repo, ref) == f"refs/remotes/origin/{name}"
    assert repository.symbolic_ref(repo, "refs/heads/main") is None
    kept = Path(repo.git_dir, ref)
    kept.unlink()
    kept.symlink_to("refs/remotes/origin/main")  # as git made them long ago
    git(repo.root, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert repository.symbolic_ref(repo, ref) == "refs/remotes/origin/main"


@pytest.mark.parametrize("rev", ["nope", "", "--all", "-h", "main:readme.txt", "a\0b"])
def test_what_names_no_commit_resolves_to_nothing(repo: Repository, rev: str) -> None:
    assert repository.resolve(repo, rev) is None


def test_a_tag_resolves_to_its_commit(repo: Repository) -> None:
    git(repo.root, "tag", "-a", "-m", "t", "v1")
    assert repository.resolve(repo, "v1") == git(repo.root, "rev-parse", "HEAD")


def test_identity_is_the_users_own_and_the_repository_may_override_it(
    repo: Repository, home: Path
) -> None:
    assert repository.identity(repo) == ("Ann Own", "ann@example.org")
    git(repo.root, "config", "user.name", "Here Only")
    assert repository.identity(repo) == ("Here Only", "ann@example.org")
    (home / ".gitconfig").unlink()
    assert repository.identity(repo) is None


def test_checkouts_say_where_each_branch_is(repo: Repository, tmp_path: Path) -> None:
    place = tmp_path / "odd\nplace"
    git(repo.root, "worktree", "add", "-q", "-b", "side", place)
    git(repo.root, "worktree", "add", "-q", "--detach", tmp_path / "detached")
    assert repository.checkouts(repo) == {"main": repo.root, "side": str(place)}


def test_distance_and_ancestry(repo: Repository, ws: Path) -> None:
    git(ws, "commit", "-q", "--allow-empty", "-m", "one")
    git(ws, "commit", "-q", "--allow-empty", "-m", "two: \x1f odd")
    git(repo.root, "commit", "-q", "--allow-empty", "-m", "other")
    assert repository.ahead_behind(repo, "agent/a1", "main") == (2, 1)
    assert not repository.is_ancestor(repo, "main", "agent/a1")
    assert repository.is_ancestor(repo, "main~1", "agent/a1")
    listed = repository.commits_between(repo, "main", "agent/a1", limit=10)
    assert [one.subject for one in listed] == ["two: \x1f odd", "one"]
    assert len(repository.commits_between(repo, "main", "agent/a1", limit=1)) == 1


def test_a_ref_moves_only_from_where_it_was_expected(repo: Repository) -> None:
    first = git(repo.root, "rev-parse", "HEAD")
    git(repo.root, "commit", "-q", "--allow-empty", "-m", "second")
    second = git(repo.root, "rev-parse", "HEAD")
    none = repository.null_oid(repo)
    repository.set_ref(repo, "refs/x/y", first, old=none)
    with pytest.raises(Conflict, match="moved"):
        repository.set_ref(repo, "refs/x/y", second, old=none)
    with pytest.raises(Conflict, match="moved"):
        repository.set_ref(repo, "refs/x/y", second, old=second)
    repository.set_ref(repo, "refs/x/y", second, old=first)
    with pytest.raises(Conflict, match="moved"):
        repository.delete_ref(repo, "refs/x/y", old=first)
    repository.delete_ref(repo, "refs/x/y", old=second)
    repository.delete_ref(repo, "refs/x/y")
    assert repository.read_ref(repo, "refs/x/y") is None


def test_refs_are_deleted_together_and_the_rest_stays_where_git_refuses_the_first(
    repo: Repository,
) -> None:
    head = git(repo.root, "rev-parse", "HEAD")
    refs = ("refs/x/first", "refs/x/second")
    for ref in (*refs, "refs/x/other"):
        repository.set_ref(repo, ref, head)
    lock = Path(repo.git_dir) / "refs/x/first.lock"
    lock.touch()
    with pytest.raises(GitError, match=r"would not move refs/x/first"):
        repository.delete_refs(repo, *refs)
    assert repository.read_refs(repo, *refs) == dict.fromkeys(refs, head)
    lock.unlink()
    repository.delete_refs(repo, *refs, "refs/x/never-there")
    assert repository.refs_under(repo, "refs/x/") == {"refs/x/other": head}
    repository.delete_refs(repo, *refs)


def test_a_ref_that_git_cannot_make_is_no_race(repo: Repository) -> None:
    head = git(repo.root, "rev-parse", "HEAD")
    with pytest.raises(GitError, match="would not move"):
        repository.set_ref(repo, "refs/heads/main/below", head)


def test_work_on_a_repository_that_was_moved_away_leaves_nothing_in_its_old_place(
    repo: Repository, tmp_path: Path
) -> None:
    Path(repo.root).rename(tmp_path / "moved")
    with pytest.raises(GitError, match="is gone"), workspace_state.locked(repo, "apply"):
        pass
    assert not Path(repo.root).exists()


@pytest.mark.parametrize(
    "who",
    ["", "P <p@example.invalid> 99999999999999999999 +9999", "P <p@example.invalid> -5 +0000"],
)
def test_a_commit_that_says_no_time_is_a_commit(repo: Repository, who: str) -> None:
    tip = git(repo.root, "rev-parse", "main")
    lines = [f"tree {git(repo.root, 'rev-parse', 'main^{tree}')}", f"parent {tip}"]
    lines += [f"{role} {who}" for role in ("author", "committer") if who]
    written = "\n".join([*lines, "", "odd\n"])
    words = ("hash-object", "-w", "-t", "commit", "--stdin", "--literally")
    odd = git(repo.root, *words, stdin=written.encode())
    (listed,) = repository.commits_between(repo, tip, odd)
    assert (listed.oid, listed.subject, listed.time) == (odd, "odd", 0)
    assert mainline.moves(repo, odd, limit=1)[0].time == 0
