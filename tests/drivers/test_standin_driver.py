from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from windlass import drivers
from windlass.core.driver_request import HookChannels, SessionRequest
from windlass.core.errors import DriverError, UserError
from windlass.core.ports import Driver
from windlass.core.session_launch import Launch

SESSION = "11111111-2222-4333-8444-555555555555"
SHARED = "known to both"


@pytest.fixture
def driver() -> Driver:
    return drivers.get("standin")


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[str]:
    """Serves the http hooks of the tests, into the same file as the command; returns its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Authorization"] == f"Bearer {SHARED}":
                with (tmp_path / "events").open("ab") as file:
                    file.write(body + b"\n")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def request_(tmp_path: Path, receiver: str) -> SessionRequest:
    workspace = tmp_path / "work space"
    workspace.mkdir()
    hook = tmp_path / "observing hook"
    hook.write_text(f'#!/bin/sh\n{{ cat; echo; }} >> "{tmp_path}/events"\n')
    hook.chmod(0o755)
    return SessionRequest(
        agent="ada",
        folder=str(tmp_path / "agents" / "ada"),
        workspace=str(workspace),
        session_id=SESSION,
        mode="headless",
        hooks=HookChannels(
            observe=(str(hook),),
            policy=(str(hook),),
            url=receiver,
            token=SHARED,
            events=str(tmp_path / "events"),
        ),
        prompt="-- say hi; don't $(panic)",
        allow=("Bash", "Write"),
        env={"PATH": os.environ["PATH"], "TMUX": "x", "CLAUDECODE": "1", "ANTHROPIC_API_KEY": "k"},
        extra_env={"WINDLASS_TASK": "AB-1"},
    )


def replace(request: SessionRequest, **changes: Any) -> SessionRequest:
    return msgspec.structs.replace(request, **changes)


def run(launch: Launch) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        launch.argv,
        cwd=launch.cwd,
        env=launch.env,
        input=launch.stdin,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def script(request: SessionRequest, data: object) -> str:
    path = Path(request.workspace) / "script.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def events(tmp_path: Path) -> list[str]:
    lines = (tmp_path / "events").read_text().splitlines()
    return [json.loads(line)["hook_event_name"] for line in lines if line]


def test_an_unknown_driver_is_named_with_the_known_ones() -> None:
    with pytest.raises(DriverError) as caught:
        drivers.get("hal")
    assert "hal" in caught.value.message
    assert "standin" in caught.value.hint


def test_the_version_is_known_without_starting_anything(driver: Driver) -> None:
    assert driver.name == "standin"
    assert driver.check()
    assert driver.abilities.scripts


def test_a_launch_runs_and_the_observing_hook_sees_it(
    driver: Driver, request_: SessionRequest, tmp_path: Path
) -> None:
    turns = [{"tool": "Bash", "input": {"command": "echo $WINDLASS_TASK"}}, {"text": "${GOAL}"}]
    done = run(driver.launch(replace(request_, script=script(request_, {"turns": turns}))))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["result"] == request_.prompt
    assert any("AB-1" in json.dumps(line.get("tool_use_result")) for line in lines)
    assert events(tmp_path) == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionEnd",
    ]
    assert Path(driver.transcript(request_)).is_file()


def test_a_killed_session_is_resumed_by_itself(driver: Driver, request_: SessionRequest) -> None:
    turns = [{"text": "a"}, {"crash": 9}, {"text": "b"}]
    asked = replace(request_, script=script(request_, {"turns": turns}))
    assert run(driver.launch(asked)).returncode == -9
    done = run(driver.launch(replace(asked, resume=True, was_cut_off=True, prompt=None)))
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["result"] == "b"


def test_nothing_foreign_is_in_the_environment(driver: Driver, request_: SessionRequest) -> None:
    env = driver.launch(request_).env
    assert set(env) == {"PATH", "CLAUDE_CONFIG_DIR", "WINDLASS_AGENT", "WINDLASS_TASK"}
    assert Path(env["CLAUDE_CONFIG_DIR"]).is_relative_to(request_.folder)


def test_nothing_in_the_workspace_shadows_a_module(
    driver: Driver, request_: SessionRequest
) -> None:
    for name in ("json.py", "windlass.py", "msgspec.py", "sitecustomize.py"):
        (Path(request_.workspace) / name).write_text("raise SystemExit(99)")
    launch = driver.launch(replace(request_, extra_env={"PYTHONPATH": request_.workspace}))
    assert launch.argv[0] == sys.executable
    assert run(launch).returncode == 0


def test_skipping_permissions_works_whoever_we_are(
    driver: Driver, request_: SessionRequest
) -> None:
    turns = [{"tool": "Bash", "input": {"command": "touch x"}}]
    asked = replace(request_, script=script(request_, {"turns": turns}), allow=(), yolo=True)
    assert run(driver.launch(asked)).returncode == 0
    assert (Path(request_.workspace) / "x").exists()


def test_denied_tools_stay_denied(driver: Driver, request_: SessionRequest) -> None:
    turns = [{"tool": "Bash", "input": {"command": "touch x"}}]
    asked = replace(request_, script=script(request_, {"turns": turns}), deny=("Bash(touch:*)",))
    run(driver.launch(asked))
    assert not (Path(request_.workspace) / "x").exists()


def test_a_live_launch_has_no_print_flag(driver: Driver, request_: SessionRequest) -> None:
    launch = driver.launch(replace(request_, mode="live", model="m", columns=60, lines=20))
    assert "--print" not in launch.argv
    assert (launch.mode, launch.columns, launch.lines) == ("live", 60, 20)
    assert launch.argv[-2:] == ("--", request_.prompt)


def test_a_rewake_hook_waits_beside_the_observing_one(
    driver: Driver, request_: SessionRequest
) -> None:
    driver.launch(replace(request_, rewake=("/bin/wait here", "--once")))
    hooks = json.loads((Path(request_.folder) / "settings.json").read_text())["hooks"]
    assert len(hooks["PreToolUse"][0]["hooks"]) == 1
    observing, waiting = hooks["Stop"][0]["hooks"]
    assert "asyncRewake" not in observing
    assert waiting["command"] == "'/bin/wait here' --once"
    assert waiting["asyncRewake"] is True


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ('{"turns": [', "line 1 column 12"),
        ({"turns": [{"tool": "Bash", "input": 3}]}, "turns[0].input: expected an object"),
    ],
)
def test_a_malformed_script_is_refused_before_anything_starts(
    driver: Driver, request_: SessionRequest, data: object, words: str
) -> None:
    path = script(request_, data)
    with pytest.raises(UserError) as caught:
        driver.launch(replace(request_, script=path))
    assert path in caught.value.message
    assert words in caught.value.message
    assert not Path(request_.folder).exists()


def test_a_missing_script_is_named(driver: Driver, request_: SessionRequest) -> None:
    with pytest.raises(UserError, match=r"absent\.json: No such file"):
        driver.launch(replace(request_, script="absent.json"))


def test_a_prompt_too_long_for_a_command_line_is_refused_where_it_would_go_there(
    driver: Driver, request_: SessionRequest
) -> None:
    long = replace(request_, prompt="x" * 200_000)
    with pytest.raises(UserError, match="longer than"):
        driver.launch(replace(long, mode="live"))
    turns = [{"text": "read it"}]
    done = run(driver.launch(replace(long, script=script(request_, {"turns": turns}))))
    assert json.loads(done.stdout.splitlines()[-1])["result"] == "read it"
