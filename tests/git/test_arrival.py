"""What comes home is measured first: what is more than may come adds nothing to the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.git import bombs
from tests.git.come_home import fetch
from tests.git.conftest import git
from tests.git.hostile_clones import Scene
from tests.git.test_homecoming import commit, home_of

from windlass.core.errors import Conflict
from windlass.git import trash
from windlass.git.arrival import Allowed, TooLarge
from windlass.git.repository import Repository

MIB = 1 << 20


@pytest.fixture
def scene(repo: Repository, tmp_path: Path) -> Scene:
    return Scene(repo, tmp_path)


def size_of(repo: Repository) -> int:
    """Bytes of everything in the repository's object folder, temporary files too."""
    return sum(path.lstat().st_size for path in (Path(repo.git_dir) / "objects").rglob("*"))


def packs(repo: Repository) -> list[Path]:
    return list((Path(repo.git_dir) / "objects/pack").glob("*.pack"))


def refused(scene: Scene, allowed: Allowed) -> TooLarge:
    """Brings home what may not come, and looks whether anything is different for it."""
    before = home_of(scene.repo), size_of(scene.repo)
    with pytest.raises(TooLarge) as told:
        fetch(scene.repo, scene.clone, allowed=allowed)
    assert (home_of(scene.repo), size_of(scene.repo)) == before
    return told.value


def test_more_bytes_than_may_be_added_add_none(scene: Scene) -> None:
    (scene.clone / "noise").write_bytes(os.urandom(3 * MIB))
    git(scene.clone, "add", "noise")
    commit(scene.clone, "work")
    told = refused(scene, Allowed(added=2 * MIB))
    assert (told.message, told.limit) == ("it adds more than there is room for", "added")
    assert fetch(scene.repo, scene.clone, allowed=Allowed(added=4 * MIB))


def test_a_file_that_unfolds_to_more_than_one_may_have_does_not_come(scene: Scene) -> None:
    bombs.zeros(scene.clone, 64 * MIB)
    told = refused(scene, Allowed(blob=32 * MIB))
    assert (told.message, told.limit) == ("a file in it has 64 MiB", "blob")


def test_files_that_together_unfold_to_more_than_may_be_do_not_come(scene: Scene) -> None:
    bombs.unfolding(scene.clone, files=20, times=4)
    told = refused(scene, Allowed(blob=32 * MIB, unfolded=64 * MIB))
    assert (told.message, told.limit) == ("it unfolds to 81 MiB", "unfolded")
    assert fetch(scene.repo, scene.clone, allowed=Allowed(added=4 * MIB, unfolded=100 * MIB))


def named_often(clone: Path, times: int) -> str:
    """Commits a MiB of text that a tree names so many times: hardly anything to store."""
    blob = git(clone, "hash-object", "-w", "--stdin", stdin=b"wide\n" * (MIB // 5))
    listed = "".join(f"100644 blob {blob}\tf{number}\n" for number in range(times))
    tree = git(clone, "mktree", stdin=listed.encode())
    return git(clone, "commit-tree", "-p", "HEAD", "-m", "wide", tree)


def test_what_would_fill_a_disk_when_it_is_checked_out_does_not_come(scene: Scene) -> None:
    """Whoever begins with it, an agent's child or a gate, would have all of it as files."""
    git(scene.clone, "update-ref", "HEAD", named_often(scene.clone, 40))
    told = refused(scene, Allowed(unfolded=32 * MIB))
    assert told.limit == "unfolded"
    assert told.message.startswith("checked out it is 39 MiB")
    assert fetch(scene.repo, scene.clone, allowed=Allowed(unfolded=40 * MIB))


def test_what_an_agent_began_with_is_not_counted_and_what_it_adds_is_counted_together(
    scene: Scene,
) -> None:
    """Else one commit after the other would come to any size."""
    allowed, since = Allowed(unfolded=32 * MIB), "refs/windlass/base/a"
    git(scene.clone, "update-ref", "HEAD", named_often(scene.clone, 20))
    first = fetch(scene.repo, scene.clone, allowed=allowed, since=since)
    git(scene.clone, "update-ref", "HEAD", named_often(scene.clone, 40))
    with pytest.raises(TooLarge):
        fetch(scene.repo, scene.clone, allowed=allowed, since=since)
    git(scene.repo.root, "update-ref", since, str(first))
    assert fetch(scene.repo, scene.clone, allowed=allowed, since=since)


def test_a_commit_is_no_place_for_a_novel(scene: Scene) -> None:
    tree = git(scene.clone, "rev-parse", "HEAD^{tree}")
    words = b"word " * (13 * MIB)
    tip = git(scene.clone, "commit-tree", tree, "-p", "HEAD", "-F", "-", stdin=words)
    git(scene.clone, "update-ref", "refs/heads/agent/c1", tip)
    told = refused(scene, Allowed())
    assert (told.message, told.limit) == ("a commit in it has 65 MiB", "object")


def test_what_takes_gibibytes_of_memory_to_unfold_is_given_up_early(scene: Scene) -> None:
    """In a process of its own, whose children's peak is known."""
    bombs.unfolding(scene.clone, files=1, times=2500)
    script = textwrap.dedent("""
        import resource, sys
        from pathlib import Path
        from tests.git.come_home import fetch
        from windlass.git import repository
        from windlass.git.arrival import TooLarge
        try:
            fetch(repository.discover(sys.argv[1]), Path(sys.argv[2]))
        except TooLarge as error:
            print(error.message, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, sep="|")
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, scene.repo.root, scene.clone],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    said, _, peak = done.stdout.partition("|")
    assert "memory" in said, done.stderr
    assert int(peak) < 512 << 10, "in KiB"
    assert home_of(scene.repo) == git(scene.repo.root, "rev-parse", "main")


def test_little_comes_as_single_objects_and_much_as_one_pack(scene: Scene) -> None:
    """So that the person's own git does not find a pack of three objects for every commit."""
    for number in range(5):
        commit(scene.clone, f"work{number}")
        fetch(scene.repo, scene.clone)
    assert packs(scene.repo) == []
    (scene.clone / "noise").write_bytes(os.urandom(2 * MIB))
    git(scene.clone, "add", "noise")
    tip = commit(scene.clone, "much")
    fetch(scene.repo, scene.clone)
    assert len(packs(scene.repo)) == 1
    assert home_of(scene.repo) == tip
    git(scene.repo.root, "fsck", "--strict")


def test_what_is_counted_is_what_the_repository_grows_by(scene: Scene) -> None:
    counted: list[tuple[str, int]] = []
    before = size_of(scene.repo)
    (scene.clone / "noise").write_bytes(os.urandom(2 * MIB))
    git(scene.clone, "add", "noise")
    first = commit(scene.clone, "work")
    fetch(scene.repo, scene.clone, admit=lambda tip, size: counted.append((tip, size)))
    grown = size_of(scene.repo) - before
    ((tip, size),) = counted
    assert tip == first
    assert grown <= size < grown + 64 * 1024, "in whole blocks"


def test_what_is_here_already_is_counted_as_nothing(scene: Scene) -> None:
    """A branch that goes to and fro between two histories adds each of them once."""
    counted: list[int] = []
    for name in ("one", "two"):
        git(scene.clone, "checkout", "-q", "-B", name, "origin/main")
        (scene.clone / name).write_bytes(os.urandom(2 * MIB))
        git(scene.clone, "add", name)
        commit(scene.clone, f"{name}.txt")
    git(scene.clone, "checkout", "-q", "--detach")
    for name in ("one", "two", "one", "two"):
        git(scene.clone, "branch", "-q", "-f", "agent/c1", name)
        fetch(scene.repo, scene.clone, admit=lambda _, size: counted.append(size))
    assert counted[0] > 2 * MIB
    assert counted[1] > 2 * MIB
    assert counted[2:] == [0, 0]


def test_who_refuses_what_was_counted_refuses_all_of_it(scene: Scene) -> None:
    def refuse(_tip: str, _size: int) -> None:
        raise Conflict("no", "no")

    before = home_of(scene.repo), size_of(scene.repo)
    commit(scene.clone, "work")
    with pytest.raises(Conflict):
        fetch(scene.repo, scene.clone, admit=refuse)
    assert (home_of(scene.repo), size_of(scene.repo)) == before


def test_a_branch_that_went_back_to_what_is_here_comes_home_whatever_may_be_added(
    scene: Scene,
) -> None:
    first = commit(scene.clone, "one")
    commit(scene.clone, "two")
    fetch(scene.repo, scene.clone)
    git(scene.clone, "reset", "-q", "--hard", first)
    assert fetch(scene.repo, scene.clone, allowed=Allowed(added=64)) == first


def test_the_objects_of_a_bomb_are_kept_as_the_files_that_they_are_when_its_agent_ends(
    scene: Scene,
) -> None:
    (scene.clone / "work.txt").write_text("work\n")
    tip = bombs.unfolding(scene.clone, files=20, times=4)
    before = size_of(scene.repo)
    kept = scene.keep(Allowed(unfolded=64 * MIB))
    assert size_of(scene.repo) - before < 3 * MIB
    raw = git(scene.repo.root, "ls-tree", "--name-only", kept.commit).split()
    assert "objects.tar" in raw
    assert git(scene.repo.root, "show", f"{kept.commit}:files/work.txt") == "work"
    dropped = {drop.path: drop.reason for drop in trash.find(scene.repo, "c1").dropped}
    reason = "it unfolds to 81 MiB"
    assert dropped[".git/objects"] == f"{reason}; kept as raw bytes in objects.tar"
    assert dropped[f".git: {tip}"] == f"not as an object: {reason}"
    scene.end()
    scene.restore()


def test_objects_that_would_be_far_larger_here_than_there_are_kept_as_files_too(
    scene: Scene,
) -> None:
    """Each is little only as a difference to one that is here already, and need not come."""
    bombs.unfolding(scene.clone, files=120, times=1)
    git(scene.clone, "branch", "-q", "all", "agent/c1")
    base = git(scene.clone, "rev-parse", "all:file0")
    tree = git(scene.clone, "mktree", stdin=f"100644 blob {base}\tfile0\n".encode())
    tip = git(scene.clone, "commit-tree", tree, "-p", "origin/main", "-m", "base")
    git(scene.clone, "update-ref", "refs/heads/agent/c1", tip)
    fetch(scene.repo, scene.clone)
    before = size_of(scene.repo)
    scene.keep()
    assert size_of(scene.repo) - before < 4 * MIB


def test_raw_objects_are_kept_however_large_they_are_without_their_holes(scene: Scene) -> None:
    (scene.clone / "noise").write_bytes(os.urandom(2 * MIB))
    git(scene.clone, "add", "noise")
    commit(scene.clone, "work")
    blob = git(scene.clone, "rev-parse", "HEAD:noise")
    (scene.clone / ".git/objects" / blob[:2] / blob[2:]).chmod(0o644)
    with (scene.clone / ".git/objects/pack/pack-00.pack").open("wb") as file:
        file.truncate(1 << 33)
    kept = scene.keep(Allowed(blob=MIB))
    size = int(git(scene.repo.root, "cat-file", "-s", f"{kept.commit}:objects.tar"))
    assert 2 * MIB < size < 4 * MIB
