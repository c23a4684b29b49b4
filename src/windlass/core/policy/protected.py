"""Paths that decide what is built, tested and told: a change that edits one is marked.

Whoever edits them steers what comes after: the gate, the CI, who reviews, what later agents read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

_AT_THE_TOP: tuple[str, ...] = (
    # What the forge builds, tests, releases and publishes with.
    *(".windlass/*", ".github/*", ".forgejo/*", ".gitea/*", ".gitlab-ci*.y*ml", ".gitlab/*"),
    *(".circleci/*", ".buildkite/*", ".ci/*", ".travis.yml", ".drone.*", ".woodpecker*"),
    *(".build.yml", ".builds/*", "bitbucket-pipelines.yml", ".zuul.*", "zuul.*", ".zuul.d/*"),
    *("zuul.d/*", "codemagic.yaml", "appveyor.yml", ".appveyor.yml", ".cirrus.*", ".semaphore/*"),
    *(".teamcity/*", ".tekton/*", "bamboo-specs/*", "codefresh.yml", ".codefresh/*", ".prow*"),
    *("cloudbuild.y*ml", "buildspec.y*ml", ".evergreen.y*ml", "wercker.yml", ".packit.y*ml"),
    *(".readthedocs.y*ml", "netlify.toml", "vercel.json", "render.yaml", ".copr/*", ".rultor.yml"),
    *(".releaserc*", "release.config.*", "release-please-config.json", ".changeset/config.json"),
    # Who merges, reviews and updates there, and whom it asks.
    *(".mergify.y*ml", ".mergify/*", ".kodiak.toml", "bors.toml", ".pullapprove.y*ml", ".asf.yaml"),
    *(".policy.y*ml", ".coderabbit.y*ml", ".sourcery.yaml", ".pr_agent.toml", "greptile.json"),
    *(
        ".ellipsis/*",
        "ellipsis.y*ml",
        "renovate.json*",
        ".renovaterc*",
        ".dependabot/*",
        "sweep.y*ml",
    ),
    *(
        "codecov.y*ml",
        ".codecov.y*ml",
        ".codacy.y*ml",
        ".codeclimate.y*ml",
        ".sonarcloud.properties",
    ),
    *("sonar-project.properties", ".hound.yml", ".scrutinizer.yml", ".gitreview", ".arcconfig"),
    # What git starts in a checkout, by settings or by tools that make them.
    *(
        ".husky/*",
        ".huskyrc*",
        ".githooks/*",
        ".git-hooks/*",
        ".hooks/*",
        "lefthook.*",
        ".lefthook*",
    ),
    *(".overcommit.yml", "simple-git-hooks.*", ".simple-git-hooks.*", "captainhook.json", "hk.pkl"),
    *("grumphp.y*ml", ".gitconfig", ".worktreeinclude"),
    # Workspaces that are made elsewhere, and start what these say.
    *(".gitpod*", ".ona/*", ".replit", "replit.nix", "replit.md", ".codesandbox/*", ".idx/*"),
    *(".stackblitzrc", ".coder/*"),
)
"""What is read in the folder of the repository alone."""
_ANYWHERE: tuple[str, ...] = (
    *("Jenkinsfile*", "azure-pipelines*", ".azure-pipelines/*", "*.gitlab-ci.y*ml"),
    *("CODEOWNERS", "OWNERS", "OWNERS_ALIASES", "CODENOTIFY"),
    *(
        ".gitattributes",
        ".gitmodules",
        ".lfsconfig",
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
    ),
    *(".pre-commit-hooks.yaml", "prek.toml", ".lintstagedrc*", "lint-staged.config.*"),
    # What a shell runs as it enters a folder, or takes its programs from.
    *(".env", ".env.leave", ".envrc*", ".autoenv*", ".shadowenv.d/*", ".rvmrc", ".tool-versions"),
    *("mise.toml", "mise.*.toml", ".mise.*", ".mise/*", "mise/config*"),
    *(".config/mise*", "devbox.json", "devenv.nix", "devenv.yaml", "flake.nix", "shell.nix"),
    *(".flox/*", "mise-tasks/*", ".mise-tasks/*"),
    # What an interpreter or debugger runs that is started in a folder.
    *(".Rprofile", ".Renviron", ".gdbinit", ".lldbinit", ".pdbrc", ".irbrc", ".pryrc", ".ghci"),
    *(".iex.exs", ".perldb", ".octaverc"),
    # Where packages come from, with whose tokens, and what is started as they come.
    *(".npmrc", ".yarnrc*", ".pnpmfile.cjs", ".cargo/config*", ".mvn/*"),
    # Editors, which start what their folders say.
    *(
        ".vscode/*",
        "*.code-workspace",
        ".devcontainer.json",
        ".devcontainer/*",
        ".idea/*",
        ".run/*",
    ),
    *(
        ".zed/*",
        ".fleet/*",
        ".nova/*",
        ".vs/*",
        ".theia/*",
        ".helix/*",
        ".dir-locals.el",
        ".dir-locals-2.el",
    ),
    *("*.sublime-project", ".exrc", ".vimrc", "_vimrc", ".lvimrc", ".local.vimrc", ".vim/*"),
    *(".nvimrc", ".nvim.lua", ".nvim/*", ".lazy.lua", ".neoconf.json", ".vimspector.json"),
    *(".ycm_extra_conf.py", ".kateproject*"),
    # Agents: their rules, their tools, their hooks.
    *("CLAUDE.md", "CLAUDE.local.md", ".claude/*", ".claude-plugin/*", ".mcp.json"),
    *("AGENTS.md", "AGENTS.override.md", "AGENT.md", ".agents/*", ".agent/*", ".codex/*"),
    *("GEMINI.md", ".gemini/*", ".cursor/*", ".cursorrules", ".windsurf/*", ".windsurfrules"),
    *(".opencode/*", "opencode.json*", ".clinerules*", ".cline/*", ".aider*", ".rules"),
    *(".roo/*", ".roorules*", ".roomodes", ".kilocode/*", ".kilocoderules*", ".kilocodemodes"),
    *(".kiro/*", ".amazonq/*", ".junie/*", ".aiassistant/*", ".continue/*", ".continuerc.json"),
    *(".continuerules", ".goosehints", ".goose/*", ".augment/*", ".augment-guidelines", ".amp/*"),
    *(".crush/*", "crush.json", ".crush.json", "CRUSH.md", ".qwen/*", "QWEN.md", ".trae/*"),
    *(".factory/*", ".warp/*", "WARP.md", ".openhands/*", ".openhands_instructions", ".devin/*"),
    *(".cody/*", ".tabnine/*", ".firebender/*", "firebender.json", ".codebuddy/*", "CODEBUDDY.md"),
    *(".iflow/*", "IFLOW.md", ".rovodev/*", ".copilot/*", ".vibe/*", ".ruler/*", "gptme.toml"),
)
"""What somebody's editor, shell, interpreter, agent CLI or forge reads in any folder of it."""
ALWAYS: tuple[str, ...] = (
    *_AT_THE_TOP,
    *_ANYWHERE,
    *(f"*/{name}" for name in _ANYWHERE if name[0] != "*"),
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
    # Most are one name in any folder, or whatever is in folders of a name.
    named = {text for text in ends if text.rfind("/") == 0}
    held = {text for text in within if len(text) > 2 and _is_one_name(text)}
    top = {text for text in starts if text.find("/") == len(text) - 1}
    names, folders = {text[1:] for text in named}, {text[1:-1] for text in held}
    tops = {text[:-1] for text in top}
    first, last, inner = tuple(starts - top), tuple(ends - named), within - held
    like = re.compile("|".join(map(translate, others))).match if others else None

    def matches(path: str) -> bool:
        *above, name = path.split("/")
        return (
            path in same
            or (bool(above) and (above[0] in tops or name in names))
            or path.startswith(first)
            or path.endswith(last)
            or not folders.isdisjoint(above[1:])
            or any(text in path for text in inner)
            or bool(like and like(path))
        )

    return matches


def _is_one_name(text: str) -> bool:
    """Says whether it is a name between slashes."""
    return text[0] == text[-1] == "/" and text.count("/") == 2
