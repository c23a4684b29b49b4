"""Agents whose work lands: ended when it has, told what is wrong when it has not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import BROKEN, CODE
from tests.daemon.landing.crew_ground import CrewGround
from tests.support.workshop import Workshop, git

from windlass.core.errors import ConfigError, Conflict, Denied
from windlass.core.landing.holds import REVIEW


@pytest.fixture
def crew(workshop: Workshop) -> CrewGround:
    """Nobody is there yet."""
    return CrewGround(workshop)


def test_an_agent_is_ended_once_its_work_has_landed(crew: CrewGround) -> None:
    """The commit says whose it is and that it was proven."""
    fox = crew.worker("fox")
    head = crew.commit(fox, {"more.py": "more = 1\n"})
    made = crew.workshop.ask("submit", change="fox")
    assert (made["state"], made["author"], made["branch"]) == ("queued", "fox", "agent/fox")
    crew.settle()
    shown = crew.change(made["id"])
    assert shown["state"] == "landed", shown
    assert crew.main() == shown["commit"]
    assert not crew.lives(fox)
    said = git(crew.root, "log", "-1", "--format=%P%n%B", "main")
    assert head in said
    assert "Windlass-Change: c1" in said
    assert "Windlass-Agent: fox" in said
    assert "Windlass-Verdict: passed" in said


def test_what_came_after_the_revision_that_landed_is_a_draft_and_the_agent_lives(
    crew: CrewGround,
) -> None:
    """Nothing of it is lost, and nothing of it lands unasked."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    (Path(fox.workspace) / "later.txt").write_text("later\n")
    crew.settle()
    assert crew.change("c1")["state"] == "landed"
    assert crew.lives(fox)
    draft = crew.change("c2")
    assert (draft["state"], draft["author"]) == ("draft", "fox")
    assert "uncommitted" in draft["why"]


def test_a_red_change_comes_back_to_its_author_and_lands_once_it_is_mended(
    crew: CrewGround,
) -> None:
    """The ticket is in its mailbox; that it is done again is enough."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    crew.workshop.ask("submit", change="fox")
    crew.settle()
    back = crew.change("c1")
    assert (back["state"], back["attempts"]) == ("rejected", 1)
    inbox = crew.workshop.ask("inbox", agent="fox")
    (ticket,) = [message for message in inbox if message["topic"] == "change:c1"]
    assert "test_adds" in ticket["text"]
    assert "attempt 1 of 3" in ticket["text"]
    crew.complete(fox)
    crew.settle()
    assert crew.change("c1")["revision"] == 1, "nothing was mended"
    crew.commit(fox, {"calc.py": CODE["calc.py"] + "# mended\n"})
    crew.complete(fox)
    crew.settle()
    assert crew.change("c1")["state"] == "held"
    crew.workshop.ask("approve", change="c1")
    crew.settle()
    assert crew.change("c1")["state"] == "landed"
    assert not crew.lives(fox)


def test_a_boxed_author_can_merge_the_target_that_its_ticket_is_about(crew: CrewGround) -> None:
    """Else it merges what was there before, says that it is done, and comes back once more."""
    fox, owl = (crew.worker(name, isolation="box") for name in ("fox", "owl"))
    for agent in (fox, owl):
        crew.commit(agent, {"more.py": f"more = '{agent.id}'\n"})
        crew.workshop.ask("submit", change=agent.id)
    crew.settle()
    assert (crew.change("c1")["state"], crew.change("c2")["state"]) == ("landed", "conflict")
    assert git(Path(owl.workspace), "ls-remote", "origin", "main").split()[0] == crew.main()


def test_the_target_is_merged_into_by_the_gate_alone(crew: CrewGround) -> None:
    """But for a person who says so, which is recorded."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    with pytest.raises(Conflict, match="proven trees alone"):
        crew.workshop.ask("merge", agent="fox")
    done = crew.workshop.ask("merge", agent="fox", ungated=True)
    assert done["verdict"] == "ungated: by the person"
    assert "ungated" in git(crew.root, "log", "-1", "--format=%B", "main")


def test_an_agent_lands_what_is_its_own_and_below_it_and_a_person_looks_first(
    crew: CrewGround,
) -> None:
    """Neither another's nor the person's."""
    boss = crew.worker("boss", role="manager")
    fox = crew.worker("fox")
    git(crew.root, "branch", "mine", "main")
    crew.commit(boss, {"more.py": "more = 1\n"})
    for other in ("fox", "mine"):
        with pytest.raises(Denied):
            crew.workshop.ask_as(boss, "submit", change=other)
    made = crew.workshop.ask_as(boss, "submit")
    crew.settle()
    assert crew.change(made["id"])["state"] == "held"
    assert crew.change(made["id"])["why"] == REVIEW
    with pytest.raises(Denied):
        crew.workshop.ask_as(fox, "merge", agent="fox", into="main", ungated=True)


def test_of_which_task_a_change_is_no_agent_says(crew: CrewGround) -> None:
    """The commit that lands names it, and `wl log --landed` does: the person believes both."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    with pytest.raises(Denied, match="this is for XYZ-99") as refused:
        crew.workshop.ask_as(fox, "submit", key="says", task="XYZ-99")
    assert "wl merge agent/fox --task XYZ-99" in refused.value.hint
    made = crew.workshop.ask_as(fox, "submit", key="says nothing")
    assert crew.change(made["id"])["task"] == ""
    crew.commit(fox, {"more.py": "more = 2\n"})
    crew.workshop.ask("submit", change="fox", task="XYZ-99")
    assert crew.change(made["id"])["task"] == "XYZ-99"


def test_who_is_to_land_by_itself_has_a_draft_until_it_is_done(crew: CrewGround) -> None:
    """Then it is proposed, and a person looks at it first unless the configuration says not to."""
    fox = crew.worker("fox", land=True)
    crew.settle()
    assert (crew.change("c1")["state"], crew.change("c1")["author"]) == ("draft", "fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.complete(fox)
    crew.settle()
    assert crew.change("c1")["state"] == "held"
    assert crew.change("c1")["why"] == REVIEW
    crew.commit(fox, {"more.py": "more = 2\n"})
    crew.complete(fox)
    crew.settle()
    assert (crew.change("c1")["state"], crew.change("c1")["revision"]) == ("held", 3)
    crew.workshop.ask("approve", change="fox")
    crew.settle()
    assert crew.change("c1")["state"] == "landed"
    assert not crew.lives(fox)
    assert (crew.root / "more.py").read_text() == "more = 2\n"


def test_without_a_gate_nothing_lands_by_itself(workshop: Workshop) -> None:
    """It is said before anything is started."""
    (workshop.context.folders.home / "config.toml").unlink()
    asked = {"goal": "g", "name": "fox", "driver": "standin", "isolation": "hooks", "land": True}
    with pytest.raises(ConfigError, match="no gate"):
        workshop.ask("spawn", **asked)


def test_whose_work_has_landed_can_be_brought_back(crew: CrewGround) -> None:
    """It was ended by Windlass, and is as good as ended by hand."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    crew.settle()
    assert not crew.lives(fox)
    back = crew.workshop.ask("undo")
    assert [found["id"] for found in back["restored"]] == ["fox"]
    assert crew.lives(fox)
    assert crew.change("c1")["state"] == "landed"


def test_what_waits_is_kept_from_gits_clean_up(crew: CrewGround) -> None:
    """Also when its branch is not there any more; what has landed needs nobody to keep it."""
    crew.write(crew.root, BROKEN)
    git(crew.root, "checkout", "-q", "-b", "mine")
    git(crew.root, "commit", "-q", "-a", "-m", "broken")
    head = git(crew.root, "rev-parse", "HEAD").strip()
    git(crew.root, "checkout", "-q", "main")
    crew.workshop.ask("submit", change="mine", cwd=str(crew.root))
    crew.settle()
    git(crew.root, "branch", "-D", "mine")
    git(crew.root, "reflog", "expire", "--expire=now", "--all")
    git(crew.root, "gc", "-q", "--prune=now")
    assert git(crew.root, "cat-file", "-t", head).strip() == "commit"
    crew.workshop.ask("drop", change="c1", cwd=str(crew.root))
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    crew.settle()
    pinned = git(crew.root, "for-each-ref", "--format=%(refname)", "refs/windlass/changes/")
    assert pinned.split() == ["refs/windlass/changes/c2"], "until the next try"


def test_an_agent_begins_at_the_last_proven_commit_while_main_is_red(crew: CrewGround) -> None:
    """What nobody has judged is taken as it is."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    crew.settle()
    green = crew.main()
    assert git(crew.root, "rev-parse", "refs/windlass/green").strip() == green
    crew.write(crew.root, BROKEN)
    git(crew.root, "commit", "-q", "-a", "-m", "somebody breaks it")
    assert crew.worker("owl").base == crew.main()
    crew.workshop.ask("gate.run", cwd=str(crew.root))
    crew.settle()
    assert git(crew.root, "rev-parse", "refs/windlass/green").strip() == green
    assert crew.worker("elk").base == green


def test_without_a_gate_nothing_is_merged_into_the_target(workshop: Workshop) -> None:
    """Until the person says why it may, or takes the word for it: then every listing has that."""
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    place = Path(made["workspace"])
    (place / "more.txt").write_text("more\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "more")
    own = workshop.context.folders.home / "config.toml"
    own.unlink()
    for asked in ({"agent": "fox"}, {"agent": "fox", "into": "main"}):
        with pytest.raises(ConfigError, match="no gate") as told:
            workshop.ask("merge", **asked)
        assert told.value.exit_code == 3
        assert "landing.unproven" in told.value.hint
    with pytest.raises(ConfigError, match="no gate"):
        workshop.ask("submit", change="fox")
    own.write_text('[landing]\nunproven = "a prototype"\n')
    done = workshop.ask("merge", agent="fox")
    assert done["verdict"] == "unproven: a prototype"
    said = git(workshop.repo, "log", "-1", "--format=%B", "main")
    assert "Windlass-Verdict: unproven: a prototype" in said


def test_a_person_may_merge_without_a_verdict_and_that_tip_is_proven_next(
    crew: CrewGround,
) -> None:
    """The commit says by whose word it is there."""
    fox = crew.worker("fox")
    crew.commit(fox, BROKEN)
    done = crew.workshop.ask("merge", agent="fox", ungated=True)
    assert done["verdict"] == "ungated: by the person"
    crew.settle()
    shown = crew.workshop.ask("gate", cwd=str(crew.root))
    assert (shown["tip"], shown["outcome"]) == (crew.main(), "failed")


def test_what_its_author_revises_while_it_is_tried_waits_for_the_person_anew(
    crew: CrewGround,
) -> None:
    """The queue lets go of the revision that was let in: it would try it for ever."""
    fox = crew.worker("fox", land=True)
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.complete(fox)
    crew.settle()
    assert crew.change("c1")["state"] == "held"
    crew.workshop.ask("approve", change="c1")
    crew.commit(fox, {"more.py": "more = 2\n"})
    crew.complete(fox)
    crew.settle()
    shown = crew.change("c1")
    assert (shown["state"], shown["revision"], shown["approval"]) == ("held", 3, None)
    crew.workshop.ask("approve", change="c1")
    crew.settle()
    assert crew.change("c1")["state"] == "landed"


def test_what_could_not_be_proposed_is_told(crew: CrewGround) -> None:
    """The agent says that it is done, and nothing would come of it in silence."""
    fox = crew.worker("fox", land=True)
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.write(crew.root, {".windlass/config.toml": "[gate]\ncommands = 3\n"})
    git(crew.root, "commit", "-q", "-am", "no gate")
    crew.complete(fox)
    crew.settle()
    shown = crew.change("c1")
    assert shown["state"] == "draft"
    assert shown["why"].startswith("what it has could not be proposed: ")
    told = [event["data"].get("text", "") for event in crew.workshop.ask("log", last=100)]
    assert f"fox says that it is done: {shown['why']}" in told


def test_an_agent_that_was_stopped_for_its_ending_and_stays_is_told_of(crew: CrewGround) -> None:
    """It left something at the very last moment."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")

    def reached(name: str) -> None:
        if name == "landing.retire.stop.after":
            (Path(fox.workspace) / "late.txt").write_text("late\n")

    crew.workshop.context.failpoints.reached = reached  # type: ignore[method-assign]
    crew.settle()
    assert (crew.change("c1")["state"], crew.change("c2")["state"]) == ("landed", "draft")
    assert crew.lives(fox)
    told = [event["data"].get("text", "") for event in crew.workshop.ask("log", last=100)]
    said = "c1 has landed; fox has uncommitted work, so it stays, stopped: wl resume fox"
    assert said in told


@pytest.mark.parametrize("when", ["plan.before", "apply.before"])
def test_a_change_that_is_dropped_while_it_lands_is_not_both(crew: CrewGround, when: str) -> None:
    """Until the branch is to move it is taken back; from then on that is refused."""
    fox = crew.worker("fox")
    crew.commit(fox, {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="fox")
    before, refused = crew.main(), []

    def reached(name: str) -> None:
        if name == f"landing.land.{when}":
            try:
                crew.workshop.ask("drop", change="c1")
            except Conflict as error:
                refused.append(error.message)

    crew.workshop.context.failpoints.reached = reached  # type: ignore[method-assign]
    crew.settle()
    if when == "plan.before":
        assert (crew.change("c1")["state"], crew.main()) == ("dropped", before)
    else:
        assert (crew.change("c1")["state"], refused) == ("landed", ["c1 is landing just now"])
