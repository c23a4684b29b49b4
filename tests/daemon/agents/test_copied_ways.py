"""What a boxed session has of the person's own, secrets of servers too, outlives it nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.ids import Uid

SECRET = b"the-secret-of-a-server"


def agent_with_servers(workshop: Workshop) -> Agent:
    """An agent at work, and what its driver brings of the person's into a box."""
    made = workshop.ask(
        "spawn", goal="say hello", name="fox", driver="standin", isolation="hooks", mode="live"
    )
    fox = workshop.agent(made["uid"])
    workshop.session(fox).hook("SessionStart", source="startup", session_id=fox.conversation)
    bring(workshop, fox.uid)
    return fox


def bring(workshop: Workshop, uid: Uid) -> None:
    """Writes what a driver writes before it starts a session."""
    servers = workshop.context.folders.agent(uid) / "person" / "mcp.json"
    servers.parent.mkdir(parents=True)
    servers.write_bytes(b'{"mcpServers": {"tickets": {"env": {"KEY": "%s"}}}}' % SECRET)


def holding(workshop: Workshop) -> list[Path]:
    """The files of ours in which the secret stands."""
    files = [path for path in workshop.context.folders.home.rglob("*") if path.is_file()]
    return [path for path in files if SECRET in path.read_bytes()]


def test_who_has_ended_by_itself_has_none_of_it_any_more(workshop: Workshop) -> None:
    fox = agent_with_servers(workshop)
    assert holding(workshop)
    workshop.session(fox).end(1)
    workshop.state(fox)
    assert holding(workshop) == []


def test_no_archive_holds_it(workshop: Workshop) -> None:
    fox = agent_with_servers(workshop)
    workshop.session(fox).end(1)
    workshop.ask("end", agents=["fox"])
    assert workshop.agent(fox.uid).archive
    assert holding(workshop) == []


def test_no_archive_of_an_agent_that_the_store_has_forgotten_holds_it(workshop: Workshop) -> None:
    bring(workshop, Uid("0123456789ab"))
    workshop.ask("repair")
    (archived,) = workshop.context.folders.archive.iterdir()
    assert archived.name.endswith("0123456789ab")
    assert holding(workshop) == []
