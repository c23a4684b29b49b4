"""Names that agents make, judged by their letters; refs as git itself judges them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.git import names

PARTS = st.sampled_from(
    [b"a", b"..", b".", b"", b".git", b"heads", b"x.lock", b"\n", b"@{", b"~", b"a.", b"@"]
)
REFS = st.lists(PARTS | st.binary(max_size=6), min_size=1, max_size=4).map(b"/".join)


@pytest.mark.parametrize(
    "name",
    [
        b"",
        b"/etc/passwd",
        b"a//b",
        b"a/",
        b"./a",
        b"a/.",
        b"..",
        b"a/../../b",
        b"a/..",
        b"a\0b",
        b".git",
        b"a/.git/config",
        b".GIT/hooks",
        b"a/.gIt",
        b"a" * 5000,
    ],
)
def test_a_name_that_leads_out_or_to_a_git_folder_is_no_path(name: bytes) -> None:
    assert not names.is_path(name)


@pytest.mark.parametrize(
    "name",
    [b"a", b"a/b.c", b".gitignore", b".github/x", b"...", b"a..b", b"git", b"git~", b"\xff\xfe",
     b"a\nb", b"-rf", b"git~1", b".git ", b".git-blame-ignore-revs", b"legit~1"],
)  # fmt: skip
def test_an_ordinary_name_is_a_path(name: bytes) -> None:
    assert names.is_path(name)


@settings(max_examples=200)
@given(REFS.map(lambda name: b"refs/" + name))
def test_what_we_call_a_ref_git_does_too(name: bytes) -> None:
    if b"\0" in name:
        assert not names.is_ref(name)
        return
    said = subprocess.run([b"git", b"check-ref-format", name], check=False, capture_output=True)
    assert names.is_ref(name) is (said.returncode == 0)


@pytest.mark.parametrize("name", [b"HEAD", b"heads/main", b"refs", b"refs/heads/a\nupdate x"])
def test_what_does_not_lie_below_refs_is_none(name: bytes) -> None:
    assert not names.is_ref(name)
