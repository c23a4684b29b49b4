"""Whatever an agent left behind comes back byte for byte after removal and garbage collection."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot

from windlass.git import repository, trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage

Deed = Callable[[Path], None]
DEEDS: list[Deed] = []


def deed(function: Deed) -> Deed:
    """Registers something that an agent might do."""
    DEEDS.append(function)
    return function


def commit(where: Path, name: str, content: str = "x\n") -> str:
    (where / name).write_text(content)
    git(where, "add", name)
    git(where, "commit", "-q", "-m", f"add {name}")
    return git(where, "rev-parse", "HEAD")


@deed
def nothing_at_all(ws: Path) -> None:
    assert ws.is_dir()


@deed
def staged_unstaged_deleted_renamed(ws: Path) -> None:
    (ws / "src/one.py").write_text("one = 10\n")
    git(ws, "add", "src/one.py")
    (ws / "src/one.py").write_text("one = 100\n")
    (ws / "src/two.py").unlink()
    git(ws, "mv", "readme.txt", "README")
    git(ws, "rm", "-q", "--cached", "run.sh")


@deed
def executable_bits_and_odd_permissions(ws: Path) -> None:
    (ws / "run.sh").chmod(0o644)
    (ws / "readme.txt").chmod(0o755)
    (ws / "private").write_text("p")
    (ws / "private").chmod(0o600)
    if os.geteuid() == 0:  # else this test itself could not look
        (ws / "closed").write_text("c")
        (ws / "closed").chmod(0o000)


@deed
def symlinks_of_every_kind(ws: Path) -> None:
    (ws / "dangling").symlink_to("nowhere/at all")
    (ws / "folder-link").symlink_to("src")
    (ws / "outside").symlink_to("/etc")
    (ws / "link").unlink()
    (ws / "link").write_text("a file now\n")
    (ws / "readme.txt").unlink()
    (ws / "readme.txt").symlink_to("run.sh")


@deed
def a_folder_becomes_a_file_and_a_file_a_folder(ws: Path) -> None:
    (ws / "src/one.py").unlink()
    (ws / "src/two.py").unlink()
    (ws / "src").rmdir()
    (ws / "src").write_text("no folder\n")
    (ws / "readme.txt").unlink()
    (ws / "readme.txt").mkdir()
    (ws / "readme.txt/inner").write_text("in\n")


@deed
def untracked_and_ignored_files(ws: Path) -> None:
    (ws / "new/deep").mkdir(parents=True)
    (ws / "new/deep/file").write_bytes(bytes(range(256)))
    (ws / "debug.log").write_text("ignored\n")
    (ws / ".env").write_text("SECRET=1\n")
    (ws / "cache").mkdir()
    (ws / "cache/blob").write_bytes(b"\0" * 1000)
    (ws / "node_modules/pkg").mkdir(parents=True)
    (ws / "node_modules/pkg/index.js").write_text("//\n")
    (ws / "empty-file").write_bytes(b"")


@deed
def names_that_break_scripts(ws: Path) -> None:
    names = [
        b"with space",
        b" lead",
        b"trail ",
        b"new\nline",
        b"tab\tname",
        b'quote"d',
        b"it's",
        b"-dash",
        b"--help",
        b"esc\x1b[31mred",
        b"invalid-\xff\xfe",
        b"back\\slash",
        b"star*?[x]",
        b"a:b",
        b"$HOME",
        "umlaut-\u00fc".encode(),
        b".gitfoo",
        b"git~1",
        b".git ",
        b"\x01ctl",
        b"!bang",
        b"#hash",
        b":(top)",
    ]
    for name in names:
        (ws / os.fsdecode(name)).write_bytes(b"is " + name)
    folder = ws / os.fsdecode(b"dir\n\xff")
    folder.mkdir()
    (folder / "x").write_text("x")
    git(ws, "add", "--", "-dash", os.fsdecode(b"invalid-\xff\xfe"), "new\nline")


@deed
def empty_folders(ws: Path) -> None:
    (ws / "empty/er/est").mkdir(parents=True)
    (ws / "cache/void").mkdir(parents=True)


@deed
def a_nested_repository_without_commits(ws: Path) -> None:
    git(ws, "init", "-q", "nested")


@deed
def a_nested_repository_with_commits_and_work(ws: Path) -> None:
    git(ws, "init", "-q", "deep/nested")
    nested = ws / "deep/nested"
    commit(nested, "inner.txt")
    git(nested, "stash", "list")
    (nested / "inner.txt").write_text("changed\n")
    (nested / "more").write_text("untracked\n")
    git(ws, "init", "-q", "deep/nested/nested")
    commit(nested / "nested", "innermost")


@deed
def a_nested_repository_staged_as_gitlink(ws: Path) -> None:
    git(ws, "init", "-q", "sub")
    commit(ws / "sub", "s.txt")
    git(ws, "-c", "advice.addEmbeddedRepo=false", "add", "sub")


@deed
def a_repository_in_a_tracked_folder(ws: Path) -> None:
    git(ws / "src", "init", "-q")
    git(ws / "src", "add", "one.py")
    git(ws / "src", "commit", "-q", "-m", "inside a tracked folder")


@deed
def a_git_folder_in_other_letters(ws: Path) -> None:
    (ws / "odd/.GIT").mkdir(parents=True)
    (ws / "odd/.GIT/file").write_text("kept\n")


@deed
def a_submodule(ws: Path) -> None:
    origin = ws.parent.parent / "origin"
    git(ws, "init", "-q", str(origin))
    commit(origin, "lib.txt")
    git(ws, "submodule", "--quiet", "add", str(origin), "lib")
    git(ws, "commit", "-q", "-m", "add submodule")
    commit(ws / "lib", "local-only.txt")
    (ws / "lib/lib.txt").write_text("dirty\n")


@deed
def a_nested_worktree(ws: Path) -> None:
    git(ws, "worktree", "add", "-q", "-b", "inner", "inner")
    commit(ws / "inner", "inner.txt")
    (ws / "inner/untracked").write_text("u\n")


@deed
def two_stashes(ws: Path) -> None:
    (ws / "readme.txt").write_text("first stash\n")
    git(ws, "stash", "-q")
    (ws / "readme.txt").write_text("second stash\n")
    (ws / "untracked").write_text("u\n")
    git(ws, "stash", "push", "-q", "-u", "-m", "mine: with colon")


@deed
def a_detached_head_with_commits(ws: Path) -> None:
    commit(ws, "on-branch")
    git(ws, "checkout", "-q", "--detach")
    commit(ws, "detached-1")
    commit(ws, "detached-2")


@deed
def another_branch(ws: Path) -> None:
    git(ws, "checkout", "-q", "-b", "side-quest")
    commit(ws, "side")


@deed
def a_merge_in_conflict(ws: Path) -> None:
    git(ws, "branch", "other")
    commit(ws, "clash", "ours\n")
    mine = git(ws, "rev-parse", "HEAD")
    git(ws, "checkout", "-q", "other")
    commit(ws, "clash", "theirs\n")
    commit(ws, "extra", "from other\n")
    git(ws, "checkout", "-q", "agent/a1")
    assert git(ws, "rev-parse", "HEAD") == mine
    git(ws, "merge", "-q", "other", ok=1)
    git(ws, "branch", "-q", "-D", "other")


@deed
def conflict_stages_that_no_commit_has(ws: Path) -> None:
    lines = []
    for stage in (1, 2, 3):
        oid = git(ws, "hash-object", "-w", "--stdin", stdin=f"stage {stage}\n".encode())
        lines.append(f"100644 {oid} {stage}\todd")
    git(ws, "update-index", "--index-info", stdin="\n".join(lines).encode() + b"\n")


@deed
def a_rebase_in_progress(ws: Path) -> None:
    base = git(ws, "rev-parse", "HEAD")
    commit(ws, "clash", "ours\n")
    commit(ws, "later", "later\n")
    git(ws, "checkout", "-q", "-b", "upstream", base)
    commit(ws, "clash", "theirs\n")
    git(ws, "checkout", "-q", "agent/a1")
    git(ws, "rebase", "-q", "upstream", ok=1)
    git(ws, "branch", "-q", "-D", "upstream")


@deed
def index_flags_and_intent_to_add(ws: Path) -> None:
    (ws / "planned").write_text("not yet\n")
    git(ws, "add", "-N", "planned")
    git(ws, "update-index", "--assume-unchanged", "readme.txt")
    git(ws, "update-index", "--skip-worktree", "src/two.py")
    (ws / "readme.txt").write_text("hidden from status\n")
    (ws / "src/two.py").unlink()


@deed
def a_split_index(ws: Path) -> None:
    git(ws, "update-index", "--split-index")
    (ws / "src/one.py").write_text("one = 7\n")
    git(ws, "add", "src/one.py")


@deed
def everything_deleted(ws: Path) -> None:
    git(ws, "rm", "-r", "-q", ".")


@deed
def an_orphan_branch(ws: Path) -> None:
    git(ws, "checkout", "-q", "--orphan", "fresh")
    (ws / "brand-new").write_text("n\n")
    git(ws, "add", "brand-new")


def state(ws: Path) -> dict[str, str]:
    """What git says about a workspace, free of its path."""
    listed = git(ws, "status", "--porcelain=v2", "--ignored", "-z", "--untracked-files=all")
    return {
        "status": listed,
        "index": git(ws, "ls-files", "-s", "-z"),
        "objects": index_objects(ws),
        "flags": git(ws, "ls-files", "-v", "-z"),
        "stash": git(ws, "stash", "list", "--format=%H %gs"),
        "head": git(ws, "symbolic-ref", "-q", "HEAD", ok=0) if _on_branch(ws) else "detached",
        "commit": _head(ws),
        "operation": str(sorted(_operations(ws))),
    }


def index_objects(ws: Path) -> str:
    """Says of every object in the index whether it exists."""
    oids = [line.split()[1] for line in git(ws, "ls-files", "-s").splitlines()]
    asked = "\n".join(oids).encode() + b"\n"
    return git(ws, "cat-file", "--batch-check", stdin=asked)


def _on_branch(ws: Path) -> bool:
    return (Path(git(ws, "rev-parse", "--absolute-git-dir")) / "HEAD").read_text()[:4] == "ref:"


def _head(ws: Path) -> str:
    return git(ws, "for-each-ref", "--points-at", "HEAD", "--format=x") and git(
        ws, "rev-parse", "HEAD"
    )


def _operations(ws: Path) -> list[str]:
    admin = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    names = ["MERGE_HEAD", "MERGE_MSG", "rebase-merge", "ORIG_HEAD", "logs/HEAD"]
    return [name for name in names if (admin / name).exists()]


def forget(repo: Repository) -> None:
    """Makes git throw away everything that no ref holds."""
    git(repo.root, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    git(repo.root, "gc", "-q", "--prune=now")


def nested_states(ws: Path) -> dict[str, tuple[str, str]]:
    found = {}
    for here, folders, names in os.walk(ws):
        if ".git" in [*folders, *names] and Path(here) != ws:
            key = os.path.relpath(here, ws)
            log = git(here, "log", "--branches", "--format=%H %s") if _has_commits(here) else ""
            found[key] = (log, git(here, "status", "--porcelain"))
        folders[:] = [name for name in folders if name != ".git"]
    return found


def _has_commits(where: str) -> bool:
    return git(where, "rev-list", "--all", "--max-count=1") != ""


@pytest.mark.parametrize("do", DEEDS, ids=lambda do: do.__name__)
def test_a_removed_workspace_comes_back_as_it_was(repo: Repository, ws: Path, do: Deed) -> None:
    do(ws)
    before, said, nested = snapshot(ws), _state_or_orphan(ws), nested_states(ws)

    salvage(repo, path=str(ws), agent="a1", stamp="20260102T030405Z", meta={"why": "test"})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    forget(repo)
    assert not ws.exists()
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1", agent="a1")

    assert snapshot(ws) == before
    assert _state_or_orphan(ws) == said
    assert nested_states(ws) == nested


def _state_or_orphan(ws: Path) -> dict[str, str]:
    if git(ws, "rev-list", "--max-count=1", "--all") and _born(ws):
        return state(ws)
    return {"status": git(ws, "status", "--porcelain", "-z"), "index": git(ws, "ls-files", "-s")}


def _born(ws: Path) -> bool:
    admin = Path(git(ws, "rev-parse", "--absolute-git-dir"))
    head = (admin / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return True
    return bool(git(ws, "for-each-ref", head.removeprefix("ref: ")))


def test_reflog_only_commits_survive_collection(repo: Repository, ws: Path) -> None:
    lost = commit(ws, "lost")
    git(ws, "reset", "-q", "--hard", "HEAD~1")
    amended = commit(ws, "to-amend")
    git(ws, "commit", "-q", "--amend", "-m", "amended")

    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    forget(repo)

    assert git(repo.root, "cat-file", "-t", lost) == "commit"
    assert git(repo.root, "show", f"{amended}:to-amend") == "x"


def test_a_salvage_keeps_nothing_of_the_one_that_it_follows(repo: Repository, ws: Path) -> None:
    """Who emptied the older would have it still, and it would count as the agent's commit."""
    (ws / "secret").write_text("older\n")
    older = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    for stamp in ("2", "3"):
        workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
        trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1", agent="a1")
        (ws / "secret").write_text(f"{stamp}\n")
        newer = salvage(repo, path=str(ws), agent="a1", stamp=stamp, meta={})
        assert newer.summary.commits == 0
    assert older.commit not in git(repo.root, "rev-list", newer.ref).split()


def test_what_only_a_salvage_kept_alive_is_kept_by_those_that_follow(
    repo: Repository, ws: Path
) -> None:
    """The log of a branch goes with it: nothing in the restored workspace names the commit."""
    lost = commit(ws, "lost")
    git(ws, "checkout", "-q", "--detach", "main")
    git(ws, "branch", "-f", "agent/a1", "main")
    (Path(git(ws, "rev-parse", "--absolute-git-dir")) / "logs" / "HEAD").unlink()
    for stamp in ("1", "2"):
        kept = salvage(repo, path=str(ws), agent="a1", stamp=stamp, meta={}, branch="agent/a1")
        assert lost in git(repo.root, "rev-list", kept.ref).split()
        workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
        trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1", agent="a1")


def test_dropped_stashes_come_back_once(repo: Repository, ws: Path) -> None:
    two_stashes(ws)
    listed = git(ws, "stash", "list", "--format=%H %gs")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    git(repo.root, "stash", "clear")
    forget(repo)

    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="b1")
    assert git(ws, "stash", "list", "--format=%H %gs") == listed
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws) + "2", branch="b2")
    assert git(ws, "stash", "list", "--format=%H %gs") == listed


def test_a_stash_of_another_workspace_is_not_claimed(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    other = tmp_path / "ws" / "a2"
    workspaces.create(repo, path=str(other), branch="agent/a2", base="main", agent="a2")
    (other / "readme.txt").write_text("theirs\n")
    git(other, "stash", "-q")
    assert salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}).summary.stashes == 0
    assert salvage(repo, path=str(other), agent="a2", stamp="1", meta={}).summary.stashes == 1


def test_a_rebase_can_be_finished_after_a_restore(repo: Repository, ws: Path) -> None:
    a_rebase_in_progress(ws)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    forget(repo)
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1-again")

    (ws / "clash").write_text("solved\n")
    git(ws, "add", "clash")
    git(ws, "-c", "core.editor=true", "rebase", "--continue")
    assert git(ws, "symbolic-ref", "--short", "HEAD") == "agent/a1-again"
    assert git(ws, "log", "--format=%s", "-n", "2") == "add later\nadd clash"


@pytest.mark.parametrize(
    "do", [a_submodule, a_nested_worktree, a_nested_repository_with_commits_and_work]
)
def test_nested_repositories_work_in_another_place(
    repo: Repository, ws: Path, tmp_path: Path, do: Deed
) -> None:
    do(ws)
    nested = nested_states(ws)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    forget(repo)
    back = tmp_path / "far" / "away" / "back"
    trash.restore(repo, trash.find(repo, "a1"), path=str(back), branch="back")
    assert nested_states(back) == nested
    git(back, "status")


def test_line_endings_and_filters_are_not_applied(repo: Repository, ws: Path) -> None:
    git(repo.root, "config", "filter.shout.clean", "tr a-z A-Z")
    git(repo.root, "config", "filter.shout.smudge", "tr a-z A-Z")
    git(repo.root, "config", "core.autocrlf", "true")
    (ws / ".gitattributes").write_text("*.txt filter=shout\n*.crlf text eol=crlf\n")
    (ws / "readme.txt").write_bytes(b"quiet\n")
    (ws / "mixed.crlf").write_bytes(b"one\r\ntwo\nthree\r\n")
    before = snapshot(ws)

    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1")

    assert snapshot(ws) == before


def test_a_folder_deleted_by_hand_is_salvaged_from_its_git_state(
    repo: Repository, ws: Path
) -> None:
    lost = commit(ws, "lost")
    git(ws, "reset", "-q", "--hard", "HEAD~1")
    (ws / "staged").write_text("only in the index\n")
    git(ws, "add", "staged")
    git(repo.root, "worktree", "lock", ws, ok=128)
    ws.rename(str(ws) + ".gone")

    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    forget(repo)
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1")

    assert (ws / "staged").read_text() == "only in the index\n"
    assert git(ws, "status", "--porcelain") == "A  staged"
    assert git(repo.root, "cat-file", "-t", lost) == "commit"


def test_a_restore_that_was_killed_is_completed_by_the_next(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untracked_and_ignored_files(ws)
    before = snapshot(ws)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    entry = trash.find(repo, "a1")

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("os.fchmod", die)
        with pytest.raises(Killed):
            trash.restore(repo, entry, path=str(ws), branch="agent/a1")
    assert ws.exists()
    trash.restore(repo, entry, path=str(ws), branch="agent/a1")
    assert snapshot(ws) == before


def test_a_sha256_repository_is_no_different(tmp_path: Path) -> None:
    root = tmp_path / "modern"
    git(tmp_path, "init", "-q", "--object-format=sha256", root)
    commit(root, "readme.txt")
    repo = repository.discover(str(root))
    ws = tmp_path / "ws"
    workspaces.create(repo, path=str(ws), branch="agent/a1", base="main", agent="a1")
    (ws / "readme.txt").write_text("edited\n")
    (ws / "new").write_text("new\n")
    git(ws, "add", "new")
    before, said = snapshot(ws), state(ws)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    forget(repo)
    trash.restore(repo, trash.find(repo, "a1"), path=str(ws), branch="agent/a1")
    assert (snapshot(ws), state(ws)) == (before, said)
