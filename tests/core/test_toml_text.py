"""TOML of anybody: what would keep the parser for minutes is refused before it begins."""

from __future__ import annotations

import pytest

from windlass.core import toml_text
from windlass.core.toml_text import MOST_PARTS, NotToml, TooDeep

_MANY = 16 << 10


@pytest.mark.parametrize(
    "text",
    [
        f"a{'.a' * _MANY} = 1",
        f"[a{'.a' * _MANY}]",
        f"[[a{' . a' * _MANY}]]",
        f"x = {{a{'.a' * _MANY} = 1}}",
        f"x = {{y = 1, a{'.a' * _MANY} = 1}}",
        "a" + '."a"' * _MANY + " = 1",
        "a" + ".'a'" * _MANY + " = 1",
    ],
)
def test_a_key_without_end_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(NotToml, match="more than 64 parts"):
        toml_text.read(text)


def test_lists_without_end_are_refused_in_words() -> None:
    with pytest.raises(TooDeep, match="nested"):
        toml_text.read("a = " + "[" * 20_000)


@pytest.mark.parametrize(
    "text",
    [
        f"a{'.a' * (MOST_PARTS - 1)} = 1",
        f"# {'.' * 200} and {'. ' * 200}\na = 1",
        f'a = "{", ".join(["1.2.3"] * 200)}"',
        "a = [" + "'x.y.z', " * 200 + "]",
    ],
)
def test_what_people_write_is_read(text: str) -> None:
    assert "a" in toml_text.read(text)


def test_what_is_no_toml_says_where() -> None:
    with pytest.raises(NotToml, match="line 2"):
        toml_text.read("a = 1\nb\n")
