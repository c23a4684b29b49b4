"""Paths that decide what is built, tested and told: a change that edits one is marked.

Whoever edits them steers what comes after: the gate, the CI, who reviews, what later agents read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

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
    return [p for p in paths if any(fnmatchcase(p.lower(), pattern) for pattern in patterns)]
