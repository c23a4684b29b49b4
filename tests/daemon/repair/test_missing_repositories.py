"""A repository that is moved or deleted under its agents is told of, and no work is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.daemon.repair.test_repair import forget
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.errors import NotFound
from windlass.daemon.repair.missing_repositories import MissingRepositories
from windlass.store import rows, tables

SPAWN = {"goal": "g", "driver": "standin", "isolation": "hooks"}


def born(workshop: Workshop, name: str) -> Agent:
    """Starts an agent that leaves a draft."""
    agent = workshop.agent(workshop.ask("spawn", name=name, **SPAWN)["uid"])
    (Path(agent.workspace) / "draft.txt").write_text("not lost")
    return agent


def told(workshop: Workshop) -> list[str]:
    """What notices say of it, and as many events."""
    texts = sa.select(tables.notices.c.text).where(tables.notices.c.text.contains("not there"))
    said: list[Any] = [
        *workshop.context.store.read(lambda c: c.execute(texts).scalars().all()),
    ]
    missing = workshop.context.store.read(lambda c: rows.events(c, kind="repo.missing"))
    assert len(missing) == len(said)
    return said


def test_it_is_told_once_for_each_time_that_it_goes(workshop: Workshop) -> None:
    born(workshop, "fox")
    missing = MissingRepositories(workshop.context)
    missing.look()
    assert told(workshop) == []
    elsewhere = workshop.repo.with_name("elsewhere")
    workshop.repo.rename(elsewhere)
    for _ in range(2):
        missing.look()
    (text,) = told(workshop)
    assert text.startswith(f"{workshop.repo} is not there any more: the files of fox stay")
    (named,) = workshop.ask("repair", cwd="/", dry_run=True)
    assert (named["kind"], named["subject"]) == ("repository", str(workshop.repo))
    elsewhere.rename(workshop.repo)
    missing.look()
    workshop.repo.rename(elsewhere)
    missing.look()
    assert len(told(workshop)) == 2


def test_without_agents_nobody_is_told(workshop: Workshop) -> None:
    born(workshop, "fox")
    workshop.ask("end", agents=["fox"])
    shutil.rmtree(workshop.repo)
    MissingRepositories(workshop.context).look()
    assert told(workshop) == []


def test_an_agent_of_a_deleted_repository_ends_and_it_is_said_where_its_work_is(
    workshop: Workshop,
) -> None:
    fox = born(workshop, "fox")
    shutil.rmtree(workshop.repo)
    (ended,) = workshop.ask("end", cwd="/", agents=[fox.id])["ended"]
    assert (Path(ended["archived"]) / "draft.txt").read_text() == "not lost"


def test_doctor_looks_at_the_machine_where_a_repository_is_missing(workshop: Workshop) -> None:
    born(workshop, "fox")
    shutil.rmtree(workshop.repo / ".git")
    assert workshop.ask("doctor", driver="standin")["needed"]


def test_of_whom_only_the_repository_knows_it_is_said_where_the_work_is(workshop: Workshop) -> None:
    """The state folder was moved, and with it the store and the workspaces."""
    fox = born(workshop, "fox")
    forget(workshop, fox)
    branch = f"its commits are on agent/fox in {workshop.repo}"
    with pytest.raises(NotFound) as refused:
        workshop.ask("end", agents=["fox"])
    assert refused.value.hint.startswith(f"{branch}, its files in {fox.workspace};")
    Path(fox.workspace).rename(workshop.context.folders.home / "elsewhere")
    with pytest.raises(NotFound) as refused:
        workshop.ask("end", agents=["fox"])
    assert f"{branch}, and its files were in {fox.workspace}, which" in refused.value.hint
    with pytest.raises(NotFound) as refused:
        workshop.ask("end", agents=["owl"])
    assert "agent/owl" not in refused.value.hint
