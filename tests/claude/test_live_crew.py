"""Agents that are started one after another, and by one another."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
SESSIONS_OWN = (
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "TMUX",
    "TMUX_PANE",
)


def bash(command: str) -> dict[str, object]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def environment(path: Path) -> dict[str, str]:
    """What a process wrote of its environment, each variable ended by a NUL."""
    pairs = path.read_text().rstrip("\0").split("\0")
    return dict(pair.split("=", 1) for pair in pairs)


def test_an_agent_that_starts_another_leaves_no_trace_of_itself_in_it(on: Scene) -> None:
    on.script(
        "kit",
        bash("env -0 > tool.env; cat /proc/$PPID/environ > session.env"),
        DONE,
    )
    boss = on.new(
        "boss",
        bash("env -0 > tool.env"),
        bash('wl new --driver claude --name kit "be kit"'),
        DONE,
        flags=["--manager"],
    )
    on.wait("boss", "complete")
    on.wait("kit", "complete")
    assert on.history("kit") == [*BEGUN, ("complete", "hook")]
    about = on.wl("info", "kit", "--json").ok().json()
    assert about["parent"] == "boss"
    kit = Path(about["workspace"])
    theirs = environment(boss / "tool.env")
    assert theirs["CLAUDECODE"] == "1"
    assert theirs["CLAUDE_CODE_SESSION_ID"] != about["conversation"]
    session = environment(kit / "session.env")
    assert session["WINDLASS_AGENT"] == "kit"
    assert set(session).isdisjoint(SESSIONS_OWN)
    assert environment(kit / "tool.env")["CLAUDE_CODE_SESSION_ID"] == about["conversation"]
    assert environment(kit / "tool.env")["WINDLASS_AGENT"] == "kit"
    assert theirs["CLAUDE_CODE_SESSION_ID"] not in (kit / "tool.env").read_text()
    until(lambda: on.texts("kit") == ["be kit", DONE["text"]], what="a transcript")
    on.wl("pause", "kit").ok()
    on.wl("resume", "kit").ok()
    on.wl("send", "kit", "still there?").ok()
    on.wait_for_history(
        "kit",
        [
            *BEGUN,
            ("complete", "hook"),
            ("paused", "windlass"),
            ("creating", "windlass"),
            ("waiting", "hook"),
            ("running", "hook"),
            ("waiting", "hook"),
        ],
    )
    until(lambda: on.texts("kit")[:3] == ["be kit", DONE["text"], "still there?"])


def test_ten_agents_one_after_another_run_without_a_dialog_or_a_key(on: Scene) -> None:
    names = [f"fox{number}" for number in range(10)]
    for name in names:
        on.new(name, bash("sleep 1"), DONE)
    on.ground.wait(*names, states="complete")
    assert {name: on.history(name) for name in names} == {
        name: [*BEGUN, ("complete", "hook")] for name in names
    }
    assert not [e for e in on.ground.events() if e["kind"].startswith("message.")]
