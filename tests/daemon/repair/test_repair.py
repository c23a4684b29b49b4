"""What no agent accounts for is taken in or put away; what is not ours is named and stays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.events import StoreReplaced
from windlass.daemon.launch import session_request
from windlass.daemon.repair.reconciliation import reconcile
from windlass.store import mailbox, rows, tables

SPAWN = {"goal": "g", "driver": "standin", "isolation": "hooks"}


def born(workshop: Workshop, name: str) -> Agent:
    return workshop.agent(workshop.ask("spawn", name=name, **SPAWN)["uid"])


def forget(workshop: Workshop, agent: Agent) -> None:
    """The store loses an agent, and so does the folder of cards."""

    def change(writing: Any) -> None:
        for table in (tables.observations, tables.usage, tables.sessions):
            writing.connection.execute(sa.delete(table).where(table.c.agent == agent.uid))
        mine = tables.agents.c.uid == agent.uid
        writing.connection.execute(sa.delete(tables.agents).where(mine))

    workshop.context.store.write(change)
    (workshop.context.folders.crew / f"{agent.uid}.json").unlink(missing_ok=True)


def short(orphans: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    return [(orphan["kind"], orphan["action"], orphan["done"]) for orphan in orphans]


def test_a_crew_that_is_accounted_for_has_nothing_to_repair(workshop: Workshop) -> None:
    born(workshop, "fox")
    ended = born(workshop, "owl")
    workshop.ask("end", agents=[ended.id])
    assert workshop.ask("repair") == []


def test_a_lost_agent_is_taken_in_with_its_work_and_its_session_and_ends_like_any_other(
    workshop: Workshop,
) -> None:
    fox = born(workshop, "fox")
    (Path(fox.workspace) / "work.txt").write_text("not lost")
    forget(workshop, fox)
    assert workshop.ask("agents") == []
    assert short(workshop.ask("repair", dry_run=True)) == [("workspace", "take in", False)]
    assert workshop.ask("agents") == []
    assert short(workshop.ask("repair")) == [("workspace", "take in", True)]
    again = workshop.agent(fox.uid)
    assert (again.id, again.workspace, again.branch, again.base, again.session) == (
        "fox",
        fox.workspace,
        fox.branch,
        fox.base,
        1,
    )
    assert workshop.session(again).alive
    assert workshop.ask("repair") == []
    (ended,) = workshop.ask("end", agents=["fox"])["ended"]
    assert "work.txt" in str(workshop.ask("trash.show", entries=[ended["trash"]["id"]]))
    assert not workshop.session(again).alive


def test_a_branch_whose_workspace_was_deleted_is_taken_in(workshop: Workshop) -> None:
    fox = born(workshop, "fox")
    forget(workshop, fox)
    Path(fox.workspace).rename(workshop.context.folders.home / "elsewhere")
    assert short(workshop.ask("repair")) == [("branch", "take in", True)]
    assert [agent["id"] for agent in workshop.ask("agents")] == ["fox"]


def test_a_session_and_a_folder_without_anything_else_are_put_away(workshop: Workshop) -> None:
    fox = born(workshop, "fox")
    session = workshop.session(fox)
    forget(workshop, fox)
    git(workshop.repo, "worktree", "unlock", fox.workspace)
    git(workshop.repo, "worktree", "remove", "--force", fox.workspace)
    git(workshop.repo, "branch", "-D", "agent/fox")
    git(workshop.repo, "update-ref", "-d", "refs/windlass/base/fox")
    assert short(workshop.ask("repair")) == [
        ("session", "stop", True),
        ("folder", "archive", True),
    ]
    assert not session.alive
    archive = workshop.context.folders.archive
    assert [path.name.endswith(fox.uid) for path in archive.iterdir()] == [True]
    assert workshop.ask("repair") == []


def test_what_is_not_proven_ours_is_named_and_not_touched(workshop: Workshop) -> None:
    born(workshop, "fox")
    git(workshop.repo, "branch", "agent/mine")
    git(workshop.repo, "branch", "agent/theirs")
    git(workshop.repo, "update-ref", "refs/windlass/base/theirs", "HEAD")
    strange = workshop.context.folders.workspaces / "cafebabe" / "owl"
    strange.mkdir(parents=True)
    before = git(workshop.repo, "for-each-ref")
    found = workshop.ask("repair")
    assert short(found) == [("branch", "none", False), ("workspace", "none", False)]
    assert "agent/theirs" in found[0]["subject"]
    assert found[1]["subject"] == str(strange)
    assert git(workshop.repo, "for-each-ref") == before
    assert strange.is_dir()


def test_a_repository_that_git_cannot_read_is_named_and_the_others_are_looked_at(
    workshop: Workshop,
) -> None:
    fox = born(workshop, "fox")
    other = workshop.context.folders.home / "other"
    git(workshop.repo, "clone", "-q", ".", str(other))
    workshop.ask("repo.add", repo=str(other))
    forget(workshop, fox)
    (other / ".git" / "config").write_text("[core")
    assert short(workshop.ask("repair")) == [
        ("workspace", "take in", True),
        ("repository", "none", False),
    ]


def test_what_belongs_to_the_workspace_of_an_unknown_repository_waits_for_that(
    workshop: Workshop,
) -> None:
    fox = born(workshop, "fox")
    forget(workshop, fox)
    (repo,) = workshop.context.store.read(rows.repos)
    workshop.ask("repo.remove", repo=repo.id)
    elsewhere = str(workshop.context.folders.home)
    assert short(workshop.ask("repair", cwd=elsewhere)) == [
        ("session", "none", False),
        ("workspace", "none", False),
        ("folder", "none", False),
    ]
    assert workshop.session(fox).alive
    workshop.context.store.write(partial(rows.keep_repo, repo=repo))
    assert short(workshop.ask("repair")) == [("workspace", "take in", True)]
    assert workshop.session(workshop.agent(fox.uid)).alive


def test_who_is_started_while_orphans_are_looked_for_is_none(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = workshop.context.sessions
    started: list[Agent] = []
    look = sessions.shown

    def start_and_look() -> Mapping[str, Path]:
        if not started:
            started.append(born(workshop, "fox"))
        return look()

    monkeypatch.setattr(sessions, "shown", start_and_look)
    assert workshop.ask("repair") == []
    assert workshop.session(started[0]).alive


def lost_card(workshop: Workshop, agent: Agent) -> Path:
    """Has the store forget an agent whose card stays."""
    card = workshop.context.folders.crew / f"{agent.uid}.json"
    kept = card.read_bytes()
    forget(workshop, agent)
    card.write_bytes(kept)
    return card


def test_a_card_that_contradicts_the_store_is_told_of_and_kept(workshop: Workshop) -> None:
    reconcile(workshop.context)
    fox = born(workshop, "fox")
    card = lost_card(workshop, fox)
    twin = msgspec.json.decode(card.read_bytes())
    twin["agent"]["uid"] = "f" * 12
    other = card.with_name(f"{twin['agent']['uid']}.json")
    other.write_bytes(msgspec.json.encode(twin))
    spoilt = card.with_name("spoilt.json")
    spoilt.write_bytes(b"{")
    assert reconcile(workshop.context)
    assert [agent["id"] for agent in workshop.ask("agents")] == ["fox"]
    told = workshop.context.store.read(partial(rows.events, kind="agent.refused"))
    assert len(told) == 1
    assert card.exists()
    assert other.exists()
    assert spoilt.exists()
    assert not reconcile(workshop.context), "nothing else is doubted because of it"


def test_a_card_brings_back_its_repository_too_where_that_is_now(workshop: Workshop) -> None:
    reconcile(workshop.context)
    fox = born(workshop, "fox")
    lost_card(workshop, fox)
    workshop.ask("repo.remove", repo=fox.repo)
    reconcile(workshop.context)
    assert [repo["id"] for repo in workshop.ask("repos")] == [fox.repo]
    assert [agent["id"] for agent in workshop.ask("agents")] == ["fox"]


def test_a_store_is_reconciled_with_the_cards_of_agents_that_it_lost(workshop: Workshop) -> None:
    reconcile(workshop.context)
    fox = born(workshop, "fox")
    workshop.ask("pause", agent="fox")
    paused = workshop.agent(fox.uid)
    lost_card(workshop, fox)
    assert reconcile(workshop.context)
    assert workshop.agent(fox.uid).state == paused.state == "paused"
    assert workshop.ask("repair") == []
    assert not reconcile(workshop.context)


def test_the_card_of_an_agent_goes_when_it_ends(workshop: Workshop) -> None:
    reconcile(workshop.context)
    fox = born(workshop, "fox")
    card = workshop.context.folders.crew / f"{fox.uid}.json"
    assert card.stat().st_mode & 0o077 == 0
    workshop.ask("end", agents=["fox"])
    assert not card.exists()
    workshop.ask("undo")
    assert card.exists()


def test_mail_that_a_restored_store_does_not_know_is_named_and_its_sender_told_once(
    workshop: Workshop,
) -> None:
    """What arrived is in the conversation of who got it, and what the store has is not missing."""
    fox, owl = born(workshop, "fox"), born(workshop, "owl")
    kept = workshop.ask_as(fox, "send", agent="user", text="known")["messages"][0]["id"]
    lost, arrived = "msg-0123456789", "msg-abcdef0123"
    workshop.converse(fox, f"sent {kept}, {lost}, {lost} and {arrived}")
    workshop.converse(owl, f"[sent by agent fox]: hello\n\n[message {arrived}]")
    assert workshop.ask("repair", dry_run=True) == []
    replaced = StoreReplaced(why="it was lost")
    workshop.context.store.write(lambda w: w.emit(replaced))
    (named,) = workshop.ask("repair", dry_run=True)
    assert (named["kind"], named["subject"], named["action"]) == ("mail", lost, "tell")
    assert "fox" in named["evidence"]
    assert short(workshop.ask("repair")) == [("mail", "tell", True)]
    assert workshop.ask("repair") == []
    inbox = workshop.context.store.read(lambda c: mailbox.inbox(c, recipient=fox.uid))
    assert [lost in message.body for message in inbox] == [True]


def test_a_conversation_that_is_a_link_is_not_followed_for_mail(workshop: Workshop) -> None:
    fox = born(workshop, "fox")
    workshop.context.store.write(lambda w: w.emit(StoreReplaced(why="it was lost")))
    secret = workshop.context.folders.home / "secret"
    secret.write_text("msg-0123456789")
    path = Path(session_request.transcript(workshop.context, fox))
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    assert workshop.ask("repair") == []
