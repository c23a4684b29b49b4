"""Real repositories in temporary folders, with a HOME of their own."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from windlass.git import workspaces
from windlass.git.repository import Repository

_PATIENCE = 600.0
"""Seconds; only a git that hangs takes so long, also on a busy machine."""
ENV_LEAKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")


def git(cwd: Path | str, *args: str | bytes | Path, stdin: bytes = b"", ok: int = 0) -> str:
    """Runs plain git, as a person or an agent would."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, input=stdin, capture_output=True, check=False, timeout=_PATIENCE
    )
    assert done.returncode == ok, (args, done.returncode, done.stderr)
    return done.stdout.decode(errors="surrogateescape").rstrip("\n")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private HOME with an identity."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ENV_LEAKS:
        monkeypatch.delenv(name, raising=False)
    (folder / ".gitconfig").write_text(
        "[user]\n\tname = Ann Own\n\temail = ann@example.org\n"
        '[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n'
    )
    return folder


@functools.cache
def _first_commit(folder: Path) -> Path:
    """A repository with one commit on main, to copy: seven starts of git per test are a lot."""
    root = folder / "first-repo"
    git(folder, "init", "-q", "-b", "main", root)
    (root / "readme.txt").write_text("hello\n")
    (root / "src").mkdir()
    (root / "src" / "one.py").write_text("one = 1\n")
    (root / "src" / "two.py").write_text("two = 2\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("src/one.py")
    (root / ".gitignore").write_text("*.log\ncache/\nnode_modules/\n.env\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def repo(tmp_path: Path, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with one commit on main, whose index knows its files."""
    assert home.is_dir()
    root = tmp_path / "repo"
    shutil.copytree(_first_commit(tmp_path_factory.getbasetemp()), root, symlinks=True)
    git(root, "update-index", "-q", "--refresh")
    return Repository(root=str(root), git_dir=str(root / ".git"))


@pytest.fixture
def ws(repo: Repository, tmp_path: Path) -> Path:
    """The workspace of agent `a1` on branch `agent/a1`."""
    path = tmp_path / "ws" / "a1"
    workspaces.create(repo, path=str(path), branch="agent/a1", base="main", agent="a1")
    return path


Snapshot = dict[bytes, tuple[str, int, bytes]]


def snapshot(root: Path | str) -> Snapshot:
    """Everything below a folder, nested `.git` folders left out: kind, permissions, content."""
    found: Snapshot = {}
    for here, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name.lower() != ".git"]
        for name in [*folders, *names]:
            path = Path(here) / name
            key = os.fsencode(path.relative_to(root))
            if name.lower() == ".git":
                continue
            if path.is_symlink():
                found[key] = ("link", 0, os.fsencode(path.readlink()))
            elif path.is_dir():
                found[key] = ("folder", 0, b"")
            elif path.is_file():
                found[key] = ("file", path.stat().st_mode & 0o777, path.read_bytes())
    return found
