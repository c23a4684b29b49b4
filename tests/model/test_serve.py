"""`wl model serve` as a person runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from tests.model.rig import text
from tests.model.wire import TOOLS

WL = [sys.executable, "-m", "windlass"]


@contextmanager
def serving(*args: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*WL, "model", "serve", *args],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    first = process.stdout.readline()
    assert first.startswith("listening on http://127.0.0.1:"), first
    return int(first.split(";")[0].rpartition(":")[2])


def ask(port: int, words: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    body = {"tools": TOOLS, "messages": [{"role": "user", "content": words}]}
    headers = {"x-claude-code-session-id": words}
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return str(answer["content"][0]["text"])


def test_it_says_what_to_paste_serves_and_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(json.dumps({"turns": [text("all")]}))
    (tmp_path / "p.json").write_text(json.dumps({"turns": [text("painter")]}))
    args = ("all.json", "--for", "a=b|paint=p.json")
    with serving(*args, cwd=tmp_path) as process:
        port = port_of(process)
        assert process.stdout
        pasted = [process.stdout.readline() for _ in range(4)][1:3]
        assert pasted[0].startswith(f"export ANTHROPIC_BASE_URL=http://127.0.0.1:{port} ")
        assert [ask(port, "paint it"), ask(port, "go")] == ["painter", "all"]
        told = [process.stdout.readline() for _ in range(2)]
        assert [line.split() for line in told] == [
            ["main", "paint", "it", "200", "paint", "it"],
            ["main", "go", "200", "go"],
        ]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (130, "", "")


def test_a_taken_port_and_bad_scripts_are_clear_errors(tmp_path: Path) -> None:
    def fails(*args: str) -> tuple[int, str]:
        argv = [*WL, "model", "serve", *args]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    (tmp_path / "bad.json").write_text('{"turns": [{"nope": 1}]}')
    with serving(cwd=tmp_path) as process:
        code, said = fails("--port", str(port_of(process)))
        assert code == 6
        assert "Address already in use" in said
    assert fails("none.json")[0] == 2
    assert "bad.json: turns[0]" in fails("bad.json")[1]
    assert "expected REGEX=SCRIPT" in fails("--for", "bad.json")[1]


def test_with_json_every_line_is_one_object(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(json.dumps({"turns": [text("all")]}))
    with serving("all.json", "--json", cwd=tmp_path) as process:
        assert process.stdout
        port = json.loads(process.stdout.readline())["port"]
        assert ask(port, "go") == "all"
        assert json.loads(process.stdout.readline())["texts"] == ["go"]
