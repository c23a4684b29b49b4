"""What an answer used, read while it passes by."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.answer_meter import LONGEST, AnswerMeter
from windlass.core.usage import MOST_OUTPUT, UNKNOWN_MODEL, Usage

OPUS = "claude-opus-4-8"


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
    assert (meter.used(), meter.flaw) == ({OPUS: WHOLE}, "")


def said(meter: AnswerMeter) -> int:
    """The tokens of output so far, of the model itself."""
    return meter.used()[meter.model].output_tokens


def test_what_breaks_off_is_reckoned_by_its_length_and_never_below_what_was_stated() -> None:
    meter = metered(START + SAID, [])
    assert meter.begun
    assert said(meter) == 134  # three bytes a token, rounded up
    assert said(metered(START, [])) == 1


@pytest.mark.parametrize("part", ["thinking", "partial_json", "signature", "data", "of_next_year"])
def test_whatever_is_said_piece_by_piece_counts(part: str) -> None:
    piece = event("content_block_delta", delta={"type": "t" * 90, part: "x" * 30})
    assert said(metered(START + piece, [])) == 10


def begin(kind: str, **more: Any) -> bytes:
    """How a part of an answer begins."""
    return event("content_block_start", content_block={"type": kind, "id": "i" * 90, **more})


@pytest.mark.parametrize(
    ("kind", "part"), [("redacted_thinking", "data"), ("thinking", "signature"), ("text", "text")]
)
def test_what_comes_with_the_beginning_of_a_part_counts(kind: str, part: str) -> None:
    assert said(metered(START + begin(kind, **{part: "x" * 30}), [])) == 10


def test_what_a_tool_has_found_was_not_said_by_the_model() -> None:
    found = begin("web_search_tool_result", encrypted_content="x" * 30_000)
    assert said(metered(START + found, [])) == 1


def test_it_is_known_whether_a_thought_is_hidden_still_and_whether_any_was() -> None:
    meter = AnswerMeter(streamed=True)
    meter.feed(START + begin("thinking", thinking="", signature=""))
    assert (meter.is_thinking, meter.has_thought, meter.ended) == (True, True, False)
    assert "a thought" in meter.flaw
    meter.feed(event("content_block_stop") + begin("text", text=""))
    assert (meter.is_thinking, meter.has_thought, meter.flaw) == (False, True, "")
    meter.feed(END)
    assert (meter.ended, meter.used()) == (True, {OPUS: WHOLE})


def test_an_end_that_does_not_say_how_much_it_was_is_none() -> None:
    for usage in ({}, {"input_tokens": 7}, {"output_tokens": MOST_OUTPUT + 1}):
        meter = metered(START + SAID + event("message_delta", usage=usage), [])
        assert (said(meter), meter.ended) == (134, False)


def test_what_advised_a_model_is_counted_as_what_it_is() -> None:
    goes = [
        {"type": "message", "input_tokens": 7, "output_tokens": 30},
        {"type": "compaction", "input_tokens": 500, "output_tokens": 40},
        {"type": "advisor_message", "model": "claude-x-1", "input_tokens": 3, "output_tokens": 2},
        {"type": "message", "input_tokens": 100, "output_tokens": 60},
    ]
    end = event("message_delta", usage={"output_tokens": 90, "iterations": goes})
    used = metered(START + SAID + end, []).used()
    assert used["claude-x-1"] == Usage(input_tokens=3, output_tokens=2)
    assert (used[OPUS].input_tokens, used[OPUS].output_tokens) == (607, 130)
    assert used[OPUS].cache_read_input_tokens == 30


def in_one_piece(body: bytes) -> AnswerMeter:
    """Reads an answer that is no stream, cut somewhere."""
    meter = AnswerMeter(streamed=False)
    meter.feed(body[:20])
    meter.feed(body[20:])
    assert not meter.begun
    meter.close()
    return meter


@pytest.mark.parametrize("size", [0, 5 << 20])
def test_an_answer_in_one_piece_says_all_at_its_end(size: int) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    body = json.dumps({"model": "m", "content": "x" * size, "usage": usage}).encode()
    meter = in_one_piece(body)
    assert (meter.used(), meter.flaw) == ({"m": Usage(input_tokens=3, output_tokens=4)}, "")


@pytest.mark.parametrize(
    "body", [b"{" * 300, b'{"usage":{}' + b" " * 288 + b"}", b"[" * 299 + b"]", b"3" + b" " * 299]
)
def test_an_answer_that_does_not_say_what_it_used_is_counted_by_its_size(body: bytes) -> None:
    meter = in_one_piece(body)
    assert meter.used() == {UNKNOWN_MODEL: Usage(output_tokens=100)}
    assert "does not say" in meter.flaw


@given(st.binary(min_size=1, max_size=300).filter(lambda data: b"data:" not in data))
def test_nonsense_fails_nowhere_and_is_free_only_where_it_is_no_answer(data: bytes) -> None:
    for streamed in (True, False):
        meter = AnswerMeter(streamed=streamed)
        meter.feed(data)
        meter.close()
        assert (not meter.used()) is streamed


def test_a_long_line_of_a_stream_is_read_as_what_it_is() -> None:
    found = begin("web_search_tool_result", content="x" * (5 << 20))
    assert metered(START + SAID + found + END, [1 << 20, 3 << 20]).used() == {OPUS: WHOLE}


def test_a_line_that_makes_no_sense_is_counted_by_its_size_until_the_end_tells() -> None:
    nonsense = b"data: " + b"[" * 3000 + b"\n"
    meter = metered(START + nonsense, [])
    assert (said(meter), meter.flaw) == (1000, "a line of it makes no sense")
    meter = metered(START + nonsense + END + b"data: [DONE]\n", [])
    assert (meter.used(), meter.flaw) == ({OPUS: WHOLE}, "")


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\n"])
def test_a_line_ends_as_any_line_of_a_stream_may_and_the_last_one_not_at_all(end: bytes) -> None:
    stream = (START + SAID + END).replace(b"\r\n", b"\n").rstrip(b"\n").replace(b"\n", end)
    assert metered(stream, [50, 51, 52, 53]).used() == {OPUS: WHOLE}


@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_too_long_to_be_held_is_to_be_cut_off_and_counts_as_much_as_can_be(
    streamed: bool,
) -> None:
    meter = AnswerMeter(streamed=streamed)
    meter.feed(START if streamed else b"{")
    for _ in range(LONGEST >> 20):
        assert not meter.is_too_long
        meter.feed(b"x" * (1 << 20))
    meter.feed(b"x")
    assert meter.is_too_long
    assert said(meter) == MOST_OUTPUT
    meter.close()
    assert "48 MiB" in meter.flaw


@pytest.mark.parametrize("streamed", [True, False])
def test_bytes_that_come_one_by_one_are_not_read_all_anew_each_time(streamed: bool) -> None:
    """A quarter of a million took ten seconds of the processor, and four times that for twice."""
    meter = AnswerMeter(streamed=streamed)
    began = time.process_time()
    for _ in range(1 << 18):
        meter.feed(b"x")
    assert time.process_time() - began < 2
