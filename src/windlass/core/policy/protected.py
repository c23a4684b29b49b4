"""Paths that decide what is built, tested and told: a change that edits one is marked.

Whoever edits them steers what comes after: the gate, the CI, who reviews, what later agents read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

_AT_THE_TOP: tuple[str, ...] = (
    *(
        ".windlass/*",
        ".github/*",
        ".forgejo/*",
        ".gitea/*",
        ".gitlab-ci*.y*ml",
        ".gitlab/*",
        ".circleci/*",
    ),
    *(".buildkite/*", ".ci/*", ".travis.yml", ".drone.*", ".woodpecker*", ".build.yml"),
    *("bitbucket-pipelines.yml", ".builds/*", ".zuul.*", "zuul.*", "codemagic.yaml"),
    *("appveyor.yml", ".appveyor.yml", ".cirrus.*", ".semaphore/*", ".teamcity/*", ".tekton/*"),
    *("bamboo-specs/*", "codefresh.yml", ".codefresh/*", "cloudbuild.y*ml", "buildspec.y*ml"),
    *(".husky/*", ".githooks/*", "lefthook.*", ".lefthook*", ".overcommit.yml", ".worktreeinclude"),
)
"""What is read in the folder of the repository alone."""
_ANYWHERE: tuple[str, ...] = (
    *("Jenkinsfile*", "azure-pipelines*", ".azure-pipelines/*", "*.gitlab-ci.y*ml"),
    *(".envrc", "mise.toml", ".mise.toml", "mise.*.toml", ".mise/*", ".devcontainer.json"),
    *(".vscode/*", "*.code-workspace", ".devcontainer/*", ".idea/*", ".zed/*", ".dir-locals.el"),
    *(".cursor/*", ".cursorrules", ".codex/*", ".gemini/*", ".opencode/*", "opencode.json"),
    *(".windsurf/*", ".windsurfrules", ".clinerules*", ".aider*", "CODEOWNERS", ".gitattributes"),
    *(".gitmodules", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml"),
    *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".claude/*", ".mcp.json"),
)
"""What somebody's editor, shell, agent CLI or forge reads in any folder of it."""
ALWAYS: tuple[str, ...] = (*_AT_THE_TOP, *_ANYWHERE, *(f"*/{name}" for name in _ANYWHERE))
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
