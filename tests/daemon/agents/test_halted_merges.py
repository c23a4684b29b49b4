"""A merge that no daemon survives is halted: nothing else moves its branch, and a person decides.

As in `test_crashes`, a daemon that dies is a point that raises what nothing catches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import NoSockets
from tests.support.workshop import Workshop, git

from windlass.api.verbs import Caller
from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.daemon.kernel.set_aside import MOST_TRIES
from windlass.daemon.routes import routes
from windlass.daemon.services import Services
from windlass.git.checkout import Follower
from windlass.store import rows
from windlass.store.rows import Intent

KEY = "person:k"


class Killed(BaseException):
    """The daemon ends here."""


class Daemon:
    """The next daemon on the same folders."""

    def __init__(self, workshop: Workshop) -> None:
        self._cwd = str(workshop.repo)
        self._services = Services(workshop.context, NoSockets())
        self._table = routes(self._services)
        self._store = workshop.context.store

    def ask(self, verb: str, **request: Any) -> Any:
        """Asks as the person."""
        return self._table[verb].answer(Caller(None), {"cwd": self._cwd, **request})

    def start(self) -> None:
        """Goes on with what is open, as every daemon does."""
        for left in self._store.read(rows.open_intents):
            self._services.intents.resume(left)


def committed(workshop: Workshop, name: str) -> Agent:
    """An agent that has committed a file of its name."""
    made = workshop.ask("spawn", goal="x", name=name, driver="standin", isolation="hooks")
    agent = workshop.agent(made["uid"])
    folder = Path(agent.workspace)
    (folder / f"{name}.txt").write_text(f"{name}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", f"{name} says hello")
    return agent


@pytest.fixture
def crew(workshop: Workshop) -> Workshop:
    """Two agents that have committed, and a second branch."""
    for name in ("fox", "owl"):
        committed(workshop, name)
    git(workshop.repo, "branch", "release")
    return workshop


@pytest.fixture
def dying(crew: Workshop) -> Iterator[Callable[[str], None]]:
    """Has whoever reaches a point die there, until the test says otherwise."""
    armed: list[str] = []

    def reached(name: str) -> None:
        if name in armed:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew.context.failpoints, "reached", reached)

        def arm(*points: str) -> None:
            armed[:] = points

        yield arm


def merge_to_death(crew: Workshop) -> Daemon:
    """As many daemons die in merging fox as there may be; returns the one after them."""
    with pytest.raises(Killed):
        crew.ask("merge", key="k", agent="fox")
    for _ in range(MOST_TRIES - 1):
        with pytest.raises(Killed):
            Daemon(crew).start()
    after = Daemon(crew)
    after.start()
    return after


def recorded(crew: Workshop) -> Intent:
    """What is recorded of the merge of fox."""
    intent = crew.context.store.read(partial(rows.intent, key=KEY))
    assert intent is not None
    return intent


def tip(crew: Workshop, branch: str = "main") -> str:
    return git(crew.repo, "rev-parse", branch).strip()


@pytest.mark.parametrize(
    ("point", "moved"),
    [
        ("merge.check.before", False),
        ("merge.apply.before", False),
        ("merge.apply.after", True),
        ("merge.archive.after", True),
    ],
)
def test_it_is_never_set_aside_but_halted_and_told_with_where_the_branch_is(
    crew: Workshop, dying: Callable[..., None], point: str, moved: bool
) -> None:
    before = tip(crew)
    dying(point)
    merge_to_death(crew)
    intent = recorded(crew)
    assert (intent.status, intent.tries) == ("halted", MOST_TRIES)
    said = (intent.error or {})["message"]
    assert "merge of fox is halted: the daemon died 3 times in it" in said
    assert (tip(crew) != before) is moved
    if moved:
        assert f"main was moved from {before[:10]} to {tip(crew)[:10]}" in said
    else:
        assert "main was not moved" in said
    (event,) = crew.context.store.read(lambda c: rows.events(c, kind="intent.halted"))
    assert (event.data["what"], event.data["branch"]) == ("merge", "main")
    (notice,) = crew.context.store.read(lambda c: rows.events(c, kind="notice.posted"))
    assert "fox is halted" in str(notice.data)


def test_nothing_else_moves_its_branch_and_everything_else_works(
    crew: Workshop, dying: Callable[..., None]
) -> None:
    dying("merge.apply.before")
    after = merge_to_death(crew)
    dying()
    plan = recorded(crew).data["plan"]
    with pytest.raises(Conflict, match="merge of fox is halted") as refused:
        after.ask("merge", agent="owl")
    assert f"from {plan['old'][:10]} to {plan['new'][:10]}" in refused.value.message
    assert "`wl retry fox` tries it once more; `wl retry fox --back`" in refused.value.hint
    assert "fox is halted" in after.ask("merge-check", agent="owl")["problems"][0]
    for verb, request in (("pause", {"agent": "fox"}), ("end", {"agents": ["fox"]})):
        with pytest.raises(Conflict, match="merge of fox is halted, and nothing else is begun"):
            after.ask(verb, **request)
    (listed,) = after.ask("set-aside")
    assert (listed["status"], listed["branch"], listed["agents"]) == ("halted", "main", ["fox"])
    assert after.ask("merge", agent="owl", into="release")["into"] == "release"
    committed(crew, "elk")
    Daemon(crew).start()
    assert recorded(crew).status == "halted"


def test_the_person_has_it_tried_once_more(crew: Workshop, dying: Callable[..., None]) -> None:
    dying("merge.apply.after")
    after = merge_to_death(crew)
    dying()
    assert after.ask("retry", intent=KEY, key="r") == {"id": KEY, "kind": "merge", "back": False}
    assert recorded(crew).status == "done"
    assert git(crew.repo, "log", "-1", "--format=%s") == "Merge agent fox: x\n"
    assert after.ask("set-aside") == []
    assert [agent["id"] for agent in after.ask("agents")] == ["owl"]
    assert after.ask("merge", agent="owl")["into"] == "main"
    told = [event.kind for event in crew.context.store.read(rows.events)]
    assert (told.count("intent.retried"), told.count("agent.merged")) == (1, 2)


def test_one_request_to_try_again_is_one_try(crew: Workshop, dying: Callable[..., None]) -> None:
    """A command whose daemon dies asks the next one again, under the same key."""
    dying("merge.apply.after")
    after = merge_to_death(crew)
    with pytest.raises(Killed):
        after.ask("retry", intent=KEY, key="r")
    following = Daemon(crew)
    following.start()
    assert recorded(crew).status == "halted"
    with pytest.raises(Conflict, match="is halted"):
        following.ask("retry", intent=KEY, key="r")
    with pytest.raises(Killed):
        following.ask("retry", intent=KEY, key="another")


def test_taken_back_it_leaves_no_checkout_half_moved(
    crew: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tip(crew)

    def die(_: Follower) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Follower, "_publish", die)
        with pytest.raises(Killed):
            crew.ask("merge", key="k", agent="fox")
        # What is there by now is put right first, and that is where the next ones die.
        for _ in range(MOST_TRIES - 1):
            with pytest.raises(Killed):
                Daemon(crew).start()
        after = Daemon(crew)
        after.start()
    assert recorded(crew).status == "halted"
    lock = crew.repo / ".git" / "index.lock"
    assert lock.exists()
    after.ask("retry", intent=KEY, back=True, key="r")
    assert recorded(crew).status == "failed"
    assert not lock.exists()
    assert git(crew.repo, "status", "--porcelain") == ""
    assert tip(crew) == before
    assert {agent["id"] for agent in after.ask("agents")} == {"fox", "owl"}
    assert after.ask("merge", agent="fox")["was"] == before


def test_taken_back_after_the_branch_was_moved_it_stays_moved(
    crew: Workshop, dying: Callable[..., None]
) -> None:
    before = tip(crew)
    dying("merge.salvage.before")
    after = merge_to_death(crew)
    dying()
    after.ask("retry", intent=KEY, back=True, key="r")
    assert recorded(crew).status == "failed"
    assert git(crew.repo, "rev-parse", "main^1").strip() == before
    assert git(crew.repo, "status", "--porcelain") == ""
    after.ask("end", agents=["fox"])
    assert after.ask("merge", agent="owl")["into"] == "main"
