from __future__ import annotations

import json
import os

import pytest
from tests.standin.rig import SESSION, Rig, bash, text

from windlass.standin.flags import UsageError, parse_flags, split_rules


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--frobnicate"], "unknown option '--frobnicate'"),
        (["-x"], "unknown option '-x'"),
        (["--model"], "argument missing"),
        (["--output-format", "xml"], "Allowed choices are text, json, stream-json"),
        (["--permission-mode", "wild"], "Allowed choices are"),
        (["--session-id", "abc"], "Must be a valid UUID"),
        (["--session-id", SESSION, "--resume", SESSION], "--fork-session"),
        (["-p", "--output-format", "stream-json"], "requires --verbose"),
        (["-p", "--input-format", "stream-json"], "requires output-format=stream-json"),
        (["--max-turns", "none"], "must be a positive number"),
        (["one", "two"], "too many arguments"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        parse_flags(argv)


def test_values_come_after_a_space_or_an_equals_sign() -> None:
    for argv in (["--model", "m", "go"], ["--model=m", "go"]):
        flags = parse_flags(argv)
        assert (flags.model, flags.prompt) == ("m", "go")


def test_after_two_dashes_everything_is_the_prompt() -> None:
    assert parse_flags(["-p", "--", "--not-a-flag"]).prompt == "--not-a-flag"


def test_tool_lists_take_words_and_commas() -> None:
    flags = parse_flags(["--allowedTools", "Read,Bash(git log:*)", "Write", "-p", "go"])
    assert flags.allowed_tools == ["Read", "Bash(git log:*)", "Write"]
    assert flags.prompt == "go"
    assert split_rules("Bash(a b, c) Edit") == ["Bash(a b, c)", "Edit"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--frobnicate"], "error: unknown option '--frobnicate'"),
        (["-p", "--resume", SESSION, "hi"], f"No conversation found with session ID: {SESSION}"),
        (["-p", "--script", "absent.json", "hi"], "absent.json: No such file"),
        (["-p", "--append-system-prompt-file", "absent.md", "hi"], "not found"),
        (["-p"], "Input must be provided"),
    ],
)
def test_what_cannot_start_exits_1_and_says_why(rig: Rig, args: list[str], words: str) -> None:
    done = rig.run(*args)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert rig.events() == []


def test_a_session_id_is_used_once(rig: Rig) -> None:
    script = rig.script([text("hi")])
    assert rig.run("-p", "--script", script, "go").returncode == 0
    done = rig.run("-p", "--script", script, "go")
    assert done.returncode == 1
    assert f"Session ID {SESSION} is already in use." in done.stderr


def test_resuming_nothing_gives_a_result_for_programs(rig: Rig) -> None:
    code, lines = rig.stream("--resume", SESSION, "--", "hi")
    assert (code, lines[0]["subtype"]) == (1, "error_during_execution")


def test_a_malformed_script_is_refused_with_its_place(rig: Rig) -> None:
    script = rig.script([text("a"), {"tool": "Bash", "input": "x"}])
    done = rig.run("-p", "--script", script, "go")
    assert done.returncode == 1
    assert "turns[1].input: expected an object, got a string" in done.stderr.splitlines()[-1]


def test_settings_that_cannot_be_read_are_refused(rig: Rig) -> None:
    for given in ("absent.json", "{nonsense"):
        done = rig.run("-p", "--settings", given, "go")
        assert done.returncode == 1
        assert "Error: " in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_does_not_skip_permissions_outside_of_a_sandbox(rig: Rig) -> None:
    args = ("-p", "--dangerously-skip-permissions", "--script", rig.script([bash("touch x")]), "go")
    done = rig.run(*args)
    assert done.returncode == 1
    assert "root/sudo" in done.stderr
    rig.env["IS_SANDBOX"] = "1"
    assert rig.run(*args).returncode == 0
    assert (rig.workspace / "x").exists()


def test_a_script_is_found_by_task_and_step(rig: Rig) -> None:
    folder = rig.workspace / ".windlass" / "scripts"
    folder.mkdir(parents=True)
    (folder / "AB-1.json").write_text(json.dumps({"turns": [text("for the task")]}))
    (folder / "AB-1.plan.json").write_text(json.dumps({"turns": [text("for the step")]}))
    rig.env["WINDLASS_TASK"] = "AB-1"
    assert rig.run("-p", "go").stdout == "for the task\n"
    rig.env["WINDLASS_STEP"] = "plan"
    rig.transcript().unlink()
    assert rig.run("-p", "go").stdout == "for the step\n"
    rig.env["WINDLASS_STEP"] = "../../../evil"
    rig.transcript().unlink()
    assert rig.run("-p", "go").stdout == "for the task\n"


def test_version_and_help_name_the_stand_in(rig: Rig) -> None:
    assert "Stand-in agent" in rig.run("--version").stdout
    assert "--script" in rig.run("--help").stdout
