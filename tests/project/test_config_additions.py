"""Keys are added to a configuration however it is written; what it said, it says still."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import config, toml_text
from windlass.core.errors import ConfigError
from windlass.project.config_additions import merged

NEW: dict[str, Any] = {
    "pipeline": "full",
    "roles.test.turns": 5,
    "roles.a.iterations": 2,
    "permissions.worker.allow": ["Read", 'Bash("x")'],
}
BLOCKS = st.sampled_from(
    [
        *("roles.a.turns = 3", 'model = "x"', "[roles.a]", "[roles]", "test = 3", "# said"),
        *("roles = {}", "roles = 1", "[[roles]]", "[pipeline]", 'pipeline = "fast"', "x = 1"),
        *("[roles.test]", "turns = 9", "roles.test = { turns = 5 }", 's = """\n[roles.a]\n"""'),
        *("[permissions]", "worker.deny = []", "permissions = { worker = { deny = [] } }", ""),
    ]
)


def said(text: str) -> dict[str, Any]:
    return config.flatten(toml_text.read(text))


@given(st.lists(BLOCKS, max_size=6, unique=True), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_merge_says_what_was_said_and_what_is_new_or_is_a_sentence(
    blocks: list[str], end: str, ended: bool
) -> None:
    text = "\n".join(blocks).replace("\n", end) + (end if ended else "")
    try:
        found = merged("c.toml", text.encode(), NEW)
    except ConfigError:
        return
    assert said(found.text) == said(text) | found.added
    assert {*found.added, *found.kept} <= {*NEW}
    kept = iter(found.text.splitlines())
    assert all(line in kept for line in text.splitlines())
    if end == "\r\n" and end in text:
        assert found.text.count("\n") == found.text.count("\r\n")


@pytest.mark.parametrize(
    "text",
    [
        'roles.a.turns = 3\nmodel = "x"\n',
        '# mine\nroles.b.turns = 3\n\n[permissions.worker]\ndeny = ["X"]',
        '[roles.a]\nturns = 3\n\n[[other]]\nx = 1\n\n[pipelines]\ny = "z"\n',
    ],
)
def test_what_can_be_added_to_is(text: str) -> None:
    assert merged("c.toml", text.encode(), NEW).added == NEW


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[pipeline]\nx = "mine"\n', "pipeline"),
        ("roles = 1\n", "roles.test.turns"),
        ("[[roles]]\n", "roles.test.turns"),
        ("[roles]\ntest = 3\n", "roles.test.turns"),
    ],
)
def test_what_is_in_the_way_is_named_with_the_lines_to_add(text: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        merged("c.toml", text.encode(), NEW)
    assert f"{key} cannot be added" in caught.value.message
    assert "[roles.test]\nturns = 5\n" in caught.value.hint


@pytest.mark.parametrize("text", ["x = 1\n" * 100_000, "#" * (1 << 20), "a = " + "9" * 5000])
def test_what_is_no_configuration_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigError, match=r"c\.toml"):
        merged("c.toml", text.encode(), NEW)
