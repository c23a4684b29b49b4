"""What the Claude driver writes, asks for and refuses, on real files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from windlass import drivers
from windlass.core.driver_request import HookChannels, ModelAccess, SessionRequest
from windlass.core.errors import ConfigError, DriverError, UserError
from windlass.core.ports import Driver
from windlass.core.session_launch import HOOK_PORT
from windlass.drivers import claude_config

TOKEN = {"token_file": "/somewhere"}
SESSION = "11111111-2222-4333-8444-555555555555"


KEY, WORD = "sk-ant-api03-of-the-person", "windlass-word"


@pytest.fixture
def driver() -> Driver:
    return drivers.get("claude")


@pytest.fixture
def request_(tmp_path: Path) -> SessionRequest:
    """A live session in a person's own configuration; `claude` is a program that is never run."""
    for name in ("home", "bin", "workspaces/fox", "repo"):
        (tmp_path / name).mkdir(parents=True)
    program = tmp_path / "bin/claude"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    hooks = HookChannels(
        observe=("observe",),
        policy=("policy", "a b"),
        url=f"http://127.0.0.1:{HOOK_PORT}/hook",
        token="secret-token",  # noqa: S106 - a made-up one
        events="events",
    )
    return SessionRequest(
        agent="fox",
        folder=str(tmp_path / "agents/fox"),
        workspace=str(tmp_path / "workspaces/fox"),
        session_id=SESSION,
        mode="live",
        hooks=hooks,
        prompt="-be a fox",
        trusted_root=str(tmp_path / "workspaces"),
        repo=str(tmp_path / "repo"),
        env={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")},
        extra_env={"WINDLASS_SLOT": "0"},
    )


def replace(request: SessionRequest, **changes: Any) -> SessionRequest:
    return msgspec.structs.replace(request, **changes)


def know(request: SessionRequest, **known: Any) -> None:
    """Writes what Claude Code would have written about a person."""
    onboarding = {"hasCompletedOnboarding": True, **known}
    (Path(request.env["HOME"]) / ".claude.json").write_text(json.dumps(onboarding))


def trusting(*folders: str) -> dict[str, Any]:
    return {os.path.realpath(folder): {"hasTrustDialogAccepted": True} for folder in folders}


def test_a_live_session_gets_its_prompt_whole_as_the_last_argument(
    driver: Driver, request_: SessionRequest
) -> None:
    launch = driver.launch(request_)
    assert launch.argv[-2:] == ("--", "-be a fox")
    assert ("--session-id", SESSION) in zip(launch.argv, launch.argv[1:], strict=False)
    assert launch.stdin == ""


def test_a_headless_session_finds_its_prompt_in_its_input(
    driver: Driver, request_: SessionRequest
) -> None:
    launch = driver.launch(replace(request_, mode="headless", max_turns=3, max_usd=0.5))
    assert "-be a fox" not in launch.argv
    assert json.loads(launch.stdin)["message"]["content"][0]["text"] == "-be a fox"
    pairs = list(zip(launch.argv, launch.argv[1:], strict=False))
    assert ("--max-turns", "3") in pairs
    assert ("--max-budget-usd", "0.5000") in pairs


def test_a_prompt_that_no_argument_could_carry_goes_by_file(
    driver: Driver, request_: SessionRequest
) -> None:
    long = "word " * 50_000
    launch = driver.launch(replace(request_, prompt=long))
    assert max(map(len, launch.argv)) < 1000
    (named,) = [word for word in launch.argv[-1].split() if word.endswith("prompt.md.")]
    assert Path(named.rstrip(".")).read_text() == long


def test_a_prompt_with_a_nul_is_refused(driver: Driver, request_: SessionRequest) -> None:
    with pytest.raises(UserError, match="NUL"):
        driver.launch(replace(request_, prompt="a\0b"))


def test_a_resumed_session_goes_on_with_what_was_cut_off(
    driver: Driver, request_: SessionRequest
) -> None:
    launch = driver.launch(replace(request_, resume=True, was_cut_off=True, prompt=None))
    assert ("--resume", SESSION) in zip(launch.argv, launch.argv[1:], strict=False)
    assert launch.env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] == "1"


def test_a_session_whose_turn_was_over_waits_when_it_is_resumed(
    driver: Driver, request_: SessionRequest
) -> None:
    launch = driver.launch(replace(request_, resume=True, was_cut_off=False, prompt=None))
    assert "CLAUDE_CODE_RESUME_INTERRUPTED_TURN" not in launch.env


def test_hooks_come_in_a_plugin_whose_port_is_filled_in_later(
    driver: Driver, request_: SessionRequest
) -> None:
    launch = driver.launch(request_)
    assert launch.receiver is not None
    (path,) = launch.receiver.files
    hooks = json.loads(Path(path).read_text())["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["url"] == f"http://127.0.0.1:{HOOK_PORT}/hook"
    assert hooks["PreToolUse"][0]["hooks"][0] == {
        "type": "command",
        "command": "policy 'a b'",
        "timeout": 20,
    }
    assert hooks["SessionStart"][0]["hooks"][0]["type"] == "command"
    plugin = Path(path).parents[1]
    assert (plugin / ".claude-plugin/plugin.json").is_file()
    assert (plugin / "skills/crew/SKILL.md").is_file()
    assert oct(Path(path).stat().st_mode & 0o777) == "0o600"


def test_loopback_never_goes_through_a_proxy(driver: Driver, request_: SessionRequest) -> None:
    env = {**request_.env, "NO_PROXY": "example.invalid", "HTTPS_PROXY": "http://127.0.0.1:1"}
    environment = driver.launch(replace(request_, env=env)).env
    assert environment["NO_PROXY"].split(",")[:2] == ["example.invalid", "127.0.0.1"]
    assert "127.0.0.1" in environment["no_proxy"]


def test_in_a_persons_configuration_nothing_is_written(
    driver: Driver, request_: SessionRequest
) -> None:
    know(request_, projects=trusting(request_.workspace))
    home = Path(request_.env["HOME"])
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    driver.require_ready(request_)
    launch = driver.launch(request_)
    assert "CLAUDE_CONFIG_DIR" not in launch.env
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_nobody_who_was_never_asked_is_ready(driver: Driver, request_: SessionRequest) -> None:
    with pytest.raises(ConfigError, match="never been set up"):
        driver.require_ready(request_)
    know(request_, projects=trusting("/elsewhere"))
    with pytest.raises(ConfigError, match="trust") as refused:
        driver.require_ready(request_)
    assert "wl drivers trust claude" in refused.value.hint
    driver.require_ready(replace(request_, mode="headless"))


def test_trust_in_a_folder_is_trust_in_all_below_it(
    driver: Driver, request_: SessionRequest
) -> None:
    assert request_.trusted_root is not None
    know(request_, projects=trusting(request_.trusted_root))
    driver.require_ready(request_)
    know(request_, projects=trusting(request_.trusted_root + "/fo"))
    assert not driver.trusts(request_)


@pytest.mark.parametrize("content", ["{", "[]", '{"projects": 3}', '{"projects": {"/": true}}', ""])
def test_a_configuration_of_another_shape_is_told_or_trusts_nobody(
    driver: Driver, request_: SessionRequest, content: str
) -> None:
    (Path(request_.env["HOME"]) / ".claude.json").write_text(content)
    with pytest.raises(ConfigError):
        driver.require_ready(request_)


def own(request: SessionRequest, **options: str) -> SessionRequest:
    return replace(request, options={"config": "own", **options})


def test_an_own_folder_needs_something_to_log_in_with(
    driver: Driver, request_: SessionRequest
) -> None:
    with pytest.raises(ConfigError, match="log in") as refused:
        driver.require_ready(own(request_))
    assert "claude setup-token" in refused.value.hint
    with pytest.raises(ConfigError, match="cannot be read"):
        driver.require_ready(own(request_, **TOKEN))
    token = Path(request_.env["HOME"]) / "token"
    token.write_text("t\n")
    driver.require_ready(own(request_, token_file=str(token)))
    driver.require_ready(replace(own(request_), env={**request_.env, "ANTHROPIC_API_KEY": "k"}))


def test_an_own_folder_keeps_what_the_program_wrote_and_always_has_its_answers(
    driver: Driver, request_: SessionRequest
) -> None:
    asked = own(request_, **TOKEN)
    launch = driver.launch(asked)
    config = Path(launch.env["CLAUDE_CONFIG_DIR"])
    seeded = json.loads((config / ".claude.json").read_text())
    assert seeded["hasCompletedOnboarding"]
    assert driver.trusts(asked)
    before = (config / ".claude.json").stat().st_mtime_ns
    driver.launch(asked)
    assert (config / ".claude.json").stat().st_mtime_ns == before
    (config / ".claude.json").write_text('{"its": "own", "projects": 7}')
    driver.launch(asked)
    again = json.loads((config / ".claude.json").read_text())
    assert again == {"its": "own", **seeded}


@pytest.mark.parametrize("left", ["link", "pipe", "nothing", "no JSON", "folder"])
def test_what_an_agent_left_in_its_folder_is_neither_read_nor_written_through(
    driver: Driver, request_: SessionRequest, tmp_path: Path, left: str
) -> None:
    theirs = tmp_path / "home/.claude.json"
    theirs.write_text('{"primaryApiKey": "of the person"}')
    asked = replace(own(request_, **TOKEN), boxed=True)
    config = Path(request_.folder) / "config"
    config.mkdir(parents=True)
    for name in (".claude.json", ".claude.json.new"):
        if left == "link":
            (config / name).symlink_to(theirs)
        elif left == "folder":
            (config / name / "with").mkdir(parents=True)
        elif left == "pipe":
            os.mkfifo(config / name)
        elif left == "no JSON":
            (config / name).write_text('{"disableAllHooks": true')
    driver.launch(asked)
    assert "of the person" not in (config / ".claude.json").read_text()
    assert json.loads((config / ".claude.json").read_text())["hasCompletedOnboarding"]
    assert theirs.read_text() == '{"primaryApiKey": "of the person"}'


def test_settings_of_ours_say_what_an_agent_could_turn_off(
    driver: Driver, request_: SessionRequest
) -> None:
    for asked, urls in ((request_, None), (replace(own(request_), boxed=True), ["*"])):
        launch = driver.launch(asked)
        settings = json.loads((Path(asked.folder) / "settings.json").read_text())
        assert settings["disableAllHooks"] is False
        assert settings["enabledPlugins"] == {"windlass@inline": True}
        assert {name for name, value in settings["env"].items() if not value} >= {
            *("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SHELL_PREFIX"),
            *("LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"),
        }
        assert settings.get("allowedHttpHookUrls") == urls
        assert ("--strict-mcp-config" in launch.argv) is (urls is not None)


def test_a_repository_has_no_say_in_where_the_model_is_asked_and_the_persons_settings_have(
    driver: Driver, request_: SessionRequest
) -> None:
    env = {**request_.env, "LD_LIBRARY_PATH": "/its/libraries", "NODE_EXTRA_CA_CERTS": "/its/ca"}
    said = []
    for asked in (own(replace(request_, env=env)), replace(request_, env=env)):
        driver.launch(asked)
        said.append(json.loads((Path(asked.folder) / "settings.json").read_text())["env"])
    ours, theirs = said
    base = env.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
    assert (ours["ANTHROPIC_BASE_URL"], ours["NODE_EXTRA_CA_CERTS"]) == (base, "/its/ca")
    assert ours["ANTHROPIC_CUSTOM_HEADERS"] == ours["NODE_TLS_REJECT_UNAUTHORIZED"] == ""
    assert not {"ANTHROPIC_BASE_URL", "NODE_EXTRA_CA_CERTS"} & theirs.keys()
    assert ours["LD_LIBRARY_PATH"] == theirs["LD_LIBRARY_PATH"] == "/its/libraries"


def test_scratch_files_follow_the_sessions_own_temporary_folder(
    driver: Driver, request_: SessionRequest
) -> None:
    env = {**request_.env, "TMPDIR": "/its/own", "CLAUDE_CODE_TMPDIR": "/shared"}
    assert driver.launch(replace(request_, env=env)).env["CLAUDE_CODE_TMPDIR"] == "/its/own"


def test_a_box_needs_a_token_or_a_key_and_says_so(driver: Driver, request_: SessionRequest) -> None:
    know(request_)
    (Path(request_.env["HOME"]) / ".claude").mkdir()
    (Path(request_.env["HOME"]) / ".claude/.credentials.json").write_text("{}")
    boxed = replace(request_, boxed=True)
    with pytest.raises(ConfigError, match="nothing to log in with") as refused:
        driver.require_ready(boxed)
    assert "claude setup-token" in refused.value.hint
    assert "claude.token_file" in refused.value.hint
    cloud = {**request_.env, "CLAUDE_CODE_USE_BEDROCK": "1"}
    with pytest.raises(ConfigError, match="which a box does not show"):
        driver.require_ready(replace(boxed, env=cloud))
    key = Path(request_.env["HOME"]) / "key"
    key.write_text("k\n")
    named = replace(boxed, env=cloud, options={"api_key_file": str(key)})
    driver.require_ready(named)
    assert "CLAUDE_CODE_USE_BEDROCK" not in driver.launch(named).env


@pytest.mark.parametrize(
    ("url", "reached"),
    [
        (None, "api.anthropic.com:443"),
        ("http://127.0.0.1:8123", "127.0.0.1:8123"),
        ("https://model.example/v1", "model.example:443"),
        ("http://[::1]:81", "[::1]:81"),
    ],
)
def test_a_box_reaches_the_model_that_is_asked(
    driver: Driver, request_: SessionRequest, url: str | None, reached: str
) -> None:
    env = {**request_.env, **({"ANTHROPIC_BASE_URL": url} if url else {})}
    assert driver.reaches(replace(request_, env=env)) == (reached,)


def test_secrets_are_named_to_the_holder_and_never_read_into_the_launch(
    driver: Driver, request_: SessionRequest, tmp_path: Path
) -> None:
    key = tmp_path / "home/key"
    key.write_text("sk-ant-" + "x" * 40 + "END\n")
    launch = driver.launch(own(request_, api_key_file=str(key)))
    assert launch.secrets == {"ANTHROPIC_API_KEY": str(key)}
    assert "sk-ant" not in msgspec.json.encode(launch).decode()
    with pytest.raises(ConfigError, match="cannot be read"):
        driver.launch(replace(own(request_, api_key_file="/none"), folder=str(tmp_path / "new")))


BOXED_BY_KEY = [
    pytest.param({}, {"config": "own"}, id="file"),
    pytest.param({"ANTHROPIC_API_KEY": KEY}, {}, id="variable"),
    pytest.param({"CLAUDE_CODE_OAUTH_TOKEN": "t"}, {"token_file": "/t"}, id="file, and tokens"),
]


@pytest.mark.parametrize(("env", "options"), BOXED_BY_KEY)
def test_a_boxed_session_that_a_key_pays_for_gets_a_word_in_its_place(
    driver: Driver,
    request_: SessionRequest,
    tmp_path: Path,
    env: dict[str, str],
    options: dict[str, str],
) -> None:
    named = {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: fox\nx-pass: secret", **env}
    if "ANTHROPIC_API_KEY" not in env:
        (tmp_path / "key").write_text(f"{KEY}\n")
        options = {**options, "api_key_file": str(tmp_path / "key")}
    asked = replace(
        request_,
        env={**request_.env, **named},
        options=options,
        boxed=True,
        relay_token=WORD,
    )
    launch = driver.launch(asked)
    assert launch.relayed
    assert launch.secrets == {}
    assert launch.env["ANTHROPIC_API_KEY"] == WORD
    assert launch.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:WINDLASS_MODEL_PORT"
    gone = {"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert not gone & set(launch.env)
    assert KEY not in msgspec.json.encode(launch).decode()
    known = json.loads((Path(asked.folder) / "config/.claude.json").read_text())
    assert known["customApiKeyResponses"]["approved"] == [WORD]
    assert driver.reaches(asked) == ()
    assert driver.model_access(asked) == ModelAccess(
        url="https://api.anthropic.com",
        headers={"x-team": "fox", "x-pass": "secret", "x-api-key": KEY},
    )


def test_what_is_no_key_reaches_a_box_itself_and_no_relay(
    driver: Driver, request_: SessionRequest
) -> None:
    for env in (
        {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": KEY},
        {"CLAUDE_CODE_OAUTH_TOKEN": "t"},
    ):
        asked = replace(request_, env={**request_.env, **env}, boxed=True, relay_token=WORD)
        launch = driver.launch(asked)
        assert (launch.relayed, launch.secrets) == (False, {})
        assert driver.model_access(asked) is None
        assert "ANTHROPIC_API_KEY" not in launch.env
        assert "t" in launch.env.values()


@pytest.mark.parametrize("key", ["sk-ant-oat01-of-a-subscription", "two lines\nof it", "caf\u00e9"])
def test_what_cannot_be_a_key_is_refused_before_a_session_starts(
    driver: Driver, request_: SessionRequest, key: str
) -> None:
    asked = replace(request_, env={**request_.env, "ANTHROPIC_API_KEY": key}, boxed=True)
    with pytest.raises(ConfigError):
        driver.require_ready(asked)


@pytest.mark.parametrize(
    ("env", "options", "metered", "pays"),
    [
        ({}, {}, False, "login"),
        ({"ANTHROPIC_API_KEY": "k"}, {}, True, "API key"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, {}, True, "gateway token"),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "t"}, {}, False, "subscription token"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, True, "Bedrock"),
        ({}, {"config": "own", "api_key_file": "/k"}, True, "API key"),
        ({}, {"config": "inherit", "api_key_file": "/k"}, False, "login"),
        ({}, {"config": "own", "token_file": "/t"}, False, "subscription token"),
    ],
)
def test_a_key_is_metered_and_a_subscription_is_not(
    driver: Driver,
    request_: SessionRequest,
    *,
    env: dict[str, str],
    options: dict[str, str],
    metered: bool,
    pays: str,
) -> None:
    asked = replace(request_, env={**request_.env, **env}, options=options)
    assert driver.metered(asked) is metered
    assert driver.credential(asked) == pays


def test_servers_that_were_approved_in_the_repository_are_used_and_others_left_out(
    request_: SessionRequest,
) -> None:
    assert claude_config.mcp_settings(request_) == {}
    servers = {"mcpServers": {"known": {"command": "x"}, "new": {"command": "x"}}}
    (Path(request_.workspace) / ".mcp.json").write_text(json.dumps(servers))
    assert request_.repo is not None
    project = {os.path.realpath(request_.repo): {"enabledMcpjsonServers": ["known", "gone"]}}
    know(request_, projects=project)
    assert claude_config.mcp_settings(request_) == {
        "enabledMcpjsonServers": ["known"],
        "disabledMcpjsonServers": ["new"],
    }
    assert claude_config.mcp_settings(own(request_))["enabledMcpjsonServers"] == []
    (Path(request_.workspace) / ".mcp.json").write_text("{ not JSON")
    assert claude_config.mcp_settings(request_) == {}
    (Path(request_.workspace) / ".mcp.json").unlink()
    (Path(request_.workspace) / ".mcp.json").mkdir()
    assert claude_config.mcp_settings(request_) == {}


def test_a_program_that_is_gone_is_an_error_with_its_install_line(
    driver: Driver, request_: SessionRequest
) -> None:
    with pytest.raises(DriverError) as refused:
        driver.launch(replace(request_, env={**request_.env, "PATH": "/nowhere"}))
    assert "npm install" in refused.value.hint


@pytest.mark.parametrize(
    "told", [{"apiKeyHelper": "cat key"}, {"env": {"ANTHROPIC_API_KEY": "k"}}, {}]
)
def test_a_key_in_a_persons_settings_is_metered(
    driver: Driver, request_: SessionRequest, told: dict[str, Any]
) -> None:
    settings = Path(request_.env["HOME"]) / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(told))
    assert driver.metered(request_) is bool(told)


def test_a_new_key_is_approved_in_the_folder_that_is_ours(
    driver: Driver, request_: SessionRequest
) -> None:
    for key in ("first-key-of-this-test", "second-key-of-this-test"):
        env = {**request_.env, "ANTHROPIC_API_KEY": key}
        launch = driver.launch(replace(own(request_), env=env))
        known = json.loads((Path(launch.env["CLAUDE_CONFIG_DIR"]) / ".claude.json").read_text())
        assert known["customApiKeyResponses"]["approved"] == [key[-20:]]
        assert known["hasCompletedOnboarding"]


def test_a_question_is_offered_so_that_its_denial_can_say_what_to_do(
    driver: Driver, request_: SessionRequest
) -> None:
    driver.launch(replace(request_, deny=("AskUserQuestion", "ExitPlanMode")))
    settings = json.loads((Path(request_.folder) / "settings.json").read_text())
    assert settings["permissions"]["deny"] == ["ExitPlanMode"]
