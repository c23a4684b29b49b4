"""Which paths are protected, and what `wl init` proposes."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.policy import proposals, protected


@pytest.mark.parametrize(
    "path",
    [
        ".windlass/config.toml",
        ".windlass/pipelines/default.json",
        ".windlass/roles/worker.md",
        ".windlass/pipeline.json",
        ".windlass/plans/API-1.md",
        ".windlass/plans",
        ".windlass/STATUS.md",
        ".windlass",
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        "Jenkinsfile",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        "CLAUDE.md",
        "sub/AGENTS.md",
        ".claude/settings.json",
        "sub/.claude/skills/x/SKILL.md",
        ".mcp.json",
        ".gitattributes",
        ".gitmodules",
        "packages/web/.envrc",
        "packages/web/.vscode/tasks.json",
        "packages/web/.vscode",
        "api/.devcontainer/devcontainer.json",
        "api/mise.toml",
        "api/Jenkinsfile.release",
        ".gitlab-ci.yml",
        "ci/deploy.gitlab-ci.yml",
        ".circleci/config.yml",
        ".azure-pipelines/main.yml",
        "build/azure-pipelines.yml",
        ".buildkite/pipeline.yml",
        ".drone.star",
        ".woodpecker/test.yml",
        ".woodpecker.yaml",
        "bitbucket-pipelines.yml",
        ".forgejo/workflows/ci.yaml",
        ".travis.yml",
        ".cirrus.star",
        ".teamcity/settings.kts",
        ".tekton/push.yaml",
        "appveyor.yml",
        "cloudbuild.yaml",
        *(
            ".mise.local.toml",
            ".config/mise/config.toml",
            "sub/.config/mise.toml",
            "mise.local.toml",
        ),
        *("mise/config.local.toml", "sub/.tool-versions", ".env", ".envrc.private", "web/.npmrc"),
        *(
            ".mergify.yml",
            ".coderabbit.yaml",
            "OWNERS",
            "pkg/OWNERS",
            "OWNERS_ALIASES",
            "bors.toml",
        ),
        *(".kodiak.toml", "renovate.json5", ".pullapprove.yml", ".gitpod.yml", "netlify.toml"),
        *(".lfsconfig", ".lintstagedrc.mjs", ".pre-commit-config.yml", ".git-hooks/pre-push"),
        *(
            ".exrc",
            "sub/.nvim.lua",
            ".vim/coc-settings.json",
            "app.sublime-project",
            ".fleet/run.json",
        ),
        *(".helix/languages.toml", ".dir-locals-2.el", "a/.Rprofile", ".gdbinit", "b/.pdbrc"),
        *(".roo/mcp.json", ".roomodes", ".kiro/hooks/a.kiro.hook", ".continue/config.yaml"),
        *(".amazonq/rules/a.md", ".junie/guidelines.md", ".goosehints", "sub/QWEN.md", ".rules"),
        *(
            ".agents/skills/a/SKILL.md",
            ".kilocode/mcp.json",
            ".cargo/config.toml",
            ".mvn/jvm.config",
        ),
    ],
)
def test_what_steers_what_comes_after_is_always_protected(path: str) -> None:
    assert protected.among([path, "src/main.py"]) == [path]


def test_a_project_protects_files_folders_and_patterns_of_its_own() -> None:
    paths = ["infra/a.tf", "infra/deep/b.tf", "infrared.py", "schema.sql", "db/x.sql"]
    assert protected.among(paths, ["infra", "*.sql"]) == [
        "infra/a.tf",
        "infra/deep/b.tf",
        "schema.sql",
        "db/x.sql",
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("src/config.toml", "windlass/config.toml", "CLAUDE.txt", "ci.yml", "docs/envrc.md"),
        *("src/vscode/tasks.json", "src/jenkins.py", "app/azure.yml", "src/zuul.py"),
        *(".env.example", "src/mise.py", "docs/owners.md", "src/roo/a.py", "src/netlify.toml"),
    ],
)
def test_what_only_looks_alike_is_not(path: str) -> None:
    assert protected.among([path]) == []


@given(
    st.lists(st.text("ab*?[]/.", min_size=1, max_size=6), max_size=4),
    st.lists(st.text("ab/.A", min_size=1, max_size=6), max_size=6),
)
def test_it_finds_what_each_pattern_by_itself_would(more: list[str], paths: list[str]) -> None:
    """All of them are looked for at once: a change may have a million paths."""
    alone = {p for p in paths for one in more if p in protected.among([p], [one])}
    found = protected.among(paths, more)
    assert set(found) == alone | set(protected.among(paths))
    for path in paths:
        for one in more:
            pattern = one.lower().removeprefix("./")
            if fnmatchcase(path.lower(), pattern):
                assert path in found


def test_toolchains_are_known_by_their_files() -> None:
    found = proposals.propose(["pyproject.toml", "Makefile", "README.md", "App.sln", "src"])
    assert found.files == ["App.sln", "Makefile", "pyproject.toml"]
    assert "Bash(make:*)" in found.allow
    assert "Bash(pytest:*)" in found.allow
    assert "Bash(dotnet test:*)" in found.allow
    assert len(found.allow) == len(set(found.allow))


def test_nothing_is_proposed_that_publishes_or_where_nothing_is_known() -> None:
    assert proposals.propose(["README.md"]) == ([], [])
    everything = proposals.propose(["package.json", "Cargo.toml", "go.mod"]).allow
    assert not [
        one for one in everything if "publish" in one or one in ("Bash(npm:*)", "Bash(go:*)")
    ]
