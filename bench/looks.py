"""What it takes to look at an agent's work and to end it, in a worktree and in a boxed clone.

The commands as a person types them, on a repository of a few thousand files; beside them plain git
in the same workspace. Run in a clone of an earlier version too, it says what has become slower.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.crew import command
from bench.table import Row, timed
from tests.support.ground import Ground

FILES = 2_000
RUNS = 15
ENDINGS = 5
_REPOSITORY = "looked-at"


def measure(ground: Ground) -> list[Row]:
    """Status, difference and ending at each level that this machine has."""
    repo = _repository(ground)
    rows = []
    for level in ("hooks", "box"):
        first, *others = (_working(ground, repo, level, number) for number in range(1 + ENDINGS))
        name = first.name
        rows.append(_plain(ground, first, level, "status", "--porcelain"))
        rows.append(_plain(ground, first, level, "diff", "HEAD~1"))
        for words in (("status", name), ("diff", name), ("diff", "--stat", name)):
            look = command(ground, "-C", str(repo), *words)
            what = f"wl {' '.join(words[:-1])}, {level}"
            rows.append(Row(what, timed(look, runs=RUNS), None, f"{FILES} files"))
        ended = [
            timed(command(ground, "-C", str(repo), "kill", "--force", workspace.name), runs=1)[0]
            for workspace in others
        ]
        rows.append(Row(f"wl kill, {level}", ended, None, f"{FILES} files"))
    return rows


def _repository(ground: Ground) -> Path:
    repo = ground.repository(_REPOSITORY)
    for number in range(FILES):
        file = repo / f"folder{number % 40}" / f"file{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"line {number}\n" * 20)
    ground.git("add", "-A", cwd=repo)
    ground.git("commit", "-qm", "files", cwd=repo)
    return repo


def _working(ground: Ground, repo: Path, level: str, number: int) -> Path:
    """Starts an agent that has committed something, and has something that is not committed."""
    script = ground.script("looked-at", {"text": "WAITING"})
    name = f"{level}{number}"
    made = ground.wl(
        *("new", "--driver", "standin", "--isolation", level, "--script", script),
        *("--name", name, "--json", "work"),
        cwd=repo,
    )
    workspace = Path(made.ok().json()["workspace"])
    (workspace / "folder1" / "file1.txt").write_text("committed\n")
    ground.git("commit", "-qam", "work", cwd=workspace)
    (workspace / "folder2" / "file2.txt").write_text("not committed\n")
    (workspace / "new.txt").write_text("new\n")
    ground.ask("why", agent=name, home=True, cwd=str(repo))
    return workspace


def _plain(ground: Ground, workspace: Path, level: str, *words: str) -> Row:
    def look() -> None:
        argv = ["git", *words]
        subprocess.run(argv, cwd=workspace, env=ground.env, stdout=subprocess.DEVNULL, check=True)

    return Row(f"floor: git {words[0]}, {level}", timed(look, runs=RUNS), None)
