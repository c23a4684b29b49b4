"""What the real Claude Code logs in with in a box, and what happens where nothing works there.

The person's own login is an interactive one; a box shows nothing of it.
"""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude import seed
from tests.support.ground import WL
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
LOOK = {"tool": "Bash", "input": {"command": "env | grep -c 'ANTHROPIC_API_KEY\\|OAUTH_TOKEN'"}}
KEY = "sk-ant-api03-a-key-that-is-no-key-at-all"


@pytest.fixture
def person(on: Scene) -> Path:
    """A person who has logged in by hand; returns where a token may be kept."""
    on.wl("config", "set", "claude.config", "inherit", "--global").ok()
    del on.ground.env["ANTHROPIC_AUTH_TOKEN"]
    on.wl("daemon", "stop").ok()  # its sessions have the environment that it began with
    config = seed(on.ground.home, [on.ground.state / "workspaces"])
    (config / ".claude.json").rename(on.ground.home / ".claude.json")
    login = {"claudeAiOauth": {"accessToken": "of-the-person", "refreshToken": "r"}}
    (config / ".credentials.json").write_text(json.dumps(login))
    return on.ground.home / "token"


def spawn(on: Scene, *flags: str) -> dict[str, Any]:
    """Starts a fox and returns what is said of it."""
    on.script("fox", LOOK, DONE)
    made = on.wl("new", "--driver", "claude", "--name", "fox", *flags, "--json", "be fox")
    found: dict[str, Any] = made.ok().json()
    return found


@pytest.mark.parametrize("by", ["token file", "key file", "key variable"])
def test_a_box_is_logged_in_by(on: Scene, person: Path, by: str) -> None:
    """A token by file, and an API key by file and by variable; live sessions ask nobody."""
    if by == "key variable":
        on.ground.env["ANTHROPIC_API_KEY"] = KEY
    else:
        person.write_text(f"{KEY}\n")
        person.chmod(0o600)
        key = "claude.token_file" if by == "token file" else "claude.api_key_file"
        on.wl("config", "set", key, str(person), "--global").ok()
    made = spawn(on, *(["--print"] if by == "key file" else []))
    assert (made["isolation"], made["unboxed"]) == ("box", "")
    on.wait("fox")
    assert [state for state, _ in on.history("fox")] == ["creating", "running", "complete"]
    on.wl("pause", "fox").ok()  # it writes as long as it runs
    kept = on.ground.state / "agents" / made["uid"]
    holding = [
        path.relative_to(kept)
        for path in kept.rglob("*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert holding == []


def test_a_login_by_hand_reaches_hooks_and_says_what_would_reach_a_box(
    on: Scene, person: Path
) -> None:
    refused = on.wl("new", "--driver", "claude", "--isolation", "required", "be fox").failed(3)
    assert "no box: Claude Code has nothing to log in with" in refused.err
    assert "claude setup-token" in refused.err
    assert on.ground.agents() == []
    assert on.ground.git("branch", "--list", "agent/*") == ""
    assert list((on.ground.state / "workspaces").rglob("*/README")) == []
    made = spawn(on, "--print")
    assert made["isolation"] == "hooks"
    assert "nothing to log in with" in made["unboxed"]
    assert "wl config set claude.token_file FILE --global" in made["to_box"]
    assert not person.exists()


TOKEN = "sk-ant-oat01-" + "a-token-that-is-no-token-at-all-" * 3
MAKER = """#!/bin/sh
[ "$1" = setup-token ] || exec {claude} "$@"
echo "Your token: made in a browser"
"""


def typed(on: Scene, *args: str, answers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """Runs `wl` in a terminal, answers what it asks, and returns how it ended and what was seen."""
    terminal, theirs = pty.openpty()
    started = subprocess.Popen(
        [WL, *args],
        cwd=on.ground.folder / "repo",
        env=on.ground.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    waiting = list(answers)
    while True:
        assert select.select([terminal], [], [], 300)[0], f"it waits for ever: {seen!r}"
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # it has ended
            break
        seen += piece
        if waiting and waiting[0][0] in seen:
            os.write(terminal, waiting.pop(0)[1])
    os.close(terminal)
    return started.wait(30), seen


@pytest.fixture
def maker(on: Scene, person: Path) -> Path:
    """A person whose Claude Code makes tokens without a browser; returns where one is kept."""
    program = on.ground.folder / "bin" / "claude"
    real = program.readlink()
    program.unlink()
    program.write_text(MAKER.format(claude=real))
    program.chmod(0o755)
    on.wl("config", "add", "box.toolchains", str(real.parent), "--global").ok()
    assert not person.exists()
    return on.ground.state / "tokens" / "claude"


def test_doctor_leads_to_a_token_that_boxes_are_logged_in_by_and_forgets_it(
    on: Scene, maker: Path
) -> None:
    code, seen = typed(
        on,
        "doctor",
        "--fix",
        answers=[(b"[y/N]", b"y\n"), (b"Paste the token", b" " + TOKEN.encode() + b"\n")],
    )
    assert code == 0, seen
    assert b"made in a browser" in seen
    assert b"new agents are boxed" in seen
    assert TOKEN.encode() not in seen
    assert maker.read_text() == f"{TOKEN}\n"
    assert (maker.stat().st_mode & 0o777, maker.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    report = on.wl("doctor").ok().out
    assert "kept for claude" in report
    assert TOKEN not in report + on.wl("doctor", "--json").ok().out
    on.script(
        "fox",
        {
            "tool": "Bash",
            "input": {"command": f"test ${{#CLAUDE_CODE_OAUTH_TOKEN}} = {len(TOKEN)}"},
        },
        DONE,
    )
    made = on.wl("new", "--driver", "claude", "--name", "fox", "--print", "--json", "be fox").ok()
    assert made.json()["isolation"] == "box"
    on.wait("fox")
    assert "complete" in {state for state, _ in on.history("fox")}
    told = [path for path in on.ground.state.rglob("*") if path.is_file() and path != maker]
    assert not [path for path in told if TOKEN.encode() in path.read_bytes()]
    assert "deleted" in on.wl("doctor", "--forget-token").ok().out
    assert not maker.exists()
    assert "no token" in on.wl("doctor", "--forget-token").ok().out


def test_the_first_agent_of_such_a_person_asks_once_and_goes_on_without(
    on: Scene, maker: Path
) -> None:
    on.script("fox", DONE)
    new = ("new", "--driver", "claude", "--print", "--name")
    on.wl(*new, "cat", "be fox").ok()  # nobody is asked who has no terminal
    code, seen = typed(on, *new, "fox", "be fox", answers=[(b"[y/N]", b"n\n")])
    assert code == 0, seen
    assert b"hooks advise it" in seen
    code, seen = typed(on, *new, "owl", "be fox", answers=[])
    assert code == 0, seen
    assert b"[y/N]" not in seen
    assert not maker.exists()


def test_an_api_key_is_not_kept_as_a_token_and_no_terminal_is_no_person(
    on: Scene, maker: Path
) -> None:
    answers = [(b"[y/N]", b"y\n"), (b"Paste the token", KEY.encode() + b"\n")]
    code, seen = typed(on, "doctor", "--fix", answers=answers)
    assert code != 0
    assert b"it is an API key" in seen
    assert not maker.exists()
    assert "no terminal" in on.wl("doctor", "--fix").failed(2).err
