"""Ids, prefixes, names, ages and leaks: the small words of everything."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import ages, ids, names
from windlass.core.errors import NotFound, UserError
from windlass.core.leaks import without_leaks


@pytest.mark.parametrize("text", ["a", "A1", "fix-bug_2", "0day", "x" * 48])
def test_a_plain_word_is_an_agents_name(text: str) -> None:
    assert ids.agent_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "-a", "a b", "a/b", "a.b", "ä", "x" * 49, "a\n", "../x", "user", "All", "self"]
)
def test_what_would_break_a_branch_a_folder_or_a_session_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        ids.agent_id(text)


@pytest.mark.parametrize(
    "text",
    ["windlass", "person", "You", "manager", "Worker", "supervisor", "msg-5f0c", "MSG-1", "msg-"],
)
def test_what_means_another_party_or_a_message_is_no_agents_name(text: str) -> None:
    with pytest.raises(UserError, match=r"reserved word|ids of messages"):
        ids.agent_id(text)


@pytest.mark.parametrize("text", ["c12", "C1", "FIX-1", "fox-12", "Fix-0001"])
def test_what_changes_and_tasks_are_called_like_is_no_agents_name(text: str) -> None:
    """Where several may stand, `wl show X` knows what is meant."""
    with pytest.raises(UserError, match=r"(changes|tasks) are called like that"):
        ids.agent_id(text)


@pytest.mark.parametrize("text", ["fox2", "fox_2", "f-1", "fox-12345", "fox-b", "calm-tern-2"])
def test_what_only_resembles_a_change_or_a_task_is_a_name(text: str) -> None:
    assert ids.agent_id(text) == text


@pytest.mark.parametrize("name", ["fox", "calm-tern", "a1", "x" * 40])
def test_one_more_agent_of_a_name_is_called_like_no_task(name: str) -> None:
    assert ids.agent_id(ids.numbered(name, 2)).startswith(name)


@pytest.mark.parametrize("text", ["workers", "windlass_2", "msg", "msg5", "manager_1"])
def test_what_only_resembles_a_reserved_word_is_a_name(text: str) -> None:
    assert ids.agent_id(text) == text


def test_a_unique_prefix_finds_and_an_exact_id_wins_over_longer_ones() -> None:
    assert ids.match("ap", ["api", "ui"], what="agent") == "api"
    assert ids.match("api", ["api", "api-2"], what="agent") == "api"
    with pytest.raises(UserError, match="fits 2 agents: api, api-2"):
        ids.match("ap", ["api", "api-2"], what="agent")
    with pytest.raises(NotFound, match="no agent 'x'"):
        ids.match("x", ["api"], what="agent")
    with pytest.raises(NotFound):
        ids.match("", ["api"], what="agent")


def test_the_same_seed_makes_the_same_names_and_none_that_is_taken() -> None:
    def twenty(seed: int) -> list[str]:
        dice, taken = random.Random(seed), set[str]()  # noqa: S311 - names, not secrets
        for _ in range(20):
            taken.add(names.friendly(dice.randrange, taken))
        return sorted(taken)

    assert twenty(7) == twenty(7)
    assert len(twenty(7)) == 20
    assert twenty(7) != twenty(8)


def test_every_friendly_name_is_a_valid_id() -> None:
    for adjective in names.ADJECTIVES:
        for noun in names.NOUNS:
            ids.agent_id(f"{adjective}-{noun}")
    assert len(set(names.ADJECTIVES)) == len(names.ADJECTIVES)
    assert len(set(names.NOUNS)) == len(names.NOUNS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h"), (86400, "1d"), (-5, "0s")],
)
def test_an_age_is_said_in_its_largest_whole_unit(seconds: float, text: str) -> None:
    assert ages.age(seconds) == text


@given(st.integers(0, 10_000), st.sampled_from("smhd"))
def test_a_duration_reads_back_as_what_it_says(count: int, unit: str) -> None:
    assert ages.seconds(f"{count}{unit}") == count * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]


@pytest.mark.parametrize("text", ["", "x", "5 minutes", "-3", "1w"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        ages.seconds(text)


def test_variables_of_a_calling_agent_terminal_or_git_hook_do_not_pass() -> None:
    leaky = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_EFFORT": "high",
        "TMUX": "x",
        "TMUX_PANE": "%1",
        "WINDLASS_SOCKET": "s",
        "WINDLASS_SESSION": "m",
        "WINDLASS_AGENT": "a",
        "GIT_DIR": "/other",
        "GIT_INDEX_FILE": "/other/index",
    }
    kept = {
        "PATH": "/bin",
        "HOME": "/h",
        "WINDLASS_HOME": "/w",
        "GIT_SSH_COMMAND": "ssh -i k",
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_OAUTH_TOKEN": "t",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CONFIG_DIR": "/c",
    }
    assert without_leaks({**leaky, **kept}) == kept


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(NotFound, match="no agent 'fix'") as caught:
        ids.match("fix", ["fox", "bear"], what="agent", hint="look")
    assert caught.value.hint == "did you mean fox? look"
