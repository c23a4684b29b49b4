"""Paths that decide what is built, tested and told: a change that edits one is marked.

Whoever edits them steers what comes after: the gate, the CI, who reviews, what later agents read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

ALWAYS: tuple[str, ...] = (
    *(".windlass/config.toml", ".windlass/pipelines/*", ".windlass/roles/*"),
    *(".github/*", ".gitlab-ci.yml", ".gitlab/*", ".circleci/*", ".buildkite/*", ".ci/*"),
    *(".travis.yml", ".drone.yml", ".woodpecker*", "Jenkinsfile", "azure-pipelines*"),
    *("bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml"),
    *(".husky/*", ".githooks/*", "lefthook.y*ml", ".lefthook/*", ".worktreeinclude"),
    *(".vscode/*", ".devcontainer/*", ".envrc", ".idea/*", ".cursor/*", ".codex/*", ".gemini/*"),
    *("*CODEOWNERS", "*.gitattributes", ".gitmodules", ".pre-commit-config.yaml"),
    *("*CLAUDE.md", "*CLAUDE.local.md", "*AGENTS.md", "*GEMINI.md", "*.claude/*", "*.mcp.json"),
)
"""As patterns of whole paths; `*` goes through folders."""


def among(paths: Iterable[str], more: Sequence[str] = ()) -> list[str]:
    """Those of the paths that are protected; `more` are a project's own, folders included."""
    wanted = [*ALWAYS, *more, *(f"{place.rstrip('/')}/*" for place in more)]
    # Without case: on some file systems these are the same files.
    patterns = [pattern.lower().removeprefix("./") for pattern in wanted]
    # Folders on the way, too: a link in the place of one leads to other files.
    above = {"/".join(p.split("/")[:n]) for p in patterns for n in range(1, p.count("/") + 1)}
    patterns += [folder for folder in above if folder.strip("*")]
    is_protected = _matcher(patterns)
    return [path for path in paths if is_protected(path.lower())]


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Says whether a path is like one of the patterns, without a try for each of them.

    A change may have a million paths, and nobody is answered meanwhile.
    """
    same, starts, ends = set[str](), set[str](), set[str]()
    within, others = set[str](), set[str]()
    for pattern in patterns:
        text = pattern.strip("*")
        if set(text) & set("*?["):
            others.add(pattern)
        elif pattern == text:
            same.add(text)
        elif pattern.startswith("*") and pattern.endswith("*"):
            within.add(text)
        else:
            (ends if pattern.startswith("*") else starts).add(text)
    first, last = tuple(starts), tuple(ends)
    like = re.compile("|".join(map(translate, others))).match if others else None

    def matches(path: str) -> bool:
        return (
            path in same
            or path.startswith(first)
            or path.endswith(last)
            or any(text in path for text in within)
            or bool(like and like(path))
        )

    return matches
