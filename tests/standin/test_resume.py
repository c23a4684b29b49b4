from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.standin.rig import AWAIT, POINTER, SESSION, Pipes, Rig, Terminal, bash, text

OPEN = ("--allowedTools", "Bash")
STEPS = [text("a"), bash("echo 1 >> log"), bash("echo 2 >> log"), text("b"), bash("echo 3 >> log")]
CONTINUE = [{"type": "text", "text": "Continue from where you left off."}]
END = text("I HAVE COMPLETED THE GOAL")


def finished_calls(rig: Rig) -> list[str]:
    """Returns the commands whose result is in the transcript, in order."""
    asked: dict[str, str] = {}
    done: list[str] = []
    for line in rig.lines():
        content = line.get("message", {}).get("content")
        for block in content if isinstance(content, list) else []:
            if block["type"] == "tool_use":
                asked[block["id"]] = block["input"]["command"]
            elif block["type"] == "tool_result":
                done.append(asked[block["tool_use_id"]])
    return done


def said(rig: Rig) -> list[str]:
    return [
        block["text"]
        for line in rig.lines()
        if line["type"] == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]


def resume(rig: Rig, script: str, prompt: str | None) -> int:
    """Goes on with the session: by a message, or by itself."""
    rig.env.pop("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", None)
    if prompt is None:
        rig.env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
    words = ["--", prompt] if prompt else []
    return rig.run("-p", "--resume", SESSION, *OPEN, "--script", script, *words).returncode


@pytest.mark.parametrize("prompt", ["continue", None])
@pytest.mark.parametrize("point", range(len(STEPS) + 1))
def test_a_crash_between_two_entries_loses_and_repeats_nothing(
    rig: Rig, point: int, prompt: str | None
) -> None:
    script = rig.script([*STEPS[:point], {"crash": 9}, *STEPS[point:], END])
    assert rig.run("-p", *OPEN, "--script", script, "--", "go").returncode == -9
    assert resume(rig, script, prompt) == 0
    assert (rig.workspace / "log").read_text() == "1\n2\n3\n"
    assert said(rig) == ["a", "b", END["text"]]
    assert rig.events()[-1]["hook_event_name"] == "SessionEnd"


@pytest.mark.parametrize("at", range(3, 10))
def test_kill_9_before_or_after_any_tool_loses_and_repeats_none(rig: Rig, at: int) -> None:
    """Hooks before and after each tool kill the session; a result is recorded before they run."""
    (rig.hooks / "kill_at").write_text(str(at))
    script = rig.script([*STEPS, END])
    assert rig.run("-p", *OPEN, "--script", script, "--", "go").returncode == -9
    assert not (rig.hooks / "kill_at").exists()
    assert resume(rig, script, None if at < 9 else "more") == 0
    assert (rig.workspace / "log").read_text() == "1\n2\n3\n"
    assert finished_calls(rig) == ["echo 1 >> log", "echo 2 >> log", "echo 3 >> log"]


def test_an_unfinished_call_is_asked_anew(rig: Rig) -> None:
    (rig.hooks / "kill_at").write_text("3")
    script = rig.script([bash("echo 1 >> log"), END])
    rig.run("-p", *OPEN, "--script", script, "--", "go")
    assert resume(rig, script, None) == 0
    pre = [event for event in rig.events() if event["hook_event_name"] == "PreToolUse"]
    assert len({event["tool_use_id"] for event in pre}) == 2
    assert rig.event_names().count("SessionStart") == 2
    assert rig.events()[3]["source"] == "resume"


def test_a_rule_cut_off_in_the_middle_is_played_to_its_end(
    rig: Rig, pipes: Callable[..., Pipes]
) -> None:
    turns = [bash("echo r1 >> log"), {"crash": 9}, bash("echo r2 >> log")]
    rules = [{"match": "rule", "turns": turns, "times": 1}]
    script = rig.script([text("a"), AWAIT, text("main goes on")], rules)
    session = pipes(*OPEN, "--script", script)
    session.say("go")
    session.expect(type="result")
    session.say("the rule")
    assert session.process.wait(60) == -9
    assert resume(rig, script, None) == 0
    assert (rig.workspace / "log").read_text() == "r1\nr2\n"
    assert resume(rig, script, "the rule again") == 0
    assert said(rig)[-1] == "main goes on"


def test_a_line_broken_by_a_kill_is_skipped(rig: Rig) -> None:
    script = rig.script([text("a"), AWAIT, text("b")])
    rig.run("-p", "--script", script, "--", "go")
    with rig.transcript().open("a") as file:
        file.write('{"type":"user","message":{"role":"us')
    assert resume(rig, script, "more") == 0
    lines = rig.transcript().read_text().splitlines()
    parsed = [json.loads(line) for line in lines if not line.endswith('"us')]
    assert parsed[-2]["message"]["content"][0]["text"] == "b"


def test_the_message_of_a_resumed_session_is_in_its_transcript_once(rig: Rig) -> None:
    script = rig.script([text("a"), AWAIT, text("b")])
    rig.run("-p", "--script", script, "--", "go")
    resume(rig, script, "id-4711")
    assert rig.transcript().read_text().count("id-4711") == 1


def test_the_default_script_is_recovered_from_the_goal(rig: Rig) -> None:
    rig.run("-p", *OPEN, "--permission-mode", "acceptEdits", "--", "the goal")
    done = rig.run("-p", "--resume", SESSION, "--", "and now?")
    assert done.stdout == "Noted.\n\nWAITING\n"


def test_a_fork_goes_on_under_a_new_id_and_leaves_the_old_one_alone(rig: Rig) -> None:
    script = rig.script([text("a"), AWAIT, text("b")])
    rig.run("-p", "--script", script, "--", "go")
    before = rig.transcript().read_bytes()
    done = rig.run(
        *("-p", "--output-format", "json", "--resume", SESSION, "--fork-session"),
        *("--script", script, "--", "more"),
    )
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["result"] == "b"
    assert result["session_id"] != SESSION
    assert rig.transcript().read_bytes() == before
    assert len(list(rig.transcript().parent.iterdir())) == 2


def test_a_live_session_shows_its_past_and_goes_on_by_itself(
    rig: Rig, terminal: Callable[..., Terminal]
) -> None:
    script = rig.script([text("before"), {"crash": 9}, text("after")])
    first = terminal("--script", script, "--", "go")
    assert first.wait() == -9
    rig.env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
    second = terminal("--resume", SESSION, "--script", script)
    second.expect(f"{POINTER} go")
    second.expect("● before")
    second.expect("● after")
    second.expect_idle()
    assert rig.event_names()[-2:] == ["SessionStart", "Stop"]
    assert CONTINUE in [line.get("message", {}).get("content") for line in rig.lines()]


def test_a_headless_session_that_goes_on_by_itself_says_so_as_a_prompt(rig: Rig) -> None:
    script = rig.script([text("before"), {"crash": 9}, text("after")])
    assert rig.run("-p", "--script", script, "--", "go").returncode == -9
    before = len(rig.events())
    assert resume(rig, script, None) == 0
    started, prompted, *_ = rig.events()[before:]
    assert started["source"] == "resume"
    assert prompted["prompt"] == CONTINUE[0]["text"]
    (kept,) = [line for line in rig.lines() if line.get("isMeta")]
    assert kept["message"]["content"] == CONTINUE


def test_a_fork_is_made_from_a_transcript_anywhere(rig: Rig, tmp_path: Path) -> None:
    script = rig.script([text("a"), AWAIT, text("b")])
    rig.run("-p", "--script", script, "--", "go")
    moved = rig.transcript().rename(tmp_path / "elsewhere.jsonl")
    moved.write_text(moved.read_text().replace(str(rig.workspace), "/another/checkout"))
    other = "22222222-2222-4333-8444-555555555555"
    args = ("-p", "--resume", str(moved), "--fork-session", "--session-id", other)
    assert rig.run(*args, "--script", script, "--", "more").stdout == "b\n"
    forked = rig.transcript().with_name(f"{other}.jsonl")
    lines = [json.loads(line) for line in forked.read_text().splitlines()]
    assert {(line["sessionId"], line["cwd"]) for line in lines} == {(other, str(rig.workspace))}
    assert not rig.transcript().exists()
    again = rig.run(*args, "--script", script, "--", "more")
    assert again.returncode == 1
    assert f"Session ID {other} is already in use." in again.stderr


def test_a_session_is_resumed_by_its_transcript(rig: Rig) -> None:
    script = rig.script([text("a"), AWAIT, text("b")])
    rig.run("-p", "--script", script, "--", "go")
    done = rig.run("-p", "--resume", str(rig.transcript()), "--script", script, "--", "more")
    assert done.stdout == "b\n"
    assert {line["sessionId"] for line in rig.lines()} == {SESSION}


def test_a_live_session_waits_for_a_word_otherwise(
    rig: Rig, terminal: Callable[..., Terminal]
) -> None:
    script = rig.script([text("before"), {"crash": 9}, text("after")])
    assert terminal("--script", script, "--", "go").wait() == -9
    second = terminal("--resume", SESSION, "--script", script)
    second.expect_idle()
    assert "after" not in second.drawn()
    second.say("continue")
    second.expect("● after")


@pytest.mark.parametrize("number", [6, 9, 11, 15])
def test_a_crash_is_the_signal_that_the_script_names(rig: Rig, number: int) -> None:
    script = rig.script([text("a"), {"crash": number}])
    assert rig.run("-p", "--script", script, "--", "go").returncode == -number
