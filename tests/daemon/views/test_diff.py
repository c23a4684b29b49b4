"""What `wl diff` shows as committed is what a merge takes, whatever an agent does to hide it."""

from __future__ import annotations

import base64
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.replies import as_declared
from tests.support.workshop import Workshop, git

from windlass.box import probes
from windlass.core.errors import Conflict, Unavailable
from windlass.daemon.launch import commit_fetcher
from windlass.git import homecoming
from windlass.store import rows

pytestmark = pytest.mark.skipif(not probes.usable().host_network, reason="this machine has no box")
Hide = Callable[[Path], None]


@pytest.fixture
def clone(workshop: Workshop) -> Path:
    """The clone of a boxed agent, and a person whose git believes sizes and times of files."""
    git(workshop.repo, "config", "core.trustctime", "false")
    git(workshop.repo, "config", "core.checkStat", "minimal")
    (workshop.repo / "code.py").write_text("good\n")
    (workshop.repo / ".gitignore").write_text("*.log\n")
    os.utime(workshop.repo / "code.py", (1, 1))
    git(workshop.repo, "add", "-A")
    git(workshop.repo, "commit", "-q", "-m", "base")
    made = workshop.ask(
        "spawn", goal="say hello", name="fox", driver="standin", isolation="box", mode="live"
    )
    return Path(workshop.agent(made["uid"]).workspace)


def commit(clone: Path, name: str = "code.py", text: str = "evil\n") -> None:
    """Commits a file as it should not be."""
    (clone / name).write_text(text)
    git(clone, "add", "-f", name)
    git(clone, "commit", "-q", "-m", "improves it")


def a_forced_file(clone: Path) -> None:
    """A file that is ignored, and committed all the same."""
    commit(clone, "evil.log")


def a_file_left_out(clone: Path) -> None:
    """The file shows what it was, and the index says not to look."""
    commit(clone)
    git(clone, "update-index", "--skip-worktree", "code.py")
    (clone / "code.py").write_text("good\n")


def a_file_assumed_unchanged(clone: Path) -> None:
    """The same by another mark."""
    commit(clone)
    git(clone, "update-index", "--assume-unchanged", "code.py")
    (clone / "code.py").write_text("good\n")


def a_head_elsewhere(clone: Path) -> None:
    """The files are those of another commit."""
    commit(clone)
    git(clone, "checkout", "-q", "--detach", "HEAD~1")


def another_branch(clone: Path) -> None:
    """The same on a branch."""
    commit(clone)
    git(clone, "checkout", "-q", "-b", "other", "HEAD~1")


@pytest.mark.parametrize(
    "hide",
    [a_forced_file, a_file_left_out, a_file_assumed_unchanged, a_head_elsewhere, another_branch],
)
def test_what_is_committed_is_shown_however_it_is_hidden(
    workshop: Workshop, clone: Path, hide: Hide
) -> None:
    hide(clone)
    shown = diff(workshop)
    assert "+evil" in shown["committed"]
    assert "1 file changed" in diff(workshop, stat=True)["committed"]
    assert shown["tip"] == git(clone, "rev-parse", "agent/fox").strip()
    assert "evil" in folders(workshop)["committed/after"]


def test_what_is_not_committed_is_shown_apart(workshop: Workshop, clone: Path) -> None:
    commit(clone, "evil.log")
    (clone / "code.py").write_text("half\n")
    (clone / "new").write_text("new\n")
    shown = diff(workshop)
    assert "+evil" in shown["committed"]
    assert "half" not in shown["committed"]
    assert "-good\n+half" in shown["uncommitted"]
    assert "+new" in shown["uncommitted"]
    assert "evil" not in shown["uncommitted"], "it is committed, though it is ignored"
    sides = folders(workshop)
    assert (sides["uncommitted/before"], sides["uncommitted/after"]) == ("good\n", "half\nnew\n")


def a_time_set_back(clone: Path) -> None:
    """A file of the same size, and as old as it was."""
    before = (clone / "code.py").stat()
    (clone / "code.py").write_text("evil\n")
    os.utime(clone / "code.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def a_mark_to_leave_it_out(clone: Path) -> None:
    """A file that the index says to leave out."""
    git(clone, "update-index", "--skip-worktree", "code.py")
    (clone / "code.py").write_text("evil\n")


def a_mark_that_it_is_unchanged(clone: Path) -> None:
    """A file that the index says is unchanged."""
    git(clone, "update-index", "--assume-unchanged", "code.py")
    (clone / "code.py").write_text("evil\n")


@pytest.mark.parametrize(
    "hide", [a_time_set_back, a_mark_to_leave_it_out, a_mark_that_it_is_unchanged]
)
def test_what_is_not_committed_is_seen_however_it_is_hidden(
    workshop: Workshop, clone: Path, hide: Hide
) -> None:
    """By the difference, by the status and by a merge alike."""
    hide(clone)
    assert "-good\n+evil" in diff(workshop)["uncommitted"]
    (agent,) = workshop.ask("status", agent="fox")["agents"]
    assert agent["work"]["unstaged"] == ["code.py"], agent["work"]
    assert workshop.ask("merge-check", agent="fox")["uncommitted"] == ["code.py"]


def test_what_is_staged_is_told_once(workshop: Workshop, clone: Path) -> None:
    (clone / "code.py").write_text("half\n")
    (clone / "new").write_text("new\n")
    git(clone, "add", "-A")
    (clone / "newer").write_text("newer\n")
    (agent,) = workshop.ask("status", agent="fox")["agents"]
    lists = [agent["work"][kind] for kind in ("staged", "unstaged", "untracked")]
    assert lists == [["code.py", "new"], [], ["newer"]]


def test_history_that_was_rewritten_is_compared_as_a_merge_does(
    workshop: Workshop, clone: Path
) -> None:
    """What the person took back does not come again unseen."""
    git(workshop.repo, "revert", "--no-edit", "HEAD")
    git(clone, "reset", "-q", "--soft", "HEAD~1")
    git(clone, "commit", "-q", "-m", "the same once more")
    assert "+good" in diff(workshop)["committed"]


def test_a_merge_takes_the_commit_that_was_looked_at_and_no_other(
    workshop: Workshop, clone: Path
) -> None:
    commit(clone, text="fine\n")
    seen = diff(workshop)["tip"]
    commit(clone)
    now = git(clone, "rev-parse", "HEAD").strip()
    checked = workshop.ask("merge-check", agent="fox", expect=seen)
    assert (checked["tip"], len(checked["problems"])) == (now, 1)
    with pytest.raises(Conflict, match=f"agent/fox is at {now}, not at {seen}"):
        workshop.ask("merge", agent="fox", expect=seen)
    assert git(workshop.repo, "show", "main:code.py") == "good\n"
    done = as_declared("merge", workshop.ask("merge", agent="fox", expect=now))
    assert done["tip"] == now == git(workshop.repo, "rev-parse", "main^2").strip()


@pytest.fixture
def slow_fetch(
    workshop: Workshop, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], None]]:
    """Commits that are being fetched, and go on to be when the test says so."""
    fetcher = workshop.services.fetcher
    fox = next(a for a in workshop.context.store.read(rows.agents) if a.id == "fox")
    under_way, may_end = threading.Event(), threading.Event()
    real = homecoming.fetch

    def take_long(*args: Any, **more: Any) -> str | None:
        under_way.set()
        assert may_end.wait(60)
        return real(*args, **more)

    monkeypatch.setattr(homecoming, "fetch", take_long)
    monkeypatch.setattr(commit_fetcher, "_PATIENCE", 0.1)
    commit(clone)
    fetching = threading.Thread(target=fetcher.try_to_fetch, args=[fox])
    fetching.start()

    def end() -> None:
        may_end.set()
        fetching.join()

    try:
        assert under_way.wait(60)
        yield end
    finally:
        end()


def test_while_commits_are_coming_home_nothing_else_is_shown_in_their_place(
    workshop: Workshop, clone: Path, slow_fetch: Callable[[], None]
) -> None:
    with pytest.raises(Unavailable, match="commits of fox are still coming home") as failed:
        diff(workshop)
    assert "try again" in failed.value.hint
    (agent,) = workshop.ask("status", agent="fox")["agents"]
    assert "still coming home" in agent["stuck"]
    slow_fetch()
    shown = diff(workshop)
    assert "+evil" in shown["committed"]
    assert shown["tip"] == git(clone, "rev-parse", "agent/fox").strip()
    (agent,) = workshop.ask("status", agent="fox")["agents"]
    assert "stuck" not in agent


def test_commits_that_cannot_come_home_are_told_with_the_reason(
    workshop: Workshop, clone: Path
) -> None:
    (workshop.context.folders.home / "config.toml").write_text("[box]\nhome_mb = 1\n")
    (clone / "noise").write_bytes(os.urandom(2 << 20))
    git(clone, "add", "noise")
    git(clone, "commit", "-q", "-m", "noise")
    for _ in range(2):  # the second time nothing is tried
        with pytest.raises(Unavailable, match=r"do not come home.*box\.home_mb is 1") as failed:
            diff(workshop)
    assert "wl config set box.home_mb" in failed.value.hint


def test_a_branch_that_cannot_be_read_is_told(workshop: Workshop, clone: Path) -> None:
    commit(clone)
    ref = clone / ".git/refs/heads/agent/fox"
    ref.rename(clone / ".git/hidden")
    ref.symlink_to(clone / ".git/hidden")
    with pytest.raises(Unavailable, match="is not what git made it"):
        diff(workshop)


def diff(workshop: Workshop, **more: Any) -> dict[str, Any]:
    """What the person is shown."""
    reply: dict[str, Any] = as_declared("diff", workshop.ask("diff", agent="fox", **more))
    for part in ("committed", "uncommitted"):
        reply[part] = base64.b64decode(reply[part]).decode()
    return reply


def folders(workshop: Workshop) -> dict[str, str]:
    """What is in each folder that a diff program is shown."""
    top = Path(workshop.ask("diff", agent="fox", folders=True)["folder"])
    try:
        files = [path for path in sorted(top.rglob("*")) if path.is_file()]
        sides = {str(side.relative_to(top)) for side in top.glob("*/*")}
        return {
            side: "".join(path.read_text() for path in files if (top / side) in path.parents)
            for side in sides
        }
    finally:
        shutil.rmtree(top)


@pytest.mark.parametrize("folders", [False, True])
def test_files_that_are_too_full_of_holes_to_be_compared_are_named(
    workshop: Workshop, clone: Path, folders: bool
) -> None:
    with (clone / "code.py").open("ab") as file:
        file.truncate(1 << 40)
    if (clone / "code.py").stat().st_blocks > 8:
        pytest.skip("this file system has no holes")
    shown = workshop.ask("diff", agent="fox", folders=folders)
    assert shown["unread"] == ["code.py"]
    shutil.rmtree(shown.get("folder", ""), ignore_errors=True)
