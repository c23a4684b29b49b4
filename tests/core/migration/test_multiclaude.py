"""What multiclaude's lines say is read in a time that their length bounds."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.migration import multiclaude


@given(st.text(" \t", max_size=3), st.sampled_from("=:"), st.text("ab c", max_size=5))
def test_blanks_around_a_value_mean_nothing(blank: str, sign: str, value: str) -> None:
    line = f"{blank}model{blank}{sign}{blank}{value}{blank}"
    found = multiclaude.read({".multiclaude/config": line.encode()})
    assert found.settings == ({"model": value.strip()} if value.strip() else {})


def test_many_blanks_take_no_time() -> None:
    began = time.process_time()
    line = "model: x" + " " * 50_000 + "y"
    found = multiclaude.read({".multiclaude/config": line.encode()})
    assert found.settings["model"].endswith(" y")
    assert time.process_time() - began < 1
