from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.standin.rig import AWAIT, SESSION, Pipes, Rig, bash, text, write

OPEN = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")
Start = Callable[..., Pipes]


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [line["type"] for line in lines]


def test_a_turn_is_printed_as_json_lines_from_init_to_result(rig: Rig) -> None:
    script = rig.script([text("on it"), write("a.txt", "x\n"), text("done")])
    code, lines = rig.stream(*OPEN, "--script", script, "--", "go")
    assert code == 0
    assert kinds(lines) == ["system", "assistant", "assistant", "user", "assistant", "result"]
    assert lines[0]["subtype"] == "init"
    assert lines[0]["session_id"] == SESSION
    assert lines[1]["message"]["id"] == lines[2]["message"]["id"]
    assert lines[4]["message"]["id"] != lines[2]["message"]["id"]
    assert lines[3]["tool_use_result"]["type"] == "create"
    result = lines[-1]
    assert (result["subtype"], result["is_error"], result["result"]) == ("success", False, "done")
    assert result["num_turns"] == 2
    assert (rig.workspace / "a.txt").read_text() == "x\n"


def test_text_output_is_the_last_message_alone(rig: Rig) -> None:
    done = rig.run("-p", "--script", rig.script([text("one"), text("two")]), stdin="go")
    assert (done.returncode, done.stdout) == (0, "two\n")


def test_json_output_is_one_result(rig: Rig) -> None:
    done = rig.run("-p", "--output-format", "json", "--script", rig.script([text("hi")]), "go")
    assert json.loads(done.stdout)["result"] == "hi"


def test_without_a_terminal_it_prints_even_without_the_flag(rig: Rig) -> None:
    assert rig.run("--script", rig.script([text("hi")]), "go").stdout == "hi\n"


def test_usage_is_kept_with_each_block_of_a_reply_and_summed_once(rig: Rig) -> None:
    turns = [
        {"usage": {"input_tokens": 100, "output_tokens": 10}},
        text("a"),
        bash("true"),
        {"usage": {"output_tokens": 5}},
        text("b"),
    ]
    _, lines = rig.stream(*OPEN, "--script", rig.script(turns), "--", "go")
    kept = [line["message"] for line in rig.lines() if line["type"] == "assistant"]
    assert [message["usage"]["output_tokens"] for message in kept] == [10, 10, 5]
    assert kept[0]["id"] == kept[1]["id"] != kept[2]["id"]
    assert kept[0]["model"] == "standin"
    shown = [line["message"]["usage"] for line in lines[1:3]]
    assert [(usage["input_tokens"], usage["output_tokens"]) for usage in shown] == [(100, 1)] * 2
    assert lines[-1]["usage"]["input_tokens"] == 100
    assert lines[-1]["usage"]["output_tokens"] == 15
    assert lines[-1]["total_cost_usd"] == pytest.approx(100 * 5e-6 + 15 * 25e-6)


def test_names_are_filled_in(rig: Rig) -> None:
    rig.env["WINDLASS_AGENT"] = "ada"
    turns = [text("${AGENT}: ${GOAL}"), bash('x=1; echo "${x} ${MESSAGE}" > out')]
    _, lines = rig.stream(*OPEN, "--script", rig.script(turns), "--", "build it")
    assert lines[1]["message"]["content"][0]["text"] == "ada: build it"
    assert (rig.workspace / "out").read_text() == "1 build it\n"


def test_messages_are_taken_until_the_input_ends(rig: Rig, pipes: Start) -> None:
    script = rig.script(
        [text("first"), AWAIT, text("second: ${MESSAGE}")],
        [{"match": "^ping", "turns": [text("pong")], "times": 1}],
    )
    session = pipes("--script", script)
    session.say("go")
    assert session.expect(type="result")["result"] == "first"
    session.say("ping")
    assert session.expect(type="result")["result"] == "pong"
    session.say("ping")
    assert session.expect(type="result")["result"] == "second: ping"
    session.say("more")
    assert session.expect(type="result")["result"] == "Noted.\n\nWAITING"
    assert session.close() == 0
    assert rig.event_names()[-1] == "SessionEnd"


def test_a_message_while_busy_is_taken_between_tool_calls(rig: Rig, pipes: Start) -> None:
    script = rig.script(
        [bash("read x < fifo"), bash("echo two >> log"), text("end")],
        [{"match": "hurry", "turns": [bash("echo hurried >> log")]}],
    )
    (rig.workspace / "log").touch()
    os.mkfifo(rig.workspace / "fifo")
    session = pipes(*OPEN, "--script", script, "--replay-user-messages")
    session.say("go")
    session.expect(type="assistant")
    session.say("please hurry")
    session.send(
        {"type": "control_request", "request_id": "r", "request": {"subtype": "initialize"}}
    )
    session.expect(type="control_response")
    (rig.workspace / "fifo").write_text("\n")
    assert session.expect(type="result")["result"] == "end"
    assert (rig.workspace / "log").read_text() == "hurried\ntwo\n"
    assert session.close() == 0
    (queued,) = [line["attachment"] for line in rig.lines() if line["type"] == "attachment"]
    assert queued["type"] == "queued_command"
    assert queued["prompt"] == [{"type": "text", "text": "please hurry"}]
    assert rig.event_names().count("UserPromptSubmit") == 1


def test_an_await_takes_a_message_that_came_while_busy(rig: Rig, pipes: Start) -> None:
    script = rig.script([bash("cat fifo"), AWAIT, text("went on")])
    os.mkfifo(rig.workspace / "fifo")
    session = pipes(*OPEN, "--script", script)
    session.say("go")
    session.expect(type="assistant")
    session.say("early")
    session.send(
        {"type": "control_request", "request_id": "r", "request": {"subtype": "initialize"}}
    )
    session.expect(type="control_response")
    (rig.workspace / "fifo").write_text("x")
    assert session.expect(type="result")["result"] == "went on"
    assert session.close() == 0


def test_an_interrupt_ends_the_turn_and_not_the_session(rig: Rig, pipes: Start) -> None:
    session = pipes(*OPEN, "--script", rig.script([bash("sleep 60"), text("after")]))
    session.say("go")
    session.expect(type="assistant")
    session.send(
        {"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}}
    )
    result = session.expect(type="result")
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert (result["num_turns"], result["terminal_reason"]) == (3, "aborted_tools")
    assert "result" not in result
    refused, told = [line for line in session.lines if line["type"] == "user"]
    assert refused["tool_use_result"] == "User rejected tool use"
    assert told["message"]["content"] == [
        {"type": "text", "text": "[Request interrupted by user for tool use]"}
    ]
    session.say("continue")
    assert session.expect(type="result")["result"] == "after"
    assert session.close() == 0
    assert "PostToolUseFailure" not in rig.event_names()
    assert rig.event_names().count("Stop") == 1


def test_an_interrupt_between_tools_says_so_and_fails_the_last_turn(rig: Rig, pipes: Start) -> None:
    session = pipes("--script", rig.script([text("x"), {"pause": 60}, text("never")]))
    session.say("go")
    session.expect(type="assistant")
    session.send(
        {"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}}
    )
    assert session.expect(type="result")["terminal_reason"] == "aborted_streaming"
    assert session.close() == 1
    assert rig.lines()[-1]["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert rig.event_names() == ["SessionStart", "UserPromptSubmit", "SessionEnd"]


def test_what_comes_with_an_interrupt_is_not_lost(rig: Rig, pipes: Start) -> None:
    session = pipes(*OPEN, "--script", rig.script([bash("sleep 60"), text("after")]))
    session.say("go")
    session.expect(type="assistant")
    interrupt = {"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}}
    message = {"type": "user", "message": {"role": "user", "content": "continue"}}
    assert session.process.stdin
    session.process.stdin.write(f"{json.dumps(interrupt)}\n{json.dumps(message)}\n".encode())
    session.process.stdin.flush()
    assert session.expect(type="result")["is_error"] is True
    assert session.expect(type="result")["result"] == "after"
    assert session.close() == 0


@pytest.mark.parametrize(
    "line", ["[]", '{"type":"user","message":"x"}', '{"type":"control_request"}']
)
def test_odd_input_lines_do_not_end_the_session(rig: Rig, pipes: Start, line: str) -> None:
    session = pipes("--script", rig.script([text("hi"), AWAIT, text("hi")]))
    session.send(json.loads(line))
    session.say("go")
    assert session.expect(type="result")["result"] == "hi"
    assert session.close() == 0


def test_permission_is_asked_over_the_pipe(rig: Rig, pipes: Start) -> None:
    script = rig.script([bash("touch asked"), bash("touch refused"), text("end")])
    session = pipes("--permission-prompt-tool", "stdio", "--script", script)
    session.say("go")
    asked = session.expect(type="control_request")
    assert asked["request"]["tool_name"] == "Bash"
    allow = {"behavior": "allow", "updatedInput": {"command": "touch changed"}}
    answer(session, asked, allow)
    asked = session.expect(type="control_request")
    answer(session, asked, {"behavior": "deny", "message": "not this"})
    result = session.expect(type="result")
    assert [denial["tool_input"] for denial in result["permission_denials"]] == [
        {"command": "touch refused"}
    ]
    assert sorted(path.name for path in rig.workspace.iterdir()) == ["changed"]
    assert session.close() == 0


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"behavior": "deny", "message": "not this"}, "not this"),
        ({"behavior": "allow"}, "Tool permission request failed"),
        ({"behavior": "deny"}, "Tool permission request failed"),
        (None, "Tool permission request failed: Error: Tool permission stream closed"),
    ],
)
def test_an_answer_that_does_not_allow_reaches_the_model(
    rig: Rig, pipes: Start, reply: dict[str, Any] | None, words: str
) -> None:
    script = rig.script([bash("touch x"), text("end")])
    session = pipes("--permission-prompt-tool", "stdio", "--script", script)
    session.say("go")
    asked = session.expect(type="control_request")
    if reply:
        answer(session, asked, reply)
        session.expect(type="result")
    assert session.close() == 0
    (block,) = next(line for line in session.lines if line["type"] == "user")["message"]["content"]
    assert block["is_error"]
    assert block["content"].startswith(words)
    assert not (rig.workspace / "x").exists()
    assert session.lines[-1]["result"] == "end"


def test_a_no_may_end_the_turn(rig: Rig, pipes: Start) -> None:
    script = rig.script([bash("touch x"), text("never")])
    session = pipes("--permission-prompt-tool", "stdio", "--script", script)
    session.say("go")
    asked = session.expect(type="control_request")
    answer(session, asked, {"behavior": "deny", "message": "stop", "interrupt": True})
    assert session.expect(type="result")["subtype"] == "error_during_execution"
    assert session.close() == 1


@pytest.mark.parametrize("behavior", ["allow", "deny"])
def test_a_hook_answers_what_is_asked_over_the_pipe_and_takes_the_question_back(
    rig: Rig, pipes: Start, behavior: str
) -> None:
    decision = {"behavior": behavior, "message": "said the hook"}
    fields = {"hookEventName": "PermissionRequest", "decision": decision}
    rig.answer("PermissionRequest", {"hookSpecificOutput": fields})
    script = rig.script([bash("touch x"), text("end")])
    session = pipes("--permission-prompt-tool", "stdio", "--script", script)
    session.say("go")
    asked = session.expect(type="control_request")
    session.expect(type="control_cancel_request", request_id=asked["request_id"])
    denials = session.expect(type="result")["permission_denials"]
    assert session.close() == 0
    assert (rig.workspace / "x").exists() is (behavior == "allow")
    assert len(denials) == (behavior == "deny")


def test_an_interrupt_takes_an_open_question_back(rig: Rig, pipes: Start) -> None:
    script = rig.script([bash("touch x"), text("never")])
    session = pipes("--permission-prompt-tool", "stdio", "--script", script)
    session.say("go")
    asked = session.expect(type="control_request")
    session.send(
        {"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}}
    )
    session.expect(type="control_cancel_request", request_id=asked["request_id"])
    assert session.expect(type="result")["terminal_reason"] == "aborted_tools"
    assert session.close() == 1


def test_nobody_is_asked_without_the_flag(rig: Rig, pipes: Start) -> None:
    session = pipes("--script", rig.script([bash("touch x"), text("end")]))
    session.say("go")
    session.expect(type="result")
    assert session.close() == 0
    assert "control_request" not in kinds(session.lines)
    assert "PermissionRequest" not in rig.event_names()


def test_a_prompt_on_the_command_line_is_ignored_when_messages_come_over_the_pipe(
    rig: Rig, pipes: Start
) -> None:
    session = pipes("--script", rig.script([text("${MESSAGE}")]), "--", "unheard")
    session.say("heard")
    assert session.expect(type="result")["result"] == "heard"
    assert session.close() == 0
    assert rig.event_names().count("UserPromptSubmit") == 1


def test_compacting_over_the_pipe_asks_no_model(rig: Rig, pipes: Start) -> None:
    session = pipes("--script", rig.script([text("a"), AWAIT, text("b")]))
    session.say("go")
    session.expect(type="result")
    session.say("/compact keep the names")
    session.expect(type="system", subtype="compact_boundary")
    result = session.expect(type="result")
    assert (result["num_turns"], result["result"]) == (0, "")
    session.say("more")
    assert session.expect(type="result")["result"] == "b"
    assert session.close() == 0
    assert rig.event("PreCompact")["custom_instructions"] == "keep the names"


def answer(session: Pipes, asked: dict[str, Any], reply: dict[str, Any]) -> None:
    response = {"subtype": "success", "request_id": asked["request_id"], "response": reply}
    session.send({"type": "control_response", "response": response})


def test_what_nobody_permitted_is_denied_and_listed(rig: Rig) -> None:
    code, lines = rig.stream("--script", rig.script([bash("touch x"), text("end")]), "--", "go")
    assert code == 0
    assert lines[-1]["subtype"] == "success"
    assert [denial["tool_name"] for denial in lines[-1]["permission_denials"]] == ["Bash"]
    assert not (rig.workspace / "x").exists()


@pytest.mark.parametrize(
    ("allow", "deny", "command", "runs"),
    [
        ("Bash(touch:*)", "", "touch x", True),
        ("Bash(touch:*)", "", "touch x; rm y", False),
        ("Bash(touch:*),Bash(true)", "", "true && touch x", True),
        ("Bash(touch:*)", "", "touch x $(touch y)", False),
        ("Bash", "Bash(touch:*)", "touch x", False),
    ],
)
def test_tool_rules_decide(rig: Rig, allow: str, deny: str, command: str, runs: bool) -> None:
    rig.settings["permissions"] = {"allow": allow.split(","), "deny": deny.split(",")}
    rig.stream("--script", rig.script([bash(command)]), "--", "go")
    assert (rig.workspace / "x").exists() is runs


def test_a_failed_call_to_the_model_ends_the_turn_with_stop_failure(rig: Rig) -> None:
    script = rig.script([text("a"), {"error": {"status": 429, "retry_after": 0.01}}, text("b")])
    code, lines = rig.stream("--script", script, "--", "go")
    assert code == 1
    assert "api_retry" in [line.get("subtype") for line in lines]
    assert lines[-2]["error"] == "rate_limit"
    result = lines[-1]
    assert (result["subtype"], result["is_error"]) == ("success", True)
    assert result["api_error_status"] == 429
    assert rig.event_names()[-2:] == ["StopFailure", "SessionEnd"]
    assert "Stop" not in rig.event_names()


def test_a_failed_call_that_clears_is_retried_and_the_turn_goes_on(rig: Rig) -> None:
    limit = {"error": {"status": 429, "retry_after": 0.01, "times": 2}}
    code, lines = rig.stream("--script", rig.script([text("a"), limit, text("b")]), "--", "go")
    retries = [line["attempt"] for line in lines if line.get("subtype") == "api_retry"]
    assert (code, retries) == (0, [1, 2])
    assert (lines[-1]["result"], lines[-1]["is_error"]) == ("b", False)
    assert "StopFailure" not in rig.event_names()


def test_max_turns_ends_with_an_error(rig: Rig) -> None:
    script = rig.script([bash("true"), bash("true"), bash("touch third")])
    code, lines = rig.stream(*OPEN, "--max-turns", "2", "--script", script, "--", "go")
    result = lines[-1]
    assert (code, result["subtype"], result["is_error"]) == (1, "error_max_turns", True)
    assert (result["num_turns"], result["terminal_reason"]) == (3, "max_turns")
    assert result["errors"] == ["Reached maximum number of turns (2)"]
    assert not (rig.workspace / "third").exists()
    assert "Stop" not in rig.event_names()


SPENT = {"usage": {"input_tokens": 100_000, "output_tokens": 1000}}


def test_a_budget_stops_after_the_call_that_crosses_it_and_all_later_ones(
    rig: Rig, pipes: Start
) -> None:
    turns = [SPENT, bash("touch first"), SPENT, bash("touch second"), SPENT, text("never")]
    session = pipes(*OPEN, "--max-budget-usd", "0.6", "--model", "m", "--script", rig.script(turns))
    session.say("go")
    result = session.expect(type="result")
    assert (result["subtype"], result["is_error"]) == ("error_max_budget_usd", True)
    assert result["total_cost_usd"] == pytest.approx(2 * 0.525)
    assert result["modelUsage"]["m"]["inputTokens"] == 200_000
    session.say("again")
    assert session.expect(type="result")["subtype"] == "error_max_budget_usd"
    assert session.close() == 1
    assert [path.name for path in rig.workspace.iterdir()] == ["first"]
    assert "Stop" not in rig.event_names()


def test_cost_and_models_add_up_over_turns_and_usage_does_not(rig: Rig, pipes: Start) -> None:
    session = pipes("--script", rig.script([SPENT, text("a"), AWAIT, SPENT, text("b")]))
    session.say("go")
    session.expect(type="result")
    session.say("more")
    result = session.expect(type="result")
    assert result["usage"]["input_tokens"] == 100_000
    assert result["modelUsage"]["standin"]["inputTokens"] == 200_000
    assert result["total_cost_usd"] == pytest.approx(2 * 0.525)
    assert result["modelUsage"]["standin"]["costUSD"] == result["total_cost_usd"]
    assert session.close() == 0


@pytest.mark.parametrize(
    ("status", "message", "kind", "said"),
    [
        (529, None, "server_error", "API Error: Repeated 529 Overloaded errors."),
        (401, "bad key", "authentication_failed", "Failed to authenticate. API Error: 401"),
        (400, "Your credit balance is too low", "billing_error", "Credit balance is too low"),
        (400, "prompt is too long: 3 > 2", "invalid_request", "Prompt is too long"),
        (500, "oops", "server_error", "API Error: 500 oops"),
    ],
)
def test_errors_are_worded_as_by_the_real_program(
    rig: Rig, status: int, message: str | None, kind: str, said: str
) -> None:
    error = {"status": status, **({"message": message} if message else {})}
    code, lines = rig.stream("--script", rig.script([{"error": error}]), "--", "go")
    assert code == 1
    assert lines[-2]["error"] == kind
    assert lines[-2]["message"]["model"] == "<synthetic>"
    result = lines[-1]
    assert (result["subtype"], result["is_error"]) == ("success", True)
    assert result["result"].startswith(said)
    assert result["api_error_status"] == (None if status == 529 else status)
    assert rig.event("StopFailure")["last_assistant_message"] == result["result"]


def test_the_end_of_a_background_command_wakes_the_session(rig: Rig, pipes: Start) -> None:
    os.mkfifo(rig.workspace / "fifo")
    script = rig.script(
        [bash("cat fifo", run_in_background=True, description="listen"), text("listening")],
        [{"match": "task-notification", "turns": [text("woken")]}],
    )
    session = pipes(*OPEN, "--script", script)
    session.say("go")
    assert session.expect(type="result")["result"] == "listening"
    (rig.workspace / "fifo").write_text("")
    result = session.expect(type="result")
    assert (result["result"], result["origin"]) == ("woken", {"kind": "task-notification"})
    assert session.close() == 0


def test_sigint_ends_a_turn_with_a_result_and_exit_0(rig: Rig, pipes: Start) -> None:
    session = pipes(*OPEN, "--script", rig.script([bash("sleep 60")]))
    session.say("go")
    session.expect(type="assistant")
    session.process.send_signal(signal.SIGINT)
    assert session.expect(type="result")["subtype"] == "error_during_execution"
    assert session.process.wait(60) == 0


def test_sigterm_ends_the_session_with_143_after_its_last_hook(rig: Rig, pipes: Start) -> None:
    session = pipes(*OPEN, "--script", rig.script([bash("sleep 60")]))
    session.say("go")
    session.expect(type="assistant")
    session.process.terminate()
    assert session.process.wait(60) == 143
    assert rig.event_names()[-1] == "SessionEnd"


def test_a_file_in_the_workspace_shadows_no_module(rig: Rig) -> None:
    for name in ("json.py", "windlass.py", "re.py", "select.py"):
        (rig.workspace / name).write_text("raise SystemExit(99)")
    assert rig.run("-p", "--script", rig.script([text("hi")]), "go").returncode == 0


def test_the_default_script_notes_the_goal_and_commits(rig: Rig) -> None:
    git = ["git", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], cwd=rig.workspace, check=True)
    rig.env |= {"WINDLASS_AGENT": "ada", "GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    done = rig.run("-p", *OPEN, "--", "count the ${AGENT} beans")
    assert done.stdout.endswith("I HAVE COMPLETED THE GOAL\n")
    shown = subprocess.run(
        ["git", "show", "HEAD:notes/ada.md"],
        cwd=rig.workspace,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "count the ${AGENT} beans" in shown.stdout
