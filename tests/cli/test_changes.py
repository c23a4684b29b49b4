"""What is shown of changes and commits, and what is asked of the daemon for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.told import FOX, NO_CHANGES, NOTHING, Told, no_change

from windlass.cli import change_wait, landed
from windlass.cli.commands import (
    block,
    config,
    diff,
    home,
    log,
    merge,
    queue,
    retry,
    show,
    undo,
    why,
)
from windlass.core.errors import Conflict, NotFound, UserError
from windlass.core.landing.changes import EXIT_CODES
from windlass.core.landing.holds import REVIEW

Capture = pytest.CaptureFixture[bytes]
CHANGE: dict[str, Any] = {
    "id": "c7", "change": "c7", "branch": "agent/fox", "target": "main", "head": "a" * 40,
    "title": "count", "task": "FIX-1", "author": "fox", "author_ended": False, "revision": 1,
    "state": "queued", "why": "",
    "revisions": [{"revision": 1, "head": "a" * 40, "state": "queued", "why": "", "at": 1.0}],
    "needs": [], "guards": [], "approval": None, "blocked": "", "attempts": 0, "position": 0,
    "was": None, "commit": None, "tree": None, "verdict": "", "usd": None, "landed_at": None,
    "ticket": None, "left_out": [], "undone_by": None,
}  # fmt: skip
TICKET = {
    "why": "pytest failed: test_x", "base": "", "tree": "t" * 40, "outcome": "failed",
    "command": "pytest", "failed": ["test_x"], "log": "/log", "tail": "", "paths": [],
    "landed": ["abc123 Merge it"],
    "reproduce": "wl gate run ttt --fresh",
}  # fmt: skip
REJECTED = {**CHANGE, "state": "rejected", "why": "pytest failed: test_x", "ticket": TICKET}
LANDED = {
    **CHANGE, "state": "landed", "commit": "b" * 40, "tree": "t" * 40, "verdict": "passed",
    "usd": 0.5, "landed_at": 1.0, "position": None,
}  # fmt: skip
LANDING: dict[str, Any] = {
    "commit": "b" * 40, "tree": "t" * 40, "verdict": "passed", "at": 1.0, "subject": "Merge",
    "by": "windlass",
    "changes": [{"id": "c7", "title": "count", "branch": "agent/fox", "task": "FIX-1",
                 "agent": "fox", "usd": 0.5, "undone_by": None}],
}  # fmt: skip


def nobody(request: dict[str, Any]) -> Any:
    """There is no agent of that name."""
    raise NotFound(f"no agent {request['agent']!r}", "`wl list` shows who is there")


def of(change: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    """A daemon that knows one change."""
    return lambda _: change


@pytest.mark.parametrize("state", EXIT_CODES)
def test_every_state_of_a_change_is_shown_and_explained(state: str, capsysbinary: Capture) -> None:
    """With something to type, but for what is over and of no use."""
    change = {**LANDED, "state": state, "ticket": TICKET}
    assert show.run(Told(show, "c7", change=of(change))) == 0
    assert why.run(Told(why, "c7", change=of(change))) == 0
    said = capsysbinary.readouterr().out.decode()
    words = {"gating": "in the gate", "proposed": "pull request"}
    assert said.count(words.get(state, state.replace("-", " "))) >= 2
    assert said.count("task") == said.count("by  ") == 2
    assert "next" in said
    persons = {**CHANGE, "state": "nothing-to-land", "author": None}
    assert not landed.next_step(persons), "what is over and needs nothing"


def test_what_came_back_is_shown_with_its_evidence_and_what_to_type(capsysbinary: Capture) -> None:
    """The failing test, the log and the line that shows it again; the revisions before."""
    before = {"revision": 1, "head": "d" * 40, "state": "conflict", "why": "it was", "at": 1.0}
    now = {**CHANGE["revisions"][0], "revision": 2}
    change = {**REJECTED, "revision": 2, "revisions": [before, now], "attempts": 1}
    show.run(Told(show, "c7", change=of(change)))
    said = capsysbinary.readouterr().out.decode()
    for words in (
        "test_x\n", "log: /log\n", "wl gate run ttt --fresh\n", "dddddddddd", "conflict  it was",
        "came back 1 time\n", "wl retry c7\n", "wl look fox;", "landed there: abc123 Merge it\n",
    ):  # fmt: skip
        assert words in said


def test_what_to_type_about_what_came_back_goes_by_who_can_mend_it() -> None:
    """A person mends their own branch; who has ended has to come back first."""
    assert landed.next_step({**REJECTED, "author": None}).startswith("mend it, then wl merge")
    assert landed.next_step(REJECTED) == "wl look fox; as it is: wl retry c7"
    ended = {**REJECTED, "author_ended": True}
    assert landed.next_step(ended).startswith("bring fox back: wl trash restore fox;")


def test_the_queue_is_a_table_and_what_waits_for_approval_says_what_it_is(
    capsysbinary: Capture,
) -> None:
    """Once, not twice."""
    waits = {**CHANGE, "state": "held", "guards": [REVIEW], "why": REVIEW, "id": "c8"}
    listed = {"changes": [LANDED, waits, {**CHANGE, "state": "gating", "id": "c9"}]}
    queue.run(Told(queue, "--all", changes=lambda _: listed))
    head, first, second, third = capsysbinary.readouterr().out.decode().splitlines()
    assert head.split() == ["ID", "IS", "FOR", "CHANGE", "BRANCH", "WHY"]
    assert first.split()[:2] == ["c7", "landed"]
    assert first.endswith("as bbbbbbbbbb")
    assert second.endswith(REVIEW)
    assert "c9  in the gate" in third
    assert landed.need(waits)[0].endswith("): count")
    show.run(Told(show, "c8", change=of(waits)))
    assert capsysbinary.readouterr().out.decode().count(REVIEW) == 1


def test_a_name_means_an_agent_then_a_branch_and_an_id_a_change(capsysbinary: Capture) -> None:
    """One space of names: a change's id is no agent's, so nobody is asked for one."""
    kinds = ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")
    work: dict[str, Any] = {"exists": True, "operation": None, **{kind: [] for kind in kinds}}
    status: Any = {"agents": [{**FOX, "work": work}]}
    none_left: dict[str, Any] = {"set-aside": lambda _: []}
    call = Told(show, "fox", status=lambda _: status, change=of(CHANGE), **none_left)
    show.run(call)
    said = capsysbinary.readouterr().out.decode()
    assert "fox  stopped" in said
    assert "c7  agent/fox → main  queued" in said
    show.run(Told(show, "mine", status=nobody, change=of(CHANGE)))
    assert "c7  count" in capsysbinary.readouterr().out.decode()
    with pytest.raises(NotFound, match="no agent, change or branch 'mine'"):
        show.run(Told(show, "mine", status=nobody, change=no_change))
    call = Told(show, "fox", "--json", status=lambda _: status, change=no_change)
    show.run(call)
    assert json.loads(capsysbinary.readouterr().out)["change"] is None


def test_a_commit_is_explained_by_what_it_landed_with(capsysbinary: Capture) -> None:
    """Who names neither agent nor commit is told of the agent that there is not."""
    found = {
        "commit": "c" * 40, "subject": "add it", "target": "main", "landing": LANDING,
        "changes": [LANDED],
    }  # fmt: skip
    why.run(Told(why, "cccc", why=nobody, commit=lambda _: found))
    said = capsysbinary.readouterr().out.decode()
    assert "cccccccccc  add it" in said
    assert "passed  c7 count  (FIX-1, fox, 0.50 USD)" in said
    nothing = {**found, "landing": None, "changes": [CHANGE]}
    why.run(Told(why, "cccc", why=nobody, commit=lambda _: nothing))
    said = capsysbinary.readouterr().out.decode()
    assert "main has not got it" in said
    assert "c7  agent/fox → main  queued" in said

    def none(_: dict[str, Any]) -> Any:
        raise NotFound("nope is no commit", "")

    with pytest.raises(NotFound, match="no agent 'nope'"):
        why.run(Told(why, "nope", why=nobody, commit=none))


def test_what_landed_is_listed_and_what_came_beside_windlass_is_marked(
    capsysbinary: Capture,
) -> None:
    """JSON is the list itself."""
    beside = {**LANDING, "by": "outside", "verdict": "", "subject": "by hand", "changes": []}
    both = {**LANDING, "changes": [*LANDING["changes"], {**LANDING["changes"][0], "id": "c8"}]}
    reply = {"target": "main", "landings": [beside, LANDING, both]}
    log.run(Told(log, "--landed", landings=lambda _: reply))
    said = capsysbinary.readouterr().out.decode()
    assert "not judged, beside Windlass  by hand\n" in said
    assert "passed  2 changes\n" in said
    assert "c8 count" in said
    log.run(Told(log, "--landed", "--json", landings=lambda _: reply))
    assert json.loads(capsysbinary.readouterr().out) == reply["landings"]
    with pytest.raises(UserError, match="whole repository"):
        log.run(Told(log, "fox", "--landed"))


def test_the_difference_and_the_log_of_a_change_are_asked_for_by_its_id(
    capsysbinary: Capture,
) -> None:
    """And its folders are not: it has none."""
    shown = {
        "id": "c7", "state": "landed", "target": "main", "base": "a" * 40, "tip": "b" * 40,
        "committed": "",
    }  # fmt: skip
    diff.run(Told(diff, "c7", **{"change.diff": lambda _: shown}))
    assert capsysbinary.readouterr().out == (
        b"# c7, aaaaaaaaaa.." + b"b" * 40 + b", what it brought to main: nothing\n"
    )
    with pytest.raises(UserError, match="a change has none"):
        diff.run(Told(diff, "c7", "--tool", "meld"))
    call = Told(log, "c7", log=lambda _: [])
    log.run(call)
    assert call.asked == [("log", {"change": "c7", "last": 100, "plain": True})]


def test_a_change_is_retried_by_its_id_and_by_its_agent_where_nothing_else_is(
    capsysbinary: Capture,
) -> None:
    """What was set aside comes first: that is in the way of all else."""
    again: Any = {"change.retry": of(CHANGE), "set-aside": lambda _: []}
    found = {"why": lambda _: {"id": "fox"}, "change": of(REJECTED)}
    for words in (["c7"], ["fox"]):
        call = Told(retry, *words, **again, **found)
        assert retry.run(call) == 0
        assert call.asked[-1] == ("change.retry", {"change": "c7"})
        assert "c7  agent/fox → main  queued" in capsysbinary.readouterr().out.decode()
    with pytest.raises(UserError, match="--back is of what was set aside"):
        retry.run(Told(retry, "c7", "--back"))


def _given(answer: Any, _: dict[str, Any]) -> Any:
    return answer


WAITS = {**CHANGE, "state": "held", "guards": ["it edits CI"], "why": "it edits CI"}


@pytest.mark.parametrize(
    ("change", "said", "command"),
    [
        (WAITS, "waits for your approval", "wl diff c7, then wl approve c7"),
        ({**REJECTED, "author": None}, "did not land", "wl show c7"),
        ({**CHANGE, "state": "held", "why": "your edits are in its way"}, "is held", "wl show c7"),
    ],
)
def test_a_change_that_waits_for_a_person_is_on_the_screen_and_in_json(
    change: dict[str, Any], said: str, command: str, capsysbinary: Capture
) -> None:
    """Also where there is no agent at all; and the agent's own line is not there twice."""
    unfinished: Any = {**NO_CHANGES, "changes": [change], "waiting": ["c7"]}
    answers = {**NOTHING, "unfinished": lambda _: unfinished}
    done = {**FOX, "state": "complete"}
    for agents in ([], [done]):
        home.run(Told(home, agents=partial(_given, agents), **answers))
        shown = capsysbinary.readouterr().out.decode()
        (line,) = (line for line in shown.splitlines() if line.startswith("  c7 "))
        assert said in line
        assert line.endswith(f"    {command}")
        assert ("says it is done" in shown) == (bool(agents) and change["author"] is None)
    home.run(Told(home, "--json", agents=lambda _: [done], **answers))
    agent, told = json.loads(capsysbinary.readouterr().out)
    assert (agent["kind"], told["kind"], told["id"]) == ("agent", "change", "c7")
    assert told["needs_you"]["command"] == command


def test_what_is_under_way_needs_nobody_and_a_red_target_does(capsysbinary: Capture) -> None:
    """A draft is its agent's own line."""
    target = {"branch": "main", "tip": "a", "tree": "b", "outcome": "failed", "why": "unit failed"}
    changes = [CHANGE, {**CHANGE, "id": "c8", "state": "draft"}]
    unfinished: Any = {**NO_CHANGES, "target": target, "changes": changes, "waiting": []}
    answers = {**NOTHING, "unfinished": lambda _: unfinished}
    home.run(Told(home, agents=lambda _: [], **answers))
    above, _, below = capsysbinary.readouterr().out.decode().partition("changes")
    halts = "main is not green, so nothing lands but what mends it: unit failed"
    assert f"  {halts}    wl gate\n" in above
    assert "c7  agent/fox → main  queued\n" in below
    assert "c8" not in below
    home.run(Told(home, "--json", agents=lambda _: [], **answers))
    red, *_ = json.loads(capsysbinary.readouterr().out)
    assert (red["kind"], red["id"], red["needs_you"]["command"]) == ("target", "main", "wl gate")


def test_what_a_person_blocked_is_let_in_by_the_same_word() -> None:
    """And what waits for another change is shown, not typed for."""
    held = {**CHANGE, "state": "held"}
    assert landed.next_step({**held, "blocked": "no"}) == "wl approve c7"
    waits = {**held, "needs": ["c2", "c3"], "why": "it needs c3, which is rejected"}
    assert landed.next_step(waits) == "wl show c3"


def test_a_red_change_ends_with_the_end_of_its_log(capsysbinary: Capture) -> None:
    """The last lines, the file of the whole, and a line to type that fits a terminal."""
    tail = "\n".join(f"line {number}" for number in range(40))
    reproduce = f"wl gate run {'ab' * 20} --fresh"
    ticket = {**TICKET, "tail": tail, "reproduce": reproduce}
    show.run(Told(show, "c7", change=of({**REJECTED, "ticket": ticket})))
    said = capsysbinary.readouterr().out.decode()
    assert "the end of its log:\n    line 25\n" in said
    assert "line 24\n" not in said
    assert "line 39\n  log: /log\n  to see it again: wl gate run abababababab --fresh\n" in said


def test_evidence_of_before_is_not_shown_of_what_waits_for_another_reason(
    capsysbinary: Capture,
) -> None:
    """Who blocks a change that had come back, or lets it try again, is not told of that test."""
    for now in (
        {"state": "held", "why": "blocked: no", "blocked": "no"},
        {"state": "queued", "why": ""},
    ):
        show.run(Told(show, "c7", change=of({**REJECTED, **now})))
        assert "test_x" not in capsysbinary.readouterr().out.decode()


def test_what_landed_and_was_taken_back_says_by_what(capsysbinary: Capture) -> None:
    """Wherever it is shown; and how it lands again."""
    change = {**LANDED, "undone_by": "c9"}
    for module, name in ((show, "c7"), (why, "c7"), (queue, "--all")):
        listed = partial(_given, {"changes": [change]})
        module.run(Told(module, name, change=of(change), changes=listed))
        said = capsysbinary.readouterr().out.decode()
        assert ("  undone by c9, as b" if module is queue else "landed, undone by c9") in said
    landing = {**LANDING, "changes": [{**LANDING["changes"][0], "undone_by": "c9"}]}
    log.run(Told(log, "--landed", landings=lambda _: {"landings": [landing]}))
    assert ", undone by c9" in capsysbinary.readouterr().out.decode()
    assert landed.next_step(change) == "to land it again: wl merge agent/fox"
    ended = {**change, "author_ended": True}
    assert landed.next_step(ended).endswith(": wl trash restore fox, then wl merge agent/fox")


def test_a_screen_without_agents_says_how_the_target_fares_and_what_landed_last(
    capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Or why nothing can land."""
    monkeypatch.chdir(tmp_path)
    green = {"branch": "main", "tip": "a" * 40, "tree": "b", "outcome": "passed", "why": ""}
    last = {"id": "c7", "title": "count", "landed_at": None}
    answers: Any = {**NOTHING, "repos": lambda _: [{"root": str(tmp_path)}]}
    for landing, said in (
        ({"target": green, "last": last}, "main  green; landed c7, count"),
        (
            {"target": {**green, "outcome": None}},
            "main  not proven yet: wl gate run, at aaaaaaaaaa",
        ),
        ({"gateless": "main has no gate: `wl init` proposes one"}, "no gate  main has no gate"),
    ):
        shown = {**NO_CHANGES, **landing}
        answers["unfinished"] = partial(_given, shown)
        home.run(Told(home, agents=lambda _: [], **answers))
        assert capsysbinary.readouterr().out.decode().startswith(said)


def test_what_is_halted_is_said_once_and_who_is_being_ended_needs_nobody(
    capsysbinary: Capture,
) -> None:
    """The target is red: that is what needs you; and what landed is nothing to merge."""
    red = {"branch": "main", "tip": "a", "tree": "b", "outcome": "failed", "why": "unit failed"}
    held = {**CHANGE, "state": "held", "why": "main is not green by itself", "author": None}
    landing: Any = {**NO_CHANGES, "target": red, "changes": [held], "waiting": ["c7"]}
    landing["retiring"] = ["fox"]
    answers: Any = {**NOTHING, "unfinished": lambda _: landing}
    home.run(Told(home, agents=lambda _: [{**FOX, "state": "complete"}], **answers))
    needs, _, below = capsysbinary.readouterr().out.decode().partition("changes")
    assert needs.count("\n  ") == 1
    assert "nothing lands but what mends it" in needs
    assert "c7  agent/fox → main  held" in below


def test_merge_alone_says_what_can_be_merged(capsysbinary: Capture) -> None:
    """It is a question, and no merge: the exit code says so."""

    def unnamed(_: dict[str, Any]) -> Any:
        raise UserError("which agent?", "name one")

    item = {"branch": "mine", "agent": None, "commits": 2, "subject": "add", "change": None}
    agents = {**item, "branch": "agent/fox", "agent": "fox", "change": "c7", "state": "held"}
    found: dict[str, Any] = {"target": "main", "candidates": [{**item, "state": None}, agents]}
    answers: dict[str, Any] = {"why": unnamed, "candidates": partial(_given, found)}
    assert merge.run(Told(merge, **answers)) == 2
    said = capsysbinary.readouterr().out.decode().splitlines()
    assert [line.split()[:3] for line in said[2:]] == [
        ["mine", "branch", "2"],
        ["fox", "agent", "2"],
    ]
    found["candidates"] = []
    assert merge.run(Told(merge, **answers)) == 16
    assert b"no branch has commits that main lacks" in capsysbinary.readouterr().out


def test_a_branch_has_a_difference_and_a_log(capsysbinary: Capture) -> None:
    """The log is that of its change; what is neither agent nor branch is said once."""
    difference = {
        "id": "mine", "state": "draft", "target": "main", "base": "b" * 40, "tip": "t" * 40,
        "committed": "",
    }  # fmt: skip
    answers: dict[str, Any] = {"change.diff": lambda _: difference}
    diff.run(Told(diff, "mine", diff=nobody, **answers))
    assert b"# mine, bbbbbbbbbb.." in capsysbinary.readouterr().out
    with pytest.raises(NotFound, match="no agent, change or branch 'mine'"):
        diff.run(Told(diff, "mine", diff=nobody, **{"change.diff": no_change}))

    def events(request: dict[str, Any]) -> Any:
        return nobody(request) if "agent" in request else []

    call = Told(log, "mine", log=events, change=of(CHANGE))
    log.run(call)
    assert call.asked[-1][1]["change"] == "c7"
    with pytest.raises(NotFound, match="no agent, change or proposed branch 'mine'"):
        log.run(Told(log, "mine", log=events, change=no_change))


def test_who_has_nothing_to_undo_is_told_what_landed_last() -> None:
    """That is what they may have meant."""

    def nothing(_: dict[str, Any]) -> Any:
        raise NotFound("there is nothing to undo here", "`wl trash list` shows older work")

    last = {"id": "c7", "title": "count", "landed_at": 1.0}
    answers: dict[str, Any] = {"undo": nothing, "unfinished": partial(_given, {"last": last})}
    with pytest.raises(NotFound) as refused:
        undo.run(Told(undo, **answers))
    assert refused.value.hint.startswith("of what landed, c7 is the last (count): wl undo c7;")


def test_configuration_is_shown_as_it_is_typed(capsysbinary: Capture) -> None:
    """And not as a program of ours keeps it."""
    check = {"name": "tests", "run": 'say "it"', "timeout": None, "tests": "some", "junit": ""}
    values = {"a": True, "b": 600.0, "c": 0.5, "d": [], "e": None, "gate.check": [check]}
    settings = {key: {"value": value, "origin": "x", "about": ""} for key, value in values.items()}
    reply: Any = {"settings": settings, "waiting": [], "problems": []}
    config.run(Told(config, "list", config=partial(_given, reply)))
    _, *lines = capsysbinary.readouterr().out.decode().splitlines()
    shown = [" ".join(line.split()[1:-1]) for line in lines]
    table = '{name = "tests", run = "say \\"it\\"", tests = "some", junit = ""}'
    assert shown == ["true", "600", "0.5", "-", "-", table]


def test_who_says_it_is_done_and_has_landed_has_nothing_to_merge(capsysbinary: Capture) -> None:
    """It was kept, and can be ended."""
    answers: Any = {**NOTHING, "unfinished": lambda _: {**NO_CHANGES, "done": ["fox"]}}
    home.run(Told(home, agents=lambda _: [{**FOX, "state": "complete"}], **answers))
    said = capsysbinary.readouterr().out.decode()
    assert "fox says it is done (5s), and all of it has landed    wl kill fox\n" in said


def test_nobody_is_asked_about_what_cannot_be_taken_back() -> None:
    """It is refused as it is with -y; what can be is asked about first."""

    def refused(_: dict[str, Any]) -> Any:
        raise Conflict("c7 is rejected: it has not landed, so there is nothing to take back", "")

    answers: dict[str, Any] = {"change.undo": refused}
    with pytest.raises(Conflict, match="nothing to take back"):
        undo.run(Told(undo, "c7", change=of(REJECTED), **answers))
    with pytest.raises(UserError, match="take back c7, count"):
        undo.run(Told(undo, "c7", change=of(LANDED), **answers))


def test_who_blocks_a_change_reads_what_they_said(capsysbinary: Capture) -> None:
    """And not that nobody has looked at it."""
    blocked = {**CHANGE, "state": "held", "guards": [REVIEW], "blocked": "no", "why": "blocked: no"}
    block.run(Told(block, "c7", "no", block=of(blocked)))
    said = capsysbinary.readouterr().out.decode()
    assert "  blocked: no\n  next: wl approve c7\n" in said
    assert REVIEW not in said


def test_who_waits_without_a_terminal_is_told_what_for(capsysbinary: Capture) -> None:
    """Once, and beside the output; then it is waited for as long as it takes."""
    waiting = {**CHANGE, "why": "origin cannot be read"}

    def answer(request: dict[str, Any]) -> Any:
        return waiting if request["seconds"] is not None else LANDED

    call = Told(merge, "mine", **{"change.wait": answer})
    assert change_wait.wait(call, CHANGE) == LANDED
    assert capsysbinary.readouterr().err == b"wl: c7 waits: origin cannot be read\n"
