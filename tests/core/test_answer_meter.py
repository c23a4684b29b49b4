"""What an answer used, read while it passes by."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.answer_meter import AnswerMeter
from windlass.core.usage import UNKNOWN_MODEL, Usage


def event(kind: str, **more: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\r\n\n".encode()


START = event(
    "message_start",
    message={
        "model": "claude-opus-4-8-20260101",
        "usage": {
            "input_tokens": 7,
            "output_tokens": 1,
            "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": 20,
            "cache_creation": {"ephemeral_1h_input_tokens": 5},
        },
    },
)
SAID = event("content_block_delta", delta={"type": "text_delta", "text": "x" * 400})
END = event("message_delta", usage={"output_tokens": 90, "input_tokens": None})
WHOLE = Usage(
    input_tokens=7,
    output_tokens=90,
    cache_read_input_tokens=30,
    cache_creation_input_tokens=20,
    cache_1h_tokens=5,
)


def metered(data: bytes, cuts: list[int]) -> AnswerMeter:
    """Reads a stream in pieces."""
    meter = AnswerMeter(streamed=True)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for begin, end in itertools.pairwise(places):
        meter.feed(data[begin:end])
    meter.close()
    return meter


@given(st.lists(st.integers(min_value=0, max_value=1200), max_size=12))
def test_a_stream_says_the_same_in_whatever_pieces_it_comes(cuts: list[int]) -> None:
    meter = metered(START + SAID + END, cuts)
    assert (meter.model, meter.used()) == ("claude-opus-4-8", WHOLE)


def test_what_breaks_off_is_reckoned_by_its_length_and_never_below_what_was_stated() -> None:
    meter = metered(START + SAID, [])
    assert meter.begun
    assert meter.used().output_tokens == 100
    assert metered(START, []).used().output_tokens == 1


@pytest.mark.parametrize("part", ["thinking", "partial_json"])
def test_thoughts_and_calls_are_said_too(part: str) -> None:
    said = event("content_block_delta", delta={part: "x" * 40})
    assert metered(START + said, []).used().output_tokens == 10


def test_an_answer_in_one_piece_says_all_at_its_end() -> None:
    meter = AnswerMeter(streamed=False)
    body = json.dumps({"model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}}).encode()
    meter.feed(body[:20])
    meter.feed(body[20:])
    assert not meter.begun
    meter.close()
    assert (meter.model, meter.used()) == ("m", Usage(input_tokens=3, output_tokens=4))


@given(st.binary(max_size=300))
def test_nonsense_says_nothing(data: bytes) -> None:
    for streamed in (True, False):
        meter = AnswerMeter(streamed=streamed)
        meter.feed(data)
        meter.close()
        assert (meter.model, meter.used()) == (UNKNOWN_MODEL, Usage())


def test_a_line_without_end_is_passed_over_and_paid_for_by_its_length() -> None:
    meter = AnswerMeter(streamed=True)
    meter.feed(START)
    for _ in range(9):
        meter.feed(b"x" * (1 << 20))
    meter.feed(b"\n" + SAID)
    assert meter.used().output_tokens > (1 << 20)
