from __future__ import annotations

import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot
from tests.git.differences import shown

from windlass.core.errors import ConfigError, Conflict, UserError
from windlass.git import included, repository, workspace_state, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage


def make(repo: Repository, path: Path, agent: str = "a1") -> workspaces.Workspace:
    return workspaces.create(
        repo, path=str(path), branch=f"agent/{agent}", base="main", agent=agent
    )


def is_good(repo: Repository, path: Path, agent: str = "a1") -> bool:
    head = git(path, "rev-parse", "HEAD")
    return (
        git(path, "status", "--porcelain") == ""
        and git(path, "symbolic-ref", "--short", "HEAD") == f"agent/{agent}"
        and head == git(repo.root, "rev-parse", f"refs/windlass/base/{agent}")
        and (path / "readme.txt").read_text() == "hello\n"
    )


def test_a_workspace_is_a_checkout_of_its_own_branch(repo: Repository, tmp_path: Path) -> None:
    made = make(repo, tmp_path / "w")
    assert is_good(repo, tmp_path / "w")
    assert made.base == git(repo.root, "rev-parse", "main")
    assert repository.discover(made.path) == repo


def test_creating_twice_changes_nothing_of_the_agents_work(repo: Repository, ws: Path) -> None:
    (ws / "readme.txt").write_text("work\n")
    (ws / "new").write_text("new\n")
    git(ws, "commit", "-q", "-a", "-m", "work")
    before = snapshot(ws)
    make(repo, ws)
    assert snapshot(ws) == before


@pytest.mark.slow
def test_thirty_two_threads_create_at_once(repo: Repository, tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(32)]
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda name: make(repo, tmp_path / "w" / name, name), names))
    assert all(is_good(repo, tmp_path / "w" / name, name) for name in names)


def test_registrations_wait_for_each_other(repo: Repository, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with workspace_state.locked(repo, "worktrees"):
            making = pool.submit(make, repo, tmp_path / "w")
            with pytest.raises(TimeoutError):
                making.result(timeout=0.3)
            assert not repository.branch_exists(repo, "agent/a1")
        making.result(timeout=60)
    assert is_good(repo, tmp_path / "w")


def claimed(repo: Repository, _: Path) -> None:
    git(repo.root, "update-ref", "refs/windlass/base/a1", "main")


def branch_made(repo: Repository, path: Path) -> None:
    claimed(repo, path)
    git(repo.root, "branch", "agent/a1", "main")


def empty_folder(repo: Repository, path: Path) -> None:
    branch_made(repo, path)
    path.mkdir()


def registered(repo: Repository, path: Path) -> None:
    branch_made(repo, path)
    git(repo.root, "worktree", "add", "-q", "--no-checkout", path, "agent/a1")


def folder_gone_again(repo: Repository, path: Path) -> None:
    registered(repo, path)
    shutil.rmtree(path)


def pointer_missing(repo: Repository, path: Path) -> None:
    registered(repo, path)
    (path / ".git").unlink()


def checkout_half_done(repo: Repository, path: Path) -> None:
    registered(repo, path)
    (path / "readme.txt").write_text("hel")
    (path / "src").mkdir()
    (path / "src/one.py").write_text("one = 1\n")


def stale_index_lock(repo: Repository, path: Path) -> None:
    checkout_half_done(repo, path)
    (Path(git(path, "rev-parse", "--absolute-git-dir")) / "index.lock").write_bytes(b"")


def add_killed_at_its_start(repo: Repository, path: Path) -> None:
    branch_made(repo, path)
    admin = Path(repo.git_dir) / "worktrees" / path.name
    admin.mkdir(parents=True)
    (admin / "locked").write_text("initializing")


def add_killed_later(repo: Repository, path: Path) -> None:
    add_killed_at_its_start(repo, path)
    admin = Path(repo.git_dir) / "worktrees" / path.name
    path.mkdir()
    (admin / "gitdir").write_text(f"{path}/.git\n")
    (path / ".git").write_text(f"gitdir: {admin}\n")


def add_killed_before_commondir_was_filled(repo: Repository, path: Path) -> None:
    add_killed_later(repo, path)
    admin = Path(repo.git_dir) / "worktrees" / path.name
    (admin / "HEAD").write_text(git(repo.root, "rev-parse", "main") + "\n")
    (admin / "commondir").write_text("")


CRASHES = [
    claimed,
    branch_made,
    empty_folder,
    registered,
    folder_gone_again,
    pointer_missing,
    checkout_half_done,
    stale_index_lock,
    add_killed_at_its_start,
    add_killed_later,
    add_killed_before_commondir_was_filled,
]


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__)
def test_a_creation_that_was_killed_is_completed_by_the_next(
    repo: Repository, tmp_path: Path, crash: object
) -> None:
    path = tmp_path / "w"
    assert callable(crash)
    crash(repo, path)
    make(repo, path)
    assert is_good(repo, path)
    assert len(list((Path(repo.git_dir) / "worktrees").iterdir())) == 1


def test_a_real_kill_in_the_middle_is_survived(repo: Repository, tmp_path: Path) -> None:
    for number in range(300):
        (Path(repo.root) / f"file{number}").write_text(str(number))
    git(repo.root, "add", "-A")
    git(repo.root, "commit", "-q", "-m", "many")
    path = tmp_path / "w"
    claimed(repo, path)
    with subprocess.Popen(
        ["git", "worktree", "add", "-q", "-b", "agent/a1", path, "main"],
        cwd=repo.root,
        start_new_session=True,
    ) as git_process:
        while git_process.poll() is None and not (path / "file0").exists():
            os.sched_yield()
        os.killpg(git_process.pid, signal.SIGKILL)
    make(repo, path)
    assert is_good(repo, path)


def test_a_branch_of_somebody_else_is_refused(repo: Repository, tmp_path: Path) -> None:
    git(repo.root, "branch", "agent/a1")
    with pytest.raises(Conflict, match=r"agent/a1 exists already"):
        make(repo, tmp_path / "w")
    git(repo.root, "worktree", "add", "-q", tmp_path / "other", "agent/a1")
    with pytest.raises(Conflict, match=str(tmp_path / "other")):
        make(repo, tmp_path / "w")
    assert repository.read_ref(repo, "refs/windlass/base/a1") is None


def test_a_folder_with_something_in_it_is_refused(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w/file").write_text("mine\n")
    with pytest.raises(Conflict, match="not empty"):
        make(repo, tmp_path / "w")
    assert (tmp_path / "w/file").read_text() == "mine\n"
    assert not repository.branch_exists(repo, "agent/a1")


def test_a_workspace_inside_the_repository_is_refused(repo: Repository) -> None:
    with pytest.raises(UserError, match="inside the repository"):
        make(repo, Path(repo.root) / "ws")


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "", "x.lock", "a\nb"])
def test_an_impossible_branch_name_is_refused(repo: Repository, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError):
        workspaces.create(repo, path=str(tmp_path / "w"), branch=name, base="main", agent="a1")


def test_a_clean_workspace_has_nothing_to_tell(repo: Repository, ws: Path) -> None:
    seen = workspaces.status(repo, str(ws))
    assert seen.clean
    assert (seen.exists, seen.branch) == (True, "agent/a1")
    assert seen.head == git(ws, "rev-parse", "HEAD")


def test_status_tells_every_kind_of_work_apart(repo: Repository, ws: Path) -> None:
    (ws / "readme.txt").write_text("edited\n")
    (ws / "src/two.py").unlink()
    git(ws, "mv", "run.sh", "go.sh")
    (ws / "new\nline").write_text("u\n")
    (ws / "x.log").write_text("ignored\n")
    git(ws, "init", "-q", "nested")
    git(ws, "init", "-q", "src")
    seen = workspaces.status(repo, str(ws))
    assert seen.staged == ["go.sh", "run.sh"]
    assert seen.unstaged == ["readme.txt", "src/two.py"]
    assert seen.untracked == ["new\nline"]
    assert sorted(seen.nested) == ["nested", "src"]
    assert not seen.clean


def test_status_tells_conflicts_and_the_operation(repo: Repository, ws: Path) -> None:
    git(ws, "checkout", "-q", "-b", "other")
    (ws / "readme.txt").write_text("other\n")
    git(ws, "commit", "-q", "-a", "-m", "other")
    git(ws, "checkout", "-q", "agent/a1")
    (ws / "readme.txt").write_text("mine\n")
    git(ws, "commit", "-q", "-a", "-m", "mine")
    git(ws, "merge", "-q", "other", ok=1)
    seen = workspaces.status(repo, str(ws))
    assert (seen.conflicted, seen.operation) == (["readme.txt"], "merge")
    git(ws, "merge", "--abort")
    git(ws, "rebase", "-q", "other", ok=1)
    seen = workspaces.status(repo, str(ws))
    assert (seen.operation, seen.branch) == ("rebase", None)


def test_a_submodule_counts_as_work_only_when_it_has_some(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", "origin")
    (tmp_path / "origin/f").write_text("f\n")
    git(tmp_path / "origin", "add", "f")
    git(tmp_path / "origin", "commit", "-q", "-m", "f")
    git(ws, "submodule", "--quiet", "add", str(tmp_path / "origin"), "lib")
    git(ws, "commit", "-q", "-m", "lib")
    assert workspaces.status(repo, str(ws)).clean
    (ws / "lib/f").write_text("changed\n")
    assert workspaces.status(repo, str(ws)).nested == ["lib"]


def test_the_users_own_ignore_file_is_respected(repo: Repository, ws: Path, home: Path) -> None:
    (ws / ".DS_Store").write_text("x")
    assert workspaces.status(repo, str(ws)).untracked == [".DS_Store"]
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text(".DS_Store\n")
    assert workspaces.status(repo, str(ws)).clean


def test_status_leaves_the_agents_index_alone(repo: Repository, ws: Path) -> None:
    index = Path(git(ws, "rev-parse", "--absolute-git-dir")) / "index"
    os.utime(ws / "readme.txt", (1, 1))
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    workspaces.status(repo, str(ws))
    shown(repo, ws, stat=True)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_a_folder_deleted_by_hand_is_told_and_not_an_error(repo: Repository, ws: Path) -> None:
    shutil.rmtree(ws)
    seen = workspaces.status(repo, str(ws))
    assert (seen.exists, seen.branch) == (False, "agent/a1")


def test_a_folder_deleted_by_hand_comes_back_with_what_was_staged(
    repo: Repository, ws: Path
) -> None:
    (ws / "staged").write_text("staged\n")
    git(ws, "add", "staged")
    shutil.rmtree(ws)
    workspaces.ensure(repo, path=str(ws), branch="agent/a1", agent="a1")
    assert git(ws, "status", "--porcelain") == "A  staged"
    assert (ws / "readme.txt").read_text() == "hello\n"


def test_a_folder_whose_registration_is_gone_too_comes_back_from_the_branch(
    repo: Repository, ws: Path
) -> None:
    admin = git(ws, "rev-parse", "--absolute-git-dir")
    shutil.rmtree(ws)
    shutil.rmtree(admin)
    workspaces.ensure(repo, path=str(ws), branch="agent/a1", agent="a1")
    assert is_good(repo, ws)


def test_removing_leaves_nothing_and_can_be_repeated(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("keep\n")
    (ws / "out").symlink_to(outside)
    (ws / "locked").mkdir()
    (ws / "locked/file").write_text("x")
    (ws / "locked/file").chmod(0o400)
    (ws / "locked").chmod(0o500)
    git(ws, "worktree", "add", "-q", "-b", "inner", "inner")
    for _ in range(2):
        workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
        assert not ws.exists()
        assert git(repo.root, "worktree", "list", "--porcelain").count("worktree ") == 1
        assert git(repo.root, "for-each-ref", "refs/windlass", "refs/heads/agent") == ""
    assert (outside / "keep").read_text() == "keep\n"


def test_include_copies_what_is_ignored_and_asked_for(repo: Repository, ws: Path) -> None:
    root = Path(repo.root)
    patterns = [".env", "cache/", "readme.txt", "untracked", "*.log", "a\0b"]
    (root / ".env").write_text("SECRET=1\n")
    (root / ".env").chmod(0o600)
    (root / "untracked").write_text("not ignored\n")
    (root / "cache/deep").mkdir(parents=True)
    (root / "cache/deep/odd\nname").write_text("x\n")
    (root / "cache/bin").symlink_to("deep/../deep")
    (root / "a.log").write_text("theirs\n")
    (ws / "a.log").write_text("the agent's own\n")
    found = workspaces.include(repo, str(ws), patterns)
    assert found.copied == [".env", "cache/bin", "cache/deep/odd\nname"]
    assert found.left_out == []
    assert (ws / ".env").stat().st_mode & 0o777 == 0o600
    assert (ws / "cache/bin").readlink() == Path("deep/../deep")
    assert (ws / "a.log").read_text() == "the agent's own\n"
    assert workspaces.include(repo, str(ws), patterns) == ([], [])


def test_include_brings_nothing_from_outside_of_the_checkout(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    root, outside = Path(repo.root), tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    (root / "cache/deep").mkdir(parents=True)
    (root / "cache/absolute").symlink_to(outside / "secret")
    (root / "cache/folder").symlink_to(outside)
    (root / "cache/climbs").symlink_to("deep/../../../outside/secret")
    (root / "cache/git").symlink_to("../.git/config")
    os.mkfifo(root / "cache/pipe")
    patterns = ["cache/", "../outside/*", f"{outside}/*", "/../outside/secret"]
    found = workspaces.include(repo, str(ws), patterns)
    assert found.copied == []
    assert {"cache/absolute", "cache/folder", "cache/climbs", "cache/git"} <= {*found.left_out}
    assert [path for path in (ws / "cache").rglob("*") if path.is_symlink()] == []


def test_include_brings_no_git_folder(repo: Repository, ws: Path) -> None:
    root = Path(repo.root)
    for name in ("empty", "full", "plain"):
        (root / "cache" / name).mkdir(parents=True)
        (root / "cache" / name / "file").write_text("x\n")
    for name in ("empty", "full"):
        git(root / "cache" / name, "init", "-q")
    git(root / "cache/full", "add", "file")
    git(root / "cache/full", "commit", "-q", "-m", "first")
    (root / "cache/plain/.Git").mkdir()
    (root / "cache/plain/.Git/config").write_text("[core]\n")
    found = workspaces.include(repo, str(ws), ["*", ".git", ".git/**", "**/.git/*", "cache/"])
    assert "cache/plain/file" in found.copied
    assert [name for name in found.copied if ".git" in name.lower()] == []
    assert [path for path in (ws / "cache").rglob("*") if path.name.lower() == ".git"] == []


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_include_of_more_than_a_workspace_may_begin_with_is_refused(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    for number in range(3):
        (Path(repo.root) / f"{number}.log").write_text("xx")
    monkeypatch.setattr(included, limit, 2)
    with pytest.raises(ConfigError, match=r"workspace\.include names 3 files") as refused:
        workspaces.include(repo, str(ws), ["*.log"])
    assert ".worktreeinclude" in refused.value.hint
    assert list(ws.glob("*.log")) == []


def test_include_never_writes_through_a_linked_folder(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    root = Path(repo.root)
    (root / "cache").mkdir()
    (root / "cache/file").write_text("x\n")
    (tmp_path / "outside").mkdir()
    (ws / "cache").symlink_to(tmp_path / "outside")
    assert workspaces.include(repo, str(ws), ["cache/"]).copied == []
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_workspace_that_became_a_link_is_cut_and_not_followed(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("precious\n")
    shutil.rmtree(ws)
    ws.symlink_to(precious)
    assert not workspaces.status(repo, str(ws)).exists
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert git(repo.root, "ls-tree", "-r", "--name-only", kept.commit, "files") == ""
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    assert not ws.is_symlink()
    assert (precious / "file").read_text() == "precious\n"


def test_a_folder_that_holds_the_repository_is_never_removed(
    repo: Repository, tmp_path: Path
) -> None:
    for path in (tmp_path, Path("/"), Path(repo.root)):
        with pytest.raises(UserError, match="holds the repository"):
            workspaces.remove(repo, path=str(path), branch="x", agent="x")


@pytest.mark.parametrize("taken", ["agent", "agent/a1/more"])
def test_a_branch_in_the_way_of_the_name_is_named(
    repo: Repository, tmp_path: Path, taken: str
) -> None:
    git(repo.root, "branch", taken)
    with pytest.raises(Conflict, match="cannot stand beside"):
        make(repo, tmp_path / "w")
    assert repository.read_ref(repo, "refs/windlass/base/a1") is None


def test_leftovers_of_killed_calls_are_cleared(repo: Repository) -> None:
    left = [
        Path(repo.private) / "tmp-abc",
        Path(repo.git_dir) / "objects" / "tmp_objdir-windlass-abc",
    ]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    workspace_state.clear_leftovers(repo)
    assert not any(folder.exists() for folder in left)
    git(repo.root, "fsck")


def test_a_change_of_the_same_size_in_the_moment_of_the_last_add_is_seen(
    repo: Repository, tmp_path: Path
) -> None:
    """Git tells such a change only by the age of the index, which a copy must therefore keep."""
    git(repo.root, "config", "core.trustctime", "false")  # that clock cannot be set back
    place = tmp_path / "racy"
    workspaces.create(repo, path=str(place), branch="agent/racy", base="main", agent="racy")
    (place / "readme.txt").write_bytes(b"aaaa\n")
    git(place, "add", "readme.txt")
    index = Path(git(place, "rev-parse", "--git-path", "index").strip())
    moment = (place / "readme.txt").stat().st_mtime_ns
    os.utime(place / index, ns=(moment, moment))
    (place / "readme.txt").write_bytes(b"bbbb\n")
    os.utime(place / "readme.txt", ns=(moment, moment))
    assert workspaces.status(repo, str(place)).unstaged == ["readme.txt"]
    assert b"+bbbb" in shown(repo, place)


def test_checkouts_are_known_while_another_git_is_adding_a_worktree(
    repo: Repository, tmp_path: Path
) -> None:
    """`worktree add` makes its admin folder before it fills it; plain git falls over that."""
    make(repo, tmp_path / "w")
    half = Path(repo.git_dir) / "worktrees" / "half"
    half.mkdir()
    (half / "gitdir").write_text(f"{tmp_path}/half/.git\n")
    (half / "commondir").touch()
    plain = subprocess.run(
        ["git", "-C", repo.root, "worktree", "list"], capture_output=True, check=False
    )
    assert plain.returncode != 0
    assert repository.checkouts(repo) == {"main": repo.root, "agent/a1": str(tmp_path / "w")}


def test_in_a_worktree_settings_go_to_single_commands_and_the_repository_is_as_it_was(
    repo: Repository, ws: Path
) -> None:
    """What agents are told to do: git keeps no settings for one worktree unless it is told to."""
    git(ws, "config", "--worktree", "user.name", "Fox", ok=128)
    git(ws, "-c", "user.name=Fox", "commit", "-q", "--allow-empty", "-m", "work")
    assert git(ws, "log", "-1", "--format=%an") == "Fox"
    git(repo.root, "config", "--get", "extensions.worktreeConfig", ok=1)
