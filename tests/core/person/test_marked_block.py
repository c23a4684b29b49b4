"""A marked block in somebody's file: what stands around it stays to the byte."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.person import marked_block
from windlass.core.person.marked_block import BEGIN, END, Unending

BODY = "<windlass>\nsay this\n</windlass>\n"
TEXTS = st.text(alphabet="ab \t\n\r#\ufeffü") | st.lists(
    st.sampled_from(("line", "", " ", "# head", END, f" {BEGIN}"))
).flatmap(lambda lines: st.sampled_from(("\n", "\r\n")).map(lambda end: end.join(lines)))


@given(TEXTS)
def test_what_was_put_in_is_taken_out_to_the_byte(text: str) -> None:
    put = marked_block.put(text, BODY)
    assert put.startswith(text)
    assert marked_block.take(put) == text


@given(TEXTS, TEXTS)
def test_text_on_both_sides_stays_and_its_lines_stay_apart(before: str, after: str) -> None:
    around = marked_block.put(before, BODY) + after
    taken = marked_block.take(around)
    joined = before + after
    if not before or not after or before.endswith("\n"):
        assert taken == joined
    else:
        assert taken in (f"{before}\n{after}", f"{before}\r\n{after}")


@given(TEXTS)
def test_the_block_is_replaced_where_it_stands(text: str) -> None:
    once = marked_block.put(text, "older\nwords")
    again = marked_block.put(once + "behind", BODY)
    assert again == marked_block.put(text, BODY) + "behind"


def test_a_file_made_for_it_goes_with_it_and_an_empty_one_stays() -> None:
    made = marked_block.put(None, BODY)
    assert made == f"{BEGIN}\n<windlass>\nsay this\n</windlass>\n{END}\n"
    assert marked_block.take(made) is None
    assert marked_block.take(marked_block.put("", BODY)) == ""
    assert marked_block.take(made + "mine\n") == "mine\n"


def test_its_lines_end_as_those_of_the_file_do() -> None:
    put = marked_block.put("a\r\nb", BODY)
    assert put.replace("\r\n", "").count("\n") == 0
    assert marked_block.says(put, "<windlass>\nsay this\n")


def test_what_it_says_is_known_whatever_was_added_to_it() -> None:
    put = marked_block.put("a", BODY).replace("</windlass>", "<more/>\n</windlass>")
    assert marked_block.says(put, "say this")
    assert not marked_block.says(put, "say that")
    assert not marked_block.says("say this", "say this")


def test_a_block_without_an_end_is_refused() -> None:
    for text in (f"{BEGIN}\n", f"a\n{BEGIN}\nb", f"{END}\n{BEGIN}\n"):
        with pytest.raises(Unending, match="windlass:end"):
            marked_block.put(text, BODY)
        with pytest.raises(Unending, match="windlass:end"):
            marked_block.take(text)


@pytest.mark.parametrize("line", [marked_block.BEGIN, f"{marked_block.END} ", "\r"])
def test_beginnings_without_an_end_cost_no_more_than_they_are_long(line: str) -> None:
    text = f"{line}\n" * 40_000
    began = time.thread_time()
    with suppress(marked_block.Unending):
        marked_block.block(text)
    assert time.thread_time() - began < 1
