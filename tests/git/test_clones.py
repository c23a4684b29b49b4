"""A clone as a workspace: made by us, whole or not there, and dressed as its person would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.git.boxing import box
from tests.git.come_home import fetch
from tests.git.conftest import git, snapshot
from tests.git.differences import difference, materialise, shown
from tests.git.test_changes import busy

from windlass.core.errors import Conflict
from windlass.git import clones, mirror, registered, repository, workspaces
from windlass.git.repository import Repository


def make(repo: Repository, path: Path, agent: str = "c1") -> workspaces.Workspace:
    origin = path.parent.parent / "mirror"
    mirror.refresh(repo, str(origin))
    return workspaces.create(
        repo,
        path=str(path),
        branch=f"agent/{agent}",
        base="main",
        agent=agent,
        origin=str(origin),
    )


@pytest.fixture
def clone(repo: Repository, tmp_path: Path) -> Path:
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    return path


def is_good(repo: Repository, path: Path, agent: str = "c1") -> bool:
    return (
        git(path, "status", "--porcelain") == ""
        and git(path, "symbolic-ref", "HEAD") == f"refs/heads/agent/{agent}"
        and git(path, "rev-parse", "HEAD") == git(repo.root, "rev-parse", f"agent/{agent}")
        and (path / ".git").is_dir()
        and (path / "readme.txt").read_text() == "hello\n"
    )


def inside(repo: Repository, path: Path, *args: str, ok: int = 0) -> str:
    """Runs git as a boxed agent would."""
    assert repo.root
    shown = [str(path.parent.parent / "mirror"), *clones.borrowed(f"{path.parent.parent}/mirror")]
    done = subprocess.run(
        [*box(writable=[path], readable=shown), "git", "-C", path, *args],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == ok, (args, done.returncode, done.stderr)
    return (done.stdout + done.stderr).decode(errors="replace").strip()


def test_a_clone_is_a_checkout_of_its_own_branch_and_holds_no_object(
    repo: Repository, clone: Path
) -> None:
    assert is_good(repo, clone)
    objects = [path for path in (clone / ".git/objects").rglob("*") if path.is_file()]
    assert [path.name for path in objects] == ["alternates"]
    git(clone, "fsck", "--strict")
    assert snapshot(clone) == snapshot(repo.root)
    assert git(repo.root, "worktree", "list").count("\n") == 0


def test_a_clone_knows_the_branches_and_tags_of_the_repository(
    repo: Repository, tmp_path: Path
) -> None:
    git(repo.root, "branch", "topic")
    git(repo.root, "tag", "-a", "-m", "note", "v1")
    git(repo.root, "tag", "light")
    make(repo, tmp_path / "ws" / "c1")
    listed = git(tmp_path / "ws/c1", "for-each-ref", "--format=%(refname) %(objecttype)")
    assert listed.splitlines() == [
        "refs/heads/agent/c1 commit",
        "refs/remotes/origin/HEAD commit",
        "refs/remotes/origin/agent/c1 commit",
        "refs/remotes/origin/main commit",
        "refs/remotes/origin/topic commit",
        "refs/tags/light commit",
        "refs/tags/v1 tag",
    ]
    assert git(tmp_path / "ws/c1", "rev-parse", "v1^{commit}") == git(
        repo.root, "rev-parse", "main"
    )


def test_a_clone_has_the_repositorys_hash(tmp_path: Path, home: Path) -> None:
    assert home.is_dir()
    git(tmp_path, "init", "-q", "--object-format=sha256", "repo")
    (tmp_path / "repo/readme.txt").write_text("hello\n")
    git(tmp_path / "repo", "add", "-A")
    git(tmp_path / "repo", "commit", "-q", "-m", "first")
    repo = repository.discover(str(tmp_path / "repo"))
    make(repo, tmp_path / "ws" / "c1")
    assert is_good(repo, tmp_path / "ws/c1")
    assert len(git(tmp_path / "ws/c1", "rev-parse", "HEAD")) == 64


def test_work_is_done_in_a_box_that_shows_the_clone_and_what_it_borrows(
    repo: Repository, clone: Path
) -> None:
    (clone / "readme.txt").write_text("changed\n")
    inside(repo, clone, "stash")
    inside(repo, clone, "stash", "pop")
    inside(repo, clone, "commit", "-q", "-a", "-m", "work")
    inside(repo, clone, "tag", "-a", "-m", "note", "mine")
    inside(repo, clone, "config", "alias.x", "status")
    inside(repo, clone, "gc", "-q")
    assert inside(repo, clone, "log", "-1", "--format=%an <%ae>: %s") == (
        "Ann Own <ann@example.org>: work"
    )
    assert git(repo.root, "for-each-ref", "refs/tags", "refs/stash") == ""


def test_the_persons_settings_come_along_and_none_that_runs_a_program(
    repo: Repository, tmp_path: Path, home: Path
) -> None:
    with (home / ".gitconfig").open("a") as file:
        file.write("[core]\n\tautocrlf = input\n\tsshCommand = evil\n\tfsmonitor = evil\n")
        file.write('[filter "lfs"]\n\tclean = evil\n[commit]\n\tgpgSign = true\n')
        file.write("[alias]\n\tx = !evil\n[credential]\n\thelper = evil\n[pull]\n\trebase = true\n")
    git(repo.root, "config", "user.name", 'Bo "the\tquote" Own \\ ; #')
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    (home / ".gitconfig").unlink()
    assert git(path, "config", "user.name") == 'Bo "the\tquote" Own \\ ; #'
    assert git(path, "config", "user.email") == "ann@example.org"
    assert git(path, "config", "core.autocrlf") == "input"
    assert git(path, "config", "pull.rebase") == "true"
    assert "evil" not in (path / ".git/config").read_text()
    assert "gpg" not in (path / ".git/config").read_text().lower()


def test_line_endings_are_checked_out_as_the_person_has_them(
    repo: Repository, tmp_path: Path, home: Path
) -> None:
    with (home / ".gitconfig").open("a") as file:
        file.write("[core]\n\tautocrlf = true\n")
    make(repo, tmp_path / "ws" / "c1")
    assert (tmp_path / "ws/c1/readme.txt").read_bytes() == b"hello\r\n"
    assert git(tmp_path / "ws/c1", "status", "--porcelain") == ""


def test_what_the_person_ignores_is_ignored_in_the_clone(
    repo: Repository, tmp_path: Path, home: Path
) -> None:
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text(".DS_Store")
    (home / ".config/git/attributes").write_text("*.bin -diff\n")
    (Path(repo.git_dir) / "info").mkdir(exist_ok=True)
    (Path(repo.git_dir) / "info/exclude").write_text("notes\n")
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    for name in (".DS_Store", "notes"):
        (path / name).write_text("x\n")
    assert inside(repo, path, "status", "--porcelain") == ""
    assert inside(repo, path, "check-attr", "diff", "a.bin") == "a.bin: diff: unset"


def test_the_persons_hooks_come_along_and_do_not_run_while_it_is_made(
    repo: Repository, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    hooks = Path(repo.git_dir) / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-checkout", "reference-transaction", "pre-push.sample"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / name).chmod(0o755)
    (hooks / "post-merge").write_text("not a program\n")
    real = tmp_path / "script"
    real.write_text("#!/bin/sh\nexit 1\n")
    real.chmod(0o755)
    (hooks / "commit-msg").symlink_to(real)
    path = tmp_path / "ws" / "c1"
    make(repo, path)
    assert not marker.exists()
    names = sorted(entry.name for entry in (path / ".git/hooks").iterdir())
    assert names == ["commit-msg", "post-checkout", "pre-commit", "reference-transaction"]
    git(path, "commit", "--allow-empty", "-m", "x", ok=1)
    assert marker.exists(), "plain git in the clone runs them, so this test can fail"


@pytest.mark.parametrize(
    ("chosen", "found"),
    [("tools/hooks", "tools/hooks"), ("{root}/tools", "tools"), ("/elsewhere", ""), ("~/h", "")],
)
def test_a_hooks_folder_comes_along_where_it_is_part_of_the_tree(
    repo: Repository, tmp_path: Path, chosen: str, found: str
) -> None:
    git(repo.root, "config", "core.hooksPath", chosen.format(root=repo.root))
    make(repo, tmp_path / "ws" / "c1")
    config = tmp_path / "ws/c1/.git/config"
    said = subprocess.run(
        ["git", "config", "--file", config, "core.hooksPath"], capture_output=True, check=False
    )
    assert said.stdout.decode().strip() == found
    assert not (tmp_path / "ws/c1/.git/hooks").exists()


def test_a_repository_that_borrows_itself_is_brought_whole(
    tmp_path: Path, repo: Repository
) -> None:
    git(tmp_path, "clone", "-q", "--shared", repo.root, "second")
    git(tmp_path, "clone", "-q", "--shared", "second", "third")
    git(tmp_path / "third", "commit", "-q", "--allow-empty", "-m", "third")
    borrower = repository.discover(str(tmp_path / "third"))
    path = tmp_path / "ws" / "c1"
    make(borrower, path)
    assert inside(borrower, path, "log", "--format=%s") == "third\nfirst"
    assert inside(borrower, path, "fsck") == ""


def test_a_mirror_behind_a_link_is_named_by_both_its_paths(
    tmp_path: Path, repo: Repository
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    origin = str(tmp_path / "linked/mirror")
    mirror.refresh(repo, origin)
    assert clones.borrowed(origin) == (f"{origin}/objects", f"{tmp_path}/real/mirror/objects")


def test_creating_twice_changes_nothing_of_the_agents_work(repo: Repository, clone: Path) -> None:
    (clone / "readme.txt").write_text("work\n")
    git(clone, "commit", "-q", "-a", "-m", "work")
    git(clone, "config", "x.y", "z")
    before = snapshot(clone), (clone / ".git/config").read_text(), git(clone, "rev-parse", "HEAD")
    make(repo, clone)
    after = snapshot(clone), (clone / ".git/config").read_text(), git(clone, "rev-parse", "HEAD")
    assert before == after


@pytest.mark.slow
def test_many_clones_are_made_at_once_and_each_of_them_twice(
    repo: Repository, tmp_path: Path
) -> None:
    names = [f"n{number}" for number in range(10)]

    def again(name: str) -> None:
        where, origin = str(tmp_path / "ws" / name), str(tmp_path / "mirror")
        workspaces.ensure(repo, path=where, branch=f"agent/{name}", agent=name, origin=origin)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda name: make(repo, tmp_path / "ws" / name, name), names))
        assert all(is_good(repo, tmp_path / "ws" / name, name) for name in names)
        shutil.rmtree(tmp_path / "ws")
        list(pool.map(again, names * 2))
    assert all(is_good(repo, tmp_path / "ws" / name, name) for name in names)
    again("n0")
    assert sorted(path.name for path in (tmp_path / "ws").iterdir()) == names


@pytest.mark.parametrize(
    "moment",
    [
        "windlass.git.repository.set_ref",
        "windlass.git.registered.note",
        "windlass.git.clones._write_git_folder",
        "windlass.git.attire.copy_hooks",
        "windlass.git.clones.run",
        "windlass.git.clones._settle",
    ],
)
def test_a_creation_that_was_killed_is_completed_by_the_next(
    repo: Repository, tmp_path: Path, moment: str
) -> None:
    """Killed for good: what the call would have tidied away itself is still there."""
    path = tmp_path / "ws" / "c1"
    script = f"""
import os, sys
from tests.git.test_clones import make
from windlass.git import repository, clones, workspaces
from pathlib import Path
def die(*args, **more): os._exit(9)
where, _, name = {moment!r}.rpartition(".")
module = sys.modules[where] if where in sys.modules else __import__(where, fromlist=[name])
setattr(module, name, die)
if name == "set_ref":
    workspaces.set_ref = clones.set_ref = die
make(repository.discover({repo.root!r}), Path({str(path)!r}))
"""
    killed = subprocess.run(
        [sys.executable, "-c", script], check=False, cwd=Path(__file__).parents[2]
    )
    assert killed.returncode == 9
    assert not (path / ".git").exists()
    make(repo, path)
    assert is_good(repo, path)
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_with_something_in_it_is_refused_however_often(
    repo: Repository, tmp_path: Path
) -> None:
    path = tmp_path / "ws" / "c1"
    path.mkdir(parents=True)
    make(repo, path)
    shutil.rmtree(path)
    path.mkdir()
    (path / "file").write_text("mine\n")
    for _ in range(2):
        with pytest.raises(Conflict, match="not empty"):
            make(repo, path)
    assert [entry.name for entry in path.iterdir()] == ["file"]


def test_a_folder_that_was_deleted_comes_back_from_the_branch(
    repo: Repository, clone: Path
) -> None:
    shutil.rmtree(clone)
    origin = str(clone.parent.parent / "mirror")
    workspaces.ensure(repo, path=str(clone), branch="agent/c1", agent="c1", origin=origin)
    assert is_good(repo, clone)


def test_a_clone_that_lost_its_git_folder_gets_one_and_keeps_its_files(
    repo: Repository, clone: Path
) -> None:
    (clone / "readme.txt").write_text("work\n")
    (clone / "new").write_text("new\n")
    shutil.rmtree(clone / ".git")
    origin = str(clone.parent.parent / "mirror")
    workspaces.ensure(repo, path=str(clone), branch="agent/c1", agent="c1", origin=origin)
    assert git(clone, "status", "--porcelain") == " M readme.txt\n?? new"


@pytest.mark.parametrize("name", [".gitattributes", ".gitignore", "sub/.gitattributes"])
def test_a_clone_that_lost_its_git_folder_gets_one_whatever_lies_in_it(
    repo: Repository, clone: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Its agent wrote all of it: git outside of a box would wait at a pipe for ever."""
    monkeypatch.setattr(clones, "LONG", 10.0)
    (clone / "sub").mkdir()
    (clone / "sub" / "tracked").write_text("x\n")
    git(clone, "add", "sub")
    git(clone, "commit", "-q", "-m", "sub")
    fetch(repo, clone)
    shutil.rmtree(clone / ".git")
    (clone / name).unlink(missing_ok=True)
    os.mkfifo(clone / name)
    origin = str(clone.parent.parent / "mirror")
    workspaces.ensure(repo, path=str(clone), branch="agent/c1", agent="c1", origin=origin)
    (clone / name).unlink()
    git(clone, "checkout", "-q", "--", ".")
    assert is_good(repo, clone)


def test_a_clone_that_became_a_link_is_not_led_out(repo: Repository, clone: Path) -> None:
    elsewhere = clone.parent.parent / "elsewhere"
    clone.rename(elsewhere)
    shutil.rmtree(elsewhere / ".git")
    clone.symlink_to(elsewhere)
    origin = str(clone.parent.parent / "mirror")
    with pytest.raises(Conflict, match="no folder any more"):
        workspaces.ensure(repo, path=str(clone), branch="agent/c1", agent="c1", origin=origin)
    assert not (elsewhere / ".git").exists()


def test_a_git_folder_that_became_a_link_is_not_taken_for_a_clone(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    shutil.rmtree(clone / ".git")
    (clone / ".git").symlink_to(Path(repo.git_dir))
    with pytest.raises(Conflict, match="no clone any more"):
        make(repo, clone)
    assert git(repo.root, "status", "--porcelain") == ""
    assert tmp_path.exists()


def test_removing_leaves_nothing_and_can_be_repeated(repo: Repository, clone: Path) -> None:
    (clone.parent / ".c1.making-abc").mkdir()
    for _ in range(2):
        workspaces.remove(repo, path=str(clone), branch="agent/c1", agent="c1")
        assert list(clone.parent.iterdir()) == []
        assert git(repo.root, "for-each-ref", "refs/windlass", "refs/heads/agent") == ""
        assert registered.clones(repo) == {}


def test_what_a_clone_borrows_survives_the_repositorys_own_tidying(
    repo: Repository, clone: Path
) -> None:
    git(repo.root, "commit", "-q", "--amend", "-m", "other")
    git(repo.root, "update-ref", "-d", "refs/heads/agent/c1")
    git(repo.root, "reflog", "expire", "--expire=now", "--all")
    git(repo.root, "gc", "-q", "--prune=now")
    git(clone, "fsck", "--strict")


def test_a_clones_branch_counts_as_checked_out(repo: Repository, clone: Path) -> None:
    assert repository.checkouts(repo) == {"main": repo.root, "agent/c1": str(clone)}
    git(clone, "checkout", "-q", "--detach")
    assert repository.checkouts(repo)["agent/c1"] == str(clone)
    with pytest.raises(Conflict, match=str(clone)):
        workspaces.create(
            repo, path=str(clone.parent / "w"), branch="agent/c1", base="main", agent="other"
        )


def test_a_clone_finds_its_objects_again_after_the_repository_was_moved(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    Path(repo.root).rename(tmp_path / "moved")
    moved = repository.discover(str(tmp_path / "moved"))
    workspaces.follow(moved, str(clone))
    git(clone, "fsck", "--strict")
    assert workspaces.status(moved, str(clone)).clean


def test_ignored_files_are_brought_along_into_a_clone(repo: Repository, clone: Path) -> None:
    (Path(repo.root) / ".env").write_text("SECRET=1\n")
    assert workspaces.include(repo, str(clone), [".env"]).copied == [".env"]
    assert workspaces.include(repo, str(clone), [".env"]).copied == []


def test_a_clone_of_a_repository_whose_history_is_cut_off_is_cut_off_too(
    repo: Repository, tmp_path: Path
) -> None:
    git(repo.root, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.root}", "short")
    short = repository.discover(str(tmp_path / "short"))
    make(short, tmp_path / "ws" / "c1")
    assert git(tmp_path / "ws/c1", "log", "--format=%s") == "second"
    git(tmp_path / "ws/c1", "fsck")


@pytest.mark.parametrize("where", ["in the clone", "at home"])
def test_a_clone_is_told_of_like_a_worktree(
    repo: Repository, clone: Path, ws: Path, tmp_path: Path, where: str
) -> None:
    for number, place in enumerate((clone, ws)):
        busy(place)
        git(place, "stash", "store", "HEAD")
        if where == "at home" and place == clone:
            fetch(repo, clone)
        materialise(repo, place, tmp_path / f"two{number}")
    seen, wanted = workspaces.status(repo, str(clone)), workspaces.status(repo, str(ws))
    assert seen.head == git(clone, "rev-parse", "HEAD")
    assert seen.branch == "agent/c1"
    assert [seen.staged, seen.unstaged, seen.untracked, seen.nested] == [
        wanted.staged,
        wanted.unstaged,
        wanted.untracked,
        wanted.nested,
    ]
    if where == "in the clone":
        assert b"b/committed" in difference(repo, clone).uncommitted, "a merge would not take it"
        return
    for stat in (True, False):
        assert difference(repo, clone, stat=stat) == difference(repo, ws, stat=stat)
    assert snapshot(tmp_path / "two0") == snapshot(tmp_path / "two1")


def test_a_clone_that_is_gone_is_told_and_not_an_error(repo: Repository, clone: Path) -> None:
    shutil.rmtree(clone)
    seen = workspaces.status(repo, str(clone))
    assert (seen.exists, seen.clean) == (False, True)


def test_looking_at_a_clone_changes_nothing_in_it(repo: Repository, clone: Path) -> None:
    (clone / "readme.txt").write_text("edited\n")
    git(clone, "commit", "-q", "-a", "-m", "work")

    def files() -> dict[str, tuple[int, int]]:
        found = [path for path in clone.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}

    before = files()
    workspaces.status(repo, str(clone))
    shown(repo, clone, stat=True)
    assert files() == before
