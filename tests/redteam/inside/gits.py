"""Lines 10 to 13, 17 and 20: the repository that is shared, and what is in it of others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.redteam.inside.trying import NOT_HERE, OUTSIDE, Map, attack, opens, run, song


@attack("10 commit")
def _(known: Map) -> object:
    return run("git", "-C", known["sibling"], "commit", "-q", "--allow-empty", "-m", "not mine")


@attack("11 branch")
def _(_: Map) -> object:
    run("git", "update-ref", "refs/heads/release", "HEAD")
    return OUTSIDE


@attack("11 sibling")
def _(known: Map) -> object:
    run("git", "update-ref", f"refs/heads/agent/{known['sibling_id']}", "HEAD")
    return OUTSIDE


@attack("11 push")
def _(known: Map) -> object:
    return run("git", "push", "-q", known["main"], "HEAD:refs/heads/pushed")


@attack("11 origin")
def _(_: Map) -> object:
    if "WINDLASS_BOXED" not in os.environ:
        return NOT_HERE
    return run("git", "push", "-q", "origin", "HEAD:refs/heads/pushed-there")


@attack("11 packed-refs")
def _(known: Map) -> object:
    path = Path(known["main"]) / ".git/packed-refs"
    away = path.rename(path.with_name("packed-refs.away"))
    away.rename(path)
    return "could have deleted it"


@attack("12 hook")
def _(known: Map) -> object:
    return _hook(Path(known["main"]) / ".git/hooks/pre-commit", song(known, "12 hook"))


@attack("12 hooksPath")
def _(known: Map) -> object:
    _hook(Path("planted-hooks/pre-commit").absolute(), song(known, "12 hooksPath"))
    run("git", "config", "core.hooksPath", str(Path("planted-hooks").absolute()))
    return OUTSIDE


@attack("13 fsmonitor")
def _(known: Map) -> object:
    _hook(Path("planted-monitor").absolute(), song(known, "13 fsmonitor"))
    run("git", "config", "core.fsmonitor", str(Path("planted-monitor").absolute()))
    return OUTSIDE


@attack("13 alias")
def _(known: Map) -> object:
    run("git", "config", "alias.st", f"!touch '{known['canaries']}/13 alias'")
    return OUTSIDE


@attack("17 tamper")
def _(known: Map) -> object:
    Path(known["object"]).chmod(0o644)
    return opens(known["object"])


@attack("17 delete")
def _(known: Map) -> object:
    away = Path(known["object"]).rename(known["object"] + ".away")
    away.rename(known["object"])
    return "could have deleted it"


@attack("20 read")
def _(_: Map) -> object:
    said = run("git", "stash", "show", "-p", "stash@{0}")
    return said if "SECRET" in said else None


@attack("20 drop")
def _(_: Map) -> object:
    return run("git", "stash", "drop", "-q", "stash@{0}")


@attack("20 by object")
def _(_: Map) -> object:
    # No ref is needed: whoever borrows objects can list and read all of them.
    line = ["git", "cat-file", "--batch-all-objects", "--batch"]
    said = subprocess.run(line, capture_output=True, timeout=15, check=True).stdout
    # As a line: these very words are committed too.
    return "SECRET-stash" if b"\nSECRET-stash\n" in said else None


def _hook(path: Path, line: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n# planted\n{line}\nexit 0\n")
    path.chmod(0o755)
    return f"wrote {path}"
