"""What a salvage leaves out it lists; what it cannot keep makes it fail without a trace."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot

from windlass.core.errors import Conflict, GitError, NotFound, UserError
from windlass.git import contents, manifest, repository, survey, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage


def debris(repo: Repository) -> list[str]:
    """Temporary files that a failed salvage might have left in the git folder."""
    return [
        str(path)
        for path in Path(repo.git_dir).rglob("*")
        if "tmp" in path.name or "fast_import" in path.name
    ]


def test_a_second_call_gives_the_first_result(repo: Repository, ws: Path) -> None:
    first = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    (ws / "later").write_text("later\n")
    assert salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}) == first
    assert salvage(repo, path=str(ws), agent="a1", stamp="2", meta={}) != first


def test_a_salvage_leaves_the_workspace_and_no_debris(repo: Repository, ws: Path) -> None:
    (ws / "new").write_text("new\n")
    git(ws, "init", "-q", "nested")
    before = snapshot(ws)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert snapshot(ws) == before
    assert debris(repo) == []
    git(repo.root, "fsck", "--strict")


def test_unchanged_files_cost_no_new_objects(repo: Repository, ws: Path) -> None:
    (ws / "big").write_bytes(os.urandom(1 << 20))
    git(ws, "add", "big")
    git(ws, "commit", "-q", "-m", "big")
    assert salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}).summary.size < 200_000


def bytes_read() -> int:
    """What this process has read so far, of whatever."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        pytest.skip("this system does not count what is read")
    return int(dict(line.split(": ") for line in lines)["rchar"])


def test_a_file_with_many_names_is_read_and_sent_once(repo: Repository, ws: Path) -> None:
    (ws / "name").write_bytes(os.urandom(1 << 20))
    for number in range(60):
        os.link(ws / "name", ws / f"name-{number:02}")
    before = bytes_read()
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert bytes_read() - before < 20 << 20
    assert kept.summary.untracked == 61
    oid = git(ws, "hash-object", "name")
    listed = git(repo.root, "ls-tree", f"{kept.commit}:files").splitlines()
    assert len([line for line in listed if f"blob {oid}\tname" in line]) == 61


def test_holes_are_written_out_once_for_all_names(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_HOLES", 3 << 20)
    for name in ("first", "other"):
        (ws / name).touch()
        os.truncate(ws / name, 2 << 20)
        os.link(ws / name, ws / f"{name}-too")
    if (ws / "first").stat().st_blocks:
        pytest.skip("this file system has no holes")
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    listed = git(repo.root, "ls-tree", "--name-only", f"{kept.commit}:files").splitlines()
    assert {"first", "first-too"} <= set(listed)
    assert not {"other", "other-too"} & set(listed), "kept without holes, elsewhere"
    assert kept.summary.untracked == 4


def test_sockets_pipes_and_devices_are_listed_and_never_opened(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(ws / "pipe")
    monkeypatch.chdir(ws)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    entry = trash.find(repo, "a1")
    assert sorted(one.path for one in entry.dropped) == ["pipe", "sock"]
    assert kept.summary.dropped == 2


def test_ignored_files_over_the_cap_are_listed_smallest_kept(repo: Repository, ws: Path) -> None:
    (ws / "small.log").write_bytes(b"s" * 100)
    (ws / "large.log").write_bytes(b"l" * 5000)
    (ws / "node_modules").mkdir()
    (ws / "node_modules/tiny").write_bytes(b"t")
    (ws / "untracked").write_bytes(b"u" * 9000)
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}, ignored_cap=1000)
    entry = trash.find(repo, "a1")
    assert [(one.path, one.size) for one in entry.dropped] == [("large.log", 5000)]
    assert (kept.summary.ignored, kept.summary.untracked) == (2, 1)
    salvage(repo, path=str(ws), agent="a1", stamp="2", meta={}, ignored_files_cap=1)
    dropped = {one.path for one in trash.find(repo, "a1-2").dropped}
    assert dropped == {"large.log", "node_modules/tiny"}, "what can be rebuilt goes first"


def test_many_dropped_files_are_summed_up_by_folder(repo: Repository, ws: Path) -> None:
    (ws / "node_modules/deep").mkdir(parents=True)
    for number in range(300):
        (ws / f"node_modules/deep/{number}").write_bytes(b"12345")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}, ignored_cap=0)
    dropped = trash.find(repo, "a1").dropped
    assert [(one.path, one.size, one.files) for one in dropped] == [("node_modules/", 1500, 300)]


def test_ignored_files_of_a_nested_repository_fall_under_the_cap(
    repo: Repository, ws: Path
) -> None:
    git(ws, "init", "-q", "nested")
    (ws / "nested/.gitignore").write_text("built\n")
    (ws / "nested/built").write_bytes(b"b" * 5000)
    (ws / "nested/work").write_bytes(b"w" * 5000)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}, ignored_cap=1000)
    assert [one.path for one in trash.find(repo, "a1").dropped] == ["nested/built"]


LARGE = 100 << 20


@pytest.mark.slow
def test_a_hundred_megabyte_file_is_kept_in_little_memory(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    """In a process of its own, so that its peak is its own; git's counts too."""
    with (ws / "large.bin").open("wb") as file:
        file.write(b"head")
        file.seek(LARGE - 4)
        file.write(b"tail")
    script = textwrap.dedent("""
        import re, resource, sys
        from windlass.git import repository, trash, workspaces
        from windlass.git.salvage import salvage
        root, ws, back = sys.argv[1:]
        repo = repository.discover(root)
        salvage(repo, path=ws, agent="a1", stamp="1", meta={})
        workspaces.remove(repo, path=ws, branch="agent/a1", agent="a1")
        trash.restore(repo, trash.find(repo, "a1"), path=back, branch="back")
        # Not ru_maxrss for ourselves: it starts at what the process that forked us had.
        print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    """)
    back = tmp_path / "back"
    done = subprocess.run(
        [sys.executable, "-c", script, repo.root, ws, back], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    own, children = (int(line) for line in done.stdout.split())
    assert own < 80 << 10, "Python held the file"
    assert children < 80 << 10, "git held the file"
    assert (back / "large.bin").stat().st_size == LARGE
    with (back / "large.bin").open("rb") as file:
        assert file.read(8) == b"head\0\0\0\0"
        file.seek(-8, os.SEEK_END)
        assert file.read(8) == b"\0\0\0\0tail"


def test_a_file_that_changes_while_it_is_read_is_read_again(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file shrinks after its size was announced to git."""
    target = ws / "moving"
    target.write_bytes(b"x" * 100_000)
    real = os.fstat
    shrunk: list[str] = []

    def shrinking(handle: int) -> os.stat_result:
        seen = real(handle)
        name = str(Path(f"/proc/self/fd/{handle}").readlink())
        if name == str(target) and len(shrunk) < 2:
            shrunk.append(name)
            if len(shrunk) == 2:
                target.write_bytes(b"short")
        return seen

    monkeypatch.setattr(os, "fstat", shrinking)
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert len(shrunk) == 2
    assert git(repo.root, "show", f"{kept.commit}:files/moving") == "short"


def test_a_full_disk_fails_the_salvage_without_a_trace(repo: Repository, ws: Path) -> None:
    """The kernel refuses git's and our writes beyond a size, as a full disk would."""
    (ws / "large.bin").write_bytes(os.urandom(4 << 20))
    before = snapshot(ws)
    script = textwrap.dedent("""
        import resource, signal, sys
        from windlass.core.errors import GitError
        from windlass.git import repository
        from windlass.git.salvage import salvage
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            salvage(
                repository.discover(sys.argv[1]), path=sys.argv[2], agent="a1", stamp="1", meta={}
            )
        except GitError as error:
            print(error.message)
            sys.exit(9)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, repo.root, ws], capture_output=True, check=False
    )
    assert done.returncode == 9, done.stderr
    assert b"fast-import" in done.stdout
    assert trash.entries(repo) == []
    assert snapshot(ws) == before
    assert debris(repo) == []
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_is_really_full_fails_the_salvage(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    disk = Path(repo.git_dir) / "objects"
    saved = tmp_path / "objects"
    disk.rename(saved)
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        disk.rmdir()
        saved.rename(disk)
        pytest.skip("this machine does not let us mount")
    try:
        subprocess.run(["cp", "-a", f"{saved}/.", disk], check=True)
        (ws / "large.bin").write_bytes(os.urandom(4 << 20))
        with pytest.raises(GitError):
            salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
        assert trash.entries(repo) == []
        assert debris(repo) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_an_unreadable_file_is_opened_by_its_owner(repo: Repository, ws: Path) -> None:
    """In a process without root's privilege to read everything."""
    (ws / "closed").write_text("secret\n")
    (ws / "closed").chmod(0)
    ordinary = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    assert subprocess.run([*ordinary, "cat", ws / "closed"], check=False).returncode != 0
    script = textwrap.dedent("""
        import sys
        from windlass.git import repository
        from windlass.git.salvage import salvage
        repo = repository.discover(sys.argv[1])
        print(salvage(repo, path=sys.argv[2], agent="a1", stamp="1", meta={}).commit)
    """)
    done = subprocess.run(
        [*ordinary, sys.executable, "-c", script, repo.root, ws],
        capture_output=True,
        text=True,
        check=True,
    )
    assert git(repo.root, "show", f"{done.stdout.strip()}:files/closed") == "secret"


def test_trash_lists_newest_first_and_finds_by_prefix(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    other = tmp_path / "ws" / "b2"
    workspaces.create(repo, path=str(other), branch="agent/b2", base="main", agent="b2")
    salvage(repo, path=str(ws), agent="a1", stamp="20260101T000000Z", meta={"goal": "x"})
    salvage(repo, path=str(other), agent="b2", stamp="20260103T000000Z", meta={})
    salvage(repo, path=str(ws), agent="a1", stamp="20260102T000000Z", meta={})
    listed = trash.entries(repo)
    assert [entry.id for entry in listed] == [
        "b2-20260103T000000Z",
        "a1-20260102T000000Z",
        "a1-20260101T000000Z",
    ]
    assert listed[2].meta == {"goal": "x"}
    assert trash.find(repo, "b").agent == "b2"
    assert trash.find(repo, "a1").stamp == "20260102T000000Z"
    with pytest.raises(UserError, match="could be"):
        trash.find(repo, "a1-2026")
    with pytest.raises(NotFound):
        trash.find(repo, "zz")
    trash.empty(repo, {entry.ref: entry.commit for entry in listed[:2]})
    assert [entry.id for entry in trash.entries(repo)] == ["a1-20260101T000000Z"]


def test_show_tells_what_is_inside(repo: Repository, ws: Path) -> None:
    (ws / "done.txt").write_text("done\n")
    git(ws, "add", "done.txt")
    git(ws, "commit", "-q", "-m", "done")
    (ws / "readme.txt").write_text("edited\n")
    (ws / "new\nline").write_text("new\n")
    (ws / "src/two.py").unlink()
    git(ws, "init", "-q", "nested")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    inside = trash.show(repo, trash.find(repo, "a1"))
    assert {(one.letter, one.path) for one in inside.changes} == {
        ("M", "readme.txt"),
        ("A", "new\nline"),
        ("D", "src/two.py"),
    }
    assert [one.subject for one in inside.commits] == ["done"]
    assert inside.nested == ["nested"]
    counts = inside.entry.summary
    assert (counts.changed, counts.untracked, counts.nested, counts.commits) == (2, 1, 1, 1)


def test_a_restore_never_overwrites(repo: Repository, ws: Path, tmp_path: Path) -> None:
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    entry = trash.find(repo, "a1")
    with pytest.raises(Conflict, match="not empty"):
        trash.restore(repo, entry, path=str(ws), branch="fresh")
    with pytest.raises(Conflict, match="exists already"):
        trash.restore(repo, entry, path=str(tmp_path / "back"), branch="agent/a1")
    assert not repository.branch_exists(repo, "fresh")
    assert not (tmp_path / "back").exists()


def test_a_live_workspace_can_be_copied_by_salvage_and_restore(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    """`agent/a1` is still checked out, so the copy gets a branch of its own."""
    (ws / "work").write_text("work\n")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    back = trash.restore(
        repo, trash.find(repo, "a1"), path=str(tmp_path / "back"), branch="copy", agent="c1"
    )
    assert snapshot(tmp_path / "back") == snapshot(ws)
    assert git(back.path, "symbolic-ref", "--short", "HEAD") == "copy"
    assert repository.read_ref(repo, "refs/windlass/base/c1") == back.base


def test_the_manifest_survives_names_that_are_no_text(repo: Repository, ws: Path) -> None:
    (ws / os.fsdecode(b"empty-\xff")).mkdir()
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={"text": "\u00fc"})
    about = manifest.read(repo, kept.commit)
    assert os.fsencode(about.empty[0]) == b"empty-\xff"
    assert about.meta == {"text": "\u00fc"}


def test_memory_limits_are_real() -> None:
    """The measure that the large-file test relies on is in kilobytes here."""
    assert 1 << 10 < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 8 << 20


def test_an_entry_that_cannot_be_read_hides_no_other(repo: Repository, ws: Path) -> None:
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    git(repo.root, "update-ref", "refs/windlass/trash/odd/1", "main")
    listed = trash.entries(repo)
    assert [entry.id for entry in listed] == ["a1-1", "odd-1"]
    assert "problem" in listed[1].meta
    with pytest.raises(GitError, match="holds no"):
        trash.restore(repo, listed[1], path=str(ws) + "2", branch="b2")


def test_nested_git_folders_keep_odd_names_links_and_modes(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    git(ws, "init", "-q", "nested")
    inner = ws / "nested/.git"
    (inner / os.fsdecode(b"odd-\xff\n")).write_text("odd\n")
    (inner / ("long" * 60)).write_text("long\n")
    (inner / "link").symlink_to("/etc")
    (inner / "tool").write_text("#!/bin/sh\n")
    (inner / "tool").chmod(0o750)
    (inner / "twin").hardlink_to(inner / "tool")
    os.mkfifo(inner / "pipe")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    trash.restore(repo, trash.find(repo, "a1"), path=str(tmp_path / "back"), branch="back")
    (inner / "pipe").unlink()
    assert snapshot(tmp_path / "back/nested/.git") == snapshot(inner)


def test_more_files_than_a_folder_of_a_tree_can_take_are_kept_and_brought_back(
    repo: Repository, ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of hundreds of thousands in one folder each took as long as all before it together."""
    monkeypatch.setattr(survey, "_MOST_IN_FOLDER", 3)
    (ws / "many").mkdir()
    for number in range(9):
        (ws / "many" / str(number)).write_text(f"{number}\n")
    git(ws, "add", "many")
    git(ws, "commit", "-q", "-m", "many")
    (ws / "many/8").write_text("changed\n")
    (ws / "many/7").unlink()
    (ws / "many/6").chmod(0o700)
    (ws / "many/link").symlink_to("8")
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", branch="agent/a1", meta={})
    assert kept.summary.dropped == 0
    back = tmp_path / "back"
    trash.restore(repo, trash.find(repo, "a1"), path=str(back), branch="back")
    had = {path.name: path for path in (ws / "many").iterdir()}
    assert {path.name for path in (back / "many").iterdir()} == {*had}
    for name, path in had.items():
        assert (back / "many" / name).read_text() == path.read_text()
        assert (back / "many" / name).lstat().st_mode == path.lstat().st_mode
    assert git(back, "status", "--short") == git(ws, "status", "--short")
