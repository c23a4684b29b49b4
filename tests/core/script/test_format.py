from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.errors import UserError
from windlass.core.script.format import (
    ApiError,
    Await,
    Crash,
    Pause,
    Script,
    Text,
    Thinking,
    Tool,
    UsageEntry,
    default_script,
    fill,
    parse,
)

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "src/windlass/data/script.schema.json").read_text())
EXAMPLES = re.findall(r"```json\n(.*?)```", (ROOT / "docs/scripts.md").read_text(), re.DOTALL)


def turns(*entries: Any) -> dict[str, Any]:
    return {"turns": [*entries]}


def rule(**fields: Any) -> dict[str, Any]:
    return {"turns": [], "on": [fields]}


GOOD = [
    turns(),
    {"$schema": "x", "turns": []},
    {"turns": [], "on": []},
    turns({"text": "a"}, {"thinking": "b"}),
    turns({"tool": "Bash"}),
    turns({"tool": "Bash", "input": {"command": "ls", "deep": [1, {"a": None}]}}),
    turns({"pause": 0}, {"pause": 0.5}, {"pause": 86400}),
    turns({"crash": 9}, {"crash": 15.0}),
    turns({"usage": {}}, {"usage": {"input_tokens": 1, "cache_read_input_tokens": 0}}),
    turns({"await": "message"}),
    turns({"error": {"status": 529}}, {"error": {"status": 429, "retry_after": 2}}),
    turns({"error": {"status": 500, "message": "broken"}}),
    turns({"error": {"status": 429, "retry_after": 1, "times": 3}}),
    rule(match="x", turns=[{"text": "a"}]),
    rule(match="(?i)^a|b$", turns=[], times=3),
]
BAD: list[tuple[Any, str]] = [
    (None, "expected an object, got null"),
    ([], "expected an object, got a list"),
    ({}, "'turns' is missing"),
    ({"turns": {}}, "turns: expected a list, got an object"),
    ({"turns": [], "extra": 1}, "unknown key 'extra'"),
    ({"turns": [], "$schema": 1}, "$schema: expected a string, got a number"),
    (turns("hi"), "turns[0]: expected an object, got a string"),
    (turns({}), "turns[0]: expected one of text, thinking, tool"),
    (turns({"end": True}), "turns[0]: expected one of"),
    (turns({"text": ""}), "turns[0].text: must not be empty"),
    (turns({"text": 1}), "turns[0].text: expected a string, got a number"),
    (turns({"text": "a", "pause": 1}), "turns[0]: one entry does one thing"),
    (turns({"text": "a", "input": {}}), "turns[0]: unknown key 'input'"),
    (turns({"thinking": None}), "turns[0].thinking: expected a string, got null"),
    (turns({"tool": ""}), "turns[0].tool: must not be empty"),
    (turns({"text": "a"}, {"tool": "X", "input": []}), "turns[1].input: expected an object"),
    (turns({"tool": "X", "output": {}}), "turns[0]: unknown key 'output'"),
    (turns({"pause": -1}), "turns[0].pause: expected 0 to 86400 seconds"),
    (turns({"pause": "1"}), "turns[0].pause: expected seconds, got a string"),
    (turns({"pause": True}), "turns[0].pause: expected seconds, got a boolean"),
    (turns({"pause": 1e9}), "turns[0].pause: expected 0 to 86400 seconds"),
    (turns({"crash": 0}), "turns[0].crash: expected 1 to 31, got 0"),
    (turns({"crash": 64}), "turns[0].crash: expected 1 to 31, got 64"),
    (turns({"crash": 9.5}), "turns[0].crash: expected a whole number"),
    (turns({"crash": True}), "turns[0].crash: expected a whole number, got a boolean"),
    (turns({"usage": {"tokens": 1}}), "turns[0].usage: unknown key 'tokens'"),
    (turns({"usage": {"input_tokens": -1}}), "turns[0].usage.input_tokens: expected at least 0"),
    (turns({"usage": 5}), "turns[0].usage: expected an object, got a number"),
    (turns({"await": "reply"}), 'turns[0].await: the only thing to await is "message"'),
    (turns({"error": {}}), "turns[0].error: 'status' is missing"),
    (turns({"error": {"status": 200}}), "turns[0].error.status: expected 400 to 599, got 200"),
    (turns({"error": {"status": 529, "retry_after": None}}), "turns[0].error.retry_after"),
    (turns({"error": {"status": 529, "message": ""}}), "turns[0].error.message: must not be"),
    (turns({"error": {"status": 429, "times": 0}}), "turns[0].error.times: expected at least 1"),
    (turns({"error": {"status": 429, "times": None}}), "turns[0].error.times: expected a whole"),
    (turns({"error": {"status": 429, "times": 1.5}}), "turns[0].error.times: expected a whole"),
    ({"turns": [], "on": {}}, "on: expected a list, got an object"),
    (rule(turns=[]), "on[0]: 'match' is missing"),
    (rule(match="x"), "on[0]: 'turns' is missing"),
    (rule(match="", turns=[]), "on[0].match: must not be empty"),
    (rule(match="a(", turns=[]), "on[0].match: bad regular expression: missing )"),
    (rule(match="x", turns=[{"text": 1}]), "on[0].turns[0].text: expected a string"),
    (rule(match="x", turns=[], times=0), "on[0].times: expected at least 1, got 0"),
    (rule(match="x", turns=[], times=None), "on[0].times: expected a whole number, got null"),
    (rule(match="x", turns=[], when="y"), "on[0]: unknown key 'when'"),
]


def schema_accepts(data: Any) -> bool:
    checker = jsonschema.Draft202012Validator(
        SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    return bool(checker.is_valid(data))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("data", GOOD, ids=json.dumps)
def test_parser_and_schema_take_what_is_good(data: Any) -> None:
    parse(json.dumps(data))
    assert schema_accepts(data)


@pytest.mark.parametrize(("data", "words"), BAD, ids=lambda item: json.dumps(item)[:60])
def test_parser_and_schema_refuse_what_is_bad_and_name_the_place(data: Any, words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(json.dumps(data), "script x.json")
    assert caught.value.message.startswith("script x.json: ")
    assert words in caught.value.message
    assert caught.value.hint
    assert not schema_accepts(data)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('{\n  "turns": [}\n}', "line 2 column 13: Expecting value"),
        ("", "line 1 column 1: Expecting value"),
        (b'{"turns": "\xff"}', "not UTF-8 at byte 11"),
        ('{"turns": []} x', "line 1 column 15: Extra data"),
        ("[" * 100_000, "nested too deeply"),
        ('{"turns": [{"pause": NaN}]}', "script: "),
    ],
)
def test_broken_json_is_located(source: str | bytes, words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(source)
    assert words in caught.value.message


def test_every_kind_of_entry_is_read() -> None:
    data = turns(
        {"text": "a"},
        {"thinking": "b"},
        {"tool": "Bash", "input": {"command": "ls"}},
        {"pause": 1},
        {"crash": 9},
        {"usage": {"input_tokens": 3}},
        {"await": "message"},
        {"error": {"status": 529, "retry_after": 2}},
    )
    assert parse(json.dumps(data)).turns == (
        Text("a"),
        Thinking("b"),
        Tool("Bash", {"command": "ls"}),
        Pause(1.0),
        Crash(9),
        UsageEntry({"input_tokens": 3}),
        Await(),
        ApiError(529, 2.0),
    )


def test_a_byte_order_mark_is_no_trouble() -> None:
    assert parse(b'\xef\xbb\xbf{"turns": []}') == Script(())


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_guide_are_good(example: str) -> None:
    assert parse(example).turns
    assert schema_accepts(json.loads(example))


def test_the_guide_shows_examples_of_every_entry() -> None:
    assert len(EXAMPLES) >= 4
    shown = " ".join(EXAMPLES)
    for kind in ("text", "thinking", "tool", "pause", "crash", "usage", "await", "error"):
        assert f'"{kind}"' in shown


def test_names_are_filled_in_everywhere_once() -> None:
    names = {"MESSAGE": "${GOAL}", "GOAL": "g", "AGENT": "a"}
    value = {"x": ["${MESSAGE} ${AGENT}", {"y": "${HOME} $${GOAL} $GOAL"}], "n": 1}
    assert fill(value, names) == {"x": ["${GOAL} a", {"y": "${HOME} ${GOAL} $GOAL"}], "n": 1}


@given(st.text(), st.text())
def test_the_default_script_writes_the_goal_word_for_word(goal: str, agent: str) -> None:
    script = default_script(goal, agent)
    write, commit = (entry for entry in script.turns if isinstance(entry, Tool))
    content = fill(write.input["content"], {"GOAL": "wrong", "MESSAGE": "wrong", "AGENT": "wrong"})
    assert goal.strip() in content
    path = write.input["file_path"]
    assert re.fullmatch(r"notes/[A-Za-z0-9_-][A-Za-z0-9._-]*\.md", path)
    assert path in commit.input["command"]
    last = script.turns[-1]
    assert isinstance(last, Text)
    assert last.text.endswith("I HAVE COMPLETED THE GOAL")
