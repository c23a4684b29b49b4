"""Agents of big repositories: to start one, to look at its work, to merge it and to end it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from bench.crew import command
from bench.scale import repositories
from bench.scale.beside import beside
from bench.scale.repositories import FIFTY, SEVEN, Shape
from bench.table import Row, timed
from tests.support.ground import Ground

LEVELS = ("hooks", "box")
_LOOKS = 7
_ENDINGS = 3
_CHANGED, _UNTRACKED = 5_000, 20_000


def starts(ground: Ground) -> Iterator[Row]:
    """The first agent that ever has a box in a repository with a long history."""
    repo = _repository(ground, SEVEN)
    yield _first_boxed(ground, repo)
    yield _growth(ground, repo)


def looks(ground: Ground) -> Iterator[Row]:
    """What an agent has done: nothing, much, and much that is new."""
    repo = _repository(ground, SEVEN)
    for level in LEVELS:
        yield from _looks(ground, repo, level)
        yield from _many(ground, repo, level)


def ends(ground: Ground) -> Iterator[Row]:
    """To end agents that did nothing, in repositories of seven and of fifty thousand files."""
    for shape in (SEVEN, FIFTY):
        repo = _repository(ground, shape)
        for level in LEVELS:
            yield _endings(ground, repo, level, shape)


def merges(ground: Ground) -> Iterator[Row]:
    """To merge what an agent committed."""
    yield _merges(ground, _repository(ground, SEVEN))


def _repository(ground: Ground, shape: Shape) -> Path:
    repo = ground.folder / f"files-{shape.name}"
    repositories.lend(repo, shape, ground.env)
    ground.wl("-C", str(repo), "init", "--yes", "-q", timeout=600)
    return repo


def _start(ground: Ground, repo: Path, name: str, level: str) -> Path:
    """Starts an agent that waits, and says where it works."""
    script = ground.script("waits", {"text": "WAITING"})
    made = ground.wl(
        *("new", "--driver", "standin", "--isolation", level, "--script", script),
        *("--name", name, "--json", "wait"),
        cwd=repo,
        timeout=600,
    )
    return Path(made.ok().json()["workspace"])


def _end(ground: Ground, repo: Path, name: str) -> None:
    ground.wl("kill", "--force", "-q", name, cwd=repo, timeout=600).ok()


def _first_boxed(ground: Ground, repo: Path) -> Row:
    """From the command to the session of the first agent that ever had a box here."""
    took = timed(lambda: _start(ground, repo, "first", "box"), runs=1)
    _end(ground, repo, "first")
    return Row("first boxed wl new, 7k", took, 5_000, "its repository has 600 MB of history")


def _looks(ground: Ground, repo: Path, level: str) -> Iterator[Row]:
    """Status and difference of an agent that has done nothing."""
    name = f"idle-{level}"
    workspace = _start(ground, repo, name, level)
    for word in ("status", "diff"):
        git = repositories.plain(workspace, ground.env, word)
        look = command(ground, "-C", str(repo), word, name)
        ours, plain = [], []
        for _ in range(_LOOKS):
            plain.append(git())
            ours += timed(look, runs=1)
        what = f"wl {word} A, 7k, {level}, nothing changed"
        yield beside(what, ours, plain, times=2, more=60, by=f"git {word}")
    _end(ground, repo, name)


def _many(ground: Ground, repo: Path, level: str) -> Iterator[Row]:
    """The difference of many changed files, and of many that are new."""
    name = f"busy-{level}"
    workspace = _start(ground, repo, name, level)
    repositories.change(workspace, range(_CHANGED))
    git = repositories.plain(workspace, ground.env, "diff")
    look = command(ground, "-C", str(repo), "diff", name)
    ours, plain = [], []
    for _ in range(3):
        plain.append(git())
        ours += timed(look, runs=1)
    what = f"wl diff A, {_CHANGED} changed, {level}"
    yield beside(what, ours, plain, times=1.5, more=100, by="git diff")
    new = workspace / "new"
    for number in range(_UNTRACKED):
        file = new / f"room{number // 100}" / f"file{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"file {number}\n")
    yield Row(f"wl diff A, {_UNTRACKED} untracked, {level}", timed(look, runs=3), 2_000)
    _end(ground, repo, name)


def _endings(ground: Ground, repo: Path, level: str, shape: Shape) -> Row:
    """How soon somebody who ends an agent that did nothing is answered; plain git removes one."""
    plain = [_removed(ground, repo, number) for number in range(_ENDINGS)]
    ours = []
    for number in range(_ENDINGS):
        name = f"end-{level}-{number}"
        _start(ground, repo, name, level)
        ours += timed(lambda name=name: _end(ground, repo, name), runs=1)  # type: ignore[misc]
    floor = sorted(plain)[len(plain) // 2]
    note = f"git worktree remove {floor:.0f} ms"
    return Row(f"wl kill, {shape.name}, {level}", ours, 1_000, note)


def _removed(ground: Ground, repo: Path, number: int) -> float:
    tree = ground.folder / f"tree{number}"
    ground.git("worktree", "add", "-q", "--detach", str(tree), cwd=repo)
    return repositories.plain(repo, ground.env, "worktree", "remove", str(tree))()


def _merges(ground: Ground, repo: Path) -> Row:
    """The merge of an agent's commit into a branch, and the same by plain git."""
    ours, plain = [], []
    ground.git("branch", "collected", cwd=repo)
    for number in range(_ENDINGS):
        name = f"merge{number}"
        workspace = _start(ground, repo, name, "hooks")
        repositories.change(workspace, range(number, number + 1))
        ground.git("commit", "-qam", "work", cwd=workspace)
        plain.append(_merged_plainly(ground, repo, f"agent/{name}"))
        words = ("merge", "--ungated", "--into", "collected", "-q", "--yes", name)
        ours += timed(command(ground, "-C", str(repo), *words), runs=1)
    return beside("wl merge --into, 7k", ours, plain, times=1, more=500, by="git merge-tree")


def _merged_plainly(ground: Ground, repo: Path, branch: str) -> float:
    run = repositories.plain(repo, ground.env, "merge-tree", "--write-tree", "collected", branch)
    return run()


def _growth(ground: Ground, repo: Path) -> Row:
    """What the repository keeps of a boxed agent that did nothing."""
    grown = []
    for number in range(_ENDINGS):
        _start(ground, repo, f"grow{number}", "box")
        before = _megabytes(repo / ".git")
        _end(ground, repo, f"grow{number}")
        time.sleep(1)  # what is done in the background has no event
        grown.append(_megabytes(repo / ".git") - before)
    return Row(".git after a boxed ending, 7k", grown, 0.3, unit="MB")


def _megabytes(folder: Path) -> float:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
