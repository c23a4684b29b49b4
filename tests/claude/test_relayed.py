"""The real Claude Code in a box that an API key pays for: the daemon asks the model for it."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
KEY = "sk-ant-api03-a-key-that-no-box-may-show"
SOUGHT = "a-key-that-no-bo[x]-may-show"
"""As grep takes it: what searches is not found itself."""
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
READABLE = "/home /root /run /tmp /etc /var /proc/[0-9]*/environ /proc/[0-9]*/cmdline"


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


@pytest.fixture
def person(on: Scene) -> Path:
    """A person with an API key in a file, and nothing else to log in with."""
    del on.ground.env["ANTHROPIC_AUTH_TOKEN"]
    on.ground.env["CLAUDE_CODE_MAX_RETRIES"] = "10"  # as it does unless it is told otherwise
    kept = on.ground.home / "key"
    kept.write_text(f"{KEY}\n")
    kept.chmod(0o600)
    on.wl("daemon", "stop").ok()  # its sessions have the environment that it began with
    on.wl("config", "set", "claude.api_key_file", str(kept), "--global").ok()
    return kept


def daemon_pid(on: Scene) -> int:
    """The daemon at work."""
    return int(on.wl("daemon", "status", "--json").ok().json()["pid"])


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["--network", "none"], id="live, none"),
        pytest.param(["--network", "host", "--print"], id="headless, host"),
    ],
)
def test_it_does_its_work_and_nothing_that_it_can_read_holds_the_key(
    on: Scene, person: Path, flags: list[str]
) -> None:
    places = f'{READABLE} "$HOME" "$CLAUDE_CONFIG_DIR" "$WINDLASS_HOME" .'
    on.new(
        "fox",
        {"usage": {"input_tokens": 100_000, "output_tokens": 10}},
        bash(f"grep -rsal '{SOUGHT}' {places}; echo that is all"),
        bash(f"grep -rsal 'API_KEY=windlas[s]-' {places} | grep -c '^/proc/'"),
        {"tool": "Write", "input": {"file_path": "den.txt", "content": "a den\n"}},
        bash("git add den.txt && git commit -q -m 'a den'"),
        DONE,
        flags=["--isolation", "box", "--yolo", *flags],
    )
    on.wait("fox")
    found, own, *_ = [result for one in on.model.requests for result in one.results]
    assert found.text.strip() == "that is all"
    assert int(own.text) > 1  # it is found where there is something to find
    shown = psutil.Process(on.pid("fox"))
    for process in [*shown.parents()[:3], shown, *shown.children(recursive=True)]:
        with contextlib.suppress(OSError):
            assert KEY.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes()
    kept = on.ground.state / "agents"
    assert not [p for p in kept.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert on.ground.git("log", "--format=%s", "agent/fox").split("\n")[0] == "a den"
    (row,) = on.wl("costs", "--json").ok().json()["rows"]
    assert row["usd"] > 0
    person.unlink()


def test_a_budget_that_a_stream_uses_up_cuts_it_off_and_pauses_the_agent(
    on: Scene, person: Path
) -> None:
    on.new(
        "fox",
        {"usage": {"input_tokens": 2_000_000, "output_tokens": 10}},
        {"pause": 3600},
        DONE,
        flags=["--isolation", "box", "--print", "--max-budget", "1"],
    )
    on.ground.wait("fox", states="paused")
    assert "limits.usd" not in on.evidence("fox")
    assert "--max-budget" in on.evidence("fox")
    until(lambda: "broken" in {one.outcome for one in on.model.requests})
    person.unlink()


def test_a_daemon_that_is_killed_in_the_middle_of_a_stream_is_followed_by_one_that_is_asked_again(
    on: Scene, person: Path
) -> None:
    on.new("fox", {"pause": 3600}, DONE, flags=["--isolation", "box", "--print"])
    on.model.wait_for(lambda one: one.kind == "main")
    os.kill(daemon_pid(on), signal.SIGKILL)
    again = on.model.wait_for(lambda one: one.kind == "main" and one.again)
    assert again.outcome == "answering"
    person.unlink()
