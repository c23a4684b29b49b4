"""What a boxed agent has of the person's own: memory, skills, commands, and servers that answer.

With the real Claude Code; what it asks of its scripted model and what its tools see is what counts.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
MEMORY = "Always speak of foxes in the plural."
LATER = "Never speak of foxes at all."
LOOK = """
until [ -e ~/listed ]; do sleep 0.1; done  # the server's tools are known by then
cd $CLAUDE_CONFIG_DIR
skills/digging/dig.sh
ls settings.json .credentials.json rules/quiet.md skills/keys 2>&1 | grep -c 'No such file'
echo mine >> CLAUDE.md || rm skills/digging/SKILL.md || touch commands/mine.md || echo 'as it was'
"""
SKILL = """---
name: digging
description: How dens are dug in clay.
---
Dig in the evening. Run ${CLAUDE_SKILL_DIR}/dig.sh.
"""
COMMAND = "---\ndescription: Counts the hens of a farm.\n---\nCount the hens.\n"
AGENT = "---\nname: badger\ndescription: Knows every tunnel.\n---\nYou are a badger.\n"
SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {}
    if asked["method"] == "initialize":
        answer = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities":
                  {"tools": {}}, "serverInfo": {"name": "farm", "version": "1"}}
    if asked["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer = {"tools": [{"name": "hens", "description": "hens", "inputSchema": schema}]}
        open(os.path.expanduser("~/listed"), "w").close()
    if asked["method"] == "tools/call":
        seen = f"{os.environ['FARM']} {os.uname().nodename} {os.path.exists('/etc/shadow')}"
        answer = {"content": [{"type": "text", "text": seen}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


class Ear(socketserver.ThreadingTCPServer):
    """Stands before the scripted model and hears all that is said to it, also what nobody said."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, model: int) -> None:
        self.heard = b""
        self.model = model
        super().__init__(("127.0.0.1", 0), _Between)


class _Between(socketserver.BaseRequestHandler):
    """One connection: what comes goes on, and what is answered comes back."""

    server: Ear

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.model)) as onwards:
            back = threading.Thread(target=_pass_on, args=(onwards, self.request))
            back.start()
            with suppress(OSError):
                while data := self.request.recv(1 << 16):
                    self.server.heard += data
                    onwards.sendall(data)
                onwards.shutdown(socket.SHUT_WR)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def ear(on: Scene) -> Iterator[Ear]:
    """Hears the requests of every agent."""
    with Ear(on.model.port) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        on.ground.env["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{made.server_address[1]}"
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def config(on: Scene) -> Path:
    """The configuration folder of a person with ways of their own, and secrets beside them."""
    folder = on.ground.home / ".claude"
    for name, text in {
        "CLAUDE.md": MEMORY,
        "skills/digging/SKILL.md": SKILL,
        "skills/digging/dig.sh": "#!/bin/sh\necho dug\n",
        "commands/hens.md": COMMAND,
        "agents/badger.md": AGENT,
        "rules/quiet.md": "Be quiet.",
        ".credentials.json": '{"claudeAiOauth": {}}',
        "settings.json": '{"env": {"OWN": "yes"}}',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "skills/digging/dig.sh").chmod(0o755)
    (folder / "skills/keys").symlink_to(on.ground.home)
    tools = on.ground.folder / "tools"
    tools.mkdir()
    (tools / "farm.py").write_text(SERVER)
    farm = {"command": "python3", "args": [str(tools / "farm.py")], "env": {"FARM": "a farm"}}
    known = {"mcpServers": {"farm": farm, "barn": {"type": "http", "url": "https://barn.test/"}}}
    (on.ground.home / ".claude.json").write_text(json.dumps(known))
    return folder


def spawn(on: Scene, name: str, *turns: dict[str, Any], flags: list[str]) -> list[str]:
    """Starts a boxed agent; returns what is said of it beyond its name, branch and next steps."""
    on.script(name, *turns)
    words = ("new", "--driver", "claude", "--name", name, "--isolation", "box", *flags)
    said = on.wl(*words, f"be {name}").ok().out.splitlines()
    return [line.strip() for line in said[3:-1]]


def listed(on: Scene, name: str) -> str:
    """What Claude Code told its model of skills, commands and helpers."""
    notes = [line["attachment"] for line in on.transcript(name) if "attachment" in line]
    return json.dumps([one for one in notes if "listing" in one["type"]])


def test_a_boxed_agent_has_the_ways_of_its_person_and_a_server_of_theirs(
    on: Scene, ear: Ear, config: Path
) -> None:
    on.wl("config", "add", "claude.mcp", "farm", "--global").ok()
    tools = on.ground.folder / "tools"
    shows = f"wl config add box.toolchains {tools} --global"
    lacking = spawn(on, "vole", DONE, flags=["--print"])
    assert lacking == [
        f"without skills/keys (leads elsewhere by a link) of your {config}",
        f"without rules of your {config}: wl config add claude.bring rules --global",
        f"without the MCP server farm: {tools}/farm.py is not visible in the box: {shows}",
        "without your MCP servers barn: wl config add claude.mcp barn --global",
    ]
    on.wl("kill", "vole", "--force").ok()
    on.wl("config", "add", "box.toolchains", str(tools), "--global").ok()
    turns = (
        bash(LOOK),
        {"tool": "mcp__farm__hens", "input": {}},
        {"text": "I listen.\n\nWAITING"},
        {"await": "message"},
        {"tool": "Skill", "input": {"skill": "digging"}},
        DONE,
    )
    # The rest was said already, in this repository.
    told = "the MCP server farm has FARM in the box, where the agent can read it"
    assert spawn(on, "fox", *turns, flags=[]) == [told]
    on.wait("fox", "waiting")
    looked, answer = (one.text for asked in on.model.requests for one in asked.results)
    assert answer == "a farm windlass-box False"
    assert looked.startswith("dug\n4\n"), looked
    assert "as it was\n" in looked, looked
    assert MEMORY.encode() in ear.heard
    for known in ("How dens are dug in clay", "Counts the hens", "Knows every tunnel"):
        assert known in listed(on, "fox")
    _assert_resumed_with_what_they_have_by_then(on, ear, config)


def _assert_resumed_with_what_they_have_by_then(on: Scene, ear: Ear, config: Path) -> None:
    on.wl("pause", "fox").ok()
    kept = on.ground.state / "agents" / on.wl("info", "fox", "--json").ok().json()["uid"]
    assert not (kept / "person").exists()
    (config / "CLAUDE.md").write_text(LATER)
    ear.heard = b""
    on.wl("resume", "fox").ok()
    on.wl("send", "fox", "go on").ok()
    on.wait("fox", "complete")
    assert LATER.encode() in ear.heard
    assert MEMORY.encode() not in ear.heard
    results = [one.text for asked in on.model.requests for one in asked.results]
    assert results[-1] == "Launching skill: digging"
