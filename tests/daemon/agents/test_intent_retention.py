"""Finished intents go after a month, unless something of them can still be undone."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any, Literal

import msgspec
import pytest
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import NOW, REPO, Turned
from tests.support.workshop import Workshop

from windlass.core.errors import Conflict
from windlass.core.ids import RepoId
from windlass.daemon.agents import intent_retention
from windlass.daemon.agents.intent_retention import IntentRetention
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.git import salvage, trash
from windlass.store import rows
from windlass.store.rows import Intent

DAY = 86_400.0


@pytest.fixture
def clock() -> Turned:
    """It stands still."""
    return Turned()


def put(
    context: Context,
    key: str,
    kind: str = "send",
    *,
    days: float,
    status: Literal["open", "done", "failed"] = "done",
    repo: RepoId = REPO,
    **data: Any,
) -> None:
    """Keeps an intent that ended so many days ago."""
    at = NOW - days * DAY
    intent = Intent(
        id=key,
        kind=kind,
        repo=repo,
        caller=None,
        data=data,
        step=0,
        status=status,
        created_at=at,
        updated_at=at,
    )
    context.store.write(lambda w: whole_rows.put_intent(w, intent))


def sweep(context: Context) -> None:
    """Removes what ended a month ago and is over."""
    retention = IntentRetention(context)
    for part in retention.parts(before=context.clock.now() - 30 * DAY):
        retention.remove(part)


def left(context: Context, *keys: str) -> set[str]:
    """Those that are still there."""
    return {key for key in keys if context.store.read(partial(rows.intent, key=key))}


def test_what_ended_a_month_ago_is_removed_and_what_is_open_never(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intent_retention, "_AT_ONCE", 2)
    for number in range(5):
        put(context, f"old{number}", days=31)
    put(context, "failed", "spawn", days=31, status="failed")
    put(context, "failed end", "end", days=31, status="failed")
    put(context, "young", days=29)
    put(context, "open", "spawn", days=400, status="open")
    sweep(context)
    every = [*(f"old{number}" for number in range(5)), "failed", "failed end", "young", "open"]
    assert left(context, *every) == {"young", "open"}


@pytest.mark.parametrize("there", [True, False])
def test_an_ending_stays_for_as_long_as_the_trash_holds_what_it_ended(
    context: Context, *, there: bool
) -> None:
    root = context.folders.home / "shop"
    names = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), (*names, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    fox = msgspec.structs.replace(an_agent("fox", repo=REPO), branch="agent/fox", ended_at=NOW)
    context.store.write(partial(whole_rows.put_agent, agent=fox))
    git = repos.git(repos.by_id(context, REPO))
    salvage.salvage(git, path=str(root), agent="fox", stamp="20260101T000000", meta={})
    (entry,) = trash.entries(git)
    if not there:
        trash.empty(git, {entry.ref: entry.commit})
    put(context, "end", "end", days=31, closed=[fox.uid], trash={fox.uid: {"id": entry.id}})
    put(context, "unknown", "end", days=31, repo=RepoId("00000000"), closed=[], trash={})
    sweep(context)
    assert left(context, "end", "unknown") == ({"end"} if there else set())


def test_where_the_trash_cannot_be_seen_an_ending_stays(context: Context) -> None:
    put(context, "end", "end", days=400, closed=["fox"], trash={})
    sweep(context)
    assert left(context, "end") == {"end"}


def test_the_endings_of_a_repository_that_was_removed_go_too(context: Context) -> None:
    put(context, "end", "end", days=31, closed=["fox"], trash={})
    shop = repos.by_id(context, REPO)
    context.store.write(lambda w: repos.forget(w, shop))
    sweep(context)
    assert left(context, "end") == set()


def spawn(workshop: Workshop, name: str, **more: Any) -> None:
    """Starts an agent."""
    workshop.ask("spawn", goal="g", name=name, driver="standin", isolation="hooks", **more)


def test_an_ending_without_a_workspace_stays_for_as_long_as_it_can_be_undone(
    workshop: Workshop, clock: Turned
) -> None:
    spawn(workshop, "elk", worktree=False)
    workshop.ask("end", agents=["elk"])
    clock.time += 31 * DAY
    sweep(workshop.context)
    assert [agent["id"] for agent in workshop.ask("undo")["restored"]] == ["elk"]


@pytest.mark.parametrize("there", [True, False])
def test_a_reassignment_stays_for_as_long_as_it_can_be_undone(
    workshop: Workshop, clock: Turned, *, there: bool
) -> None:
    spawn(workshop, "boss", role="manager")
    spawn(workshop, "fox")
    workshop.ask("reassign", agent="fox", parent="boss", key="k")
    if not there:
        workshop.ask("reassign", agent="fox", parent=None)
    clock.time += 31 * DAY
    sweep(workshop.context)
    assert left(workshop.context, "person:k") == ({"person:k"} if there else set())


def test_of_two_who_undo_one_reassignment_at_once_one_is_refused(workshop: Workshop) -> None:
    """The second has found it before the first is done, and records it after."""
    spawn(workshop, "boss", role="manager")
    spawn(workshop, "fox")
    workshop.ask("reassign", agent="fox", parent="boss")
    perform = Intents.perform

    def overtaken(intents: Intents, *words: Any) -> dict[str, Any]:
        patch.undo()
        workshop.ask("undo")
        return perform(intents, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Intents, "perform", overtaken)
        with pytest.raises(Conflict, match="undone already"):
            workshop.ask("undo")
    (moved, back) = workshop.context.store.read(lambda c: rows.events(c, kind="agent.reassigned"))
    assert (moved.data["why"], back.data["why"]) == ("to boss", "to nobody")
