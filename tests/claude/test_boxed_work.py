"""A day of the real Claude Code in its box: git, tests, the crew, and everything done to a session.

No network; all of its hooks come through the relay.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

from windlass.core.sessions import SCREEN

pytestmark = pytest.mark.slow
BOX = ["--isolation", "box", "--network", "none"]
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
WAIT = [{"text": "I listen.\n\nWAITING"}, {"await": "message"}]
OFF = json.dumps({"disableAllHooks": True, "enabledPlugins": {"windlass@inline": False}})
VENV = str(Path(sys.executable).parent)
GIT = """
set -e
echo work >> README && git stash -q && git stash pop -q
git add README && git commit -q -m work && git tag mine
until git fetch -q origin && git log -1 --format=%s origin/main | grep -qx later; do sleep 0.1; done
git rebase -q origin/main
git log --format=%s | tr '\\n' ' '
"""


def bash(command: str, **more: Any) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command, **more}}


def question(text: str) -> dict[str, Any]:
    """An entry that opens a dialog, if it may."""
    options = [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cool"}]
    asked = {"question": text, "header": "Colour", "multiSelect": False, "options": options}
    return {"tool": "AskUserQuestion", "input": {"questions": [asked]}}


def results(on: Scene) -> list[tuple[bool, str]]:
    """What the tools of the last agent answered so far, and whether with an error."""
    return [(one.is_error, one.text) for asked in on.model.requests for one in asked.results]


def window(on: Scene, name: str) -> str:
    """The window of an agent's terminal."""
    return f"={on.wl('info', name, '--json').ok().json()['tmux']}:0"


def width(on: Scene, name: str) -> int:
    """How wide the widest line of an agent's screen is."""
    shown = on.ground.tmux("capture-pane", "-p", "-t", window(on, name)).stdout
    return max(len(line) for line in shown.splitlines())


def test_a_day_in_the_box(on: Scene) -> None:
    on.ground.new("owl", {"await": "message"}, flags=BOX)
    (on.ground.folder / "repo/later").write_text("later\n")
    day = (
        bash("sed -i s/a/b/ README; touch begun; until test -e go; do sleep 0.1; done"),
        bash("git checkout -q README"),
        bash(GIT),
        bash(f"echo 'def test_it(): pass' > test_it.py && {VENV}/python -m pytest -q test_it.py"),
        bash("wl send owl 'hello owl' && wl ask 'which way?' && wl list -q"),
        question("Which colour?"),
        bash(f"mkdir -p .claude && echo '{OFF}' > .claude/settings.local.json"),
        *WAIT,
        bash("touch slow; sleep 60"),
        bash("git add -A && git commit -q -m 'the rest' && wl note again"),
        *WAIT,
        bash("echo resumed"),
        DONE,
    )
    workspace = on.new("fox", *day, flags=BOX)
    until((workspace / "begun").exists, what="its first tool")
    # What comes into the repository meanwhile is what it rebases on.
    on.ground.git("add", "later")
    on.ground.git("commit", "-q", "-m", "later")
    (workspace / "go").touch()
    on.wait("fox", "waiting")
    history = [*BEGUN, ("waiting", "hook")]
    assert on.history("fox") == history
    _assert_day_went_well(on)
    _assert_resize_arrives(on)
    _assert_turns_are_cut_off_and_begun(on, workspace, history)
    _assert_it_outlives_the_daemon(on, history)
    _assert_paused_and_resumed(on)
    _assert_keys_reach_it(on)
    _assert_killed_and_brought_back(on, workspace)


def _assert_day_went_well(on: Scene) -> None:
    done = results(on)
    texts = [text for _, text in done]
    assert [n for n, (wrong, _) in enumerate(done) if wrong] == [5], texts
    assert texts[2].startswith("work later first"), texts[2]
    assert "1 passed" in texts[3]
    assert "passed on" in texts[5], texts[5]
    asked = [one["text"] for one in on.wl("questions", "--json").ok().json()]
    assert asked == ["which way?", "Which colour? (red / blue)"]
    (heard,) = [e["data"] for e in on.ground.events("owl") if e["kind"] == "message.received"]
    assert (heard["sender"], heard["text"]) == ("fox", "hello owl"), heard
    assert on.ground.git("log", "-1", "--format=%s", "agent/fox") == "work\n"


def _assert_resize_arrives(on: Scene) -> None:
    before = width(on, "fox")
    on.ground.tmux("resize-window", "-t", window(on, "fox"), "-x", "90", "-y", "30")
    until(lambda: 60 < width(on, "fox") <= 90 < before, what="a narrower screen")


def _assert_turns_are_cut_off_and_begun(
    on: Scene, workspace: Path, history: list[tuple[str, str]]
) -> None:
    on.wl("send", "fox", "go on").ok()
    until((workspace / "slow").exists, what="a slow tool")
    on.wl("interrupt", "fox").ok()
    on.wait("fox", "waiting")
    history += [("running", "hook"), ("waiting", "status")]
    assert on.history("fox") == history


def _assert_it_outlives_the_daemon(on: Scene, history: list[tuple[str, str]]) -> None:
    on.ground.kill_daemon()
    on.wl("send", "fox", "and on").ok()
    history += [("running", "hook"), ("waiting", "hook")]
    on.wait_for_history("fox", history)
    on.wait("fox", "waiting")
    assert on.ground.git("log", "-1", "--format=%s", "agent/fox") == "the rest\n"


def _assert_paused_and_resumed(on: Scene) -> None:
    before = on.pid("fox")
    on.wl("pause", "fox").ok()
    # It is told that its questions were put away, and goes on by that: both at once, when it hears.
    assert len(on.wl("acknowledge", "--all", "--json").ok().json()["acked"]) == 2
    assert on.wl("questions", "--json").ok().json() == []
    on.wl("resume", "fox").ok()
    on.wait("fox", "complete")
    assert on.pid("fox") != before
    assert on.history("fox")[-2:] == [("running", "hook"), ("complete", "hook")]
    # Its second session began with settings that turn hooks off, and was asked about all the same.
    last = [e["data"] for e in on.ground.events("fox") if e["kind"] == "hook.PreToolUse"][-1]
    assert last["tool_input"]["command"] == "echo resumed"


def _assert_keys_reach_it(on: Scene) -> None:
    """Ctrl-C is the program's: it asks whether to exit, and neither it nor its box has ended."""
    on.ground.tmux("send-keys", "-t", f"{window(on, 'fox')}.0", "C-c")
    # Shown for a second or so: on a busy machine whoever looks at the screen may come too late.
    until(lambda: _has_printed(on, rb"again\S*\s*to\S*\s*exit"), what="an answer to Ctrl-C")
    assert on.ground.state_of("fox") == "complete"


def _has_printed(on: Scene, pattern: bytes) -> bool:
    logs = on.ground.state.glob(f"agents/*/sessions/*/{SCREEN}")
    return any(re.search(pattern, log.read_bytes()) for log in logs)


def _assert_killed_and_brought_back(on: Scene, workspace: Path) -> None:
    (workspace / "loose").write_text("not yet committed\n")
    on.wl("kill", "fox", "--force").ok()
    assert not workspace.exists()
    on.wl("undo").ok()
    assert (workspace / "loose").read_text() == "not yet committed\n"
    assert on.ground.git("log", "-1", "--format=%s", "agent/fox") == "the rest\n"


@pytest.mark.parametrize("flags", [["--print"], ["--print", *BOX]], ids=["hooks", "box"])
def test_a_question_without_a_terminal_is_passed_on_and_the_agent_goes_on(
    on: Scene, flags: list[str]
) -> None:
    on.new("fox", question("Which colour?"), bash("true"), DONE, flags=flags)
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    (denied, why), (wrong, _) = results(on)
    assert (denied, wrong) == (True, False)
    assert "passed on" in why
    (asked,) = on.wl("questions", "--json").ok().json()
    assert (asked["agent"], asked["text"]) == ("fox", "Which colour? (red / blue)")


def test_without_a_box_the_output_of_background_commands_is_in_the_agents_own_place(
    on: Scene,
) -> None:
    on.ground.env["CLAUDE_CODE_TMPDIR"] = str(on.ground.folder)
    on.wl("daemon", "stop").ok()
    on.new("fox", bash("true", run_in_background=True), DONE, flags=["--isolation", "hooks"])
    on.wait("fox")
    ((_, text),) = results(on)
    output = re.search(r"/\S+\.output", text)
    assert output is not None
    uid = on.wl("info", "fox", "--json").ok().json()["uid"]
    assert output[0].startswith(f"{on.ground.state}/agents/{uid}/tmp/"), output[0]
