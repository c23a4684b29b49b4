"""What `wl init` proposes to allow: the commands of the toolchains whose files a project has."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

_COMMANDS: dict[str, tuple[str, ...]] = {
    "pyproject.toml": ("python", "python3", "pytest", "ruff", "mypy"),
    "setup.py": ("python", "python3", "pytest"),
    "requirements*.txt": ("python", "python3", "pytest"),
    "uv.lock": ("uv run", "uv sync"),
    "poetry.lock": ("poetry run", "poetry install"),
    "tox.ini": ("tox",),
    "noxfile.py": ("nox",),
    ".venv": (".venv/bin/python", ".venv/bin/pytest", ".venv/bin/ruff", ".venv/bin/mypy"),
    "package.json": ("npm test", "npm run", "npm ci", "node"),
    "pnpm-lock.yaml": ("pnpm test", "pnpm run", "pnpm install"),
    "yarn.lock": ("yarn test", "yarn run", "yarn install"),
    "bun.lock*": ("bun test", "bun run", "bun install"),
    "tsconfig*.json": ("npx tsc",),
    "deno.json*": ("deno task", "deno test"),
    "Cargo.toml": ("cargo build", "cargo check", "cargo test", "cargo clippy", "cargo fmt"),
    "go.mod": ("go build", "go test", "go vet", "gofmt"),
    "Makefile": ("make",),
    "justfile": ("just",),
    "CMakeLists.txt": ("cmake", "ctest"),
    "meson.build": ("meson", "ninja"),
    "pom.xml": ("mvn",),
    "mvnw": ("./mvnw",),
    "build.gradle*": ("gradle",),
    "gradlew": ("./gradlew",),
    "Gemfile": ("bundle exec", "rake"),
    "composer.json": ("composer", "php", "vendor/bin/phpunit"),
    "mix.exs": ("mix",),
    "*.sln": ("dotnet build", "dotnet test"),
    "*.csproj": ("dotnet build", "dotnet test"),
    "Package.swift": ("swift build", "swift test"),
    "pubspec.yaml": ("dart", "flutter"),
    "dune-project": ("dune",),
    "*.cabal": ("cabal",),
    "stack.yaml": ("stack",),
    "build.zig": ("zig build", "zig test"),
}
"""Which commands go with a file at the top of a project. What publishes or deploys is not here."""


class Proposal(NamedTuple):
    """Patterns for an allow list, and the files that speak for them."""

    files: list[str]
    allow: list[str]


def propose(names: Iterable[str]) -> Proposal:
    """Looks at the names at the top of a project."""
    files: list[str] = []
    commands: dict[str, None] = {}
    for name in sorted(names):
        fitting = [
            c
            for pattern, commands in _COMMANDS.items()
            if fnmatchcase(name, pattern)
            for c in commands
        ]
        if fitting:
            files.append(name)
            commands |= dict.fromkeys(fitting)
    return Proposal(files, [f"Bash({command}:*)" for command in commands])
