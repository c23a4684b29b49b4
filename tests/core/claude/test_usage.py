"""What sessions say that they used, as real lines and as garbage."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.agents_json import MOST_VALUES
from windlass.core.claude import usage
from windlass.core.usage import MOST_MODELS, CountedMessage, Usage

LINE = (
    b'{"parentUuid":"05ca","isSidechain":false,"message":{"id":"msg_2","type":"message",'
    b'"role":"assistant","model":"claude-sonnet-4-5-20250929","content":[{"type":"text",'
    b'"text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1000,'
    b'"cache_creation_input_tokens":50,"cache_read_input_tokens":7,"output_tokens":77,'
    b'"server_tool_use":{"web_search_requests":1,"web_fetch_requests":0},'
    b'"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":20,'
    b'"ephemeral_5m_input_tokens":30},"inference_geo":"","iterations":[],"speed":"standard"}},'
    b'"type":"assistant","uuid":"70f0","timestamp":"2026-11-15T22:45:41.942Z"}'
)
"""As Claude Code 2.1.197 writes it."""


def read_line(line: bytes) -> CountedMessage | None:
    """Reads a line that tells of one model at most."""
    found = usage.from_transcript(line)
    assert len(found) <= 1
    return found[0] if found else None


def changed_line(**changed: Any) -> bytes:
    """That line with parts of its message replaced."""
    record = msgspec.json.decode(LINE)
    record["message"] |= changed
    return msgspec.json.encode(record)


def read(**changed: Any) -> CountedMessage | None:
    """Reads that line with parts of its message replaced."""
    return read_line(changed_line(**changed))


def counted(**used: Any) -> Usage:
    message = read(usage=used)
    assert message is not None
    return message.usage


def test_a_line_says_which_model_used_what_and_when() -> None:
    found = read_line(LINE)
    assert found is not None
    assert found.model == "claude-sonnet-4-5"
    assert found.at == pytest.approx(1794782741.942)
    assert found.usage == Usage(
        input_tokens=1000,
        output_tokens=77,
        cache_creation_input_tokens=50,
        cache_read_input_tokens=7,
        cache_1h_tokens=20,
        web_searches=1,
    )


def test_lines_of_one_answer_have_one_mark_and_those_of_another_another() -> None:
    same, other = read(content=[]), read(id="msg_3")
    first = read_line(LINE)
    assert first is not None
    assert same is not None
    assert other is not None
    assert first.mark == same.mark != other.mark


def go(kind: str, tokens_in: int, tokens_out: int, **more: Any) -> dict[str, Any]:
    """One of the goes in which an answer was made."""
    return {"type": kind, "input_tokens": tokens_in, "output_tokens": tokens_out, **more}


def test_compacting_on_the_way_is_paid_for_though_the_sums_at_the_top_leave_it_out() -> None:
    goes = [go("compaction", 180_000, 3500), go("message", 23_000, 1000)]
    used = counted(input_tokens=23_000, output_tokens=1000, iterations=goes)
    assert used == Usage(input_tokens=203_000, output_tokens=4500)
    assert counted(input_tokens=0, iterations=goes[:1]) == Usage(
        input_tokens=180_000, output_tokens=3500
    )


def test_what_the_goes_tell_less_of_than_the_sums_at_the_top_takes_nothing_away() -> None:
    told = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30}
    for goes in ([], None, 3, [3], [go("message", 0, 0)], [go("message", -5, 0)]):
        used = counted(**told, iterations=goes)
        assert used == Usage(input_tokens=10, output_tokens=20, cache_read_input_tokens=30)


def test_a_model_that_advised_another_is_counted_beside_it_under_a_mark_of_its_own() -> None:
    advice = go("advisor_message", 823, 1612, model="claude-opus-4-7-20260416")
    goes = [go("message", 412, 89), advice, go("message", 1348, 442), advice]
    line = changed_line(usage={"input_tokens": 412, "output_tokens": 531, "iterations": goes})
    own, advisor = usage.from_transcript(line)
    assert (own.model, own.usage) == (
        "claude-sonnet-4-5",
        Usage(input_tokens=1760, output_tokens=531),
    )
    assert (advisor.model, advisor.usage) == (
        "claude-opus-4-7",
        Usage(input_tokens=1646, output_tokens=3224),
    )
    alone = read_line(LINE)
    assert alone is not None
    assert own.mark == alone.mark != advisor.mark


def test_goes_that_come_to_more_than_one_answer_can_are_cut_off_there_and_refused() -> None:
    message = read(usage={"iterations": [go("message", 15_000_000, 0)] * 3})
    assert message is not None
    assert message.usage.input_tokens == 20_000_000
    assert message.flaw == "input_tokens of all iterations is 45000000"


def test_of_models_that_advised_only_so_many_are_told_apart() -> None:
    goes = [go("advisor_message", 1, 0, model=f"m{number}") for number in range(5000)]
    found = usage.from_transcript(changed_line(usage={"iterations": goes}))
    assert len(found) <= MOST_MODELS + 1
    assert sum(message.usage.input_tokens for message in found) == 5000


def test_what_the_cli_says_itself_costs_nothing() -> None:
    assert read(model="<synthetic>") is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        LINE[:200],
        LINE[:-1],
        b'"usage"',
        b'{"usage":1}',
        b'\xff\xfe\x00 "usage"',
        b'{"type":"assistant","message":{"usage":3}}',
        b'{"type":"assistant","message":{"usage":{}}}',
        b'{"type":"user","message":{"id":"m","usage":{"input_tokens":5}}}',
        b'{"type":"assistant","message":["usage"]}',
        b"[" * 100_000 + b'"usage"',
        LINE[:-1] + b',"more":[' + b"[]," * MOST_VALUES + b"0]}",
    ],
)
def test_a_line_that_makes_no_sense_says_nothing(line: bytes) -> None:
    assert usage.from_transcript(line) == []


@pytest.mark.parametrize(
    "number", [-1, 20_000_001, 10**12, 1e308, "7", True, [1], {"a": 1}, float(10**10)]
)
def test_a_number_that_cannot_be_true_counts_as_none_and_is_refused(number: Any) -> None:
    message = read(usage={"input_tokens": number, "output_tokens": 3})
    assert message is not None
    assert message.usage == Usage(output_tokens=3)
    assert message.flaw == f"input_tokens is {number!r}"


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("input_tokens", 20_000_000),
        ("cache_creation_input_tokens", 20_000_000),
        ("cache_read_input_tokens", 20_000_000),
        ("output_tokens", 1_000_000),
    ],
)
def test_more_than_a_model_can_say_or_hear_in_one_answer_is_refused(name: str, most: int) -> None:
    possible, forged = read(usage={name: most}), read(usage={name: most + 1})
    assert possible is not None
    assert forged is not None
    assert (possible.flaw, getattr(possible.usage, name)) == ("", most)
    assert (forged.flaw, forged.usage) == (f"{name} is {most + 1}", Usage())


def test_what_is_refused_is_shown_in_short() -> None:
    message = read(usage={"input_tokens": "9" * 5000})
    assert message is not None
    assert len(message.flaw) < 100


def test_a_number_that_is_not_there_is_no_reason_to_refuse_anything() -> None:
    message = read(usage={"input_tokens": None, "output_tokens": 3})
    assert message is not None
    assert (message.usage, message.flaw) == (Usage(output_tokens=3), "")


def test_no_more_is_kept_for_an_hour_than_is_kept_at_all() -> None:
    kept = counted(cache_creation_input_tokens=5, cache_creation={"ephemeral_1h_input_tokens": 9})
    assert kept.cache_1h_tokens == 5


def test_a_line_without_a_time_a_model_or_an_id_still_counts() -> None:
    record = msgspec.json.decode(LINE)
    del record["timestamp"], record["message"]["model"], record["message"]["id"]
    found = read_line(msgspec.json.encode(record))
    assert found is not None
    assert (found.at, found.model, found.usage.input_tokens) == (None, "unknown", 1000)


@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "message", "usage", "id", "model", "timestamp", "modelUsage"]
                ),
                inner,
            )
        ),
    ).map(msgspec.json.encode)
)
def test_no_line_whatsoever_fails(line: bytes) -> None:
    usage.from_transcript(line + b'"usage"')
    usage.from_transcript(line)
    try:
        decoded = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    if isinstance(decoded, dict):
        usage.from_result(decoded)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("claude-opus-4-8[1m]", "claude-opus-4-8"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("m[[1m]", "m["),
        ("1m]", "1m]"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("GPT-5", "gpt-5"),
        ("", "unknown"),
        (None, "unknown"),
        ("x" * 500, "x" * 128),
    ],
)
def test_one_model_has_one_name(said: Any, name: str) -> None:
    assert usage.canonical(said) == name


def test_a_result_says_what_each_model_was_used_for_since_the_start() -> None:
    spent = {
        "inputTokens": 5,
        "outputTokens": 4,
        "cacheReadInputTokens": 3,
        "cacheCreationInputTokens": 2,
        "webSearchRequests": 1,
        "costUSD": 0.5,
    }
    found = usage.from_result(
        {"modelUsage": {"claude-opus-4-8[1m]": spent, "claude-opus-4-8": spent, "other": spent}}
    )
    assert [(one.model, one.cost, one.usage.input_tokens) for one in found] == [
        ("claude-opus-4-8", 1.0, 10),
        ("other", 0.5, 5),
    ]


def test_a_result_without_models_still_says_what_it_cost() -> None:
    (one,) = usage.from_result({"total_cost_usd": 0.25, "modelUsage": None})
    assert (one.model, one.cost) == ("unknown", 0.25)


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"modelUsage": []},
        {"modelUsage": {"m": 3}},
        {"total_cost_usd": 0},
    ],
)
def test_a_result_that_makes_no_sense_says_nothing(result: dict[str, Any]) -> None:
    assert usage.from_result(result) == []


@pytest.mark.parametrize("cost", ["much", -1, 1e300])
def test_a_result_with_a_price_that_cannot_be_is_refused(cost: Any) -> None:
    (whole,) = usage.from_result({"total_cost_usd": cost})
    (model,) = usage.from_result({"modelUsage": {"m": {"costUSD": cost, "inputTokens": 5}}})
    assert (whole.cost, whole.flaw) == (0.0, f"total_cost_usd is {cost!r}")
    assert (model.cost, model.flaw) == (None, f"costUSD is {cost!r}")
    assert model.usage == Usage(input_tokens=5)


@pytest.mark.parametrize("said", ["[" * 4_000_000, "-20251001-v1" * 400_000, " " * 4_000_000 + "m"])
def test_a_name_that_no_model_has_is_read_no_longer_than_one_that_some_have(said: str) -> None:
    """Nothing else of the daemon runs while a pattern is held against it."""
    assert len(usage.canonical(said)) <= usage.LONGEST_MODEL
