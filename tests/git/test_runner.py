from __future__ import annotations

import contextlib
import io
import os
import select
import signal
from pathlib import Path

import pytest
from tests.git.conftest import git

from windlass import disk_room
from windlass.core.errors import ConfigError, GitError
from windlass.git import blobs, bounds, runner, versions
from windlass.git.blobs import Blobs
from windlass.git.environment import Dirs
from windlass.git.repository import Repository


def fake_git(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_folder_that_cannot_be_entered_is_named(tmp_path: Path) -> None:
    """Agents close their workspaces, or put files in their place."""
    place = tmp_path / "file"
    place.write_text("no folder\n")
    with pytest.raises(GitError, match=r"cannot be started: .*/file: Not a directory"):
        runner.run(["--version"], cwd=str(place))


def test_a_missing_git_is_a_matter_of_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="not on PATH") as caught:
        runner.run(["--version"])
    assert "install git" in caught.value.hint
    with pytest.raises(ConfigError, match="not on PATH"):
        versions.version()


@pytest.mark.parametrize(("said", "good"), [("2.37.9", False), ("2.38.0", True), ("3.0.1", True)])
def test_git_before_2_38_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, good: bool
) -> None:
    fake_git(tmp_path / "bin", f"echo git version {said}", monkeypatch)
    if good:
        versions.require_version()
        return
    with pytest.raises(ConfigError, match="too old"):
        versions.require_version()


def test_the_environment_is_built_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSH_COMMAND", "evil")
    monkeypatch.setenv("LD_PRELOAD_LIKE", "evil")
    fake_git(tmp_path / "bin", "env", monkeypatch)
    said = runner.run(["anything"]).out.decode()
    names = {line.split("=")[0] for line in said.splitlines() if "=" in line}
    assert "GIT_DIR" not in names
    assert not {"GIT_SSH_COMMAND", "LD_PRELOAD_LIKE"} & names
    assert "HOME=/nonexistent" in said.splitlines()
    assert "GIT_CONFIG_GLOBAL=/dev/null" in said.splitlines()


def test_the_users_global_configuration_is_not_read(repo: Repository, home: Path) -> None:
    (home / ".gitconfig").write_text("[alias]\n\tzz = !touch marker\n[user]\n\tname = Global\n")
    assert runner.run(["config", "--get", "user.name"], dirs=repo.dirs, ok=(1,)).code == 1
    with pytest.raises(GitError):
        runner.run(["zz"], dirs=repo.dirs)
    assert git(repo.root, "config", "--get", "user.name") == "Global"


def test_a_failure_says_what_ran_how_it_ended_and_what_git_said(repo: Repository) -> None:
    with pytest.raises(GitError) as caught:
        runner.run(["rev-parse", "--verify", "no\x1b[31msuch"], dirs=repo.dirs)
    assert "`git rev-parse --verify no\\x1b[31msuch` ended with 128" in caught.value.message
    assert "fatal:" in caught.value.message
    assert caught.value.hint


def test_a_git_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", "exec tail -f /dev/null", monkeypatch)
    with pytest.raises(GitError, match="did not finish"):
        runner.run(["status"], timeout=0.1)


def test_bytes_go_in_and_out_untouched(repo: Repository) -> None:
    content = bytes(range(256)) * 3
    oid = runner.run(["hash-object", "-w", "--stdin"], dirs=repo.dirs, stdin=content).out.strip()
    assert runner.run(["cat-file", "blob", oid], dirs=repo.dirs).out == content


def test_every_filter_and_merge_driver_is_disarmed(repo: Repository) -> None:
    git(repo.root, "config", "filter.a b.clean", "evil")
    git(repo.root, "config", "filter.dots.in.name.process", "evil")
    git(repo.root, "config", "merge.odd=name.driver", "evil")
    included = Path(repo.git_dir) / "more"
    included.write_text('[filter "included"]\n\tsmudge = evil\n')
    git(repo.root, "config", "include.path", "more")
    dirs = runner.armed(Dirs(git_dir=repo.git_dir))
    for key in ("filter.a b.clean", "filter.dots.in.name.process", "filter.included.smudge"):
        assert runner.run(["config", "--get", key], dirs=dirs).out == b"\n"
    said = runner.run(["config", "--get", "merge.odd=name.driver"], dirs=dirs).out
    assert said.startswith(b"git merge-file")


def test_git_that_fails_on_a_full_disk_is_not_said_to_need_a_check_of_the_repository(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git says of a file that it cannot write it, and not why."""
    with pytest.raises(GitError) as caught:
        runner.run(["rev-parse", "--verify", "nothing"], dirs=repo.dirs)
    assert "git fsck" in caught.value.hint
    monkeypatch.setattr(disk_room, "LITTLE", 1 << 60)
    with pytest.raises(GitError) as caught:
        runner.run(["rev-parse", "--verify", "nothing"], dirs=repo.dirs)
    assert caught.value.hint.startswith(f"no room left on the disk of {repo.git_dir}: free some")


def test_git_that_says_that_there_is_no_room_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "error: unable to write symref for HEAD: No space left on device"
    fake_git(tmp_path / "bin", f"echo {said} >&2; exit 1", monkeypatch)
    with pytest.raises(GitError, match="No space left") as caught:
        runner.run(["worktree", "add"])
    assert caught.value.hint == disk_room.HINT


def test_two_calls_share_one_box_and_the_second_is_not_made_where_the_first_fails(
    repo: Repository, tmp_path: Path
) -> None:
    began, file = tmp_path / "began", tmp_path / "settings"
    box = ("/bin/sh", "-c", f'echo >> {began}; exec "$@"', "box")
    dirs = Dirs(git_dir=repo.git_dir, box=box)
    odd = 'it\'s $HOME; "x"'
    setting = ["config", "--file", str(file), "a.b"]
    said = runner.run_both([*setting, odd], setting, dirs=dirs)
    assert said.out.decode() == f"{odd}\n"
    assert began.read_text() == "\n"
    with pytest.raises(GitError, match=r"after `git config --file /nonexistent/f a\.b x`"):
        runner.run_both(
            ["config", "--file", "/nonexistent/f", "a.b", "x"], [*setting, "changed"], dirs=dirs
        )
    assert runner.run(setting, dirs=dirs).out.decode() == f"{odd}\n"
    plain = Dirs(git_dir=repo.git_dir)
    assert runner.run_both([*setting, "outside"], setting, dirs=plain).out == b"outside\n"


def test_a_child_that_holds_the_pipe_of_a_git_that_has_ended_is_ended_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine git may not have come to its child in time: then it gets more of it."""
    alive = tmp_path / "alive"
    # The child has the writing end of a pipe, which reads to its end once the child is gone; before
    # that its number stands in it.
    fake_git(tmp_path / "bin", f"exec 3<>{alive}; sleep 600 & echo $! >&3", monkeypatch)
    for patience in (0.2, 2.0, 20.0):
        os.mkfifo(alive)
        with os.fdopen(os.open(alive, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
            with pytest.raises(GitError, match="did not finish"):
                runner.run(["status"], timeout=patience)
            alive.unlink()
            child = pipe.read(10)
            if not child:
                continue
            ready, _, _ = select.select([pipe], [], [], 60)
            if not ready or pipe.read(1) != b"":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
                pytest.fail("the child lives on")
            return
    pytest.fail("the child was never there")


def test_blobs_that_an_agent_has_git_give_for_ever_are_not_waited_for(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_git(tmp_path / "bin", "exec tail -f /dev/null", monkeypatch)
    monkeypatch.setattr(bounds, "LOOK", 0.2)
    monkeypatch.setattr(blobs, "_GOODBYE", 0.2)
    boxed = Dirs(git_dir=repo.git_dir, box=("/usr/bin/env",))
    with pytest.raises(GitError, match="in time"), Blobs(boxed) as asked:
        asked.copy("0" * 40, io.BytesIO())


def test_blobs_come_whole_one_after_the_other(repo: Repository) -> None:
    texts = [b"", b"one\n", b"x" * (3 << 20), b"\n\n", os.urandom(70_000)]
    oids = [git(repo.root, "hash-object", "-w", "--stdin", stdin=text) for text in texts]
    with Blobs(repo.dirs) as asked:
        for oid, text in zip(oids, texts, strict=True):
            into = io.BytesIO()
            asked.copy(oid, into)
            assert into.getvalue() == text
        with pytest.raises(GitError, match="cannot read object"):
            asked.copy("0" * 40, io.BytesIO())
