from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from tests.standin.rig import SESSION, Pipes, Rig, Terminal, bash, text, write

OPEN = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")
COMMON = {"session_id", "transcript_path", "cwd", "hook_event_name"}
PROMPTED = COMMON | {"prompt_id"}
WORKING = PROMPTED | {"permission_mode", "effort"}
TOOL = WORKING | {"tool_name", "tool_input"}
KEYS = {
    "SessionStart": COMMON | {"source", "model"},
    "UserPromptSubmit": PROMPTED | {"permission_mode", "prompt"},
    "PreToolUse": TOOL | {"tool_use_id"},
    "PostToolUse": TOOL | {"tool_use_id", "tool_response", "duration_ms"},
    "PostToolUseFailure": TOOL | {"tool_use_id", "error", "is_interrupt", "duration_ms"},
    "PermissionRequest": TOOL | {"permission_suggestions"},
    "Stop": WORKING
    | {"stop_hook_active", "last_assistant_message", "background_tasks", "session_crons"},
    "StopFailure": PROMPTED | {"effort", "error", "last_assistant_message"},
    "SessionEnd": PROMPTED | {"reason"},
    "Notification": PROMPTED | {"message", "notification_type"},
    "PreCompact": PROMPTED | {"trigger", "custom_instructions"},
    "PostCompact": PROMPTED | {"trigger", "compact_summary"},
}


def pre(decision: str, **more: Any) -> dict[str, Any]:
    fields = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return {"hookSpecificOutput": fields}


def test_hooks_fire_in_order_with_the_input_of_the_real_program(rig: Rig) -> None:
    script = rig.script([write("a", "x"), bash("false"), text("bye")])
    rig.stream(*OPEN, "--script", script, "--", "go")
    assert rig.event_names() == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    ]
    for event in rig.events():
        assert set(event) == KEYS[event["hook_event_name"]], event["hook_event_name"]
    assert rig.event("SessionStart")["source"] == "startup"
    assert rig.event("UserPromptSubmit")["prompt"] == "go"
    assert rig.event("PreToolUse")["tool_input"]["file_path"] == str(rig.workspace / "a")
    assert rig.event("PostToolUse")["tool_response"]["type"] == "create"
    assert rig.event("PostToolUseFailure")["error"] == "Exit code 1"
    assert rig.event("Stop")["last_assistant_message"] == "bye"
    assert rig.event("Stop")["background_tasks"] == []
    assert rig.event("Stop")["transcript_path"] == str(rig.transcript())
    assert {event["session_id"] for event in rig.events()} == {SESSION}


def test_a_failed_model_call_fires_stop_failure_with_its_keys(rig: Rig) -> None:
    rig.stream("--script", rig.script([{"error": {"status": 529}}]), "--", "go")
    failure = rig.event("StopFailure")
    assert set(failure) == KEYS["StopFailure"]
    assert failure["error"] == "server_error"


def test_stop_lists_what_runs_in_the_background(rig: Rig, pipes: Callable[..., Pipes]) -> None:
    turns = [bash("exec sleep 60", run_in_background=True, description="ears"), text("x")]
    session = pipes(*OPEN, "--script", rig.script(turns))
    session.say("go")
    session.expect(type="result")
    (task,) = rig.event("Stop")["background_tasks"]
    assert set(task) == {"id", "type", "status", "description"}
    assert task["description"] == "ears"
    session.process.terminate()
    assert session.process.wait(60) == 143


def test_a_hook_denies_a_tool_and_the_model_is_told_why(rig: Rig) -> None:
    rig.answer("PreToolUse", pre("deny", permissionDecisionReason="hands off"))
    _, lines = rig.stream(*OPEN, "--script", rig.script([bash("touch x"), text("ok")]), "--", "go")
    (block,) = lines[2]["message"]["content"]
    assert (block["is_error"], block["content"]) == (True, "hands off")
    assert [denial["tool_use_id"] for denial in lines[-1]["permission_denials"]] == [
        block["tool_use_id"]
    ]
    assert not (rig.workspace / "x").exists()
    assert "PostToolUseFailure" not in rig.event_names()


def test_exit_2_denies_with_what_the_hook_said(rig: Rig) -> None:
    rig.refuse("PreToolUse", "no touching")
    _, lines = rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    said = lines[2]["message"]["content"][0]["content"]
    assert said.startswith("PreToolUse:Bash hook error: [")
    assert said.endswith("]: no touching")
    assert not (rig.workspace / "x").exists()


def test_a_hook_allows_what_no_rule_does(rig: Rig) -> None:
    rig.answer("PreToolUse", pre("allow"))
    rig.stream("--script", rig.script([bash("touch x")]), "--", "go")
    assert (rig.workspace / "x").exists()


def test_a_hook_makes_an_allowed_tool_ask(rig: Rig) -> None:
    rig.answer("PreToolUse", pre("ask"))
    _, lines = rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    assert lines[-1]["permission_denials"]


def test_a_hook_rewrites_the_input(rig: Rig) -> None:
    rig.answer("PreToolUse", pre("allow", updatedInput={"command": "touch y"}))
    rig.stream("--script", rig.script([bash("touch x")]), "--", "go")
    assert [path.name for path in rig.workspace.iterdir()] == ["y"]


def test_a_stop_hook_sends_the_agent_back_to_work(rig: Rig) -> None:
    rig.answer("Stop", {"decision": "block", "reason": "run the tests"}, once=True)
    script = rig.script(
        [text("done")], [{"match": "run the tests", "turns": [bash("touch ran"), text("ran")]}]
    )
    _, lines = rig.stream(*OPEN, "--script", script, "--", "go")
    assert lines[-1]["result"] == "ran"
    assert (rig.workspace / "ran").exists()
    stops = [event for event in rig.events() if event["hook_event_name"] == "Stop"]
    assert [stop["stop_hook_active"] for stop in stops] == [False, True]
    said = [line["message"]["content"] for line in rig.lines() if line["type"] == "user"]
    assert "Stop hook feedback:\nrun the tests" in said


def test_a_stop_hook_that_never_gives_in_is_overruled(rig: Rig) -> None:
    rig.refuse("Stop", "again")
    code, _ = rig.stream("--script", rig.script([text("done")]), "--", "go")
    assert code == 0
    assert rig.event_names().count("Stop") == 8


def test_added_context_is_in_the_transcript(rig: Rig) -> None:
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse"):
        context = {"hookEventName": event, "additionalContext": f"know this from {event}"}
        rig.answer(event, {"hookSpecificOutput": context})
    rig.stream(*OPEN, "--script", rig.script([bash("true"), text("x")]), "--", "go")
    kept = [line["attachment"]["content"][0] for line in rig.lines() if "attachment" in line]
    assert kept == [
        "know this from SessionStart",
        "know this from UserPromptSubmit",
        "know this from PostToolUse",
    ]


def test_rules_react_to_added_context(rig: Rig) -> None:
    context = {"hookEventName": "PostToolUse", "additionalContext": "[sent by agent b]: hurry"}
    rig.answer("PostToolUse", {"hookSpecificOutput": context}, once=True)
    script = rig.script(
        [bash("echo 1 >> log"), bash("echo 3 >> log")],
        [{"match": "hurry", "turns": [bash("echo 2 >> log")]}],
    )
    rig.stream(*OPEN, "--script", script, "--", "go")
    assert (rig.workspace / "log").read_text() == "1\n2\n3\n"


def test_a_blocked_prompt_never_reaches_the_conversation(rig: Rig) -> None:
    rig.refuse("UserPromptSubmit", "not now")
    _, lines = rig.stream("--script", rig.script([text("hi")]), "--", "go")
    assert "assistant" not in [line["type"] for line in lines]
    assert [line["subtype"] for line in rig.lines()] == ["informational"]
    result = lines[-1]
    assert (result["subtype"], result["is_error"], result["num_turns"]) == ("success", False, 0)
    assert result["result"].endswith("not now\n\nOriginal prompt: go")


@pytest.mark.parametrize(
    ("matcher", "runs"),
    [
        ("Write", False),
        ("Bash", True),
        ("Write|Bash", True),
        ("B.*", True),
        ("", True),
        ("(", False),
    ],
)
def test_a_matcher_chooses_tools(rig: Rig, matcher: str, runs: bool) -> None:
    rig.settings["hooks"]["PreToolUse"][0]["matcher"] = matcher
    rig.stream(*OPEN, "--script", rig.script([bash("true")]), "--", "go")
    assert ("PreToolUse" in rig.event_names()) is runs


def test_a_hook_that_takes_too_long_is_as_if_it_were_not_there(rig: Rig) -> None:
    slow = {"type": "command", "command": "sleep 60", "timeout": 0.1}
    rig.settings["hooks"]["PreToolUse"] = [{"hooks": [slow]}]
    code, _ = rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    assert code == 0
    assert (rig.workspace / "x").exists()


def test_an_async_hook_holds_nothing_up(rig: Rig) -> None:
    waits = {"type": "command", "command": "sleep 60", "async": True}
    rig.settings["hooks"]["PreToolUse"] = [{"hooks": [waits]}]
    code, lines = rig.stream(*OPEN, "--script", rig.script([bash("true"), text("x")]), "--", "go")
    assert (code, lines[-1]["result"]) == (0, "x")


def test_a_rewake_hook_wakes_an_idle_session(rig: Rig, terminal: Callable[..., Terminal]) -> None:
    fifo = rig.hooks / "fifo"
    os.mkfifo(fifo)
    waits = {"type": "command", "command": f"cat {fifo} >&2; exit 2", "asyncRewake": True}
    rig.settings["hooks"]["SessionStart"] = [{"hooks": [waits]}]
    script = rig.script([text("hello")], [{"match": "mail", "turns": [text("never")]}])
    session = terminal("--script", script)
    session.expect_idle()
    fifo.write_text("you have mail")
    session.expect("● hello")
    session.expect_idle()
    assert "you have mail" in rig.event("UserPromptSubmit")["prompt"]


def test_the_hooks_of_a_plugin_run_in_its_folder(rig: Rig) -> None:
    plugin = rig.hooks / "plugin"
    (plugin / "hooks").mkdir(parents=True)
    command = 'echo "${CLAUDE_PLUGIN_ROOT}" > "$CLAUDE_PROJECT_DIR/root"'
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
    (plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    rig.stream("--plugin-dir", str(plugin), "--script", rig.script([text("x")]), "--", "go")
    assert (rig.workspace / "root").read_text().strip() == str(plugin)


class Server:
    """An HTTP hook on loopback that records and answers."""

    def __init__(self, status: int, reply: dict[str, Any] | str) -> None:
        self.seen: list[tuple[dict[str, Any], str | None]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.seen.append((json.loads(body), self.headers["X-Agent"]))
                self.send_response(status)
                self.end_headers()
                text = reply if isinstance(reply, str) else json.dumps(reply)
                self.wfile.write(text.encode())

            def log_message(self, *_args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        """Stops serving."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def served() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def serve(status: int, reply: dict[str, Any] | str) -> Server:
        servers.append(Server(status, reply))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def use_http(rig: Rig, server: Server, *events: str) -> None:
    hook = {
        "type": "http",
        "url": f"http://127.0.0.1:{server.server.server_port}/hook",
        "headers": {"X-Agent": "$WHO-$HOME"},
        "allowedEnvVars": ["WHO"],
    }
    rig.env["WHO"] = "ada"
    rig.settings["hooks"] = {event: [{"hooks": [hook]}] for event in events}


def test_an_http_hook_denies_and_knows_who_asked(rig: Rig, served: Callable[..., Server]) -> None:
    server = served(200, pre("deny", permissionDecisionReason="over http"))
    use_http(rig, server, "PreToolUse", "SessionStart")
    _, lines = rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    assert lines[2]["message"]["content"][0]["content"] == "over http"
    assert [(event["hook_event_name"], who) for event, who in server.seen] == [
        ("PreToolUse", "ada-")
    ]


def test_an_http_hook_that_fails_is_ignored(rig: Rig, served: Callable[..., Server]) -> None:
    use_http(rig, served(500, pre("deny")), "PreToolUse")
    rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    assert (rig.workspace / "x").exists()


def test_words_over_http_are_no_context(rig: Rig, served: Callable[..., Server]) -> None:
    server = served(200, "not JSON")
    use_http(rig, server, "UserPromptSubmit")
    code, lines = rig.stream("--script", rig.script([text("hi")]), "--", "go")
    assert (code, lines[-1]["result"]) == (0, "hi")
    assert len(server.seen) == 1
    assert "attachment" not in [line["type"] for line in rig.lines()]


def test_context_over_http_reaches_the_conversation(
    rig: Rig, served: Callable[..., Server]
) -> None:
    fields = {"hookEventName": "UserPromptSubmit", "additionalContext": "know this"}
    use_http(rig, served(200, {"hookSpecificOutput": fields}), "UserPromptSubmit")
    rig.stream("--script", rig.script([text("hi")]), "--", "go")
    kept = [line["attachment"]["content"] for line in rig.lines() if "attachment" in line]
    assert kept == [["know this"]]


def test_an_http_hook_that_nobody_serves_is_ignored(
    rig: Rig, served: Callable[..., Server]
) -> None:
    server = served(200, {})
    use_http(rig, server, "PreToolUse", "Stop")
    server.server.server_close()
    rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    assert (rig.workspace / "x").exists()


def test_an_http_hook_that_never_answers_is_given_up(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        hook = {"type": "http", "url": url, "timeout": 0.1}
        rig.settings["hooks"] = {"PreToolUse": [{"hooks": [hook]}]}
        rig.stream(*OPEN, "--script", rig.script([bash("touch x")]), "--", "go")
    assert (rig.workspace / "x").exists()


@pytest.mark.parametrize("behavior", ["allow", "deny"])
def test_an_http_hook_answers_instead_of_the_dialog(
    rig: Rig, terminal: Callable[..., Terminal], served: Callable[..., Server], behavior: str
) -> None:
    decision = {"behavior": behavior, "message": "over http"}
    fields = {"hookEventName": "PermissionRequest", "decision": decision}
    server = served(200, {"hookSpecificOutput": fields})
    use_http(rig, server, "PermissionRequest")
    session = terminal("--script", rig.script([bash("touch x"), text("end")]), "--", "go")
    session.expect("● end")
    assert "Do you want to proceed?" not in session.drawn()
    assert (rig.workspace / "x").exists() is (behavior == "allow")
    assert [set(event) for event, _ in server.seen] == [KEYS["PermissionRequest"]]


def test_the_http_hooks_of_a_plugin_are_heard(rig: Rig, served: Callable[..., Server]) -> None:
    server = served(200, {})
    use_http(rig, server, "Stop", "SessionEnd")
    plugin = rig.hooks / "plugin"
    (plugin / "hooks").mkdir(parents=True)
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": rig.settings.pop("hooks")}))
    rig.stream("--plugin-dir", str(plugin), "--script", rig.script([text("x")]), "--", "go")
    assert [event["hook_event_name"] for event, _ in server.seen] == ["Stop", "SessionEnd"]
