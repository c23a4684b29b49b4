"""Paths that decide what is built, tested and told: a change that edits one is marked.

Whoever edits them steers what comes after: the gate, the CI, who reviews, what later agents read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

_AT_THE_TOP: tuple[str, ...] = (
    *(".windlass/config.toml", ".windlass/pipelines/*", ".windlass/roles/*"),
    *(".github/*", ".forgejo/*", ".gitea/*", ".gitlab-ci*.y*ml", ".gitlab/*", ".circleci/*"),
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
    return [p for p in paths if any(fnmatchcase(p.lower(), pattern) for pattern in patterns)]
