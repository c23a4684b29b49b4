"""Which folders a shell line goes into."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.shell.cd import Entered, entered

KNOWN = {"HOME": "/home/me", "WINDLASS_HOME": "/state"}


def folders(line: str) -> frozenset[str]:
    return entered(line, cwd="/repo", known=KNOWN).folders


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("cd /w/a", "/w/a"),
        ("pushd /w/a", "/w/a"),
        ("cd -P -- /w/a && make", "/w/a"),
        ("ls; (cd '/w/a' && git log) | head", "/w/a"),
        ("cd ../w/a", "/w/a"),
        ("cd ..; cd w; cd a", "/w/a"),
        ("D=/w; cd $D/a", "/w/a"),
        ('cd "$WINDLASS_HOME"/a', "/state/a"),
        ("cd ~/a", "/home/me/a"),
        ("bash -c 'cd /w/a; ls'", "/w/a"),
        ("builtin cd /w/a", "/w/a"),
        ("if true; then cd /w/a; fi", "/w/a"),
        ("echo $(cd /w/a; pwd)", "/w/a"),
    ],
)
def test_a_folder_that_is_gone_into_is_found(line: str, target: str) -> None:
    assert target in folders(line)


@pytest.mark.parametrize(
    "line",
    [
        "cat /w/a/file",
        "echo cd /w/a",
        "git -C /w/a log",
        "cd $UNHEARD",
        "cd",
        "cd -",
        "cd '",
        "",
        "grep 'cd /w/a' file",
    ],
)
def test_what_goes_nowhere_or_cannot_be_read_finds_nothing(line: str) -> None:
    assert folders(line) == frozenset()


def test_going_where_wl_path_points_is_going_to_an_agent() -> None:
    assert entered('cd "$(wl path api)" && ls', cwd="/", known={}).agents == {"api"}
    assert entered("cat $(wl path api)/x", cwd="/", known={}) == Entered(frozenset(), frozenset())


@given(st.text(alphabet="cd /w$(){}'\"&;|~.-\n\\`", max_size=60))
def test_any_line_is_read_without_an_error(line: str) -> None:
    entered(line, cwd="/", known=KNOWN)
