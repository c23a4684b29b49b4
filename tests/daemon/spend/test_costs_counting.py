"""Counting what agents spend, from real files into a real store: everything once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.daemon.spend.cost_bench import NOON, TENTH, Bench, line
from tests.support import whole_rows
from tests.support.leases import leased

from windlass.core.crew import Agent
from windlass.daemon.spend import conversations
from windlass.store import tables


def result(usd: float, tokens: int = 0, model: str = "claude-opus-4-8[1m]") -> dict[str, Any]:
    used = {"inputTokens": tokens, "outputTokens": 0, "costUSD": usd}
    return {"type": "result", "total_cost_usd": usd, "modelUsage": {model: used}}


def test_every_answer_counts_once_however_often_its_lines_turn_up(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m1"), b'{"type":"user"}\n', line("m2"), line("m1"))
    assert bench.count(fox)
    bench.say(fox, line("m2"), line("m1"), line("m3"))
    assert bench.count(fox)
    assert not bench.count(fox)
    assert bench.spent(fox) == 30


def test_subagents_count_and_their_answers_only_once_too(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"))
    bench.say(fox, line("s1"), line("s1"), line("m1"), where="one")
    bench.say(fox, line("s2"), where="two")
    bench.count(fox)
    bench.say(fox, line("s3"), where="one")
    bench.count(fox)
    assert bench.spent(fox) == 40


def test_all_goes_of_an_answer_count_once_each_as_what_it_was_that_made_them(bench: Bench) -> None:
    fox = bench.agent("fox")
    advice = {"type": "advisor_message", "model": "claude-sonnet-4-6", "input_tokens": 2 * TENTH}
    compacting = {"type": "compaction", "input_tokens": TENTH}
    said = msgspec.json.decode(line("m1"))
    said["message"]["usage"]["iterations"] = [
        compacting,
        {"type": "message", "input_tokens": TENTH},
        advice,
    ]
    whole = msgspec.json.encode(said) + b"\n"
    bench.say(fox, whole, whole)
    bench.count(fox)
    by_model = {row["name"]: row for row in bench.view(by="model")["rows"]}
    assert by_model["claude-opus-4-8"]["input_tokens"] == 2 * TENTH
    assert by_model["claude-sonnet-4-6"]["input_tokens"] == 2 * TENTH
    bench.say(fox, whole)
    bench.count(fox)
    assert {row["name"]: row for row in bench.view(by="model")["rows"]} == by_model


def test_half_a_line_waits_for_its_other_half(bench: Bench) -> None:
    fox = bench.agent("fox")
    whole = line("m2")
    bench.say(fox, line("m1"), whole[:30])
    bench.count(fox)
    assert bench.spent(fox) == 10
    bench.say(fox, whole[30:])
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_garbage_is_passed_over(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, b"\x00\xff\n", line("m0")[:50] + b"\n", b"{}\n\n", line("m1"))
    bench.count(fox)
    assert bench.spent(fox) == 10


def test_a_missing_conversation_counts_as_nothing(bench: Bench) -> None:
    fox = bench.agent("fox")
    assert not bench.count(fox)
    assert bench.spent(fox) == 0


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_read(bench: Bench, kind: str) -> None:
    fox = bench.agent("fox")
    path = bench.transcript(fox)
    path.parent.mkdir(parents=True)
    if kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert not bench.count(fox)


def test_a_shorter_file_in_its_place_is_read_anew_and_nothing_counts_twice(bench: Bench) -> None:
    fox = bench.agent("fox")
    path = bench.say(fox, line("m1"), line("m2"), line("m3"))
    bench.count(fox)
    path.write_bytes(line("m3") + line("m4"))
    bench.count(fox)
    assert bench.spent(fox) == 40


def test_a_longer_file_in_its_place_is_read_anew_and_nothing_counts_twice(bench: Bench) -> None:
    fox = bench.agent("fox")
    path = bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(line("m0") + line("m1") + line("m2") + line("m3"))
    fresh.replace(path)
    bench.count(fox)
    assert bench.spent(fox) == 40


def test_a_resumed_session_counts_only_what_is_new(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    bench.session(fox, 2)
    bench.count(fox)
    bench.say(fox, line("m2"), line("m3"))
    bench.count(fox)
    assert bench.spent(fox) == 30
    found = bench.store.read(lambda c: c.execute(sa.select(tables.usage)).all())
    assert sorted((row.session, row.input_tokens) for row in found) == [(1, 2 * TENTH), (2, TENTH)]


def test_a_daemon_that_comes_after_goes_on_where_the_other_was(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"))
    bench.count(fox)
    bench.restart()
    bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_what_cannot_be_kept_whole_is_not_kept_at_all(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m2"))
    forbid = "CREATE TRIGGER no BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END"
    bench.store.write(lambda w: w.connection.exec_driver_sql(forbid))
    with pytest.raises(sa.exc.IntegrityError):
        bench.count(fox)
    assert bench.spent(fox) == 0
    bench.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER no"))
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_many_who_count_at_once_count_once(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, *(line(f"m{number}") for number in range(50)))
    threads = [threading.Thread(target=bench.count, args=(fox,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bench.spent(fox) == 500


def test_more_than_is_read_at_once_is_read_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_READ_AT_ONCE", 100)
    fox = bench.agent("fox")
    bench.say(fox, *(line(f"m{number}") for number in range(10)), line("s1"))
    bench.say(fox, line("s2"), where="one")
    bench.count(fox)
    assert bench.spent(fox) == 10, "a thread that counts is not kept for long"
    while bench.count(fox):
        pass
    assert bench.spent(fox) == 120


def test_other_marks_of_the_session_stay(bench: Bench) -> None:
    fox = bench.agent("fox")
    kept = msgspec.structs.replace(bench.newest(fox), marks={"output": 5}, events_offset=9)
    bench.store.write(lambda w: whole_rows.put_session(w, kept))
    bench.say(fox, line("m1"))
    bench.count(fox)
    after = bench.newest(fox)
    assert (after.marks["output"], after.events_offset) == (5, 9)


def test_who_claims_to_be_in_another_conversation_goes_on_paying_for_the_one_it_was_in(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = bench.agent("fox")
    real = bench.say(fox, line("m1"))
    bench.count(fox)
    monkeypatch.setattr(Bench, "transcript", lambda *_: real.with_name("elsewhere.jsonl"))
    moved = msgspec.structs.replace(fox, conversation="elsewhere")
    for path, name in ((real, "m2"), (real.with_name("elsewhere.jsonl"), "m3")):
        with path.open("ab") as file:
            file.write(line(name))
    bench.count(moved)
    assert bench.spent(fox) == 30


def go_on_elsewhere(
    bench: Bench, fox: Agent, name: str, monkeypatch: pytest.MonkeyPatch, *said: bytes
) -> Path:
    """Has it claim to go on in another conversation, in which there is something; counts that."""
    path = bench.folder / "projects" / f"{name}.jsonl"
    with path.open("ab") as file:
        file.writelines(said)
    monkeypatch.setattr(Bench, "transcript", lambda *_: path)
    session = bench.newest(fox)
    bench.costs.count(msgspec.structs.replace(fox, conversation=name), session)
    return path


def test_conversations_that_it_makes_up_do_not_push_out_the_one_that_it_is_in(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = bench.agent("fox")
    real = bench.say(fox, line("m1"))
    bench.count(fox)
    for number in range(20):
        go_on_elsewhere(bench, fox, f"forged{number}", monkeypatch, b"{}\n")
    with real.open("ab") as file:
        file.write(line("m2"))
    go_on_elsewhere(bench, fox, "forged0", monkeypatch, b"{}\n")
    assert bench.spent(fox) == 20


def test_a_conversation_that_always_grows_does_not_keep_another_from_being_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fox = bench.agent("fox")
    real = bench.say(fox, line("m1"))
    bench.count(fox)
    much = (b"x" * 1023 + b"\n") * 1100
    go_on_elsewhere(bench, fox, "forged", monkeypatch, much)
    with real.open("ab") as file:
        file.write(line("m2"))
    go_on_elsewhere(bench, fox, "forged", monkeypatch, much)
    assert bench.spent(fox) == 20


def test_of_conversations_that_are_gone_no_more_are_remembered_than_there_may_be(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that it is in is not forgotten for them."""
    monkeypatch.setattr(conversations, "MOST_FILES", 5)
    fox = bench.agent("fox")
    real = bench.say(fox, line("m1"))
    bench.count(fox)
    for number in range(20):
        go_on_elsewhere(bench, fox, f"forged{number}", monkeypatch, b"{}\n").unlink()
    with real.open("ab") as file:
        file.write(line("m2"))
    bench.count(fox)
    assert bench.spent(fox) == 20
    files = bench.newest(fox).marks["costs"]["files"]
    assert real.name in files
    assert len(files) <= 6


@pytest.mark.parametrize("where", ["", "one"])
def test_a_conversation_that_cannot_be_opened_is_told_and_not_taken_for_silence(
    bench: Bench, where: str
) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"))
    bench.count(fox)
    path = bench.say(fox, line("m2"), where=where)
    with leased(path):
        found = bench.costs.count(fox, bench.newest(fox))
    assert found == (False, ("conversation", path, "is held by a lease"))
    assert bench.spent(fox) == 10
    bench.count(fox)
    assert bench.spent(fox) == 20


def test_more_conversations_than_are_read_are_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "MOST_FILES", 10)
    fox = bench.agent("fox")
    for number in range(10):
        bench.say(fox, line(f"s{number}"), where=f"forged{number}")
    bench.say(fox, line("m1"))
    _, flaw = bench.costs.count(fox, bench.newest(fox))
    assert flaw is not None
    assert flaw.what == "has more than 10 conversations in it"
    (bench.transcript(fox).with_suffix("") / "subagents" / "agent-forged3.jsonl").unlink()
    assert bench.count(fox)
    assert bench.spent(fox) == 100


def test_a_number_of_four_hundred_digits_is_refused_and_the_next_answer_counted(
    bench: Bench,
) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1", tokens=10**400), line("m2"))
    bench.count(fox)
    assert bench.spent(fox) == 10


def test_a_fork_does_not_pay_for_what_it_was_told(bench: Bench) -> None:
    fox = bench.agent("fox", fork_of="/somewhere/else.jsonl")
    bench.say(fox, line("old", at=NOON - 7200), line("new"))
    bench.count(fox)
    assert bench.spent(fox) == 10


def test_a_result_told_twice_counts_once_and_a_later_one_by_what_it_adds(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.count(fox)
    bench.result(fox, result(0.1, 5))
    bench.result(fox, result(0.1, 5))
    bench.clock.time += 86400
    bench.result(fox, result(0.4, 9))
    bench.result(fox, result(0.2, 1))
    assert bench.spent(fox) == 40
    days = bench.view(by="day")["rows"]
    assert [(row["usd"], row["input_tokens"]) for row in days] == [(0.1, 5), (0.3, 4)]


def test_results_of_a_resumed_session_begin_anew(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.count(fox)
    bench.result(fox, result(0.4))
    bench.session(fox, 2)
    bench.result(fox, result(0.1))
    assert bench.spent(fox) == 50


def test_the_same_spending_from_both_sources_counts_once(bench: Bench) -> None:
    fox = bench.agent("fox")
    bench.say(fox, line("m1"), line("m2"))
    bench.count(fox)
    bench.result(fox, result(0.1, TENTH))
    assert bench.spent(fox) == 20
    bench.result(fox, result(0.25, 2 * TENTH))
    assert bench.spent(fox) == 25


def test_results_that_make_no_sense_are_passed_over(bench: Bench) -> None:
    fox = bench.agent("fox")
    for garbage in ({}, {"modelUsage": 3}, {"modelUsage": {"m": {"costUSD": -4}}}):
        bench.result(fox, garbage)
    assert bench.spent(fox) == 0
    (told,) = bench.events("usage.refused")
    assert told.data == {"source": "result", "reports": 1, "why": "costUSD is -4"}


def test_results_of_models_beyond_number_count_once_too(bench: Bench) -> None:
    fox = bench.agent("fox")
    used = {"inputTokens": 10, "costUSD": 0.01}
    for _ in range(2):
        bench.result(fox, {"modelUsage": {f"m{number}": used for number in range(500)}})
    assert bench.spent(fox) == 500
    assert len(bench.view(by="model")["rows"]) == 33


def test_numbers_that_no_cli_could_report_are_refused_and_told_together(bench: Bench) -> None:
    fox = bench.agent("fox")
    forged = [line(f"m{number}", tokens=-number) for number in range(1, 1000)]
    bench.say(fox, *forged, line("true"), line("far", tokens=10**9))
    bench.count(fox)
    assert bench.spent(fox) == 10
    (told,) = bench.events("usage.refused")
    why = "input_tokens is -1"
    assert told.data == {"source": "conversation", "reports": 1000, "why": why}
    assert bench.view()["refused"] == {"fox": 1000}


def test_more_than_can_be_spent_in_the_time_that_there_was_is_refused(bench: Bench) -> None:
    """A minute and a half, each a thousand dollars at the most; every answer here costs 75."""
    fox = bench.agent("fox", created_at=NOON - 30)
    dear = [line(f"m{number}", tokens=15_000_000) for number in range(40)]
    bench.say(fox, *dear)
    bench.count(fox)
    assert bench.spent(fox) == 20 * 75_00
    (told,) = bench.events("usage.refused")
    assert (told.data["reports"], told.data["why"]) == (20, "75.00 USD in so short a time")
    bench.result(fox, result(1001))
    assert len(bench.events("usage.refused")) == 2
    assert bench.spent(fox) == 20 * 75_00
