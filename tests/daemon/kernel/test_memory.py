"""What is remembered of agents and repositories is forgotten when they are gone."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

import msgspec
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import OTHER, REPO

import windlass.daemon
from windlass.core.events import AgentEnded
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.store import Writing

DAEMON = Path(windlass.daemon.__file__).parent
FOX, OWL = Uid("fox"), Uid("owl")
EMPTIED_ELSEWHERE = {
    "main.py _wakes": "closed with the agent's sockets",
    "main.py _woken_again": "of looks under way",
    "mail/delivery.py _working": "of mail under way",
    "mail/delivery.py _waiting": "of hooks that wait",
    "mail/delivery.py _busy": "of mail that is watched",
    "spend/limit_pauses.py _under_way": "of pauses under way",
    "launch/commit_fetcher.py _under_way": "of fetches under way",
    "kernel/pools.py _of_agents": "of requests under way",
    "relay/answers.py _under_way": "of answers under way",
    "relay/answers.py _room": "of answers under way",
    "relay/relay.py _words": "closed with the agent's door",
    "relay/relay.py _noted": "closed with the agent's door",
    "relay/strangers.py _of": "of connections that are open",
}


def crew(context: Context) -> dict[Uid, str]:
    """Two agents, and a table that remembers both."""
    for name in (FOX, OWL):
        context.store.write(partial(whole_rows.put_agent, agent=an_agent(name, repo=REPO)))
    table: dict[Uid, str] = context.memory.per_agent()
    table.update({FOX: "red", OWL: "grey"})
    return table


def ends(context: Context, uid: Uid) -> None:
    """Has an agent end."""

    def change(writing: Writing) -> None:
        agent = rows.agent(writing.connection, uid)
        assert agent is not None
        whole_rows.put_agent(writing, msgspec.structs.replace(agent, ended_at=writing.now))
        told = AgentEnded(id=agent.id, how="kill", by="user")
        writing.emit(told, repo=agent.repo, agent=uid)

    context.store.write(change)


def test_an_agent_is_forgotten_when_it_ends(context: Context) -> None:
    table = crew(context)
    ends(context, FOX)
    assert table == {OWL: "grey"}


def test_what_is_written_down_after_the_end_is_swept_away(context: Context) -> None:
    table = crew(context)
    ends(context, FOX)
    table[FOX] = "late"
    context.memory.sweep()
    assert table == {OWL: "grey"}


def test_a_repository_that_is_not_known_any_more_is_swept_away(context: Context) -> None:
    table: dict[RepoId, str] = context.memory.per_repo()
    table.update({REPO: "shop", OTHER: "bank"})
    bank = repos.by_id(context, OTHER)
    context.store.write(lambda w: repos.forget(w, bank))
    context.memory.sweep()
    assert table == {REPO: "shop"}


def test_every_table_by_agent_or_repository_forgets_who_is_gone() -> None:
    """A new one is made by the memory, or is named above with what empties it."""
    found = set()
    for path in DAEMON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Attribute):
                continue
            kind, value = ast.unparse(node.annotation), ast.unparse(node.value or node.target)
            by_uid = kind.startswith(("dict[Uid", "dict[RepoId", "set[Uid", "defaultdict[Uid"))
            if by_uid and "memory." not in value:
                found.add(f"{path.relative_to(DAEMON)} {node.target.attr}")
    assert found == set(EMPTIED_ELSEWHERE)
