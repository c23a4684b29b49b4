from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import shapes
from windlass.core.script import cursor as play
from windlass.core.script.cursor import Cursor
from windlass.core.script.format import Await, Entry, Script, Text, parse


def turn(script: Script, cursor: Cursor) -> tuple[list[str], Cursor]:
    """Plays a turn to its end and returns what was said."""
    said: list[str] = []
    while True:
        cursor = play.settle(script, cursor)
        if not cursor.busy:
            return said, cursor
        entry: Entry = play.current(script, cursor)
        if isinstance(entry, Await):
            cursor = play.await_message(cursor)
            continue
        assert isinstance(entry, Text)
        said.append(entry.text)
        cursor = play.advance(cursor)


def talk(script: Script, *messages: str) -> list[list[str]]:
    cursor, turns = Cursor(), []
    for message in messages:
        said, cursor = turn(script, play.receive(script, cursor, message))
        turns.append(said)
    return turns


def made(turns: list[str], **rules: list[str]) -> Script:
    """Builds a script of texts; "~" is an await, rules match their name."""
    entries = [{"await": "message"} if word == "~" else {"text": word} for word in turns]
    on = [
        {
            "match": name,
            "turns": [{"await": "message"} if word == "~" else {"text": word} for word in words],
        }
        for name, words in rules.items()
    ]
    return parse(json.dumps({"turns": entries, "on": on}))


DEFAULT = ["Noted.\n\nWAITING"]


def test_the_list_is_played_up_to_each_await() -> None:
    assert talk(made(["a", "b", "~", "c"]), "1", "2", "3") == [["a", "b"], ["c"], DEFAULT]


def test_a_rule_does_not_use_up_an_await() -> None:
    script = made(["a", "~", "b"], ping=["pong"])
    assert talk(script, "go", "ping", "ping", "x") == [["a"], ["pong"], ["pong"], ["b"]]


def test_the_first_prompt_is_never_matched() -> None:
    assert talk(made(["a"], go=["rule"]), "go", "go") == [["a"], ["rule"]]


def test_the_first_rule_that_matches_wins() -> None:
    assert talk(made(["a"], x=["one"], xy=["two"]), "go", "xy")[1] == ["one"]


def test_a_rule_that_is_used_up_lets_the_next_one_have_it() -> None:
    once = {"match": "x", "turns": [{"text": "one"}], "times": 1}
    again = {"match": "x", "turns": [{"text": "two"}]}
    script = parse(json.dumps({"turns": [], "on": [once, again]}))
    assert talk(script, "go", "x", "x") == [DEFAULT, ["one"], ["two"]]


def test_a_rule_with_an_await_goes_on_before_the_list_does() -> None:
    script = made(["a", "~", "b"], ping=["p1", "~", "p2"])
    assert talk(script, "go", "ping", "x", "y") == [["a"], ["p1"], ["p2"], ["b"]]


def test_a_message_mid_turn_slips_a_rule_in_and_the_list_goes_on() -> None:
    script = made(["a", "b"], ping=["pong"])
    cursor = play.settle(script, play.receive(script, Cursor(), "go"))
    cursor = play.receive(script, play.advance(cursor), "ping")
    assert turn(script, cursor)[0] == ["pong", "b"]


def test_a_message_mid_turn_is_what_the_next_await_waits_for() -> None:
    script = made(["a", "~", "b", "~", "c"])
    cursor = play.settle(script, play.receive(script, Cursor(), "go"))
    cursor = play.receive(script, play.advance(cursor), "early")
    assert turn(script, cursor)[0] == ["b"]


@given(st.lists(st.sampled_from(["t", "~"]), max_size=8), st.integers(0, 40))
def test_a_saved_cursor_goes_on_exactly_where_it_was(kinds: list[str], stop: int) -> None:
    """Stopping after any step, saving and loading changes nothing of what is said."""
    script = made([f"{kind}{n}" if kind == "t" else "~" for n, kind in enumerate(kinds)])
    messages = [str(n) for n in range(len(kinds) + 1)]
    straight = [word for said in talk(script, *messages) for word in said]

    said: list[str] = []
    cursor, steps = Cursor(), 0
    for message in messages:
        cursor = play.receive(script, cursor, message)
        while True:
            if steps == stop:
                data = msgspec.to_builtins(cursor, str_keys=True)
                cursor = shapes.convert(data, Cursor, strict=False)
            steps += 1
            cursor = play.settle(script, cursor)
            if not cursor.busy:
                break
            entry = play.current(script, cursor)
            if isinstance(entry, Await):
                cursor = play.await_message(cursor)
                continue
            assert isinstance(entry, Text)
            said.append(entry.text)
            cursor = play.advance(cursor)
    assert said == straight
