"""A large answer does not stay in the daemon's size for good."""

from __future__ import annotations

import ctypes
from typing import Any

import psutil
import pytest
from tests.support.serving import served

from windlass.api.verbs import Verb

MUCH = 200 << 20
BLOCK = 1000


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="a C library of another")
def test_what_a_large_answer_took_is_given_back() -> None:
    """What is kept lies above what is free, so that the C library does not do it by itself."""
    kept: list[bytes] = []

    def answer(_caller: Any, _request: Any) -> dict[str, Any]:
        blocks = [bytes(BLOCK) for _ in range(MUCH // BLOCK)]
        kept.append(blocks[-1])
        return {"text": "x" * (2 << 20)}

    with served({"whoami": Verb(dict[str, Any], dict[str, Any], answer, callers="both")}) as place:
        before = psutil.Process().memory_info().rss
        assert len(place.ask("person", "whoami", {})["text"]) == 2 << 20
        assert psutil.Process().memory_info().rss - before < MUCH // 2
