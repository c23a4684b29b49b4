"""What is shown of changes: what they bring, what has landed with what, and who is waited for."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.daemon.gate.gate_ground import BROKEN, PERSON
from tests.daemon.landing.crew_ground import CrewGround
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.workshop import Workshop

from windlass.core.errors import Conflict, Denied, NotFound
from windlass.daemon.kernel import settings
from windlass.daemon.landing.candidates import candidates
from windlass.daemon.landing.differences import Differences
from windlass.daemon.landing.history import History
from windlass.daemon.landing.views import ChangeViews


@pytest.fixture(autouse=True, params=("merge", "squash"))
def method(ground: LandingGround, request: pytest.FixtureRequest) -> str:
    """Whatever a landing is on the target, the same is shown."""
    settings.put(ground.context.folders.home / settings.USER_FILE, "landing.method", request.param)
    return str(request.param)


def asked(ground: LandingGround, **more: Any) -> Any:
    """A request of the person's in the repository."""
    return {"cwd": str(ground.root), **more}


def diff(ground: LandingGround, name: str, **more: Any) -> str:
    """What `wl diff` shows of a change."""
    reply = Differences(ground.context).diff(PERSON, asked(ground, change=name, **more))
    return base64.b64decode(reply["committed"]).decode()


def landings(ground: LandingGround, **more: Any) -> list[Any]:
    """What `wl log --landed` shows."""
    return list(History(ground.context).landings(PERSON, asked(ground, **more))["landings"])


def where_from(ground: LandingGround, commit: str) -> Any:
    """What `wl why COMMIT` shows."""
    return History(ground.context).commit(PERSON, asked(ground, commit=commit))


def unfinished(ground: LandingGround) -> Any:
    """What the home screen shows of changes."""
    return ChangeViews(ground.context).unfinished(PERSON, asked(ground))


def test_a_change_shows_what_it_would_bring_and_then_what_it_brought(ground: LandingGround) -> None:
    """Of several that land at once each shows its own part; what came otherwise is not shown."""
    names = {}
    for number in range(3):
        ground.commit({f"m{number}.py": f"m = {number}\n"}, branch=f"b{number}")
    ground.commit({"beside.py": "beside = 1\n"})
    for number in range(3):
        names[number] = ground.submit(f"b{number}")
    before = {number: diff(ground, name) for number, name in names.items()}
    ground.settle()
    assert set(ground.states().values()) == {"landed"}
    for number, name in names.items():
        for shown in (before[number], diff(ground, name)):
            assert f"+m = {number}\n" in shown
            assert shown.count("diff --git") == 1
        assert f"m{number}.py | 1 +" in diff(ground, name, stat=True)


def test_a_change_that_there_is_not_is_said_to_be_none(ground: LandingGround) -> None:
    """A difference of nothing would be taken for no difference."""
    with pytest.raises(NotFound, match="no change c9"):
        diff(ground, "c9")


def test_the_history_is_the_targets_own_line_with_what_landed_on_each_commit(
    ground: LandingGround,
) -> None:
    """Newest first; what was committed beside Windlass is there, as somebody else's."""
    for branch in ("first", "one", "two"):
        ground.commit({f"{branch}.py": "x = 1\n"}, branch=branch)
        ground.submit(branch, task="FIX-1" if branch == "one" else "")
    ground.settle()
    outside = ground.commit({"mine.py": "mine = 1\n"})
    newest, landed, *_ = landings(ground)
    assert (newest["commit"], newest["by"], newest["changes"]) == (outside, "outside", [])
    assert newest["verdict"] == "", "nobody has judged it"
    assert (landed["by"], landed["verdict"]) == ("windlass", "passed")
    assert [(change["id"], change["task"], change["agent"]) for change in landed["changes"]] == [
        ("c2", "FIX-1", None), ("c3", None, None),
    ]  # fmt: skip
    assert landed["tree"] == ground.change("c2")["tree"]
    line = ground.git("log", "--first-parent", "--format=%H", "main").splitlines()
    assert [shown["commit"] for shown in landings(ground)] == line
    assert len(landings(ground, last=1)) == 1


def test_a_commit_knows_the_change_that_it_came_with(ground: LandingGround) -> None:
    """Of a batch its own; before it has landed, the change that has it; of the rest nothing."""
    heads = {
        branch: ground.commit({f"{branch}.py": "x = 1\n"}, branch=branch)
        for branch in ("first", "one", "two", "open")
    }
    one, open_one = heads["one"], heads["open"]
    for branch in ("first", "one", "two"):
        ground.submit(branch)
    ground.settle()
    third = ground.submit("open")
    found = where_from(ground, one[:12])
    assert found["commit"] == one
    assert [change["id"] for change in found["changes"]] == ["c2"]
    assert found["landing"]["commit"] == ground.change("c2")["commit"]
    whole = where_from(ground, "main")
    assert [change["id"] for change in whole["changes"]] == ["c2", "c3"]
    waiting = where_from(ground, open_one)
    assert waiting["landing"] is None
    assert [change["id"] for change in waiting["changes"]] == [third]
    first = where_from(ground, ground.git("rev-list", "--max-parents=0", "main"))
    assert (first["changes"], first["landing"]["by"]) == ([], "outside")
    with pytest.raises(NotFound, match="nonsense is no commit"):
        where_from(ground, "nonsense")


def test_what_came_back_is_tried_once_more_as_it_is(ground: LandingGround) -> None:
    """A test that fails now and then fails no change for good; nothing is approved by that."""
    ground.commit(BROKEN, branch="bad")
    name = ground.submit("bad")
    with pytest.raises(Conflict, match="in the queue already"):
        ground.judge("change.retry", name)
    ground.settle()
    assert ground.change(name)["state"] == "rejected"
    again = ground.judge("change.retry", name)
    assert (again["state"], again["ticket"], again["revision"]) == ("queued", None, 1)
    ground.settle()
    shown = ground.change(name)
    assert (shown["state"], shown["attempts"]) == ("rejected", 2)
    ground.judge("block", name, why="no")
    with pytest.raises(Conflict, match="waits for your word: blocked: no"):
        ground.judge("change.retry", name)
    ground.judge("drop", name)
    with pytest.raises(Conflict, match="nothing to retry"):
        ground.judge("change.retry", name)


def test_what_needs_the_person_is_told_and_whether_the_target_is_red(ground: LandingGround) -> None:
    """A red target is known from a verdict of its very tree."""
    ground.commit(BROKEN, branch="bad")
    bad = ground.submit("bad")
    shown = unfinished(ground)
    assert (shown["waiting"], shown["target"]["outcome"]) == ([], None)
    ground.settle()
    shown = unfinished(ground)
    assert [change["id"] for change in shown["changes"]] == shown["waiting"] == [bad]
    assert shown["target"]["outcome"] == "passed"
    ground.commit(BROKEN)
    ground.commit({"more.py": "more = 1\n"}, branch="good")
    ground.submit("good")
    ground.settle()
    red = unfinished(ground)["target"]
    assert (red["branch"], red["outcome"]) == ("main", "failed")
    assert "failed" in red["why"]


def test_agents_look_into_changes_of_their_own_and_an_author_is_waited_for(
    workshop: Workshop,
) -> None:
    """Who is at work on it mends it; nobody else's work is shown to an agent."""
    crew = CrewGround(workshop)
    author, other = crew.worker("api"), crew.worker("web")
    crew.commit(author, BROKEN)
    name = workshop.ask("submit", change="api")["change"]
    mine = workshop.ask_as(author, "change.diff", change=name)
    assert mine["id"] == name
    with pytest.raises(Denied, match="web may not look into api"):
        workshop.ask_as(other, "change.diff", change=name)
    crew.settle()
    assert crew.change(name)["state"] == "rejected"
    assert crew.change("api")["id"] == name
    assert workshop.ask("unfinished")["waiting"] == []
    with pytest.raises(NotFound, match="web has no change"):
        workshop.ask("drop", change="web")
    kinds = {event["kind"] for event in workshop.ask_as(author, "log", change=name)}
    assert {"change.queued", "change.stopped"} <= kinds
    with pytest.raises(NotFound, match="no commit"):
        workshop.ask_as(author, "commit", commit=":/code")


def test_branches_with_something_to_merge_are_listed_and_shown(ground: LandingGround) -> None:
    """Before anybody has proposed them; what has landed is none, however it did."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    head = ground.commit({"b.py": "b = 1\n"}, branch="b")
    ground.git("branch", "same", "main")
    listed = candidates(ground.context, PERSON, asked(ground))
    assert listed["target"] == "main"
    assert {item["branch"]: item["commits"] for item in listed["candidates"]} == {"mine": 1, "b": 1}
    assert "+b = 1" in diff(ground, "b")
    ground.submit("mine")
    ground.settle()
    held = ground.submit("b")
    (item,) = candidates(ground.context, PERSON, asked(ground))["candidates"]
    assert (item["branch"], item["change"], item["state"]) == ("b", held, "queued")
    assert ground.change("b")["head"] == head
    later = ground.commit({"b.py": "b = 2\n"}, branch="b")
    assert "+b = 2" in diff(ground, "b"), "of a branch what it has now, of a change its revision"
    assert ground.git("rev-parse", "b") == later
    assert "+b = 1" in diff(ground, held)


def test_a_subject_with_the_end_of_a_line_in_it_is_listed_like_any_other(
    ground: LandingGround,
) -> None:
    head = ground.commit({"odd.py": "odd = 1\n"}, branch="odd")
    named = ground.git("commit-tree", "-p", "main", "-m", "one\rtwo", f"{head}^{{tree}}")
    ground.git("branch", "-f", "odd", named)
    (item,) = candidates(ground.context, PERSON, asked(ground))["candidates"]
    assert item["branch"] == "odd"


def test_who_is_kept_after_all_of_it_landed_is_done_until_there_is_more(
    workshop: Workshop,
) -> None:
    """And who ends with the landing is being ended, and nobody's to merge."""
    crew = CrewGround(workshop)
    agent = crew.worker("api")
    crew.commit(agent, {"api.py": "api = 1\n"})
    crew.complete(agent)
    workshop.ask("submit", change="api", keep=True)
    crew.settle()
    assert workshop.ask("unfinished")["done"] == ["api"]
    crew.commit(agent, {"api.py": "api = 2\n"})
    assert workshop.ask("unfinished")["done"] == []
