"""The proof at the demo's end: every commit that main was at, tested once more and by itself.

What the gate knows of it is compared with what its own commands say in a plain clone, which no
daemon has had a hand in.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.cli.demo import project
from windlass.core.errors import Internal

_HEAD = ("COMMIT", "CHANGE", "TASK", "VERDICT", "TESTED AGAIN", "SECONDS", "CAME BACK BEFORE")
_COUNTED = re.compile(r"(\d+) passed|Ran (\d+) test")
_AT_ONCE = 4
_CLONES = "again"
_BUG = "this is a bug: please report it"


def prove(
    call: Call, repo: str, folder: str, tasks: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Looks at each first-parent commit of main, the oldest first; `tasks` are what landed."""
    changes = call.ask("changes", all=True)["changes"]
    gate = call.ask("gate")
    lines = [gate["setup"] or "true", *(check["run"] for check in gate["checks"])]
    commits = project.git("rev-list", "--first-parent", "--reverse", "main", cwd=repo).split()
    known = [_known(call, commit) for commit in commits]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tests = list(pool.map(lambda commit: _tested(repo, folder, commit, lines), commits))
    shutil.rmtree(os.path.join(folder, _CLONES), ignore_errors=True)  # most of what there is
    return [
        {
            "commit": commit,
            "verdict": verdict,
            "tests": count,
            "changes": [
                _landed(change, tasks[change["task"]])
                for change in changes
                if change["commit"] == commit
            ],
        }
        for commit, verdict, count in zip(commits, known, tests, strict=True)
    ]


def _known(call: Call, commit: str) -> str:
    """The verdict of the very tree of a commit, which the gate has to have had before."""
    run = call.ask("gate.run", rev=commit)
    if not (run["cached"] and run["outcome"] == "passed"):
        raise Internal(f"main was at {commit}, which the gate had not proven", _BUG)
    return str(run["outcome"])


def _tested(repo: str, folder: str, commit: str, lines: list[str]) -> int:
    """Runs a gate's commands in a clone, and says how many tests they ran."""
    clone = os.path.join(folder, _CLONES, commit[:8])
    project.git("clone", "-q", "--no-checkout", repo, clone, cwd=folder)
    project.git("checkout", "-q", commit, cwd=clone)
    done = subprocess.run(
        ["sh", "-ec", "\n".join(lines)],
        cwd=clone,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    counted = _COUNTED.search(done.stdout)
    if done.returncode or counted is None:
        raise Internal(f"main was at {commit}, which is red:\n{done.stdout}", _BUG)
    return int(counted[1] or counted[2])


def _landed(change: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """One change of a commit: of which task, how long that took, and why it came back."""
    back = [r["why"] for r in change["revisions"] if r["state"] in ("rejected", "conflict")]
    return {
        "change": change["id"],
        "task": change["task"],
        "seconds": round(change["landed_at"] - task["began_at"], 1),
        "came_back": back,
    }


def show(call: Call, commits: list[dict[str, Any]]) -> None:
    """Prints them as a table, a line for each change."""
    lines = []
    for commit in commits:
        again = f"{render.counted(commit['tests'], 'test')} green"
        told = (commit["verdict"], again)
        for change in commit["changes"]:
            who = (change["change"], change["task"])
            back = "; ".join(change["came_back"]) or "-"
            lines.append((commit["commit"][:8], *who, *told, f"{change['seconds']:.1f}", back))
        if not commit["changes"]:
            lines.append((commit["commit"][:8], "-", "-", *told, "-", "(what was there)"))
    render.table(call, _HEAD, lines, grow=len(_HEAD) - 1)
