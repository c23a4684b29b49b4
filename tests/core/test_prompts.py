"""What agents are told: whole in every situation, true for it, and only commands that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from itertools import product
from typing import Any

import pytest
from tests.support.agents import an_agent

from windlass.cli.index import NAMES
from windlass.cli.main import parsed, parser_of
from windlass.core import prompts, roles
from windlass.core.errors import Internal
from windlass.core.prompts import Situation

DATA = resources.files("windlass.data")
TAUGHT = re.compile(r"`(wl(?: [^`]*)?)`")


def role(name: str) -> str:
    """What the shipped file of a role, or of everybody, has agents told."""
    path = DATA / "roles" / f"{name}.md"
    parse = roles.parse_for_everybody if name == roles.EVERYBODY else roles.parse
    return parse(path.read_text("utf-8"), origin=str(path)).prompt


def told(situation: Situation, *added: str) -> str:
    """A prompt from the texts that we ship."""
    shipped = [role("all"), role(situation.agent.role)]
    return prompts.assemble(situation, shipped=shipped, added=added)


def situation(
    kind: str = "worker",
    *,
    level: str = "hooks",
    branch: str | None = "agent/kit",
    parent: bool = True,
    questions: bool = True,
) -> Situation:
    boss = an_agent("boss", role="manager", branch="agent/boss")
    kit = an_agent(
        "kit",
        role=kind,
        isolation=level,
        branch=branch,
        workspace="/ground/kit",
        base="0123456789abcdef",
        base_from="boss's branch agent/boss" if parent else "HEAD (main)",
    )
    return Situation(agent=kit, parent=boss if parent else None, questions=questions)


EVERY = [
    situation(kind, level=level, branch=branch, parent=parent, questions=questions)
    for kind, level, branch, parent, questions in product(
        ("manager", "worker"), ("hooks", "box"), ("agent/kit", None), (True, False), (True, False)
    )
]


def texts() -> Iterator[tuple[str, str]]:
    """Every text of ours that teaches commands: prompts as agents get them, and files."""
    for number, one in enumerate(EVERY):
        yield f"prompt {number}", told(one)
    waiting: list[Traversable] = [DATA]
    while waiting:
        for found in waiting.pop().iterdir():
            if found.is_dir():
                waiting.append(found)
            elif found.name.endswith(".md"):
                yield str(found), found.read_text("utf-8")


def commands() -> list[str]:
    """Every command that is taught, once."""
    found = {one: name for name, text in texts() for one in TAUGHT.findall(" ".join(text.split()))}
    return sorted(found)


@pytest.mark.parametrize("command", commands())
def test_every_command_that_is_taught_exists_as_it_is_written(command: str) -> None:
    _, *words = shlex.split(command)
    if not words:
        return
    name, *rest = words
    assert name in NAMES, f"no command {name}"
    entry = NAMES[name]
    parsed(parser_of(entry, import_module(entry.module)), rest)


def test_commands_are_found_in_prompts_skills_and_slash_commands() -> None:
    assert {
        'wl new --name NAME "goal"',
        "wl info --prompt",
        "wl merge-check NAME",
        "wl tree",
        "wl inbox",
        'wl send <id> --reply-to msg-… "…"',
    } <= set(commands())


@pytest.mark.parametrize("one", EVERY, ids=range(len(EVERY)))
def test_a_prompt_is_whole_in_every_situation(one: Situation) -> None:
    text = told(one)
    kind = one.agent.role
    assert text.startswith(f"<windlass>You are a Windlass {kind} agent.</windlass>\n")
    assert "${" not in text
    assert "None" not in text
    assert "description:" not in text
    assert f"# Your work as a {kind}\n" in text
    for said in (
        "`kit`",
        "/ground/kit",
        "`I HAVE COMPLETED THE GOAL`",
        "`WAITING`",
        "`[sent by agent <id>]:`",
        "`[sent by user]:`",
        "`[message msg-…]`",
    ):
        assert said in text
    assert len(text) < 6000
    assert max(text.count(f"\n# {name}\n") for name in ("Messages", "Ending a turn")) == 1


def test_an_agent_is_told_its_branch_and_where_that_came_from() -> None:
    text = told(situation())
    assert "on the branch `agent/kit`" in text
    assert "began at 0123456789ab, from boss's branch agent/boss" in text
    assert "Your manager is `boss`" in text
    assert 'wl send parent "…"' in text


def test_a_root_is_told_that_the_person_started_it() -> None:
    text = told(situation(parent=False))
    assert "from HEAD (main)" in text
    assert "You have no manager" in text
    assert 'wl send user "…"' in text
    assert "manager is" not in text


def test_each_level_is_told_what_is_true_for_it() -> None:
    boxed, shared = told(situation(level="box")), told(situation())
    assert "a clone of your own" in boxed
    assert "`git fetch`, then `git merge origin/agent/boss`" in boxed
    assert "$TMPDIR" not in boxed
    assert "a git worktree of your own" in shared
    assert "`git merge agent/boss`" in shared
    assert "origin" not in shared
    assert "The person's checkout, other agents' workspaces" in shared


def test_who_works_in_the_persons_checkout_is_not_told_to_stay_out_of_it() -> None:
    text = told(situation(branch=None))
    assert "the person's own checkout" in text
    assert "The person's checkout" not in text
    assert "worktree" not in text


@pytest.mark.parametrize("kind", ["manager", "worker"])
def test_questions_go_to_whoever_is_above_unless_the_person_wants_none(kind: str) -> None:
    assert '`wl ask "…"` asks your manager' in told(situation(kind))
    assert '`wl ask "…"` asks the person' in told(situation(kind, parent=False))
    silent = told(situation(kind, parent=False, questions=False))
    assert "does not want questions" in silent
    assert "wl ask" not in silent
    assert "wl ask" in told(situation(kind, questions=False))


def test_only_managers_are_taught_to_start_and_merge_agents() -> None:
    manager, worker = told(situation("manager")), told(situation("worker"))
    for said in ("wl new ", "wl merge ", "wl merge-check ", "wl kill ", "Do not poll"):
        assert said in manager
        assert said not in worker
    assert "merge `agent/kit` into" in " ".join(manager.split())


def test_what_a_person_adds_follows_in_order_and_as_it_is() -> None:
    text = told(situation(), "Write ${HOME} and ${AGENT} as they are.\n", "\r\nFor workers.")
    assert text.endswith("\n\nWrite ${HOME} and ${AGENT} as they are.\n\nFor workers.\n")


def test_an_empty_addition_leaves_no_trace() -> None:
    assert told(situation(), "", "\n") == told(situation())


def test_a_placeholder_that_nobody_fills_is_a_defect() -> None:
    with pytest.raises(Internal, match="NOBODY"):
        prompts.fill("a ${NOBODY}", prompts.words(situation()))


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert prompts.fill("${A}", {"A": "${B}", "B": "no"}) == "${B}"


def test_every_placeholder_that_there_is_is_used() -> None:
    used: Any = re.findall(r"\$\{(\w+)\}", role("all") + role("manager") + role("worker"))
    assert set(used) == set(prompts.words(situation()))
