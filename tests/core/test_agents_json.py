"""JSON that an agent may have made."""

from __future__ import annotations

import json
import time

import msgspec
import pytest

from windlass.core import agents_json

MANY = agents_json.MOST_VALUES
HOSTILE = {
    "lists": b"[" + b",".join([b"[]"] * MANY) + b"]",
    "lists in lists": b"[" + b",".join([b"[" * 100 + b"]" * 100] * (MANY // 50)) + b"]",
    "objects": b"[" + b",".join([b"{}"] * MANY) + b"]",
    "keys": b"{" + b",".join(b'"%x":0' % n for n in range(MANY)) + b"}",
    "strings": b"[" + b",".join([b'""'] * (MANY + 1)) + b"]",
    "behind a string that ends in a backslash": b'["\\\\",' + b",".join([b"[]"] * MANY) + b"]",
    "between strings that hold quotes": b"[" + b",".join([b'"\\"",[]'] * MANY) + b"]",
    "in a string that has no end": b'["' + b"[" * MANY + b'",' + b",".join([b"[]"] * MANY),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_more_values_than_anybody_writes_are_refused_before_they_are_made(text: bytes) -> None:
    began = time.thread_time()
    with pytest.raises(agents_json.TooManyValues):
        agents_json.decode(text)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize(
    "held",
    ["[{,:" * MANY, '\\"[' * MANY, "\\" * MANY + '"' + "[" * MANY, '{"a": [1, 2]}\n' * MANY],
    ids=["marks", "quotes", "backslashes", "JSON"],
)
def test_what_a_string_holds_is_no_value(held: str) -> None:
    assert agents_json.decode(json.dumps({"held": [held, 1]}).encode()) == {"held": [held, 1]}


def test_many_lines_of_a_file_are_read() -> None:
    lines = [f"line {n}: [{{}}]," for n in range(MANY // 2)]
    assert agents_json.decode(json.dumps(lines)) == lines


def test_what_is_no_json_is_told_as_ever() -> None:
    for text in (b"", b"[", b'{"a":', b"\xff", b"[" * 5000):
        with pytest.raises((msgspec.DecodeError, RecursionError)):
            agents_json.decode(text)
