"""What `wl init` proposes to allow: the commands of the toolchains whose files a project has."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

_PYTHON = ("python", "python3", "pip", "pip3", "pytest")
_CARGO = ("cargo clippy", "cargo fmt", "cargo run", "cargo add")
_COMMANDS: dict[str, tuple[str, ...]] = {
    "pyproject.toml": (*_PYTHON, "ruff", "mypy"),
    "setup.py": _PYTHON,
    "requirements*.txt": _PYTHON,
    "uv.lock": ("uv run", "uv sync"),
    "poetry.lock": ("poetry run", "poetry install"),
    "tox.ini": ("tox",),
    "noxfile.py": ("nox",),
    ".venv": tuple(f".venv/bin/{name}" for name in (*_PYTHON, "ruff", "mypy")),
    "package.json": ("npm test", "npm run", "npm ci", "npm install", "node", "npx --no-install"),
    "pnpm-lock.yaml": ("pnpm test", "pnpm run", "pnpm install"),
    "yarn.lock": ("yarn test", "yarn run", "yarn install"),
    "bun.lock*": ("bun test", "bun run", "bun install"),
    "tsconfig*.json": ("npx tsc",),
    "deno.json*": ("deno task", "deno test"),
    "Cargo.toml": ("cargo build", "cargo check", "cargo test", *_CARGO),
    "go.mod": ("go build", "go test", "go vet", "go run", "go fmt", "go mod tidy", "gofmt"),
    "Makefile": ("make", "cc"),
    "justfile": ("just",),
    "CMakeLists.txt": ("cmake", "ctest", "cc"),
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
