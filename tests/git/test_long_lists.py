"""What an agent writes down without end makes no salvage long to make, to list or to read."""

from __future__ import annotations

import hashlib
import io
import struct
import tarfile
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from tests.git.conftest import git

from windlass.core.errors import GitError
from windlass.git import blobs, long_lists, manifest, path_count, roots, status, trash, walk
from windlass.git.manifest import Dropped, Manifest, Nested, Stash
from windlass.git.path_count import TooManyPaths
from windlass.git.repository import Repository
from windlass.git.salvage import Salvaged, salvage

MEBIBYTE = 1 << 20
MANY = 300_000


def ids(number: int, *, of: str = "a") -> bytes:
    return b"".join(b"%s%039x\n" % (of.encode(), one) for one in range(number))


@pytest.fixture
def clone(repo: Repository, tmp_path: Path) -> Path:
    """A clone with a commit of its own, and one that only a file of git's names."""
    path = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--shared", repo.root, path)
    git(path, "checkout", "-q", "-b", "agent/c1")
    git(repo.root, "update-ref", "refs/windlass/base/c1", "main")
    (path / "work").write_text("work\n")
    git(path, "add", "work")
    git(path, "commit", "-q", "-m", "work")
    return path


def kept_of(repo: Repository, clone: Path) -> Salvaged:
    return salvage(repo, path=str(clone), agent="c1", stamp="1", branch="agent/c1", meta={})


def members(repo: Repository, commit: str, tar: str) -> list[str]:
    said = git(repo.root, "cat-file", "blob", f"{commit}:{tar}")
    content = said.encode(errors="surrogateescape")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return archive.getnames()


def test_ids_that_files_of_git_mention_are_gathered_up_to_a_number(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for number in range(4):
        (tmp_path / "logs" / str(number)).write_bytes(ids(MANY, of=str(number)))
    found = roots.Mentioned()
    tracemalloc.start()
    roots.mentioned(str(tmp_path), found)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.ids) == roots.MOST_IDS
    assert "more than" in found.left_out
    assert most < 64 * MEBIBYTE


def test_every_id_is_found_wherever_it_lies_in_a_long_file(tmp_path: Path) -> None:
    text = b"." * (MEBIBYTE - 20) + b"\n" + b"b" * 40 + b"\n" + b"." * MEBIBYTE + b"\n" + b"c" * 64
    (tmp_path / "file").write_bytes(text)
    found = roots.Mentioned()
    roots.mentioned(str(tmp_path), found)
    assert {"b" * 40, "c" * 64} <= found.ids
    assert found.left_out == ""


def test_files_without_an_id_are_not_searched_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "_MOST_READ", 3 * MEBIBYTE)
    for number in range(4):
        (tmp_path / str(number)).write_bytes(b"." * MEBIBYTE)
    (tmp_path / "9").write_bytes(b"a" * 40)
    found = roots.Mentioned()
    roots.mentioned(str(tmp_path), found)
    assert found.ids == set()
    assert found.left_out


def test_what_only_a_file_beyond_the_number_names_is_kept_as_raw_bytes(
    repo: Repository, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "MOST_IDS", 100)
    tip = git(clone, "rev-parse", "HEAD")
    lost = git(clone, "hash-object", "-w", "--stdin", stdin=b"named by one file alone\n")
    (clone / ".git/logs/0").write_bytes(ids(200))
    (clone / ".git/zz").write_text(lost)
    kept = kept_of(repo, clone)
    assert git(repo.root, "cat-file", "-t", tip) == "commit"
    assert f"it/{lost[:2]}/{lost[2:]}" in members(repo, kept.commit, "objects.tar")
    (entry,) = trash.entries(repo)
    assert any("more than 100 objects" in drop.reason for drop in entry.dropped)


def test_refs_without_end_are_kept_as_raw_bytes_and_the_first_put_back(
    repo: Repository, clone: Path
) -> None:
    tip = git(clone, "rev-parse", "HEAD")
    number = roots.MOST_REFS + 500
    lines = (f"{tip} refs/heads/many/{one:06}\n" for one in range(number))
    (clone / ".git/packed-refs").write_text("".join(lines))
    kept = kept_of(repo, clone)
    about = manifest.read(repo, kept.commit)
    assert len(about.refs) == roots.MOST_REFS
    assert any("refs beyond" in drop.reason for drop in about.dropped)
    assert "it/packed-refs" in members(repo, kept.commit, "gitdir.tar")
    assert about.tip == tip


def test_refs_of_a_clone_that_are_the_repositorys_are_not_kept(
    repo: Repository, clone: Path
) -> None:
    git(repo.root, "tag", "released")
    git(clone, "fetch", "-q", "--tags")
    git(clone, "update-ref", "refs/remotes/origin/old", "main")
    git(clone, "update-ref", "refs/remotes/mine/new", "agent/c1")
    about = manifest.read(repo, kept_of(repo, clone).commit)
    assert sorted(about.refs) == ["refs/heads/agent/c1", "refs/heads/main", "refs/remotes/mine/new"]


def index_of_new(number: int) -> bytes:
    """An index that names so many objects that nobody has."""
    entries = (
        struct.pack(">10I", *(0,) * 6, 0o100644, 0, 0, 0)
        + bytes.fromhex(f"{one + 1:040x}")
        + struct.pack(">H", 8)
        + b"%08d" % one
        + b"\0\0"
        for one in range(number)
    )
    head = b"DIRC" + struct.pack(">II", 2, number)
    whole = head + b"".join(entries)
    return whole + hashlib.sha1(whole, usedforsecurity=False).digest()


def test_an_index_of_objects_that_nobody_has_is_kept_as_raw_bytes(
    repo: Repository, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "MOST_IDS", 100)
    tip = git(clone, "rev-parse", "HEAD")
    (clone / ".git/index").write_bytes(index_of_new(500))
    kept = kept_of(repo, clone)
    assert git(repo.root, "cat-file", "-t", tip) == "commit"
    assert "it/index" in members(repo, kept.commit, "gitdir.tar")
    assert members(repo, kept.commit, "objects.tar")
    (entry,) = trash.entries(repo)
    assert any("index names more than 100" in drop.reason for drop in entry.dropped)


def test_an_index_of_too_many_paths_is_told_and_kept_as_raw_bytes(
    repo: Repository, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had the daemon read millions of names, and nobody was answered meanwhile."""
    monkeypatch.setattr(path_count, "MOST_PATHS", 100)
    (clone / ".git/index").write_bytes(index_of_new(101))
    with pytest.raises(TooManyPaths, match="the index has more than 100 paths"):
        status.status(repo, str(clone))
    kept = kept_of(repo, clone)
    assert git(repo.root, "show", f"{kept.commit}:files/work") == "work"
    assert "it/index" in members(repo, kept.commit, "gitdir.tar")
    (entry,) = trash.entries(repo)
    assert any("the index has more than 100 paths" in drop.reason for drop in entry.dropped)


def test_an_index_that_shares_another_of_too_many_paths_is_told(
    repo: Repository, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_count, "MOST_PATHS", 100)
    (clone / f".git/sharedindex.{'a' * 40}").write_bytes(index_of_new(101))
    with pytest.raises(TooManyPaths, match="the index has more than 100 paths"):
        status.status(repo, str(clone))


@pytest.mark.parametrize("inside", ["", "nested"])
def test_a_folder_of_too_many_files_is_told_and_all_are_kept(
    repo: Repository, clone: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """In a nested repository git does not look by itself."""
    monkeypatch.setattr(path_count, "MOST_PATHS", 100)
    if inside:
        git(clone, "init", "-q", inside)
    for number in range(101):
        (clone / inside / str(number)).touch()
    with pytest.raises(TooManyPaths, match="the workspace has more than 100 paths"):
        status.status(repo, str(clone))
    kept = kept_of(repo, clone)
    listed = git(repo.root, "ls-tree", "-r", "--name-only", f"{kept.commit}:files").splitlines()
    assert {f"{inside}/{number}".lstrip("/") for number in range(101)} <= set(listed)


def test_what_an_index_has_of_head_is_always_looked_for() -> None:
    had = [f"{one:040x}" for one in range(300_000)]
    found = roots.Mentioned()
    assert roots.staged(had, had, found) == set(had)
    assert found.left_out == ""


def test_many_objects_are_asked_for_in_parts(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "_AT_ONCE", 7)
    there = git(repo.root, "rev-list", "--objects", "--no-object-names", "main").split()
    asked = [*there, *(f"{one:040x}" for one in range(50)), "main^{tree}"]
    assert set(blobs.kinds(repo.dirs, asked)) == set(there)


def test_nested_repositories_are_told_however_many_there_are(repo: Repository, ws: Path) -> None:
    """There were more than git can be called with, and the work of nobody was told."""
    names = [f"{'n' * 200}-{number:05}" for number in range(12_000)]
    for name in names:
        (ws / name).mkdir()
        (ws / name / ".git").touch()
    assert sorted(status.status(repo, str(ws)).nested) == names


def test_a_submodule_among_many_nested_repositories_is_untouched(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_MOST_WORDS", 8)
    for name in ("module", "other"):
        git(ws, "init", "-q", name)
        git(ws / name, "commit", "-q", "--allow-empty", "-m", "first")
    git(ws, "-c", "advice.addEmbeddedRepo=false", "add", "module")
    git(ws, "commit", "-q", "-m", "module")
    assert status.status(repo, str(ws)).nested == ["other"]


def test_more_words_than_a_program_takes_are_an_error_of_gits(repo: Repository) -> None:
    with pytest.raises(GitError, match="cannot be called with 40,002 words"):
        repo.git("rev-parse", "--", *("w" * 100 for _ in range(40_000)))


@pytest.mark.parametrize("each", [1, 3, 1 << 18])
def test_records_are_those_that_a_split_gives(monkeypatch: pytest.MonkeyPatch, each: int) -> None:
    monkeypatch.setattr(long_lists, "_BYTES", each)
    for said in (b"", b"a\0", b"a\0bc\0", b"a\0\0bc\0", b"abcdef\0g\0", b"a\0b"):
        split = said.split(b"\0")
        assert list(long_lists.records(said)) == (split if split[-1] else split[:-1])


def test_records_are_taken_apart_as_they_are_read() -> None:
    """A split in one call takes seconds, in which no other thread runs."""
    said = b"name\0" * 1_000_000
    tracemalloc.start()
    assert next(long_lists.records(said)) == b"name"
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 * MEBIBYTE


@pytest.mark.parametrize("each", [1, 3, 1000])
def test_what_is_ordered_in_parts_is_as_sorted_has_it(
    monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    monkeypatch.setattr(long_lists, "_AT_ONCE", each)
    names = [f"{number * 7919 % 101:03}" for number in range(150)]
    assert list(long_lists.in_order(names)) == sorted(names)
    assert list(long_lists.in_order(names, key=lambda name: name[2])) == sorted(
        names, key=lambda name: name[2]
    )
    assert list(long_lists.in_order([])) == []


def test_what_is_in_a_folder_is_looked_at_as_it_is_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million files at once that was a gigabyte."""
    monkeypatch.setattr(walk, "_AT_ONCE", 5)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(50):
        (folder / f"{number:02}").touch()
    walked = walk.walk(str(folder))
    assert next(walked).path == b"00"
    for number in range(1, 50):
        (folder / f"{number:02}").unlink()
    assert len(list(walked)) < 5


def long_manifest() -> Manifest:
    names = [f"{number:06}/{'n' * 200}\udcff" for number in range(20_000)]
    return Manifest(
        agent="a",
        stamp="1",
        refs=dict.fromkeys(names, "a" * 40),
        stashes=[Stash(oid="a" * 40, message=name) for name in names],
        nested=[Nested(path=name, tar=name) for name in names],
        empty=names,
        modes=dict.fromkeys(names, 0o600),
        hollow=names,
        skip_worktree=names,
        assume_unchanged=names,
        dropped=[Dropped(path=name, reason=name, size=2) for name in names],
    )


def test_no_list_of_a_manifest_is_longer_than_a_moment_takes_to_read() -> None:
    long = long_manifest()
    short = manifest.shortened(long)
    assert len(manifest.encode(long)) > 50 * MEBIBYTE
    assert len(manifest.encode(short)) < 8 * MEBIBYTE
    assert manifest.decode(manifest.encode(short)) == short
    for name in manifest.LISTS:
        assert any(drop.path == f"windlass.json: {name}" for drop in short.dropped), name
    *_, rest = short.dropped
    assert "more that are not listed" in rest.reason
    assert sum(drop.size for drop in short.dropped) == 2 * len(long.dropped)


def test_a_manifest_of_a_usual_workspace_is_whole() -> None:
    usual = Manifest(agent="a", stamp="1", empty=["a"], refs={"refs/heads/b": "c" * 40})
    assert manifest.shortened(usual) == usual
    assert manifest.decode(manifest.encode(usual)) == usual
    odd = msgspec.structs.replace(usual, empty=["\udcff"])
    assert manifest.decode(manifest.encode(odd)) == odd
