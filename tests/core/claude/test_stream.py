"""Headless output for people: what each kind of line becomes, and that none can do harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.claude import stream
from windlass.core.printable import without_escapes


def _lines(*told: Any) -> str:
    return "".join(json.dumps(one) + "\n" for one in told)


def _says(who: str, *content: Any) -> dict[str, Any]:
    return {"type": who, "message": {"role": who, "content": list(content)}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(tool: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": tool, "input": given}


def _result(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "content": content, **more}


def test_a_turn_reads_like_a_terminal() -> None:
    said = _lines(
        {"type": "system", "subtype": "init", "tools": ["Bash"] * 500},
        {"type": "user", "isReplay": True, "message": {"content": "be quick"}},
        _says("assistant", {"type": "thinking", "thinking": "hm"}),
        _says("assistant", _text("Let me see.\nThere:")),
        _says("assistant", _use("Bash", description="list", command="ls\n  -l")),
        _says("user", _result("\n".join("abcde"))),
        _says("assistant", _use("Read", limit=5, file_path="/etc/motd")),
        _says("user", _result([_text("no such file"), {"type": "image"}], is_error=True)),
        _says("assistant", _use("Odd", n=3)),
        _says("user", _result(None)),
        {"type": "rate_limit_event", "data": "x" * 5000},
        {"type": "result", "subtype": "success", "num_turns": 3, "total_cost_usd": 0.0213},
    )
    assert stream.shown(said) == [
        "\u276f be quick",
        "● Let me see.",
        "  There:",
        "● Bash(ls -l)",
        "  ⎿  a",
        "     b",
        "     c",
        "     … +2 lines",
        "● Read(/etc/motd)",
        "  ⎿  Error: no such file",
        "     [image]",
        "● Odd()",
        "  ⎿  (nothing)",
        "✻ turn ended: 3 calls, $0.0213 so far",
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ({"type": "result", "subtype": "success", "is_error": True, "result": "429"}, "429"),
        ({"type": "result", "subtype": "error_max_turns", "errors": ["too\nmany"]}, "too many"),
        ({"type": "result", "subtype": "error_during_execution"}, "error_during_execution"),
        ({"type": "result", "is_error": True, "num_turns": 1}, "for no given reason (1 call)"),
    ],
)
def test_a_turn_that_failed_says_why(line: dict[str, Any], shown: str) -> None:
    assert stream.shown(_lines(line)) == [f"✻ turn failed: {shown}"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            {"subtype": "api_retry", "retry_delay_ms": 5400, "error": "rate_limit"},
            ["✻ asks the model again in 5 s: rate_limit"],
        ),
        ({"subtype": "compact_boundary"}, ["✻ conversation compacted"]),
        ({"subtype": "informational", "content": "mind"}, ["✻ mind"]),
        ({"subtype": "hook_started"}, []),
    ],
)
def test_the_program_itself_has_a_word(line: dict[str, Any], shown: list[str]) -> None:
    assert stream.shown(_lines({"type": "system", **line})) == shown


def test_a_request_for_permission_is_shown() -> None:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}}
    shown = stream.shown(_lines({"type": "control_request", "request": asked}))
    assert shown == ["✻ asks to use Bash(rm x)"]


def test_the_talk_of_sub_agents_and_what_was_not_typed_is_left_out() -> None:
    inner = {**_says("assistant", _text("inner")), "parent_tool_use_id": "t1"}
    outer = {**_says("assistant", _text("outer")), "parent_tool_use_id": None}
    meta = {**_says("user", _text("caveat")), "isMeta": True}
    assert stream.shown(_lines(inner, outer, meta)) == ["● outer"]


def test_what_is_no_json_is_shown_as_it_is_but_short() -> None:
    long, *short = stream.shown("x" * 5000 + '\nwarning: \x1b[31mred\x1b[0m\n"text"\n[1]\nlast')
    assert len(long) < 200
    assert long.endswith("…")
    assert short == ["warning: red", '"text"', "[1]", "last"]


def test_a_line_that_is_being_written_is_left_out() -> None:
    whole = _lines(_says("assistant", _text("a\u2028b")))
    assert stream.shown(whole + whole[:-9]) == ["● ab"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
    max_leaves=3,
)
_KINDS = ["assistant", "user", "result", "system", "control_request", "text", "tool_use"]
_NAMES = ["api_retry", "success", "can_use_tool", "informational", "tool_result"]
_FIELDS = ["message", "content", "text", "name", "input", "errors", "result", "total_cost_usd"]
_MORE = ["num_turns", "retry_delay_ms", "request", "is_error", "tool_name", "error", "command"]


def _line(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    typed = st.fixed_dictionaries(
        {"type": st.sampled_from([*_KINDS, *_NAMES])},
        optional={"subtype": st.sampled_from(_NAMES)},
    )
    fields = st.dictionaries(st.sampled_from([*_FIELDS, *_MORE]), below, max_size=3)
    one = st.builds(lambda kind, more: {**kind, **more}, typed, fields)
    return one | st.lists(one, max_size=2)


def _is_harmless(text: str) -> None:
    for line in stream.shown(text):
        assert len(line) <= stream.LONGEST
        assert "\n" not in line
        assert without_escapes(line) == line


@given(st.binary())
def test_any_bytes_can_be_shown(data: bytes) -> None:
    _is_harmless(data.decode(errors="replace"))


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_shown(text: str) -> None:
    _is_harmless(text)


@given(_line(_line(_ANY)))
def test_lines_of_known_kinds_may_hold_anything(line: Any) -> None:
    _is_harmless(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"type":"result","total_cost_usd":1' + "0" * 400 + "}",
        '{"type":"result","total_cost_usd":1e400}',
        '{"type":"assistant","message":{"content":[{"type":"text","text":"\\ud800"}]}}',
        '{"type":[1],"subtype":{}}',
    ],
)
def test_what_breaks_parsers_breaks_nothing(line: str) -> None:
    _is_harmless(line + "\n")
