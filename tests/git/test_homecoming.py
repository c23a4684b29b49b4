"""What a clone committed comes home, and nothing else does, whatever its agent made of the clone.

Every attack is shown to work on plain git, so that these tests can fail.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.git.boxing import box
from tests.git.come_home import fetch, sending
from tests.git.conftest import git
from tests.git.differences import shown

from windlass.core.errors import Conflict, GitError, WindlassError
from windlass.git import homecoming, mirror, repository, workspace_state, workspaces
from windlass.git.arrival import EVERYTHING
from windlass.git.repository import Repository
from windlass.git.salvage import salvage


@pytest.fixture
def clone(repo: Repository, tmp_path: Path) -> Path:
    path, origin = tmp_path / "ws" / "c1", str(tmp_path / "mirror")
    mirror.refresh(repo, origin)
    workspaces.create(
        repo, path=str(path), branch="agent/c1", base="main", agent="c1", origin=origin
    )
    return path


def commit(where: Path, name: str) -> str:
    (where / name).write_text(f"{name}\n")
    git(where, "add", name)
    git(where, "commit", "-q", "-m", f"add {name}")
    return git(where, "rev-parse", "HEAD")


def home_of(repo: Repository) -> str:
    return git(repo.root, "rev-parse", "agent/c1")


def test_what_is_committed_comes_home_once(repo: Repository, clone: Path) -> None:
    assert fetch(repo, clone) is None
    tip = commit(clone, "work")
    git(clone, "tag", "mine")
    git(clone, "branch", "side")
    assert fetch(repo, clone) == tip
    assert fetch(repo, clone) is None
    assert home_of(repo) == tip
    assert git(repo.root, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags") == (
        "refs/heads/agent/c1\nrefs/heads/main"
    )
    assert not (Path(repo.git_dir) / "FETCH_HEAD").exists()
    git(repo.root, "fsck", "--strict")


@pytest.mark.parametrize("when", ["before the clone", "since"])
def test_a_broken_branch_of_another_keeps_no_work_from_coming_home(
    repo: Repository, tmp_path: Path, when: str
) -> None:
    """A full disk, or a `gc` at the wrong moment, leaves a ref that names nothing."""
    broken = Path(repo.git_dir) / "refs/heads/broken"
    if when == "before the clone":
        broken.write_text("1" * 40 + "\n")
    path, origin = tmp_path / "ws" / "c1", str(tmp_path / "mirror")
    mirror.refresh(repo, origin)
    workspaces.create(
        repo, path=str(path), branch="agent/c1", base="main", agent="c1", origin=origin
    )
    broken.write_text("1" * 40 + "\n")
    first = commit(path, "work")
    assert fetch(repo, path) == first
    mirror.refresh(repo, origin)
    second = commit(path, "more")
    assert fetch(repo, path) == second
    assert home_of(repo) == second
    git(path, "log", "--oneline", "--all")


def test_work_that_is_large_comes_home_as_one_pack(repo: Repository, clone: Path) -> None:
    for number in range(300):
        (clone / f"file{number}").write_text(str(number))
    git(clone, "add", "-A")
    tip = commit(clone, "many")
    assert fetch(repo, clone) == tip
    packs = list((Path(repo.git_dir) / "objects/pack").iterdir())
    assert [file.suffix for file in packs if file.suffix == ".pack"] == [".pack"]
    assert [file for file in packs if file.suffix == ".keep"] == [], "nothing is locked for ever"
    git(repo.root, "fsck", "--strict")


def test_history_that_was_written_anew_comes_home_too(repo: Repository, clone: Path) -> None:
    first = commit(clone, "work")
    fetch(repo, clone)
    git(clone, "commit", "-q", "--amend", "-m", "better")
    assert fetch(repo, clone) == git(clone, "rev-parse", "HEAD")
    assert first in git(repo.root, "reflog", "show", "--format=%H", "agent/c1")


@pytest.mark.parametrize("how", ["packed", "sha256", "shallow"])
def test_it_comes_home_from_every_kind_of_clone(repo: Repository, tmp_path: Path, how: str) -> None:
    main = repo
    if how == "sha256":
        git(tmp_path, "init", "-q", "--object-format=sha256", "other")
        commit(tmp_path / "other", "first")
        main = repository.discover(str(tmp_path / "other"))
    if how == "shallow":
        git(repo.root, "commit", "-q", "--allow-empty", "-m", "second")
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.root}", "other")
        main = repository.discover(str(tmp_path / "other"))
    origin = str(tmp_path / "mirror")
    mirror.refresh(main, origin)
    path = tmp_path / "ws" / "c1"
    workspaces.create(
        main, path=str(path), branch="agent/c1", base="main", agent="c1", origin=origin
    )
    tip = commit(path, "work")
    if how == "packed":
        git(path, "gc", "-q")
    assert fetch(main, path) == tip
    git(main.root, "fsck")


def test_a_deleted_branch_leaves_the_home_as_it_was(repo: Repository, clone: Path) -> None:
    tip = commit(clone, "work")
    fetch(repo, clone)
    git(clone, "checkout", "-q", "--detach")
    git(clone, "branch", "-q", "-D", "agent/c1")
    assert fetch(repo, clone) is None
    assert home_of(repo) == tip


def test_a_branch_that_somebody_checked_out_is_not_moved_under_them(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    before = home_of(repo)
    commit(clone, "work")
    git(repo.root, "worktree", "add", "-q", tmp_path / "person", "agent/c1")
    with pytest.raises(Conflict, match="checked out") as refused:
        fetch(repo, clone)
    assert str(tmp_path / "person") in refused.value.message
    assert home_of(repo) == before
    assert git(tmp_path / "person", "status", "--porcelain") == ""


def test_a_merge_that_moves_the_branch_meanwhile_wins(repo: Repository, clone: Path) -> None:
    """The clone moved with it, so what is fetched again is what the merge made."""
    commit(clone, "work")
    merged: list[str] = []

    def slowly(_tip: str, _size: int) -> None:
        merged.append(commit(clone, "merged"))
        git(repo.root, "fetch", "-q", clone, "+agent/c1:agent/c1")

    assert fetch(repo, clone, admit=slowly) is None
    assert [home_of(repo)] == merged


def test_the_signature_moves_with_the_branch_and_with_nothing_else(
    repo: Repository, clone: Path
) -> None:
    seen = [homecoming.signature(str(clone), "agent/c1")]

    def moved() -> bool:
        seen.append(homecoming.signature(str(clone), "agent/c1"))
        return seen[-1] != seen[-2]

    (clone / "readme.txt").write_text("edited\n")
    git(clone, "stash")
    git(clone, "checkout", "-q", "-b", "other")
    commit(clone, "elsewhere")
    assert not moved()
    git(clone, "checkout", "-q", "agent/c1")
    commit(clone, "work")
    assert moved()
    git(clone, "pack-refs", "--all")
    assert moved()
    assert fetch(repo, clone) is not None
    assert not moved()


def test_a_signature_follows_no_link_and_waits_for_nothing(clone: Path) -> None:
    for odd in (lambda at: at.symlink_to("/dev/zero"), os.mkfifo):
        ref = clone / ".git/refs/heads/agent"
        shutil.rmtree(ref, ignore_errors=True)
        ref.mkdir()
        odd(ref / "c1")
        homecoming.signature(str(clone), "agent/c1")
    shutil.rmtree(clone)
    assert homecoming.signature(str(clone), "agent/c1") == ((), (), ())


def test_every_object_is_checked_before_it_is_kept(repo: Repository, clone: Path) -> None:
    """A tree with an entry that climbs out of the work tree, as only an attacker writes it."""
    blob = git(clone, "hash-object", "-w", "--stdin", stdin=b"x\n")
    raw = b"100644 ..\0" + bytes.fromhex(blob)
    tree = git(clone, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=raw)
    bad = git(clone, "commit-tree", tree, "-p", "HEAD", "-m", "bad")
    git(clone, "update-ref", "refs/heads/agent/c1", bad)
    before = home_of(repo)
    with pytest.raises(GitError, match="does not come home") as told:
        fetch(repo, clone)
    assert f"`wl exec {clone.name} -- git fsck`" in told.value.hint, "plain git obeys the clone"
    assert home_of(repo) == before
    git(repo.root, "cat-file", "-e", tree, ok=1)
    git(repo.root, "fetch", "-q", clone, "agent/c1")
    git(repo.root, "cat-file", "-e", tree)


def test_a_tip_that_is_no_commit_is_refused(repo: Repository, clone: Path) -> None:
    blob = git(clone, "hash-object", "-w", "--stdin", stdin=b"x\n")
    (clone / ".git/refs/heads/agent").mkdir(parents=True, exist_ok=True)
    (clone / ".git/refs/heads/agent/c1").write_text(f"{blob}\n")
    with pytest.raises(WindlassError):
        fetch(repo, clone)
    assert git(repo.root, "cat-file", "-t", home_of(repo)) == "commit"


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer gits fetch nothing lazily while they send, unless they are told to."""
    monkeypatch.setenv("GIT_NO_LAZY_FETCH", "0")


@pytest.fixture
def secret(tmp_path: Path) -> tuple[Path, str]:
    """Another repository, with a commit that the agent knows and must not get."""
    path = tmp_path / "secret"
    git(tmp_path, "init", "-q", path)
    return path, commit(path, "secret")


Leak = Callable[[Path, Path, str], None]
LEAKS: list[Leak] = []


def leak(function: Leak) -> Leak:
    """Registers a leak: given the clone, the other repository and its commit."""
    LEAKS.append(function)
    return function


def point(clone: Path, oid: str) -> None:
    ref = clone / ".git/refs/heads/agent/c1"
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(f"{oid}\n")


@leak
def hostile_alternates(clone: Path, secret: Path, oid: str) -> None:
    with (clone / ".git/objects/info/alternates").open("a") as file:
        file.write(f"{secret}/.git/objects\n")
    point(clone, oid)


@leak
def symlinked_ref(clone: Path, secret: Path, oid: str) -> None:
    hostile_alternates(clone, secret, oid)
    (clone / ".git/refs/heads/agent/c1").unlink()
    branch = git(secret, "symbolic-ref", "HEAD")
    (clone / ".git/refs/heads/agent/c1").symlink_to(secret / ".git" / branch)


@leak
def git_folder_is_a_link(clone: Path, secret: Path, oid: str) -> None:
    git(secret, "update-ref", "refs/heads/agent/c1", oid)
    shutil.rmtree(clone / ".git")
    (clone / ".git").symlink_to(secret / ".git")


@leak
def git_folder_is_a_gitfile(clone: Path, secret: Path, oid: str) -> None:
    git(secret, "update-ref", "refs/heads/agent/c1", oid)
    shutil.rmtree(clone / ".git")
    (clone / ".git").write_text(f"gitdir: {secret}/.git\n")


@leak
def objects_are_a_link(clone: Path, secret: Path, oid: str) -> None:
    shutil.rmtree(clone / ".git/objects")
    (clone / ".git/objects").symlink_to(secret / ".git/objects")
    point(clone, oid)


@leak
def one_object_folder_after_another_is_a_link(clone: Path, secret: Path, oid: str) -> None:
    for folder in (secret / ".git/objects").iterdir():
        target = clone / ".git/objects" / folder.name
        if folder.name not in ("info", "pack") and not target.exists():
            target.symlink_to(folder)
    point(clone, oid)


@leak
def a_pack_is_a_link(clone: Path, secret: Path, oid: str) -> None:
    git(secret, "repack", "-q", "-a", "-d")
    for file in (secret / ".git/objects/pack").iterdir():
        (clone / ".git/objects/pack" / file.name).symlink_to(file)
    point(clone, oid)


@leak
def packed_refs_are_a_link(clone: Path, secret: Path, oid: str) -> None:
    hostile_alternates(clone, secret, oid)
    (clone / ".git/refs/heads/agent/c1").unlink()
    git(secret, "update-ref", "refs/heads/agent/c1", oid)
    git(secret, "pack-refs", "--all")
    (clone / ".git/packed-refs").unlink()
    (clone / ".git/packed-refs").symlink_to(secret / ".git/packed-refs")


@leak
def head_is_a_link_and_the_branch_follows_it(clone: Path, secret: Path, oid: str) -> None:
    hostile_alternates(clone, secret, oid)
    (clone / ".git/refs/heads/agent/c1").write_text("ref: refs/heads/stolen\n")
    (clone / ".git/HEAD").unlink()
    branch = git(secret, "symbolic-ref", "HEAD")
    (clone / ".git/HEAD").symlink_to("refs/heads/agent/c1")
    (clone / ".git/refs/heads/stolen").symlink_to(secret / ".git" / branch)


@leak
def refs_are_a_link(clone: Path, secret: Path, oid: str) -> None:
    hostile_alternates(clone, secret, oid)
    git(secret, "update-ref", "refs/heads/agent/c1", oid)
    shutil.rmtree(clone / ".git/refs")
    (clone / ".git/refs").symlink_to(secret / ".git/refs")


@leak
def the_common_folder_is_elsewhere(clone: Path, secret: Path, oid: str) -> None:
    git(secret, "update-ref", "refs/heads/agent/c1", oid)
    (clone / ".git/commondir").write_text(f"{secret}/.git\n")


@leak
def a_promised_object_is_elsewhere(clone: Path, secret: Path, oid: str) -> None:
    """A partial clone fetches what it lacks, while it is being fetched from."""
    git(secret, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(secret, "config", "uploadpack.allowFilter", "true")
    git(clone, "config", "extensions.partialClone", "evil")
    git(clone, "config", "remote.evil.promisor", "true")
    git(clone, "config", "remote.evil.url", f"file://{secret}")
    git(clone, "config", "core.repositoryFormatVersion", "1")
    git(clone, "config", "protocol.file.allow", "always")
    git(clone, "fetch", "-q", "--filter=tree:0", "evil", git(secret, "symbolic-ref", "HEAD"))
    point(clone, oid)


@pytest.mark.parametrize("prepare", LEAKS, ids=lambda one: one.__name__)
def test_another_repository_does_not_leak_through_a_clone(
    repo: Repository, clone: Path, secret: tuple[Path, str], prepare: Leak
) -> None:
    path, oid = secret
    kept = git(path, "rev-parse", "HEAD:secret")
    prepare(clone, path, oid)
    before = home_of(repo)
    if prepare is the_common_folder_is_elsewhere:  # which nobody asks
        assert fetch(repo, clone) is None
    else:
        with pytest.raises(WindlassError):
            fetch(repo, clone)
    assert home_of(repo) == before
    git(repo.root, "cat-file", "-e", kept, ok=1)

    # Nor does it at the end, nor while it is looked at.
    workspaces.status(repo, str(clone))
    assert b"secret" not in shown(repo, clone)
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={}, branch="agent/c1")
    git(repo.root, "cat-file", "-e", kept, ok=1)


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize("prepare", LEAKS, ids=lambda one: one.__name__)
def test_it_does_leak_through_plain_git(
    repo: Repository, clone: Path, secret: tuple[Path, str], prepare: Leak
) -> None:
    path, oid = secret
    kept = git(path, "rev-parse", "HEAD:secret")
    prepare(clone, path, oid)
    git(repo.root, "fetch", "-q", "--no-auto-gc", str(clone), "+agent/c1:refs/heads/stolen")
    git(repo.root, "cat-file", "-e", kept)


def test_each_leak_is_stopped_by_the_box_itself(
    repo: Repository, clone: Path, secret: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look beforehand can be outrun; the box cannot."""
    path, oid = secret
    kept = git(path, "rev-parse", "HEAD:secret")
    monkeypatch.setattr(homecoming, "_refuse_odd", lambda *_: None)
    shutil.copytree(clone, clone.parent / "spare", symlinks=True)
    for prepare in LEAKS:
        shutil.rmtree(clone)
        shutil.copytree(clone.parent / "spare", clone, symlinks=True)
        prepare(clone, path, oid)
        try:
            tip = fetch(repo, clone)
        except WindlassError:
            tip = None
        assert tip is None, prepare
        git(repo.root, "cat-file", "-e", kept, ok=1)


Trap = Callable[[Path, str], None]
TRAPS: list[Trap] = []


def trap(function: Trap) -> Trap:
    """Registers a trap: given the clone and a command that leaves a mark."""
    TRAPS.append(function)
    return function


@trap
def lazy_fetch_runs_a_program(clone: Path, command: str) -> None:
    git(clone, "config", "extensions.partialClone", "evil")
    git(clone, "config", "remote.evil.promisor", "true")
    git(clone, "config", "remote.evil.url", f"ext::{command}")
    git(clone, "config", "protocol.ext.allow", "always")
    git(clone, "config", "core.repositoryFormatVersion", "1")
    tree = git(clone, "mktree", "--missing", stdin=b"100644 blob " + b"2" * 40 + b"\tx\n")
    tip = git(clone, "commit-tree", tree, "-m", "lacks a blob")
    point(clone, tip)


@trap
def upload_pack_hook_in_the_environment_of_the_box(clone: Path, command: str) -> None:
    commit(clone, "work")
    (clone.parent.parent / "home/.gitconfig").write_text(
        f"[uploadpack]\n\tpackObjectsHook = {command}\n"
    )


@trap
def reference_hooks(clone: Path, command: str) -> None:
    commit(clone, "work")
    hooks = clone.parent.parent / "repo/.git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\n{command}\n")
        (hooks / name).chmod(0o755)


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize("prepare", TRAPS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("plainly", [False, True], ids=["ours", "plain git, which runs it"])
def test_nothing_of_a_clone_is_run_while_it_comes_home(
    repo: Repository, clone: Path, tmp_path: Path, prepare: Trap, plainly: bool
) -> None:
    marker, program = tmp_path / "marker", clone / "mark"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    program.chmod(0o755)
    prepare(clone, str(program))
    marker.unlink(missing_ok=True)
    if plainly:
        args = ["fetch", "-q", "--no-auto-gc", str(clone), "+agent/c1:refs/heads/x"]
        subprocess.run(["git", *args], cwd=repo.root, capture_output=True, check=False)
    else:
        # The box sees where the mark would be made, or nothing could be made there anyway.
        try:
            fetch(repo, clone, box=lambda _lent: box(writable=[tmp_path]))
        except GitError:
            assert prepare is lazy_fetch_runs_a_program
    assert marker.exists() is plainly


def pipe(at: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    if at.is_dir():
        shutil.rmtree(at)
    at.unlink(missing_ok=True)
    os.mkfifo(at)


@pytest.fixture
def unblocked(tmp_path: Path) -> Iterator[None]:
    """Ends whoever waits for a pipe when a test failed, so that the run can end."""
    yield
    for here, _, names in os.walk(tmp_path):
        for name in names:
            at = Path(here) / name
            if at.is_fifo():
                os.close(os.open(at, os.O_RDWR | os.O_NONBLOCK))


@pytest.mark.usefixtures("unblocked")
@pytest.mark.parametrize(
    "name",
    [
        *("HEAD", "config", "packed-refs", "refs/heads/agent/c1", "objects/info/alternates"),
        *("index", "shallow", "objects", "info/exclude", "logs/HEAD", "commondir"),
    ],
)
def test_a_pipe_in_place_of_a_file_holds_nobody_up(
    repo: Repository, clone: Path, name: str
) -> None:
    commit(clone, "work")
    pipe(clone / ".git" / name)
    done = threading.Event()

    def everything() -> None:
        with contextlib.suppress(WindlassError):
            fetch(repo, clone, timeout=2)
        homecoming.signature(str(clone), "agent/c1")
        workspaces.status(repo, str(clone))
        shown(repo, clone, stat=True)
        salvage(repo, path=str(clone), agent="c1", stamp="1", meta={}, branch="agent/c1")
        workspaces.remove(repo, path=str(clone), branch="agent/c1", agent="c1")
        done.set()

    worker = threading.Thread(target=everything, daemon=True)
    worker.start()
    assert done.wait(50)
    worker.join()
    assert not clone.exists()


@pytest.mark.usefixtures("unblocked")
@pytest.mark.parametrize("name", ["the object", "a pack", "an index of a pack"])
def test_a_pipe_where_git_looks_for_an_object_is_not_waited_for(
    repo: Repository, clone: Path, name: str
) -> None:
    before = home_of(repo)
    tip = commit(clone, "work")
    if name == "the object":
        pipe(clone / ".git/objects" / tip[:2] / tip[2:])
    else:
        git(clone, "repack", "-q", "-a", "-d")
        suffix = ".pack" if name == "a pack" else ".idx"
        (pack,) = (clone / ".git/objects/pack").glob(f"*{suffix}")
        pipe(pack)
    with pytest.raises(GitError, match="does not come home") as refused:
        fetch(repo, clone, timeout=20)
    assert "did not finish" not in refused.value.message
    assert home_of(repo) == before
    assert workspaces.status(repo, str(clone)).exists
    salvage(repo, path=str(clone), agent="c1", stamp="1", meta={}, branch="agent/c1")


@pytest.mark.usefixtures("unblocked")
def test_pipes_beside_the_objects_keep_no_work_from_coming_home(
    repo: Repository, clone: Path
) -> None:
    tip = commit(clone, "work")
    objects = clone / ".git/objects"
    pipe(objects / "pack" / f"pack-{'0' * 40}.idx")
    pipe(objects / "pack" / f"pack-{'0' * 40}.pack")
    pipe(objects / "pack/multi-pack-index")
    pipe(objects / "info/commit-graph")
    assert fetch(repo, clone, timeout=20) == tip


def test_what_is_lent_of_a_clone_is_gone_afterwards(
    repo: Repository, clone: Path, tmp_path: Path
) -> None:
    commit(clone, "work")
    during: list[list[str]] = []

    def look(_tip: str, _size: int) -> None:
        during.append(sorted(path.name for path in tmp_path.glob("lent-*/objects/*")))

    fetch(repo, clone, admit=look)
    assert [names for names in during if names] != []
    assert list(tmp_path.glob("lent-*")) == []


@pytest.mark.usefixtures("unblocked")
def test_the_configuration_of_a_clone_is_not_read(repo: Repository, clone: Path) -> None:
    tip = commit(clone, "work")
    pipe(clone / "pipe")
    git(clone, "config", "include.path", f"{clone}/pipe")
    assert fetch(repo, clone, timeout=60) == tip


def test_many_refs_are_not_even_asked_for(repo: Repository, clone: Path) -> None:
    tip = commit(clone, "work")
    lines = [f"{tip} refs/heads/x{number:06}" for number in range(20_000)]
    packed = (clone / ".git/packed-refs").read_text()
    (clone / ".git/packed-refs").write_text(
        "\n".join(["# pack-refs with: sorted", *sorted([*packed.splitlines()[1:], *lines])]) + "\n"
    )
    log = clone / "trace"
    usual, traced = sending(clone, allowed=EVERYTHING), ["--setenv", "GIT_TRACE", str(log), "--"]
    fetch(repo, clone, box=lambda lent: [*usual(lent)[:-1], *traced])
    assert home_of(repo) == tip
    assert workspace_state.read_small(str(log)) is None, "the environment inside is ours alone"
    assert git(repo.root, "for-each-ref", "--count=3", "refs/heads/x*") == ""


def test_grafts_and_replacements_in_a_clone_mean_nothing_here(
    repo: Repository, clone: Path
) -> None:
    first = commit(clone, "one")
    tip = commit(clone, "two")
    orphan = git(clone, "commit-tree", "HEAD^{tree}", "-m", "orphan")
    git(clone, "update-ref", f"refs/replace/{tip}", orphan)
    (clone / ".git/info").mkdir(exist_ok=True)
    (clone / ".git/info/grafts").write_text(f"{tip}\n")
    assert git(clone, "log", "--format=%s") == "orphan", "plain git in the clone believes it"
    assert fetch(repo, clone) == tip
    assert git(repo.root, "rev-parse", "agent/c1~1") == first
    git(repo.root, "fsck", "--strict")


def test_a_history_that_a_clone_cuts_off_does_not_come_home_cut(
    repo: Repository, clone: Path
) -> None:
    commit(clone, "one")
    tip = commit(clone, "two")
    (clone / ".git/shallow").write_text(f"{tip}\n")
    assert git(clone, "rev-list", "--count", "HEAD") == "1"
    fetch(repo, clone)
    assert git(repo.root, "rev-list", "--count", "agent/c1") == "3"
    assert not (Path(repo.git_dir) / "shallow").exists()
    git(repo.root, "fsck", "--strict")
