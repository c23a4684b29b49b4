"""The scripted model and the real Claude Code: what a script says is what happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.model.rig import SESSION, Claude, bash, line, text
from tests.support.ground import until

from windlass.model.server import Model

pytestmark = pytest.mark.slow
AWAIT = {"await": "message"}
STREAM = ("--input-format", "stream-json")
# The program writes its transcript a moment later; killed before, there is nothing to resume.
KEPT = f"until grep -qs go ~/.claude/projects/*/{SESSION}.jsonl; do sleep 0.05; done"


def test_a_text_is_the_result(claude: Claude) -> None:
    with Model({"turns": [text("Hello, ${MESSAGE}!"), text("Bye.")]}) as model:
        run = claude.run(model, "world")
    assert (run.code, run.result["result"], run.result["is_error"]) == (0, "Bye.", False)
    assert [request.kind for request in model.requests] == ["main"]
    assert model.requests[0].texts == ("world",)


def test_a_tool_runs_and_its_result_goes_on(claude: Claude) -> None:
    turns = [text("a"), bash("echo ${AGENT} > made; echo seen"), bash("false"), text("done")]
    with Model({"turns": turns}) as model:
        run = claude.run(model, "go", ANTHROPIC_CUSTOM_HEADERS="x-windlass-agent: heron")
    assert run.result["result"] == "done"
    assert (claude.work / "made").read_text() == "heron\n"
    _, second, third = model.requests
    assert [result.text for result in second.results] == ["seen"]
    assert [result.is_error for result in third.results] == [True]


def test_tokens_are_reported_exactly(claude: Claude) -> None:
    tokens = {
        "input_tokens": 1200,
        "output_tokens": 80,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 40,
    }
    turns = [
        {"thinking": "Hm."},
        {"usage": tokens},
        bash("true"),
        {"usage": {"input_tokens": 5, "output_tokens": 7}},
        text("done"),
    ]
    with Model({"turns": turns}) as model:
        run = claude.run(model, "go", "--model", "claude-opus-4-8")
    usage = run.result["usage"]
    assert {kind: usage[kind] for kind in tokens} == tokens | {
        "input_tokens": 1205,
        "output_tokens": 87,
    }
    dollars = (1205 * 5 + 87 * 25 + 300 * 6.25 + 40 * 0.5) / 1e6
    assert run.result["total_cost_usd"] == pytest.approx(dollars, rel=1e-9)
    thoughts = [
        block["thinking"]
        for said in run.lines
        if said["type"] == "assistant"
        for block in said["message"]["content"]
        if block["type"] == "thinking"
    ]
    assert thoughts == ["Hm."]


def test_a_limit_that_clears_is_waited_out(claude: Claude) -> None:
    limit = {"error": {"status": 429, "retry_after": 1, "times": 1}}
    with Model({"turns": [bash("echo once >> log"), limit, text("through")]}) as model:
        run = claude.run(model, "go")
    assert (run.code, run.result["result"]) == (0, "through")
    retries = [said for said in run.lines if said.get("subtype") == "api_retry"]
    assert [(said["error_status"], said["error"]) for said in retries] == [(429, "rate_limit")]
    assert (claude.work / "log").read_text() == "once\n"
    assert [request.status for request in model.requests] == [200, 429, 200]


@pytest.mark.parametrize("status", [429, 529, 400])
def test_an_error_for_good_ends_the_turn_and_the_next_message_goes_on(
    claude: Claude, status: int
) -> None:
    error = {"error": {"status": status, "retry_after": 0, "message": "no more"}}
    with Model({"turns": [error, text("back")]}) as model:
        run = claude.run(model, "go", "--session-id", SESSION, CLAUDE_CODE_MAX_RETRIES="1")
        assert run.code == 1
        assert run.result["is_error"] is True
        assert run.result["api_error_status"] == status
        assert {request.status for request in model.requests} == {status}
        run = claude.run(model, "again", "--resume", SESSION)
    assert run.result["result"] == "back"


def test_sessions_play_scripts_of_their_own(claude: Claude) -> None:
    with Model({"turns": [text("everybody")]}) as model:
        model.for_session(SESSION, {"turns": [text("mine")]})
        model.for_prompt("^paint", {"turns": [text("painter")]})
        said = [
            claude.run(model, *args).result["result"]
            for args in (("go", "--session-id", SESSION), ("paint it",), ("go",))
        ]
    assert said == ["mine", "painter", "everybody"]


def test_messages_play_on_and_long_ones_arrive_whole(claude: Claude) -> None:
    paste = "".join(f"line {n} <b>&amp; ü\n" for n in range(3000)) + "end"
    script = {
        "turns": [text("one"), AWAIT, text("two"), AWAIT, text("three")],
        "on": [{"match": "status", "turns": [text("well")]}],
    }
    with Model(script) as model:
        said = "".join(line(words) for words in ("go", "status?", paste, "more", "beyond"))
        process = claude.start(model, *STREAM)
        assert process.stdin
        assert process.stdout
        results = []
        for words in said.splitlines(keepends=True):
            process.stdin.write(words)
            process.stdin.flush()
            for printed in process.stdout:
                told = json.loads(printed)
                if told["type"] == "result":
                    results.append(told["result"])
                    break
        process.communicate(timeout=30)
    assert results == ["one", "well", "two", "three", "Noted.\n\nWAITING"]
    assert model.requests[2].texts == (paste,)


def test_a_message_while_a_tool_runs_counts_once(claude: Claude, tmp_path: Path) -> None:
    """It comes with the tool's result, is matched by a rule, and the list goes on."""
    gate = tmp_path / "gate"
    turns = [bash(f"until [ -e {gate} ]; do sleep 0.05; done"), text("tool done"), AWAIT, text("x")]
    script = {"turns": turns, "on": [{"match": "^psst$", "turns": [text("heard")]}]}
    with Model(script) as model:
        process = claude.start(model, *STREAM, "--replay-user-messages")
        assert process.stdin
        assert process.stdout
        process.stdin.write(line("go"))
        process.stdin.flush()
        for printed in process.stdout:
            if '"tool_use"' in printed:
                break
        process.stdin.write(line("psst"))
        process.stdin.flush()
        # The program has read it when it answers what stands behind it.
        control = {
            "type": "control_request",
            "request_id": "r",
            "request": {"subtype": "initialize"},
        }
        process.stdin.write(json.dumps(control) + "\n")
        process.stdin.flush()
        for printed in process.stdout:
            if '"control_response"' in printed:
                break
        gate.touch()
        out, _ = process.communicate(timeout=30)
    told = [json.loads(printed) for printed in out.splitlines()]
    said = [
        block["text"]
        for one in told
        if one["type"] == "assistant"
        for block in one["message"]["content"]
    ]
    assert said == ["heard", "tool done"]
    assert [request.texts for request in model.requests] == [("go",), ("psst",)]


def test_a_pause_is_waited_out(claude: Claude) -> None:
    with Model({"turns": [text("first"), {"pause": 0.2}, text("second")]}) as model:
        run = claude.run(model, "go")
        assert model.requests[0].outcome == "answered"
    assert run.result["result"] == "second"


def test_a_stream_can_be_left_and_is_not_played_twice(claude: Claude) -> None:
    """What came before a pause is seen while it lasts; nobody waits for who is gone."""
    script = {
        "turns": [text("first"), {"pause": 600}, text("second")],
        "on": [{"match": "again", "turns": [text("ruled")]}],
    }
    with Model(script) as model:
        process = claude.start(model, "go", "--session-id", SESSION)
        assert process.stdout
        while '"first"' not in process.stdout.readline():
            assert process.poll() is None
        assert model.requests[0].outcome == "answering"
        until(claude.remembers, what="a transcript")
        process.kill()
        process.communicate(timeout=30)
        model.wait_for(lambda request: request.outcome == "broken")
        assert claude.run(model, "again", "--resume", SESSION).result["result"] == "ruled"


def test_a_crash_ends_the_program_and_a_resumed_session_goes_on(claude: Claude) -> None:
    turns = [bash(f"{KEPT}; echo a >> log"), {"crash": 9}, bash("echo b >> log"), text("survived")]
    with Model({"turns": turns}) as model:
        first = claude.run(model, "go", "--session-id", SESSION)
        assert first.code == -9
        assert model.requests[-1].outcome == "crashed"
        second = claude.run(model, "on you go", "--resume", SESSION)
    assert second.result["result"] == "survived"
    assert (claude.work / "log").read_text() == "a\nb\n"


def test_a_tool_that_was_cut_off_is_called_anew(claude: Claude) -> None:
    """The program is killed by its own tool; the history it comes back with lacks the call."""
    command = f"{KEPT}; echo a >> log; [ $(wc -l < log) = 2 ] || kill -9 $PPID; echo x"
    with Model({"turns": [bash(command), text("done")]}) as model:
        assert claude.run(model, "go", "--session-id", SESSION).code == -9
        assert claude.run(model, "again", "--resume", SESSION).result["result"] == "done"
    assert (claude.work / "log").read_text() == "a\na\n"


def test_a_compaction_does_not_eat_a_turn(claude: Claude) -> None:
    script = {"turns": [bash("true"), text("one"), AWAIT, text("two")]}
    with Model(script) as model:
        args = ("--session-id", SESSION)
        assert claude.run(model, "go", *args).result["result"] == "one"
        compacted = claude.run(model, "/compact", "--resume", SESSION)
        assert compacted.code == 0
        assert "compact" in [request.kind for request in model.requests]
        assert claude.run(model, "next", "--resume", SESSION).result["result"] == "two"
    assert [request.texts for request in model.requests if request.kind == "main"] == [
        ("go",),
        (),
        ("next",),
    ]


def test_a_subagent_is_answered_by_rules_and_leaves_the_list_alone(claude: Claude) -> None:
    task = {
        "description": "look",
        "prompt": "survey the harbour",
        "subagent_type": "general-purpose",
    }
    script = {
        "turns": [{"tool": "Agent", "input": task}, text("home")],
        "on": [{"match": "harbour", "turns": [bash("echo seen >> log"), text("two ships")]}],
    }
    with Model(script) as model:
        run = claude.run(model, "go")
    assert run.result["result"] == "home"
    assert [request.kind for request in model.requests] == ["main", "subagent", "subagent", "main"]
    assert "two ships" in model.requests[-1].results[0].text
    assert (claude.work / "log").read_text() == "seen\n"


def test_what_hooks_say_is_matched_and_what_a_stop_hook_says_is_a_message(
    claude: Claude, tmp_path: Path
) -> None:
    told = json.dumps(
        {
            "hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "additionalContext": "mail for you",
            }
        }
    )
    block = f"[ -e {tmp_path}/stopped ] || {{ touch {tmp_path}/stopped; echo stay >&2; exit 2; }}"
    hooks = {
        "PostToolUse": [{"hooks": [{"type": "command", "command": f"echo '{told}'"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": block}]}],
    }
    script = {
        "turns": [bash("true"), text("list")],
        "on": [
            {"match": "mail", "times": 1, "turns": [text("read it")]},
            {"match": "stay", "turns": [text("stayed")]},
        ],
    }
    with Model(script) as model:
        run = claude.run(model, "go", "--settings", json.dumps({"hooks": hooks}))
    said = [
        block["text"]
        for one in run.lines
        if one["type"] == "assistant"
        for block in one["message"]["content"]
        if block["type"] == "text"
    ]
    assert said == ["read it", "list", "stayed"]


def test_without_a_script_it_notes_the_goal(claude: Claude) -> None:
    with Model() as model:
        run = claude.run(model, "plant a tree", "--permission-mode", "acceptEdits")
    assert run.result["result"].endswith("I HAVE COMPLETED THE GOAL")
    assert "plant a tree" in (claude.work / "notes/agent.md").read_text()
