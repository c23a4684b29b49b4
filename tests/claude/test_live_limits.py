"""A context that is full: Claude Code tries to make room, and says when it cannot."""

from __future__ import annotations

import pytest
from tests.support.scene import Scene

pytestmark = pytest.mark.slow


def test_a_context_that_is_full_is_told_of_and_never_complete(on: Scene) -> None:
    refusal = {"status": 400, "message": "prompt is too long: 200001 tokens > 200000 maximum"}
    on.new(
        "fox",
        {"tool": "Bash", "input": {"command": "true"}},
        {"error": refusal},
        {"text": "I HAVE COMPLETED THE GOAL"},
    )
    on.wait("fox", "waiting")
    assert on.history("fox") == [
        ("creating", "windlass"),
        ("running", "hook"),
        ("compacting", "hook"),
        ("waiting", "hook"),
    ]
    assert on.evidence("fox") == ("turn ended by an error: invalid_request: Prompt is too long")
