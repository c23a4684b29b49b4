"""What of a person's Claude configuration is copied for a boxed agent, and what never is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from windlass.core.box_spec import BoxView, Network
from windlass.core.config import WAYS
from windlass.core.driver_request import HookChannels, SessionRequest
from windlass.drivers import claude_login, claude_servers, claude_ways

NOTHING = HookChannels(observe=(), policy=(), url="", token="", events="")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a person who has used Claude Code."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    return home


@pytest.fixture
def request_(tmp_path: Path, home: Path) -> SessionRequest:
    """A boxed session of that person's agent."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("server", "runner"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    return SessionRequest(
        agent="fox",
        folder=str(tmp_path / "agents/fox"),
        workspace=str(tmp_path),
        session_id="",
        mode="live",
        hooks=NOTHING,
        repo=str(tmp_path / "repo"),
        boxed=True,
        ways=WAYS,
        person_env={"HOME": str(home)},
        env={"PATH": str(programs), "HOME": "/private"},
        view=BoxView(shown=(str(programs),)),
    )


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        place = folder / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def brought(request: SessionRequest, target: Path) -> tuple[set[str], list[str]]:
    """What was copied, and what was said."""
    remarks = claude_ways.bring(request, target)
    copies = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    return copies, [one.text for one in remarks]


def test_ways_are_copied_and_nothing_else_is(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    config = home / ".claude"
    for name in ("CLAUDE.md", "skills/dig/SKILL.md", "commands/a/b.md", "agents/c.md"):
        put(config, **{name: "x"})
    for name in (".credentials.json", "settings.json", ".claude.json", "projects/p/s.jsonl"):
        put(config, **{name: "secret"})
    put(config, **{"skills/dig/.env": "KEY=1", "skills/.git/config": "[core]"})
    copies, said = brought(request_, tmp_path / "copy")
    assert copies == {"CLAUDE.md", "skills/dig/SKILL.md", "commands/a/b.md", "agents/c.md"}
    assert said == []


def test_a_folder_that_claude_config_dir_names_is_the_persons(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    put(home / "moved", **{"CLAUDE.md": "moved"})
    moved = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "moved")}
    brought(msgspec.structs.replace(request_, person_env=moved), tmp_path / "copy")
    assert (tmp_path / "copy/CLAUDE.md").read_text() == "moved"


def test_what_is_not_to_come_is_named_with_the_line_that_brings_it(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    put(home / ".claude", **{"CLAUDE.md": "x", "skills/dig/SKILL.md": "x", "rules/r.md": "x"})
    (home / ".claude/agents").mkdir()
    few = msgspec.structs.replace(request_, ways=("CLAUDE.md",))
    (said,) = claude_ways.bring(few, tmp_path / "copy")
    assert said.text == f"without rules, skills of your {home}/.claude"
    assert said.fix == "wl config add claude.bring rules --global"


def test_a_script_stays_a_program_and_copies_are_closed_to_others(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    put(home / ".claude", **{"skills/dig/run.sh": "x", "skills/dig/SKILL.md": "x"})
    (home / ".claude/skills/dig/run.sh").chmod(0o755)
    brought(request_, tmp_path / "copy")
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "copy/skills/dig").iterdir()}
    assert modes == {"run.sh": 0o700, "SKILL.md": 0o600}


def test_links_are_followed_within_a_way_and_never_out_of_it(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    skills = home / ".claude/skills"
    put(skills, **{"dig/SKILL.md": "x", "shared/text.md": "shared", "out/SKILL.md": "x"})
    put(home, key="secret")
    (skills / "dig/text.md").symlink_to("../shared/text.md")
    (skills / "out/key").symlink_to(home / "key")
    (skills / "all").symlink_to(home)
    (skills / "shared/loop").symlink_to(".")
    copies, said = brought(request_, tmp_path / "copy")
    assert copies == {"skills/dig/SKILL.md", "skills/dig/text.md"}
    left = "skills/all (leads elsewhere by a link), skills/out (leads elsewhere by a link)"
    assert said == [f"without {left}, skills/shared (is too deep) of your {home}/.claude"]


def test_no_link_leads_to_something_hidden(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    """A repository of settings may be where skills lie, and have a link from anybody."""
    skills = home / ".claude/skills"
    put(skills, **{"a/SKILL.md": "x", "b/SKILL.md": "x", ".env": "secret", ".git/config": "secret"})
    (skills / "a/notes.md").symlink_to("../.env")
    (skills / "c").symlink_to(".git")
    copies, said = brought(request_, tmp_path / "copy")
    assert copies == {"skills/b/SKILL.md"}
    assert "leads to something hidden by a link" in said[0]


def test_a_way_that_is_a_link_to_where_the_person_keeps_it_is_brought(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    put(home / "dotfiles", **{"CLAUDE.md": "kept", "skills/dig/SKILL.md": "x"})
    for name in ("CLAUDE.md", "skills"):
        (home / ".claude" / name).symlink_to(home / "dotfiles" / name)
    copies, said = brought(request_, tmp_path / "copy")
    assert copies == {"CLAUDE.md", "skills/dig/SKILL.md"}
    assert said == []


def test_a_way_that_is_a_link_to_a_home_is_not(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    (home / ".claude/skills").symlink_to(home)
    copies, (said,) = brought(request_, tmp_path / "copy")
    assert copies == set()
    assert f"skills (leads to {home}, a folder with more in it)" in said


def test_what_is_too_much_is_left_out_whole_and_the_rest_comes(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    skills = home / ".claude/skills"
    put(skills, **{"a/SKILL.md": "x", "z/SKILL.md": "x"})
    for number in range(claude_ways.MOST_FILES):
        put(skills, **{f"many/{number}": ""})
    put(skills, **{"large/SKILL.md": "x"})
    os.truncate(skills / "large/SKILL.md", claude_ways.MOST_OF_A_FILE + 1)
    copies, (said,) = brought(request_, tmp_path / "copy")
    assert copies == {"skills/a/SKILL.md", "skills/z/SKILL.md"}
    assert "skills/large (has a file of more than 4 MiB)" in said
    assert "skills/many (all together is more than 2000 files and 16 MiB)" in said


def test_what_keeps_a_reader_waiting_or_is_closed_is_left_out(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    put(home / ".claude", **{"commands/a.md": "x"})
    os.mkfifo(home / ".claude/commands/pipe.md")
    copies, (said,) = brought(request_, tmp_path / "copy")
    assert copies == {"commands/a.md"}
    assert "commands/pipe.md (closed to you, or no plain file)" in said


def test_a_configuration_that_is_a_closed_or_strange_thing_brings_nothing(
    request_: SessionRequest, home: Path, tmp_path: Path
) -> None:
    (home / ".claude").rmdir()
    (home / ".claude").write_text("no folder")
    assert brought(request_, tmp_path / "copy") == (set(), [])
    (home / ".claude").unlink()
    (home / ".claude").symlink_to(".claude")
    assert brought(request_, tmp_path / "copy") == (set(), [])


def serving(request: SessionRequest, **servers: Any) -> tuple[set[str], list[str]]:
    """The servers that are started of those that the person has, and what is said; all are wanted.

    One that is called `idle` is not.
    """
    known = {"mcpServers": {name: server for name, server in servers.items() if server}}
    (Path(request.person_env["HOME"]) / ".claude.json").write_text(json.dumps(known))
    wanted = tuple(name for name in servers if name != "idle")
    taken, remarks = claude_servers.chosen(msgspec.structs.replace(request, servers=wanted))
    return set(taken), [f"{one.text}; {one.fix}" for one in remarks]


def test_a_server_is_started_whose_program_the_box_shows(
    request_: SessionRequest, tmp_path: Path
) -> None:
    inside = {"command": "server", "args": ["--root=/nowhere", "relative", "-v"]}
    assert serving(request_, farm=inside) == ({"farm"}, [])
    put(tmp_path / "tools", **{"farm.py": ""})
    hidden = {"command": "runner", "args": [str(tmp_path / "tools/farm.py")]}
    option = {"command": "runner", "args": [f"--from={tmp_path}/tools"]}
    gone = {"command": "no-such-program"}
    fix = f"wl config add box.toolchains {tmp_path}/tools --global"
    assert serving(request_, hidden=hidden, option=option, gone=gone, unknown=None) == (
        set(),
        [
            (
                "without the MCP server hidden:"
                f" {tmp_path}/tools/farm.py is not visible in the box; {fix}"
            ),
            f"without the MCP server option: {tmp_path}/tools is not visible in the box; {fix}",
            (
                "without the MCP server gone: there is no program no-such-program on the PATH of"
                " boxes; "
            ),
            (
                "without the MCP server unknown: your Claude Code knows none of that name here;"
                " claude mcp list"
            ),
        ],
    )


def test_a_program_that_leads_out_of_what_the_box_shows_is_named(
    request_: SessionRequest, tmp_path: Path
) -> None:
    put(tmp_path / "elsewhere", tool="#!/bin/sh\n")
    (tmp_path / "elsewhere/tool").chmod(0o755)
    (tmp_path / "bin/tool").symlink_to(tmp_path / "elsewhere/tool")
    taken, (said,) = serving(request_, farm={"command": "tool"})
    assert taken == set()
    assert f"{tmp_path}/bin/tool is not visible in the box" in said
    both = BoxView(shown=(str(tmp_path / "bin"), str(tmp_path / "elsewhere")))
    seen = msgspec.structs.replace(request_, view=both)
    assert serving(seen, farm={"command": "tool"}) == ({"farm"}, [])


@pytest.mark.parametrize(
    ("network", "url", "problem"),
    [
        ("host", "https://mcp.example.com/", ""),
        ("host", "http://127.0.0.1:8000/", ""),
        ("proxy", "https://mcp.example.com/", ""),
        ("proxy", "https://a.below.test/", ""),
        ("proxy", "https://odd.test:8443/", ""),
        ("proxy", "https://mcp.example.com:8443/", "mcp.example.com is not in box.domains"),
        ("proxy", "https://other.example.com/", "other.example.com is not in box.domains"),
        ("proxy", "http://127.0.0.1:8000/", "127.0.0.1 is not reached from a box"),
        ("none", "https://other.test/", "other.test is not reached from a box with network none"),
        ("host", "nonsense", "its address is none"),
        ("host", "http://[bad", "its address is none"),
    ],
)
def test_a_remote_server_is_used_where_the_box_reaches_it(
    request_: SessionRequest, network: Network, url: str, problem: str
) -> None:
    named = ("mcp.example.com", "*.below.test", "odd.test:8443") if network == "proxy" else ()
    view = BoxView(network=network, domains=named)
    there = msgspec.structs.replace(request_, view=view)
    taken, said = serving(there, farm={"type": "http", "url": url})
    assert taken == (set() if problem else {"farm"})
    assert [problem in one for one in said] == ([True] if problem else [])


def test_what_a_server_takes_into_the_box_is_told_and_what_it_would_miss_as_well(
    request_: SessionRequest,
) -> None:
    token = {"command": "server", "env": {"TOKEN": "t", "URL": "${URL:-none}"}}
    lacking = {"type": "http", "url": "https://x.test", "headers": {"Authorization": "${KEY}"}}
    assert serving(request_, token=token, lacking=lacking, idle={"command": "server"}) == (
        {"token"},
        [
            "the MCP server token has TOKEN, URL in the box, where the agent can read them; ",
            (
                "without the MCP server lacking: the box has no variable KEY;"
                " wl config add box.env KEY --global"
            ),
            "without your MCP servers idle; wl config add claude.mcp idle --global",
        ],
    )


def test_a_server_of_this_repository_goes_before_one_for_every_folder(
    request_: SessionRequest, home: Path
) -> None:
    both = {"mcpServers": {"farm": {"command": "runner"}}}
    here = {os.path.realpath(request_.repo or ""): {"mcpServers": {"farm": {"command": "server"}}}}
    (home / ".claude.json").write_text(json.dumps({**both, "projects": here}))
    taken, _ = claude_servers.chosen(msgspec.structs.replace(request_, servers=("farm",)))
    assert taken == {"farm": {"command": "server"}}


@pytest.mark.parametrize("held", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"farm": 1}}'])
def test_a_configuration_that_says_nothing_useful_keeps_nobody_from_starting(
    request_: SessionRequest, home: Path, held: str
) -> None:
    (home / ".claude.json").write_text(held)
    assert claude_servers.chosen(request_) == ({}, [])
    taken, remarks = claude_servers.chosen(msgspec.structs.replace(request_, servers=("farm",)))
    assert taken == {}
    assert len(remarks) == 1


@pytest.mark.parametrize("also", [{}, {"ANTHROPIC_AUTH_TOKEN": "of-a-gateway"}])
def test_of_a_key_nothing_reaches_a_box_and_blanks_around_it_are_none_of_it(
    request_: SessionRequest, also: dict[str, str]
) -> None:
    """Not its end either, by which the CLI remembers the keys that it may use."""
    env = {**request_.env, **also, "ANTHROPIC_API_KEY": " sk-ant-api03-key \n"}
    boxed = msgspec.structs.replace(request_, env=env, relay_token="word")  # noqa: S106
    assert claude_login.approved_key(boxed) == (None if also else "word")
    assert claude_login.api_key(boxed) == "sk-ant-api03-key"
    if not also:
        access = claude_login.access(boxed)
        assert access is not None
        assert access.headers["x-api-key"] == "sk-ant-api03-key"
