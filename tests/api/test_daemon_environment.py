"""What the daemon has otherwise than the terminal is said, and what a variable holds never."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass.api import daemon_environment, daemon_record


@pytest.fixture(autouse=True)
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon was started here, with a key and without a `claude`."""
    for name in ("WINDLASS_SESSION", "WINDLASS_BOXED", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sesame")
    daemon_record.keep_start()


def claude(folder: Path) -> str:
    """Installs a program of that name."""
    folder.mkdir()
    program = folder / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(program)


def test_nothing_is_said_where_it_is_the_same() -> None:
    assert daemon_environment.differences() == []


def test_a_program_that_is_found_elsewhere_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = claude(tmp_path / "new")
    monkeypatch.setenv("PATH", f"{tmp_path / 'empty'}:{tmp_path / 'new'}")
    assert daemon_environment.differences() == [f"it finds no `claude`, and you {program}"]
    daemon_record.keep_start()
    assert daemon_environment.differences() == []
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert daemon_environment.differences() == [], "what only the daemon finds is no reason"


def test_variables_are_named_and_what_they_hold_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "open")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:1")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("EDITOR", "ed")
    said = "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL: not as in this terminal"
    assert daemon_environment.differences() == [said]
    monkeypatch.setenv("WINDLASS_SESSION", "x")
    assert daemon_environment.differences() == [], "an agent's environment is not the person's"
