"""Our hooks in settings files: merged with what is there, and gone again to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.settings_files import EVENTS, settings_file

from windlass.core.claude import hook_settings
from windlass.core.claude.hook_settings import HookProgram, Unusable

HOOK = HookProgram(("/opt/my python", "-I", "-S", "/lib/hooks/primary.py"), ("/run/s", "/lib/x.md"))
OLDER = HookProgram(("/old/python", "-I", "-S", "/old/primary.py"), ("/run/s",))
SEEDS = st.integers(0, 2**32)


@given(SEEDS)
def test_what_was_installed_is_taken_out_to_the_byte(seed: int) -> None:
    text = settings_file(seed).decode()
    merged = hook_settings.install(text, HOOK)
    assert hook_settings.take_out(merged) == (text, False)
    assert hook_settings.installed_commands(merged) == hook_settings.expected(HOOK)


@given(SEEDS)
def test_a_reader_of_json_finds_ours_and_everything_that_was_there(seed: int) -> None:
    text = settings_file(seed).decode()
    before = json.loads(text.removeprefix("\ufeff"))
    after = json.loads(hook_settings.install(text, HOOK).removeprefix("\ufeff"))
    for event in EVENTS:
        groups = after["hooks"][event]
        assert groups[:-1] == before.get("hooks", {}).get(event, [])
        assert HOOK.program[0] in groups[-1]["hooks"][0]["command"]
    kept = {**after, "hooks": {k: v[:-1] if k in EVENTS else v for k, v in after["hooks"].items()}}
    kept["hooks"] = {k: v for k, v in kept["hooks"].items() if k in before.get("hooks", {})}
    assert kept == {**before, "hooks": before.get("hooks", {})}


@given(SEEDS)
def test_installing_twice_or_over_an_older_one_is_installing_once(seed: int) -> None:
    text = settings_file(seed).decode()
    once = hook_settings.install(text, HOOK)
    assert hook_settings.install(once, HOOK) == once
    assert hook_settings.install(hook_settings.install(text, OLDER), HOOK) == once


@given(SEEDS, st.sampled_from((None, 1, "\t")))
def test_after_a_program_has_written_the_file_anew_only_ours_go(
    seed: int, indent: int | str | None
) -> None:
    text = settings_file(seed).decode()
    read = json.loads(hook_settings.install(text, HOOK).removeprefix("\ufeff"))
    anew = json.dumps({**read, "permissions": {"allow": ["Bash"]}}, indent=indent)
    left, _ = hook_settings.take_out(anew)
    assert left is not None
    assert json.loads(left) == {
        **json.loads(text.removeprefix("\ufeff")),
        "permissions": {"allow": ["Bash"]},
    }


def test_every_event_has_its_hooks() -> None:
    merged = json.loads(hook_settings.install("{}", HOOK))["hooks"]
    assert tuple(merged) == EVENTS
    assert merged["PreToolUse"][0]["matcher"] == "Bash"
    told = (
        "exec '/opt/my python' -I -S /lib/hooks/primary.py windlass-hook:he tell /run/s /lib/x.md"
    )
    assert merged["PostToolUse"] == [
        {"hooks": [{"type": "command", "command": told, "timeout": 10}]}
    ]
    rewaking = {
        "type": "command",
        "command": told.replace("tell", "wait"),
        "asyncRewake": True,
        "timeout": 86400,
    }
    assert merged["SessionStart"][0]["hooks"][1] == rewaking
    assert [merged[event][0]["hooks"] for event in ("Stop", "StopFailure")] == [[rewaking]] * 2


def test_the_layout_of_the_file_is_followed() -> None:
    four = hook_settings.install('{\n    "a": 1\n}\n', HOOK)
    assert four.startswith('{\n    "a": 1,\n    "hooks": {\n        "SessionStart": [\n')
    assert four.endswith("\n    }\n}\n")
    assert "\n" not in hook_settings.install('{"a": 1}', HOOK)
    assert "\n" not in hook_settings.install('{"a": 1}\r\n', HOOK).replace("\r\n", "")
    assert hook_settings.install("{}", HOOK).endswith("\n  }\n}")


@pytest.mark.parametrize("folder", [False, True])
def test_a_file_that_was_made_goes_again_and_says_whether_its_folder_does(folder: bool) -> None:
    made = hook_settings.install(None, HOOK, folder=folder)
    assert hook_settings.take_out(made) == (None, folder)
    again = hook_settings.install(made, HOOK)
    assert again == made
    more = json.loads(made) | {"model": "x"}
    left = hook_settings.take_out(json.dumps(more))
    assert left.text is not None
    assert json.loads(left.text) == {"model": "x"}


@pytest.mark.parametrize("text", ["{}", "{ }\n", '{"hooks": {}}', '{"hooks":{"Stop":[ ]}}'])
def test_what_was_there_and_empty_stays(text: str) -> None:
    assert hook_settings.take_out(hook_settings.install(text, HOOK)) == (text, False)


def test_hooks_that_somebody_put_in_with_ours_stay() -> None:
    read = json.loads(hook_settings.install("{}", HOOK))
    theirs = {"type": "command", "command": "echo primary.py windlass-hooked"}
    read["hooks"]["Stop"][0]["hooks"].insert(0, theirs)
    left, _ = hook_settings.take_out(json.dumps(read, indent=2))
    assert left is not None
    assert json.loads(left) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def test_commands_that_only_mention_the_marker_are_not_ours() -> None:
    for command in (
        "windlass-hook",
        "python policy.py windlass-hook",
        "x primary.py 'windlass-hook",
    ):
        text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}})
        assert hook_settings.installed_commands(text) == {}
        assert hook_settings.take_out(text).text == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("{", "not JSON"),
        ("// a\n{}", "not JSON"),
        ('{"a": NaN}', "not JSON"),
        ("{} {}", "something follows"),
        ("[]", "no JSON object"),
        ('{"hooks": []}', '"hooks" is no object'),
        ('{"hooks": null}', '"hooks" is no object'),
        ('{"hooks": {"Stop": {}}}', '"Stop", which is no list'),
        ('{"a": ' * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_a_settings_file_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        hook_settings.install(text, HOOK)
    assert why in (hook_settings.refusal(text, HOOK) or "")


def test_what_can_take_hooks_is_not_refused() -> None:
    for text in ("{}", '{"hooks": {}}', hook_settings.install("{}", HOOK)):
        assert hook_settings.refusal(text, HOOK) is None


def test_what_is_of_a_wrong_type_and_not_ours_to_touch_is_no_reason_to_fail_on_the_way_out() -> (
    None
):
    text = '{"hooks": {"Stop": {}, "SessionStart": [1, {"hooks": 2}, {"hooks": [3]}]}}'
    assert hook_settings.take_out(text) == (text, False)
    assert hook_settings.installed_commands(text) == {}


def test_a_number_of_any_length_is_passed_over() -> None:
    text = '{"a": ' + "9" * 10_000 + "}"
    assert hook_settings.take_out(hook_settings.install(text, HOOK)).text == text
