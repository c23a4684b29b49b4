"""A checkout that a merge left half moved: what is the merge's is put right, what is not stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.conftest import Snapshot, git, snapshot
from tests.git.test_merges import Killed, fails_to_apply, plan, work

from windlass.core.errors import Conflict, GitError
from windlass.git import merges, workspaces
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.git.runner import GitResult

LARGE = "large\n" * 50_000


def die(*_: object, **__: object) -> None:
    raise Killed


def killed(repo: Repository, chosen: MergePlan, at: str, *, box: list[str] | None = None) -> None:
    """Has a merge die like from kill -9, where a function is called."""
    with pytest.MonkeyPatch.context() as patch:
        # A killed process unlinks nothing.
        patch.setattr("windlass.git.index_lock.release", lambda _: None)
        patch.setattr(at, die)
        with pytest.raises(Killed):
            merges.apply(repo, chosen, box=box or [])


def lock(repo: Repository) -> Path:
    return Path(repo.git_dir) / "index.lock"


def is_clean(where: Path | str) -> bool:
    return git(where, "status", "--porcelain") == ""


@pytest.fixture
def other(repo: Repository, tmp_path: Path) -> MergePlan:
    """The merge of another agent, into the same branch."""
    path = tmp_path / "ws" / "a2"
    workspaces.create(repo, path=str(path), branch="agent/a2", base="main", agent="a2")
    work(path, "other.txt")
    return merges.prepare(
        repo,
        source="agent/a2",
        target_branch="main",
        message="Merge a2\n",
        author=("Ann Own", "ann@example.org"),
        time=1_700_000_000,
    )


MOMENTS = ["windlass.git.checkout.Follower._publish", "windlass.git.merges.set_ref"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_look_for_changes_puts_a_half_moved_checkout_right_first(
    repo: Repository, ws: Path, moment: str
) -> None:
    work(ws, "new/deep.txt")
    work(ws, "readme.txt", "changed\n")
    git(ws, "rm", "-q", "src/two.py")
    git(ws, "commit", "-q", "-m", "remove")
    before = snapshot(repo.root)
    killed(repo, plan(repo), moment)
    assert snapshot(repo.root) != before
    assert lock(repo).exists()
    merges.refuse_dirty(repo, repo.root)
    assert snapshot(repo.root) == before
    assert is_clean(repo.root)
    assert not lock(repo).exists()


def test_a_half_moved_worktree_is_put_right_too(repo: Repository, ws: Path, tmp_path: Path) -> None:
    place = tmp_path / "release"
    git(repo.root, "worktree", "add", "-q", "-b", "release", place)
    work(ws, "new/deep.txt")
    before = snapshot(place)
    killed(repo, plan(repo, "release"), MOMENTS[0])
    merges.refuse_dirty(repo, str(place))
    assert snapshot(place) == before
    assert is_clean(place)


def test_where_the_disk_had_no_room_for_the_old_files_the_look_for_changes_writes_them(
    repo: Repository, ws: Path
) -> None:
    work(repo.root, "a-large.bin", "old\n" * 50_000)
    git(ws, "merge", "-q", "main")
    work(ws, "a-large.bin", "new\n" * 40_000)
    work(ws, "new.txt")
    before = snapshot(repo.root)
    assert str(lock(repo)) in fails_to_apply(repo, largest=100_000), "it says what blocks git"
    assert lock(repo).exists()
    merges.refuse_dirty(repo, repo.root)
    assert snapshot(repo.root) == before
    assert is_clean(repo.root)


def test_a_checkout_whose_branch_had_moved_is_completed(repo: Repository, ws: Path) -> None:
    work(ws, "new/deep.txt")
    work(ws, "readme.txt", "changed\n")
    git(ws, "rm", "-q", "-r", "src")
    git(ws, "commit", "-q", "-m", "remove")
    chosen = plan(repo)
    git(repo.root, "update-ref", "refs/heads/main", chosen.new)
    killed(repo, chosen, MOMENTS[0])
    (Path(repo.root) / "readme.txt").write_text("chan")
    (Path(repo.root) / "src").mkdir()
    (Path(repo.root) / "src/two.py").write_text("two = 2\n")
    merges.refuse_dirty(repo, repo.root)
    assert is_clean(repo.root)
    assert snapshot(repo.root) == snapshot(ws)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_merge_that_died_leaves_nothing_in_the_next_one(
    repo: Repository, ws: Path, other: MergePlan, moment: str
) -> None:
    """The next one is of another agent: what the first had moved would look like edits."""
    work(ws, "new.txt")
    work(ws, "readme.txt", "changed\n")
    killed(repo, plan(repo), moment)
    merges.apply(repo, other)
    assert git(repo.root, "rev-parse", "main") == other.new
    assert is_clean(repo.root)
    assert not (Path(repo.root) / "new.txt").exists()
    assert (Path(repo.root) / "readme.txt").read_text() == "hello\n"
    assert (Path(repo.root) / "other.txt").exists()
    merges.apply(repo, plan(repo))
    assert is_clean(repo.root)
    assert (Path(repo.root) / "readme.txt").read_text() == "changed\n"


def test_a_way_back_that_died_is_gone_to_its_end(
    repo: Repository, ws: Path, other: MergePlan
) -> None:
    work(ws, "new.txt")
    work(ws, "readme.txt", "changed\n")
    chosen = plan(repo)
    before = snapshot(repo.root)
    killed(repo, chosen, MOMENTS[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windlass.git.leftovers._write", die)
        with pytest.raises(Killed):
            merges.refuse_dirty(repo, repo.root)
    assert snapshot(repo.root) != before
    merges.refuse_dirty(repo, repo.root)
    assert snapshot(repo.root) == before
    assert is_clean(repo.root)
    merges.apply(repo, other)


def test_what_somebody_wrote_meanwhile_stays(repo: Repository, ws: Path) -> None:
    work(repo.root, "a", "a file\n")
    git(ws, "merge", "-q", "main")
    git(ws, "rm", "-q", "a")
    work(ws, "a/b")
    work(ws, "readme.txt", "changed\n")
    work(ws, "new.txt")
    killed(repo, plan(repo), MOMENTS[0])
    top = Path(repo.root)
    (top / "readme.txt").write_text("mine\n")
    (top / "a/mine").write_text("mine too\n")
    (top / "new.txt").unlink()
    (top / "new.txt").symlink_to("readme.txt")
    with pytest.raises(Conflict, match=r"a, readme\.txt"):
        merges.refuse_dirty(repo, repo.root)
    assert (top / "readme.txt").read_text() == "mine\n"
    assert (top / "a/mine").read_text() == "mine too\n"
    assert (top / "new.txt").is_symlink()
    assert not (top / "a/b").exists()
    assert git(top, "status", "--porcelain").splitlines() == [
        " D a",
        " M readme.txt",
        "?? new.txt",
    ]


def test_a_lock_of_a_merge_that_nobody_knows_is_explained(repo: Repository) -> None:
    lock(repo).write_text(f"windlass {'1' * 40}\n")
    with pytest.raises(Conflict, match="not there any more") as told:
        merges.refuse_dirty(repo, repo.root)
    assert f"delete {lock(repo)}" in told.value.hint


def folder_for_a_file(root: Path, ws: Path) -> None:
    """A file becomes a folder."""
    work(root, "a", "a file\n")
    git(ws, "merge", "-q", "main")
    git(ws, "rm", "-q", "a")
    work(ws, "a/b/c")


def file_for_a_folder(root: Path, ws: Path) -> None:
    """A folder becomes a file."""
    assert root
    git(ws, "rm", "-q", "-r", "src")
    work(ws, "src", "a file\n")


def staged_alike(root: Path, ws: Path) -> None:
    """The person has staged a file just as the merge has it."""
    work(ws, "new.txt")
    (root / "new.txt").write_text("work\n")
    git(root, "add", "new.txt")


def empty_folder(root: Path, ws: Path) -> None:
    """The person has an empty folder on the way to a new file."""
    (root / "b\n").mkdir()
    work(ws, "b\n/new/deep.txt")


def sparse(root: Path, ws: Path) -> None:
    """The person's checkout leaves a folder out that the merge changes."""
    work(root, "out/one.txt")
    work(root, "out/two.txt")
    git(ws, "merge", "-q", "main")
    git(ws, "rm", "-q", "out/two.txt")
    work(ws, "out/one.txt", "changed\n")
    work(ws, "out/three.txt")
    work(ws, "src/one.py", "changed\n")
    git(root, "sparse-checkout", "set", "src")
    assert not (root / "out").exists()


def line_ends(root: Path, ws: Path) -> None:
    """Files are written with other line ends than git keeps."""
    work(root, ".gitattributes", "* text eol=crlf\n")
    git(ws, "merge", "-q", "main")
    work(ws, "z-cut.txt", LARGE)


def new_line_ends(root: Path, ws: Path) -> None:
    """The merge itself brings other line ends."""
    assert root
    work(ws, ".gitattributes", "*.txt text eol=crlf\n")
    work(ws, "readme.txt", "changed\n")
    work(ws, "z-cut.txt", LARGE)


CASES: list[Callable[[Path, Path], None]] = [
    folder_for_a_file,
    file_for_a_folder,
    staged_alike,
    empty_folder,
    sparse,
    line_ends,
    new_line_ends,
]


@pytest.fixture(params=CASES, ids=lambda case: case.__name__)
def scene(request: pytest.FixtureRequest, repo: Repository, ws: Path) -> tuple[Snapshot, str]:
    """A merge with something particular in it; the checkout before it, and what git says there."""
    request.param(Path(repo.root), ws)
    work(ws, "z-large.bin", LARGE)
    return snapshot(repo.root), git(repo.root, "status", "--porcelain")


def is_as_it_was(repo: Repository, scene: tuple[Snapshot, str]) -> bool:
    return (snapshot(repo.root), git(repo.root, "status", "--porcelain")) == scene


def test_a_merge_that_fails_midway_is_put_back(
    repo: Repository, scene: tuple[Snapshot, str]
) -> None:
    assert "the checkout is as it was" in fails_to_apply(repo, largest=100_000)
    assert is_as_it_was(repo, scene)
    assert not lock(repo).exists()
    merges.apply(repo, plan(repo))


def test_a_merge_that_fails_before_it_moved_anything_gives_its_lock_back(
    repo: Repository, scene: tuple[Snapshot, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object, *more: str) -> GitResult:
        return GitResult(0 if more else 128, b"", b"fatal: no")

    monkeypatch.setattr("windlass.git.checkout.Follower._read_tree", failing)
    with pytest.raises(GitError, match="fatal: no") as told:
        merges.apply(repo, plan(repo))
    assert "the checkout is as it was" in told.value.hint
    assert is_as_it_was(repo, scene)
    assert not lock(repo).exists()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_merge_that_is_killed_is_put_back_later(
    repo: Repository, scene: tuple[Snapshot, str], moment: str
) -> None:
    killed(repo, plan(repo), moment)
    merges.rehearse(repo, plan(repo))
    assert is_as_it_was(repo, scene)
    assert not lock(repo).exists()


def test_a_file_that_cannot_be_read_does_not_keep_a_checkout_from_being_put_back(
    repo: Repository, ws: Path
) -> None:
    """In a process without root's privilege to read everything."""
    work(ws, "a.txt")
    work(ws, "b.txt")
    killed(repo, plan(repo), MOMENTS[0])
    (Path(repo.root) / "a.txt").write_text("an empty one would be known without a look\n")
    (Path(repo.root) / "a.txt").chmod(0)
    ordinary = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    script = (
        "import sys; from windlass.git import merges, repository;"
        "merges.refuse_dirty(repository.discover(sys.argv[1]), sys.argv[1])"
    )
    subprocess.run([*ordinary, sys.executable, "-c", script, repo.root], check=True)
    assert (Path(repo.root) / "a.txt").exists(), "nobody knows whose that is"
    assert not (Path(repo.root) / "b.txt").exists()
    assert not lock(repo).exists()
