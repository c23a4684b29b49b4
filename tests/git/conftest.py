"""Real repositories in temporary folders, with a HOME of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from windlass.git import repository, workspaces
from windlass.git.repository import Repository

ENV_LEAKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")


def git(cwd: Path | str, *args: str | bytes | Path, stdin: bytes = b"", ok: int = 0) -> str:
    """Runs plain git, as a person or an agent would."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, input=stdin, capture_output=True, check=False, timeout=60
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


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Repository:
    """A repository with one commit on main."""
    assert home.is_dir()
    root = tmp_path / "repo"
    git(tmp_path, "init", "-q", "-b", "main", root)
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
    return repository.discover(str(root))


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
