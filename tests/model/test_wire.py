"""The scripted model on the wire, without any agent CLI."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection, RemoteDisconnected

import pytest
from tests.model.rig import bash, text
from tests.model.wire import TOOLS, Client, events, post

from windlass.core.errors import Unavailable, UserError
from windlass.model.server import Model

AWAIT = {"await": "message"}
DEFAULT = ["Noted.\n\nWAITING"]


def slipped(words: str) -> str:
    return (
        f"The user sent a new message while you were working:\n{words}\n\n"
        "IMPORTANT: After completing your current task, you MUST address the user's message above. "
        "Do not ignore it."
    )


def test_a_stream_has_the_events_of_the_real_one() -> None:
    turns = [
        {"thinking": "hm"},
        {"usage": {"input_tokens": 3, "output_tokens": 4}},
        text("hi"),
        bash("ls"),
    ]
    body = {"model": "m", "stream": True, "tools": TOOLS}
    with Model({"turns": turns}) as model:
        messages = [{"role": "user", "content": "go"}]
        status, headers, answer = post(
            model, "/v1/messages?beta=true", {**body, "messages": messages}
        )
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    got = events(answer)
    kinds = [event["type"].removeprefix("content_block_") for event in got]
    one = ["start", "delta", "stop"]
    thought = ["start", "delta", "delta", "stop"]
    assert kinds == ["message_start", *thought, *one, *one, "message_delta", "message_stop"]
    usage = {"input_tokens": 3, "output_tokens": 4}
    assert got[0]["message"]["usage"].items() >= usage.items()
    assert got[-2]["usage"].items() >= usage.items()
    assert got[-2]["delta"]["stop_reason"] == "tool_use"
    assert json.loads(got[-4]["delta"]["partial_json"]) == {"command": "ls"}


def test_tokens_after_the_last_word_are_reported_with_the_next_reply() -> None:
    turns = [text("a"), {"usage": {"output_tokens": 5}}, AWAIT, text("b")]
    with Model({"turns": turns}) as model:
        tokens = []
        history = [{"role": "user", "content": "1"}]
        for reply, question in (("a", "2"), ("b", "3")):
            body = {"model": "m", "tools": TOOLS, "messages": history}
            tokens.append(
                json.loads(post(model, "/v1/messages", body)[2])["usage"]["output_tokens"]
            )
            history += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": question},
            ]
    assert tokens == [0, 5]


def test_the_same_request_again_is_the_same_reply_again() -> None:
    with Model({"turns": [text("a"), bash("ls"), text("b")]}) as model:
        client = Client(model)
        client.hear("go")
        assert client.ask(keep=False) == client.ask()
        assert client.give() == ["b"]
        client.history.pop()
        assert client.ask() == (200, ["b"])
        assert [request.again for request in model.requests] == [False, True, False, True]


def test_an_error_for_good_is_repeated_until_a_message_comes() -> None:
    error = {"error": {"status": 529}}
    with Model({"turns": [bash("ls"), error, text("b")]}) as model:
        client = Client(model)
        client.say("go")
        assert client.give() == ["overloaded_error"]
        assert client.ask() == (529, ["overloaded_error"])
        assert client.say("on") == ["b"]


def test_a_prompt_that_was_never_answered_is_not_heard_again() -> None:
    """After an error the history holds both prompts; the first must not count for the await."""
    turns = [{"error": {"status": 400}}, text("b"), AWAIT, text("c")]
    with Model({"turns": turns}) as model:
        client = Client(model)
        assert client.say("go") == ["invalid_request_error"]
        assert client.say("on") == ["b"]


def test_an_error_that_clears_fails_so_often_and_goes_on_in_the_turn() -> None:
    limit = {
        "error": {"status": 429, "retry_after": 1.5, "times": 2, "message": "slow, ${MESSAGE}"}
    }
    crash = {"error": {"status": 500, "times": 1}}
    with Model({"turns": [text("a"), limit, text("b"), crash, text("c"), AWAIT]}) as model:
        client = Client(model)
        client.hear("go")
        body = {"messages": client.history, "tools": TOOLS}
        status, headers, answer = post(model, "/v1/messages", body, **client.headers)
        assert (status, headers["retry-after"]) == (429, "1.5")
        assert json.loads(answer)["error"] == {"type": "rate_limit_error", "message": "slow, go"}
        assert [client.ask()[0] for _ in range(2)] == [429, 500]
        assert client.ask() == (200, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_errors_are_named_as_the_api_names_them(status: int, kind: str) -> None:
    with Model({"turns": [{"error": {"status": status}}]}) as model:
        client = Client(model)
        client.hear("go")
        assert client.ask() == (status, [kind])


def test_packaging_is_no_message_and_what_people_and_hooks_say_is_found() -> None:
    script = {
        "turns": [bash("1"), bash("2"), bash("3"), bash("4"), text("end"), AWAIT, text("after")],
        "on": [
            {"match": "^psst", "turns": [text("heard")]},
            {"match": "^mail", "turns": [text("read")]},
            {"match": "exit code 3", "turns": [text("noticed")]},
            {"match": "currentDate|skills|WRONG", "turns": [text("wrong")]},
        ],
    }
    with Model(script) as model:
        client = Client(model)
        client.hear(
            [{"type": "text", "text": "<system-reminder>\n# currentDate\n</system-reminder>"}]
        )
        client.hear("go")
        client.hear(
            "SessionStart hook additional context: WRONG\n\nAvailable agent types", "system"
        )
        assert client.ask()[1] == [("Bash", {"command": "1"})]
        reminder = (
            "<system-reminder>\nPostToolUse:Bash hook additional context: {}\n</system-reminder>"
        )
        assert client.give("x", reminder.format("mail for you")) == [
            "read",
            ("Bash", {"command": "2"}),
        ]
        client.hear([{"type": "tool_result", "tool_use_id": _call(client), "content": "x"}])
        client.hear(f"{slipped('psst' + chr(10) * 2 + 'two')}\n\n{slipped('WAIT')}", "system")
        assert client.ask()[1] == ["heard", ("Bash", {"command": "3"})]
        client.hear([{"type": "tool_result", "tool_use_id": _call(client), "content": "x"}])
        client.hear(
            "[SYSTEM NOTIFICATION - NOT USER INPUT]\nnot a message\n\n<task-notification>\n"
            "<summary>ended (exit code 3)</summary>\n</task-notification>\n\n"
            "The following skills are available",
            "system",
        )
        assert client.ask()[1] == ["noticed", ("Bash", {"command": "4"})]
        # "WAIT" came in the middle of the turn, so that the await does not stop.
        assert client.give() == ["end", "after"]
        assert [request.texts for request in model.requests][2] == ("psst\n\ntwo", "WAIT")
        assert [request.contexts for request in model.requests][1] == ("mail for you",)


def test_an_interrupted_turn_plays_on_with_the_next_message() -> None:
    turns = [bash("1"), text("rest"), AWAIT, bash("2"), text("end")]
    with Model({"turns": turns}) as model:
        client = Client(model)
        client.say("go")
        result = {"type": "tool_result", "tool_use_id": _call(client), "content": "rejected"}
        client.hear(
            [result, {"type": "text", "text": "[Request interrupted by user for tool use]"}]
        )
        assert client.say("go on") == ["rest"]
        assert client.say("go on") == [("Bash", {"command": "2"})]
        # The result never comes: the call was lost, and is made anew.
        client.history.pop()
        assert client.say("again") == [("Bash", {"command": "2"})]
        assert client.give() == ["end"]


def test_a_compaction_gets_a_summary_and_the_history_may_change() -> None:
    with Model({"turns": [bash("1"), text("end"), AWAIT, text("after")]}) as model:
        client = Client(model)
        client.say("go")
        client.hear([{"type": "tool_result", "tool_use_id": _call(client), "content": "x"}])
        client.hear("Do it.\nYour task is to create a detailed summary of the conversation so far")
        assert "<summary>" in client.ask(keep=False)[1][0]
        client.history = [
            {
                "role": "user",
                "content": "This session is being continued from a previous conversation",
            }
        ]
        assert client.ask() == (200, ["end"])
        client.hear("<command-name>/compact</command-name>")
        assert client.say("next") == ["after"]
        assert [request.kind for request in model.requests] == ["main", "compact", "main", "main"]


def test_a_history_that_was_rewritten_is_not_heard_anew() -> None:
    script = {
        "turns": [text("one"), AWAIT, text("two")],
        "on": [{"match": "edited", "turns": [text("wrong")]}],
    }
    with Model(script) as model:
        client = Client(model)
        client.say("go")
        client.history[0]["content"] = "edited"
        assert client.say("next") == ["two"]


def test_side_requests_get_an_answer_of_their_own() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    with Model({"turns": [text("a")]}) as model:
        body = {
            "messages": [{"role": "user", "content": "a title, please"}],
            "output_config": {"format": {"type": "json_schema", "schema": schema}},
        }
        _, _, answer = post(model, "/v1/messages", body, **{"x-claude-code-session-id": "s"})
        assert "title" in json.loads(json.loads(answer)["content"][0]["text"])
        assert Client(model).say("go") == ["a"]


def test_a_subagent_is_apart() -> None:
    script = {
        "turns": [{"tool": "Agent"}, text("end")],
        "on": [{"match": "look", "turns": [bash("ls"), text("looked")]}],
    }
    with Model(script) as model:
        client = Client(model)
        client.say("go")
        looking = Client(model, **{"x-claude-code-agent-id": "a1"})
        other = Client(model, **{"x-claude-code-agent-id": "a2"})
        assert looking.say("look") == [("Bash", {"command": "ls"})]
        assert other.say("nobody knows") == DEFAULT
        assert looking.give() == ["looked"]
        assert client.give() == ["end"]


def test_scripts_are_chosen_by_session_then_by_prompt_then_for_everybody() -> None:
    with Model({"turns": [text("all")]}) as model:
        for script in (
            {"session": "s1", "script": {"turns": [text("session")]}},
            {"prompt": "(?i)paint", "script": {"turns": [text("prompt")]}},
        ):
            assert post(model, "/_script", script)[0] == 200
        assert Client(model, "s1").say("paint") == ["session"]
        assert Client(model, "s2").say("PAINT it") == ["prompt"]
        assert Client(model, "s3").say("go") == ["all"]
        assert post(model, "/_script", {"script": {"turns": [text("new")]}})[0] == 200
        assert Client(model, "s4").say("go") == ["new"]


def test_a_session_under_way_begins_a_new_script_with_its_next_message() -> None:
    with Model({"turns": [bash("ls"), text("old"), AWAIT, text("older")]}) as model:
        client = Client(model)
        client.say("go")
        model.for_session("s", {"turns": [text("new ${GOAL}")]})
        assert client.give() == ["old"]
        assert client.say("more") == ["new more"]


def test_names_are_filled_in() -> None:
    words = text("${AGENT}: ${GOAL} / ${MESSAGE} / ${HOME}")
    with Model({"turns": [words, AWAIT, words]}) as model:
        client = Client(model, **{"x-windlass-agent": "heron"})
        assert client.say("goal") == ["heron: goal / goal / ${HOME}"]
        assert client.say("word") == ["heron: goal / word / ${HOME}"]
        body = {
            "system": [{"type": "text", "text": "Your id: WINDLASS_AGENT=gull."}],
            "messages": [{"role": "user", "content": "goal"}],
            "tools": TOOLS,
        }
        answer = json.loads(post(model, "/v1/messages", body)[2])
        assert answer["content"][0]["text"].startswith("gull: goal")


def test_requests_are_listed_whole() -> None:
    paste = "ü" * 200_000
    with Model({"turns": [text("a")]}) as model:
        Client(model).say(paste)
        connection = HTTPConnection("127.0.0.1", model.port, timeout=20)
        connection.request("GET", "/_requests")
        (listed,) = json.loads(connection.getresponse().read())
        connection.close()
    assert listed["texts"] == [paste]
    assert (listed["session"], listed["kind"], listed["status"]) == ("s", "main", 200)


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/messages", b"{", {}, 400),
        ("/v1/messages", b"[]", {}, 400),
        ("/v1/messages", b"{}", {}, 400),
        ("/v1/messages", b'{"messages": []}', {}, 400),
        ("/v1/messages", b'{"messages": [1]}', {}, 400),
        ("/v1/messages", b"\xff\xfe", {}, 400),
        ("/v1/messages", b"[" * 100_000, {}, 400),
        ("/v1/messages", b"", {"content-length": "x"}, 400),
        ("/v1/messages", b"", {"content-length": "99999999999"}, 413),
        ("/v1/messages", b"{}", {"origin": "http://page.invalid"}, 403),
        ("/v1/messages", b"{}", {"host": "page.invalid"}, 403),
        ("/_script", b"{}", {}, 400),
        ("/_script", b'{"script": {"turns": [1]}}', {}, 400),
        ("/_script", b'{"script": 5}', {}, 400),
        ("/_script", b'{"prompt": "(", "script": {"turns": []}}', {}, 400),
        ("/v1/complete", b"{}", {}, 404),
    ],
)
def test_garbage_is_answered_and_the_server_lives(
    path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    with Model({"turns": [text("a")]}) as model:
        got, _, answer = post(model, path, body, **headers)
        assert got == status
        assert json.loads(answer)["type"] == "error"
        assert Client(model).say("go") == ["a"]


def test_odd_content_is_no_reason_to_fail() -> None:
    odd = [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": [1, {"type": "image"}, {"type": "tool_result"}, {"text": 5}]},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {"content": {"a": 1}},
        {"role": "user", "content": "go"},
    ]
    with Model({"turns": [text("a")]}) as model:
        assert post(model, "/v1/messages", {"messages": odd, "tools": TOOLS})[0] == 200


def test_tokens_are_counted_somehow() -> None:
    with Model() as model:
        status, _, answer = post(model, "/v1/messages/count_tokens", {"messages": []})
    assert (status, list(json.loads(answer))) == (200, ["input_tokens"])


def test_half_a_request_leaves_no_trace() -> None:
    with Model({"turns": [text("a")]}) as model:
        with socket.create_connection(("127.0.0.1", model.port)) as connection:
            head = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"
            connection.sendall(head)
        assert Client(model).say("go") == ["a"]
        assert len(model.requests) == 1


def test_closing_ends_a_stream_under_way() -> None:
    """Leaving the block would otherwise wait for the pause."""
    with Model({"turns": [text("a"), {"pause": 3600}]}) as model:
        connection = HTTPConnection("127.0.0.1", model.port, timeout=20)
        body = {"stream": True, "tools": TOOLS, "messages": [{"role": "user", "content": "go"}]}
        connection.request("POST", "/v1/messages", json.dumps(body))
        assert connection.getresponse().readline() == b"event: message_start\n"
    connection.close()


def test_a_crash_never_hits_the_server_and_asking_again_goes_on() -> None:
    """The client here is the very process of the server."""
    with Model({"turns": [text("a"), {"crash": 9}, text("b")]}) as model:
        client = Client(model)
        client.hear("go")
        with pytest.raises(RemoteDisconnected):
            client.ask()
        assert client.ask() == (200, ["a", "b"])


def test_a_crash_hits_the_process_that_asks() -> None:
    code = (
        "import http.client, sys\n"
        "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n"
        "c.request('POST', '/v1/messages', sys.argv[2]); c.getresponse().read()\n"
        "input()\n"
    )
    body = {"tools": TOOLS, "messages": [{"role": "user", "content": "go"}], "stream": True}
    with Model({"turns": [text("a"), {"crash": 10}]}) as model:
        argv = [sys.executable, "-c", code, str(model.port), json.dumps(body)]
        done = subprocess.run(argv, stdin=subprocess.PIPE, timeout=30, check=False)
    assert done.returncode == -signal.SIGUSR1


def test_a_port_that_is_taken_is_said_so() -> None:
    with Model() as model, pytest.raises(Unavailable, match=r"cannot listen on 127\.0\.0\.1"):
        Model(port=model.port)


def test_a_bad_script_is_refused_before_anything_listens() -> None:
    with pytest.raises(UserError, match=r"turns\[0\]"):
        Model({"turns": [{"nope": 1}]})


def _call(client: Client) -> str:
    return str(client.history[-1]["content"][-1]["id"])
