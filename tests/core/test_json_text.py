"""JSON that no file or number here can hold is a sentence with its path."""

from __future__ import annotations

import pytest

from windlass.core import json_text
from windlass.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": [{"b c": "x\\ud800"}]}', '$.a[0]["b c"]: "x\\ud800" has half of a character'),
        ('{"a": {"\\udc00": 1}}', "$.a: the key '\\udc00' has half of a character"),
        ('{"a": 1e999}', "$.a: inf is out of range"),
        ('{"a": [9223372036854775808]}', "$.a[0]: 9223372036854775808 is out of range"),
        ('{"a": -1e999}', "$.a: -inf is out of range"),
    ],
)
def test_what_nothing_can_hold_is_refused_with_its_path(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        json_text.read(text.encode(), "f.json")
    assert caught.value.message == f"f.json: {said}"


def test_whole_characters_and_numbers_are_read() -> None:
    text = '["\\ud83d\\ude00", 9223372036854775807, -1.5, true]'
    assert json_text.read(text.encode(), "f.json") == ["😀", 9223372036854775807, -1.5, True]
