"""What commands ask of the daemon and of the person, with a daemon that only answers."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from windlass.api import calls
from windlass.cli import steered
from windlass.cli.call import Call
from windlass.cli.commands import (
    daemon,
    demo,
    diff,
    doctor,
    drivers,
    home,
    inbox,
    info,
    interrupt,
    kill,
    log,
    look,
    merge,
    model,
    new,
    nuke,
    pause,
    questions,
    resume,
    retry,
    status,
    trash,
    trust,
    wait,
)
from windlass.cli.commands import exec as exec_
from windlass.cli.commands import list as list_
from windlass.cli.demo import project
from windlass.cli.demo.progress import Progress
from windlass.cli.index import HOME, NAMES
from windlass.cli.main import parser_of
from windlass.core.crew import Policy
from windlass.core.errors import Conflict, GitError, Internal, NotFound, Unavailable, UserError
from windlass.core.policy import mandatory


class Told(Call):
    """A call whose daemon answers from a table and remembers what it was asked."""

    def __init__(
        self, module: Any, *words: str, **answers: Callable[[dict[str, Any]], Any]
    ) -> None:
        name = module.__name__.rpartition(".")[2]
        entry = HOME if module is home else NAMES[name]
        super().__init__(parser_of(entry, module).parse_args(words))
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, verb: str, **request: Any) -> Any:
        """Answers."""
        self.asked.append((verb, request))
        return self.answers[verb](request)


def piped_in(text: str) -> io.TextIOWrapper:
    """A stdin that a program writes to."""
    return io.TextIOWrapper(io.BytesIO(text.encode()))


class Terminal(io.StringIO):
    """A stdin that somebody types on."""

    def isatty(self) -> bool:
        """It is."""
        return True


@pytest.fixture(autouse=True)
def _person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WINDLASS_SOCKET", "WINDLASS_DRIVER"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("module", "verb"), [(kill, "end"), (nuke, "end"), (merge, "merge")])
def test_the_question_names_the_agent_that_a_prefix_means(
    module: Any,
    verb: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checked = {"problems": [], "gated": False}
    asked: dict[str, Any] = {"why": lambda _: {"id": "apiary"}, "merge-check": lambda _: checked}
    asked["unfinished"] = lambda _: NO_CHANGES
    call = Told(module, "api", **asked)
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="nothing was done"):
        module.run(call)
    assert " apiary" in capsys.readouterr().err
    done = {
        "ended": [],
        "failed": [],
        "orphans": [],
        "notes": [],
        "into": "main",
        "commit": "0" * 40,
        "verdict": "",
        "tip": "",
    }
    call = Told(module, "api", **asked, **{verb: lambda _: done})
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    module.run(call)
    assert "api" in str(call.asked[-1])
    call = Told(module, "api", "--force", **asked, **{verb: lambda _: done})
    module.run(call)
    looks = ("merge-check", "unfinished")
    assert [name for name, _ in call.asked if name not in looks] == [verb]


@pytest.mark.parametrize("module", [kill, nuke, merge])
def test_what_ends_agents_is_not_asked_of_one_that_two_letters_mean(module: Any) -> None:
    checked = {"merge-check": lambda _: {"problems": [], "gated": False}}
    call = Told(module, "ap", why=lambda _: {"id": "api"}, **checked)
    with pytest.raises(UserError, match="'ap' is api, but too short") as refused:
        module.run(call)
    assert refused.value.hint == "type it, or at least 3 letters of it: api"


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (kill, ["a"]),
        (nuke, ["a"]),
        (merge, ["a"]),
        (trash, ["empty"]),
        (drivers, ["trust"]),
        (trust, []),
    ],
)
def test_every_question_is_skipped_by_the_same_word(module: Any, words: list[str]) -> None:
    for word in ("-y", "--yes", "-f", "--force"):
        assert Told(module, *words, word).args.force
    assert not Told(module, *words).args.force


@pytest.mark.parametrize(
    ("module", "verb"), [(pause, "pause"), (resume, "resume"), (interrupt, "interrupt")]
)
def test_nothing_is_done_to_one_agent_if_another_is_not_there(module: Any, verb: str) -> None:
    def info(request: dict[str, Any]) -> dict[str, Any]:
        if request["agent"] == "nosuch":
            raise NotFound("no agent 'nosuch'", "")
        return {"id": "lead", "ended_at": 5.0 if request["agent"] == "past" else None}

    for absent in ("nosuch", "past"):
        call = Told(module, "lead", absent, info=info)
        with pytest.raises(NotFound):
            module.run(call)
    done = {"id": "lead", "state": "paused"}
    call = Told(module, "lead", "le", info=info, **{verb: lambda _: done})
    module.run(call)
    assert [asked for asked, _ in call.asked] == ["info", "info", verb], "each once"


NO_CHANGES: dict[str, Any] = {"target": None, "changes": [], "waiting": []}


@pytest.mark.parametrize(
    ("more", "said", "command"),
    [
        ({"state": "rate_limited", "goes_on_at": 0.0}, "is at a limit", "wl send fox"),
        ({"state": "rate_limited"}, None, None),
        ({"state": "creating", "state_age": 300.0}, "still being set up", "wl log fox"),
        ({"state": "creating"}, None, None),
        ({"state": "running", "stuck": "no room"}, "commits home: no room", "wl why fox"),
        ({"state": "waiting", "denied": "git push"}, "denied: git push", "wl denials fox"),
        ({"state": "paused", "evidence": "paused: why"}, "is paused: why", "wl resume fox"),
        ({"state": "running"}, None, None),
    ],
)
def test_what_stalls_needs_the_person_on_the_screen_and_in_json(
    more: dict[str, Any], said: str | None, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = {"id": "fox", "uid": "u", "state_age": 5.0, "evidence": "e", "parent": "lead", **more}
    home.run(Told(home, "--json", agents=lambda _: [agent], unfinished=lambda _: NO_CHANGES))
    (shown,) = json.loads(capsys.readouterr().out)
    need = shown["needs_you"]
    if said is None:
        assert need is None
    else:
        assert said in need["text"]
        assert command in need["command"]


def test_all_are_paused_or_resumed_each_in_its_turn_and_one_failure_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    states = {"ant": "running", "bee": "paused", "cat": "stopped", "dog": "waiting"}
    listed = [{"id": name, "uid": f"u-{name}", "state": state} for name, state in states.items()]
    naps: list[float] = []
    monkeypatch.setattr("windlass.cli.steered.time.sleep", naps.append)

    def does(request: dict[str, Any]) -> dict[str, Any]:
        if request["agent"] in ("ant", "bee"):
            raise Unavailable("no", "try again")
        return {"id": request["agent"], "state": "done"}

    for module, verb, whom in ((pause, "pause", "ant dog"), (resume, "resume", "bee cat")):
        call = Told(module, "--all", agents=lambda _: listed, **{verb: does})
        assert module.run(call) == Unavailable.exit_code
        asked = [request["agent"] for name, request in call.asked if name == verb]
        assert asked == whom.split()
        assert "try again" in capsys.readouterr().out
    assert naps == [steered.STAGGER], "only who begins to work"
    with pytest.raises(UserError):
        pause.run(Told(pause, "ant", "--all"))
    with pytest.raises(UserError):
        pause.run(Told(pause))


@pytest.mark.parametrize(("names", "whose"), [(["api"], "its"), (["api", "ui"], "their")])
def test_the_question_speaks_of_one_agent_or_of_several(
    names: list[str],
    whose: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="nothing was done"):
        kill.run(Told(kill, *names, why=lambda request: {"id": request["agent"]}))
    assert f"? {whose} work is kept" in capsys.readouterr().err


def test_who_ends_agents_is_told_where_their_work_is(capsys: pytest.CaptureFixture[str]) -> None:
    summary = {"dropped": 1}
    ended = [
        {"id": "api", "trash": None, "archived": "/archive/api/workspace"},
        {"id": "ui", "trash": {"id": "ui-1", "summary": summary}, "archived": None},
    ]
    done = {"ended": ended, "failed": [], "orphans": ["x"], "notes": []}
    draft = {"id": "c3", "state": "draft", "author": "ui"}
    left: Any = {"changes": [draft, {**draft, "id": "c4", "author": "owl"}]}
    kill.run(Told(kill, "api", "ui", "--force", end=lambda _: done, unfinished=lambda _: left))
    said = capsys.readouterr().out
    assert "api ended; its repository is gone, its files are in /archive/api/workspace\n" in said
    assert "  1 thing was too big or odd to keep: wl trash show ui-1\n" in said
    assert "1 agent below went to the next manager up\n" in said
    assert "ui's draft c3 is dropped with it: wl undo brings both back\n" in said
    assert "c4" not in said


def test_who_could_not_be_ended_is_named_and_makes_the_command_fail(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stuck = {"id": "ui", "kind": "git", "message": "no \x1b[2Jroom", "hint": "make some"}
    done = {"ended": [], "failed": [stuck], "orphans": [], "notes": []}
    code = kill.run(Told(kill, "api", "ui", "--force", end=lambda _: done, **NOTHING))
    assert code == GitError.exit_code
    assert capsys.readouterr().out == "ui could not be ended: no \\x1b[2Jroom\n  make some\n"


def test_a_manager_of_nobody_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    list_.run(Told(list_, "--manager", "zz", agents=lambda _: []))
    assert capsys.readouterr().out == "zz manages nobody\n"


def test_a_crew_that_the_store_lost_is_not_called_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = [{"kind": kind} for kind in ("session", "workspace", "folder", "branch")]
    list_.run(Told(list_, agents=lambda _: [], repair=lambda _: lost))
    assert "2 workspaces and sessions that no agent accounts for" in capsys.readouterr().out
    list_.run(Told(list_, agents=lambda _: [], repair=lambda _: []))
    assert capsys.readouterr().out.startswith("no agents; ")


WORK: dict[str, Any] = {
    "repo": "r",
    "id": "g2",
    "state": "waiting",
    "state_age": 1.0,
    "source": "hook",
    "evidence": "idle",
    "branch": "agent/g2",
    "isolation": "box",
    "network": "host",
    "workspace": "/w",
    "commits": [],
    "branch_gone": True,
    "error": None,
    "work": {
        "exists": True,
        "operation": None,
        **{
            kind: []
            for kind in ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")
        },
    },
}


@pytest.mark.parametrize(
    ("level", "way"), [("box", "wl kill g2"), ("hooks", "git branch agent/g2")]
)
def test_the_status_of_one_agent_says_that_its_branch_is_gone_and_how_it_comes_back(
    level: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = [{**WORK, "isolation": level}]
    reply = {"repo": "/r", "head": None, "agents": agents}
    status.run(Told(status, "g2", status=lambda _: reply, **{"set-aside": lambda _: []}))
    said = capsys.readouterr().out
    assert said.startswith("g2  waiting")
    assert "the branch agent/g2 is gone" in said
    assert way in said
    assert "no commits yet" not in said


def test_a_difference_of_a_vanished_workspace_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply = {
        "id": "g2",
        "base": "0",
        "tip": "1",
        "gone": True,
        "committed": "",
        "uncommitted": "",
        "unread": [],
    }
    diff.run(Told(diff, "g2", diff=lambda _: reply))
    said = capsys.readouterr()
    assert "gone" not in said.out, "what programs read is the difference alone"
    assert "g2's workspace is gone" in said.err


MADE: dict[str, Any] = {
    "id": "a",
    "role": "worker",
    "withheld": [],
    "waiting": [],
    "included": 0,
    "left_out": [],
    "changes": None,
    "submodules": [],
    "remarks": [],
    "lacks": "",
    "branch": "agent/a",
    "base_from": "HEAD",
    "base": "0",
    "isolation": "hooks",
    "network": "host",
    "unboxed": "asked for",
    "out_of_box": "",
    "to_box": "",
}


def meant(monkeypatch: pytest.MonkeyPatch, *words: str, stdin: io.TextIOBase) -> dict[str, Any]:
    """What `wl new` asks for."""
    monkeypatch.setattr(sys, "stdin", stdin)
    call = Told(new, *words, spawn=lambda _: MADE)
    new.run(call)
    return {name: value for name, value in call.asked[0][1].items() if value is not None}


@pytest.mark.parametrize(
    ("words", "stdin", "meaning"),
    [
        (["--manager", "refactor"], "", ("refactor", None, "manager")),
        (["--manager", "lead"], "a goal", ("a goal", "lead", "worker")),
        (["--manager", "refactor", "--parent", "lead"], "", ("refactor", "lead", "manager")),
        (["--manager", "--parent", "lead", "a goal"], "", ("a goal", "lead", "manager")),
        (["--manager", "lead", "a goal"], "", ("a goal", "lead", "worker")),
        (["--manager", "two words"], "not read", ("two words", None, "manager")),
        (["--parent", "lead", "a goal"], "", ("a goal", "lead", "worker")),
        (["--manager", "--", "a goal"], "", ("a goal", None, "manager")),
        ([], "a goal", ("a goal", None, "worker")),
        (["--role", "reviewer", "a goal"], "", ("a goal", None, "reviewer")),
        (["--role", "reviewer", "--manager", "lead", "a goal"], "", ("a goal", "lead", "reviewer")),
        (["--role", "manager", "--manager", "--", "a goal"], "", ("a goal", None, "manager")),
    ],
)
def test_a_manager_a_parent_and_a_goal_are_told_apart(
    words: list[str],
    stdin: str,
    meaning: tuple[str, str | None, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = meant(monkeypatch, *words, stdin=piped_in(stdin))
    assert (asked["goal"], asked.get("parent"), asked["role"]) == meaning


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--manager"], ["--manager", "lead", ""], ["--manager", "a", "--parent", "b", "x"]),
        *(["--role", "reviewer", "--worker", "x"], ["--role", "worker", "--manager", "--", "x"]),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError):
        meant(monkeypatch, *words, stdin=piped_in(""))


@pytest.mark.parametrize(
    ("piped", "goal"), [("a diff\n", "review\n\na diff\n"), ("\n", "review\n")]
)
def test_what_is_piped_follows_the_prompt_file(
    piped: str, goal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "review.md").write_text("review\n")
    words = ("--prompt-file", str(tmp_path / "review.md"))
    assert meant(monkeypatch, *words, stdin=piped_in(piped))["goal"] == goal


def test_a_conversation_that_leaves_its_box_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    meant(monkeypatch, "x", stdin=piped_in(""))
    assert "conversation" not in capsys.readouterr().out
    monkeypatch.setitem(MADE, "out_of_box", "fox")
    meant(monkeypatch, "x", "--fork", "fox", stdin=piped_in(""))
    assert "the conversation of fox, which was written in a box" in capsys.readouterr().out


def test_the_driver_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_DRIVER", "standin")
    assert meant(monkeypatch, "x", stdin=piped_in(""))["driver"] == "standin"
    assert meant(monkeypatch, "x", "--driver", "other", stdin=piped_in(""))["driver"] == "other"


@pytest.mark.parametrize(
    "words",
    [
        *(("--max-budget", amount) for amount in ("nan", "inf", "1e400", "abc", "", "0", "-1")),
        *(("--time-limit", limit) for limit in ("", "0", "soon", "9" * 400, "-1")),
    ],
    ids=lambda words: " ".join(words)[:20],
)
@pytest.mark.parametrize(
    ("module", "rest"), [(new, "a goal"), (resume, "fox")], ids=["new", "resume"]
)
def test_a_limit_that_limits_nothing_is_refused_before_anybody_is_asked(
    module: Any, rest: str, words: tuple[str, str]
) -> None:
    with pytest.raises(UserError, match=r"not an? (amount|duration|time)|argument") as refused:
        Told(module, *words, rest)
    assert refused.value.hint


@pytest.mark.parametrize("number", ["0", "-3", "many", "1" * 5000])
def test_a_number_of_turns_is_above_zero(number: str) -> None:
    with pytest.raises(UserError, match="max-turns"):
        Told(new, "--max-turns", number, "a goal")


@pytest.mark.parametrize("number", ["-1", "many", "9" * 30, "1" * 5000])
@pytest.mark.parametrize(
    "words",
    [(log, "-n"), (look, "fox", "-n"), (inbox, "--last"), (daemon, "logs", "--lines")],
    ids=["log", "look", "inbox", "daemon"],
)
def test_a_number_of_lines_is_one_that_there_can_be(words: tuple[Any, ...], number: str) -> None:
    module, *rest = words
    with pytest.raises(UserError, match=r"is not a number of things to show|argument"):
        Told(module, *rest, number)


@pytest.mark.parametrize("port", ["99999999", "65536", "-1", "http"])
def test_a_port_is_a_port(port: str) -> None:
    with pytest.raises(UserError, match="is no port"):
        Told(model, "serve", "--port", port)


def test_limits_are_asked_for_in_dollars_and_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--max-budget", "5", "--time-limit", "2h")
    asked = meant(monkeypatch, *words, "x", stdin=piped_in(""))
    assert (asked["max_usd"], asked["max_seconds"]) == (5.0, 7200.0)
    call = Told(resume, "fox", *words, resume=lambda _: {"id": "fox", "state": "running"})
    resume.run(call)
    assert call.asked == [("resume", {"agent": "fox", "max_usd": 5.0, "max_seconds": 7200.0})]


@pytest.mark.parametrize(
    ("flags", "there", "absent"),
    [(["--print"], "wl log a --follow", "attach"), ([], "wl attach a", "--follow")],
)
def test_who_starts_an_agent_is_told_of_what_it_has(
    flags: list[str],
    there: str,
    absent: str,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    meant(monkeypatch, *flags, "x", stdin=piped_in(""))
    said = capsysbinary.readouterr().out.decode()
    assert "wl look a " in said
    assert there in said
    assert absent not in said


@pytest.mark.parametrize(
    ("asked", "configured", "own", "said"),
    [
        ("hooks", "required", "", "isolation is required here: your --isolation hooks went"),
        ("auto", "box", "", "isolation is box here: your --isolation auto went"),
        ("hooks", "auto", "required", "roles.worker.isolation is required here"),
        ("hooks", "required", "auto", None),
        ("hooks", "hooks", "", None),
    ],
)
def test_who_goes_below_what_is_configured_is_told(
    asked: str,
    configured: str,
    own: str,
    said: str | None,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    known = {"isolation": {"value": configured}, "roles.worker.isolation": {"value": own}}
    config = {"settings": known, "problems": []}
    new.run(Told(new, "--isolation", asked, "x", spawn=lambda _: MADE, config=lambda _: config))
    out = capsysbinary.readouterr().out.decode()
    assert said in out if said else "went before" not in out


def test_who_starts_an_agent_is_told_what_only_a_person_gives_its_role(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    made = {**MADE, "role": "auditor", "withheld": ["spawns", "readonly"]}
    new.run(Told(new, "--role", "auditor", "x", spawn=lambda _: made))
    said = capsysbinary.readouterr().out.decode()
    assert "started as an auditor" in said
    assert "wl config set --global roles.auditor.spawns true" in said
    assert "wl config set --global roles.auditor.readonly false" in said


def test_what_a_boxed_agent_has_not_of_the_persons_ways_is_told_with_what_would_bring_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    remarks = [{"text": "without your servers a\x1b[2J", "fix": "wl x"}, {"text": "b", "fix": ""}]
    new.run(Told(new, "x", spawn=lambda _: {**MADE, "remarks": remarks}))
    assert "  without your servers a\\x1b[2J: wl x\n  b\n" in capsys.readouterr().out


WAITS = {"value": "x", "instead_of": "", "in_boxes": False, "personal": False}
LINES = [
    {**WAITS, "key": "diff_tool", "digest": "d1", "value": "e\x1b[8mvil\n\u202e"},
    {**WAITS, "key": "notify.command", "digest": "d2", "personal": True},
    {**WAITS, "key": "workspace.setup", "digest": "d3", "in_boxes": True},
]


def test_files_of_the_persons_own_that_an_agent_was_given_are_told_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = {**MADE, "included": 2, "left_out": ["a", "b\x1b[2J", "c", "d", "e"]}
    new.run(Told(new, "x", spawn=lambda _: made))
    said = capsys.readouterr().out
    assert "with 2 ignored files of your checkout\n" in said
    assert "and 2 more: links that lead elsewhere" in said
    assert "\x1b[2J" not in said
    new.run(Told(new, "x", spawn=lambda _: MADE))
    assert "ignored file" not in capsys.readouterr().out


SHOWN = {"root": "/r", "config": "/r/c", "waiting": LINES, "accepted": [], "problems": []}


@pytest.mark.parametrize(
    ("words", "typed", "sent"),
    [
        ((), "y\n", ["d1", "d3"]),
        (("workspace.setup",), "yes\n", ["d3"]),
        (("-y",), "", ["d1", "d3"]),
        (("--json", "--yes"), "", ["d1", "d3"]),
        ((), "n\n", None),
        (("--json",), "", None),
        (("notify.command", "-y"), "", None),
    ],
)
def test_what_is_accepted_are_the_lines_that_were_shown(
    words: tuple[str, ...],
    typed: str,
    sent: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    call = Told(trust, *words, trust=lambda _: SHOWN, **{"trust.accept": lambda _: SHOWN})
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    if typed == "n\n":
        with pytest.raises(UserError, match="nothing was done"):
            trust.run(call)
    else:
        trust.run(call)
    assert [request["digests"] for verb, request in call.asked if verb == "trust.accept"] == (
        [] if sent is None else [sent]
    )
    said = capsysbinary.readouterr().out.decode()
    assert "\x1b" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize(
    ("words", "asked"),
    [((), "accept these 2 lines of /r/c? "), (("workspace.setup",), "accept this line of /r/c? ")],
)
def test_the_question_says_how_many_lines_are_accepted(
    words: tuple[str, ...],
    asked: str,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="nothing was done"):
        trust.run(Told(trust, *words, trust=lambda _: SHOWN))
    assert capsysbinary.readouterr().err.decode().startswith(asked)


def test_files_that_another_file_lists_are_said_to_come_from_there(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    line = {**WAITS, "key": "workspace.include", "digest": "d4", "value": [".env"]}
    shown = {**SHOWN, "root": str(tmp_path), "waiting": [line]}

    def said() -> str:
        trust.run(Told(trust, "-y", trust=lambda _: shown, **{"trust.accept": lambda _: shown}))
        return capsysbinary.readouterr().out.decode()

    assert ".worktreeinclude" not in said()
    (tmp_path / ".worktreeinclude").write_text(".env\n")
    assert "; what .worktreeinclude lists is among it\n" in said()


class Interrupted(Terminal):
    """A terminal on which somebody presses Ctrl-C."""

    def readline(self, *_: object) -> str:  # type: ignore[override]
        """Never gets a line."""
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stdin", "raised"), [(Interrupted(), KeyboardInterrupt), (Terminal(""), UserError)]
)
def test_who_breaks_off_at_a_question_has_the_next_line_to_themselves(
    stdin: Terminal,
    raised: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(raised):
        Told(nuke).confirm("end it?")
    assert capsysbinary.readouterr().err == b"end it? [y/N] \n"


def test_an_agent_that_is_paused_needs_the_person_and_says_why(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    agent = {
        "id": "fox", "uid": "u", "repo": "r", "parent": None, "parent_uid": None, "children": 0,
        "state": "paused", "state_age": 5.0, "goal": "count", "isolation": "box",
        "network": "host", "evidence": "paused: agent fox has spent 3.00 of 2.00 USD",
    }  # fmt: skip
    call = Told(
        home,
        agents=lambda _: [agent],
        questions=lambda _: [],
        costs=lambda _: {"total": {"usd": 0, "notional_usd": 0}},
        unfinished=lambda _: NO_CHANGES,
        **{"set-aside": lambda _: []},
    )
    home.run(call)
    above, _, _ = capsysbinary.readouterr().out.decode().partition("crew")
    assert "fox is paused: agent fox has spent 3.00 of 2.00 USD (5s)    wl resume fox\n" in above


@pytest.mark.parametrize(
    ("carried", "said"),
    [
        (
            False,
            "without your 2 uncommitted files (a, b): commit first, or start it --with-changes",
        ),
        (True, "with copies of your 2 uncommitted files (a, b), uncommitted there too"),
    ],
)
def test_who_starts_an_agent_is_told_of_edits_and_submodules_that_it_lacks(
    carried: bool,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes = {"files": 2, "names": ["a", "b"], "carried": carried, "problem": ""}
    made = {**MADE, "changes": changes, "submodules": ["lib"]}
    call = Told(new, "x", spawn=lambda _: made)
    new.run(call)
    out = capsys.readouterr().out
    assert f"  {said}\n" in out
    assert "  without its 1 submodule (lib), which your own clone has not: `git submodule" in out


FOX: dict[str, Any] = {
    "id": "fox", "uid": "u", "repo": "r", "parent": None, "parent_uid": None, "children": 0,
    "state": "stopped", "state_age": 5.0, "goal": "count", "isolation": "box", "network": "host",
    "evidence": "session 1 ended", "source": "process", "role": "worker", "branch": "agent/fox",
    "age": 9.0, "ended_at": None, "workspace": "/w", "commits": [], "branch_gone": False,
    "work": {"exists": True, "operation": None}, "error": None,
}  # fmt: skip
HALTED = {
    "id": "person:1", "kind": "merge", "status": "halted", "repo": "r", "branch": "main",
    "agents": ["fox"], "created_at": 0.0, "why": "merge of fox is halted: " + "why " * 50,
    "fix": "`wl retry fox` tries it once more",
}  # fmt: skip
NOTHING: dict[str, Callable[[dict[str, Any]], Any]] = {
    "costs": lambda _: {"total": {"usd": 0, "notional_usd": 0}},
    "questions": lambda _: [],
    "set-aside": lambda _: [],
    "unfinished": lambda _: NO_CHANGES,
}


def test_a_halted_merge_is_one_short_line_and_its_agent_is_not_to_be_resumed(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    halted = {**NOTHING, "set-aside": lambda _: [HALTED]}
    home.run(Told(home, agents=lambda _: [FOX], **halted))
    above, _, _ = capsysbinary.readouterr().out.decode().partition("crew")
    (line,) = (line for line in above.splitlines() if "fox" in line)
    assert line.startswith("  fox merge into main is halted (")
    assert line.endswith("    wl retry fox")
    assert (len(line) < 100, line.count("halted")) == (True, 1)
    elsewhere = [{**HALTED, "agents": ["owl"]}]
    other = {**NOTHING, "set-aside": lambda _: elsewhere}
    home.run(Told(home, agents=lambda _: [FOX], **other))
    assert "wl resume fox" in capsysbinary.readouterr().out.decode()


def test_a_halted_merge_is_named_where_its_agent_is(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    left: dict[str, Callable[[dict[str, Any]], Any]] = {"set-aside": lambda _: [HALTED]}
    list_.run(Told(list_, agents=lambda _: [FOX], **left))
    assert (
        "fox: merge into main is halted: wl retry fox\n" in capsysbinary.readouterr().out.decode()
    )
    kinds = ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")
    work: dict[str, Any] = {"exists": True, "operation": None, **{kind: [] for kind in kinds}}
    shown = {"agents": [{**FOX, "work": work}], "head": None, "repo": "r"}
    status.run(Told(status, "fox", status=lambda _: shown, **left))
    said = capsysbinary.readouterr().out.decode()
    assert "  merge into main is halted: `wl retry fox` tries it once more\n" in said


def test_who_asked_and_waits_for_the_answer_is_one_line(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    waits = {**FOX, "state": "waiting", "evidence": "WAITING"}
    asked = {"id": "msg-1", "repo": "r", "agent": "fox", "age": 5.0, "text": "which?"}
    home.run(Told(home, agents=lambda _: [waits], **{**NOTHING, "questions": lambda _: [asked]}))
    above, _, _ = capsysbinary.readouterr().out.decode().partition("crew")
    assert above.count("fox") == 1
    assert "fox asks (5s): which?" in above
    home.run(Told(home, agents=lambda _: [waits], **NOTHING))
    assert "fox waits (5s): WAITING" in capsysbinary.readouterr().out.decode()


def test_who_is_resumed_is_not_said_to_be_created(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    resume.run(Told(resume, "fox", resume=lambda _: {"id": "fox", "state": "creating"}))
    assert capsysbinary.readouterr().out == b"fox goes on: its session is starting\n"


def test_a_value_is_shown_in_full_with_nothing_hidden(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    trust.run(Told(trust, "-y", trust=lambda _: SHOWN, **{"trust.accept": lambda _: SHOWN}))
    said = capsysbinary.readouterr().out.decode()
    assert '  diff_tool = "e\\u001b[8mvil\\n\\u202e"\n      instead of ""\n' in said
    assert "counts in your own configuration alone" in said
    assert "agents in a box have it already" in said


@pytest.mark.parametrize("option", ["--allow-tools", "--deny-tools"])
def test_a_pattern_that_means_nothing_starts_nobody(option: str) -> None:
    call = Told(new, option, "Read,Bash(git", "x")
    with pytest.raises(UserError, match=rf"{option}: 'Bash\(git' .* not closed"):
        new.run(call)
    assert not call.asked


LEVELS = [
    {"driver": "claude", "level": "none", "why": "no `claude` on PATH", "fix": "install it"},
    {"driver": "standin", "level": "hooks", "why": "no bubblewrap", "fix": "install it"},
    {"driver": "other", "level": "hooks", "why": "no login", "fix": "make a token"},
]


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 3)])
def test_doctor_says_once_what_stands_in_the_way(
    ok: object, code: int, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    probes = [
        {"name": "claude", "works": False, "detail": "no `claude` on PATH", "fix": "install it"},
        {"name": "standin", "works": True, "detail": "1.0", "fix": ""},
    ]
    found = {"ok": ok, "needed": [], "driver": "claude", "drivers": probes, "home": "/h"}
    lacking = {"name": "bubblewrap", "works": False, "detail": "no bubblewrap", "fix": "install it"}
    isolation = {"agents": LEVELS, "probes": [lacking]}
    disk = [{"kind": "store", "path": "/h/db", "bytes": 5 << 20, "whole": False}]
    report = {**found, "isolation": isolation, "disk": disk, "sockets": "/s"}
    aside = {"kind": "spawn", "why": "the daemon died 3 times in it", "fix": "wl kill fox"}
    halted = {"kind": "merge", "why": "main was not moved", "fix": "wl retry owl"}
    left = [{**aside, "status": "set aside"}, {**halted, "status": "halted"}]
    nobodys = {"kind": "session", "subject": "wl-1-fox", "evidence": "no such", "action": "stop"}
    also = {"set-aside": lambda _: left, "repair": lambda _: [nobodys]}
    call = Told(doctor, doctor=lambda _: report, **also)
    assert doctor.run(call) == code
    above, _, below = capsysbinary.readouterr().out.decode().partition("isolation")
    assert above.count("claude (default)") == 1
    assert above.count("no `claude` on PATH") == 1
    assert "claude" not in below
    assert below.count("no bubblewrap") == 1, "once, where it was tried"
    assert "no login\n           for a box, make a token\n" in below
    assert (
        "halted\n  no  merge             main was not moved\n      wl retry owl\n"
        "set aside\n  no  spawn             the daemon died 3 times in it\n      wl kill fox\n"
        "orphans\n  no  session           wl-1-fox: no such\n      wl repair\n"
        "disk\n  store                 more than 5 MiB\n"
    ) in below


def no_change(request: dict[str, Any]) -> Any:
    """Nothing of that name was proposed."""
    raise NotFound(f"there is no change {request['change']}", "")


def test_retry_finds_what_is_meant_by_an_agent_or_an_id() -> None:
    def left(key: str, *agents: str) -> dict[str, Any]:
        return {"id": key, "kind": "merge", "agents": list(agents)}

    several = [left("person:1", "fox"), left("person:2", "fox", "foxglove"), left("daemon:3")]
    done = {"id": "person:2", "kind": "merge", "back": False}
    for wanted, meant in (("foxg", "person:2"), ("daemon", "daemon:3"), ("person:1", "person:1")):
        call = Told(retry, wanted, retry=lambda _: done, **{"set-aside": lambda _: several})
        assert retry.run(call) == 0
        assert call.asked[-1][1]["intent"] == meant
    with pytest.raises(UserError, match="fox may mean several") as refused:
        retry.run(Told(retry, "fox", **{"set-aside": lambda _: several}))
    assert "person:1, person:2" in refused.value.hint
    absent = {"why": lambda _: {"id": "owl"}, "set-aside": lambda _: several}
    with pytest.raises(NotFound, match="nothing of owl is set aside or halted"):
        retry.run(Told(retry, "owl", change=no_change, **absent))


def test_a_merge_that_will_be_refused_is_refused_before_the_question() -> None:
    checked = {"problems": ["it waits"], "gated": False}
    asked = {"why": lambda _: {"id": "api"}, "merge-check": lambda _: checked}
    with pytest.raises(Conflict, match="it waits"):
        merge.run(Told(merge, "api", **asked))


@pytest.mark.parametrize("back", [True, False])
def test_who_gives_up_a_merge_is_told_that_the_branch_stays(
    back: object, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    left = {"id": "person:1", "kind": "merge", "agents": ["fox"], "branch": "main"}
    done = {"id": "person:1", "kind": "merge", "back": back}
    words = ("fox", "--back") if back else ("fox",)
    retry.run(Told(retry, *words, retry=lambda _: done, **{"set-aside": lambda _: [left]}))
    said = capsysbinary.readouterr().out.decode()
    assert ("main stays where it is, merged or not: git log main\n" in said) == back


def agent_info(level: str, allow: list[str], deny: list[str]) -> dict[str, Any]:
    """What the daemon tells of an agent."""
    shown = dict.fromkeys(info._SHOWN)  # noqa: SLF001 - every field that is printed
    policy = {"allow": allow, "deny": deny, "yolo": False, "reading": "guided"}
    return {
        **shown,
        "id": "fox",
        "state": "waiting",
        "state_age": 1.0,
        "goal": "x",
        "sessions": [],
        "isolation": level,
        "policy": policy,
    }


@pytest.mark.parametrize("level", ["hooks", "box"])
def test_info_shows_what_an_agent_has_beyond_the_others(
    level: Any, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    given = Policy(allow=("Bash(npm test:*)",), deny=("WebFetch",))
    has = mandatory.with_mandatory(given, level=level)
    told = agent_info(level, list(has.allow), list(has.deny))
    info.run(Told(info, "fox", info=lambda _: told))
    short = capsysbinary.readouterr().out.decode().splitlines()
    assert any("guided: lines are judged" in line for line in short) == (level == "hooks")
    about = [line.split(maxsplit=1) for line in short if line.split()[0] in ("allow", "deny")]
    assert about == [
        ["allow", "Bash(npm test:*)"],
        ["allow", f"{len(has.allow) - 1} that every agent at level {level} has: see --policy"],
        ["deny", "WebFetch"],
        ["deny", f"{len(has.deny) - 1} that every agent at level {level} has: see --policy"],
    ]
    info.run(Told(info, "fox", "--policy", info=lambda _: told))
    whole = capsysbinary.readouterr().out.decode()
    assert all(pattern in whole for pattern in (*has.allow, *has.deny))
    assert "--policy" not in whole


def test_a_question_is_shown_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "which of the two databases is it to be, " * 4 + "and why?"
    asked = {"id": "msg-1", "agent": "fox", "age": 5.0, "text": text, "state": "queued"}
    call = Told(questions, questions=lambda _: [asked], whoami=lambda _: {"repo": "/r"})
    call.terminal = True
    questions.run(call)
    out = capsysbinary.readouterr().out.decode()
    assert out == f"fox asks (5s): {text}\n    wl answer msg-1 '...'\n"


@pytest.mark.parametrize("command", [drivers, doctor])
def test_the_daemon_is_told_of_our_own_choice_of_a_driver(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = {"ok": True, "needed": [], "driver": "x", "drivers": [], "home": "", "sockets": ""}
    empty = {**nothing, "isolation": {"agents": [], "probes": []}, "disk": []}
    aside: dict[str, Any] = {"set-aside": lambda _: [], "repair": lambda _: []}
    call = Told(command, drivers=lambda _: [], doctor=lambda _: empty, **aside)
    command.run(call)
    monkeypatch.setenv("WINDLASS_DRIVER", "standin")
    command.run(call)
    told = [request["driver"] for verb, request in call.asked if verb in ("doctor", "drivers")]
    assert told == [None, "standin"]


def test_a_script_is_a_file_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    asked = meant(monkeypatch, "--script", "plan.json", "x", stdin=piped_in(""))
    assert asked["script"] == str(tmp_path / "plan.json")
    with pytest.raises(UserError, match="not a regular file"):
        meant(monkeypatch, "--script", "pipe", "x", stdin=piped_in(""))
    with pytest.raises(UserError, match="no script"):
        meant(monkeypatch, "--script", "absent", "x", stdin=piped_in(""))


def test_following_the_screen_of_a_stopped_agent_ends() -> None:
    shown = {"id": "api", "live": False, "screen": "the last of it"}
    assert look.run(Told(look, "-f", "api", look=lambda _: shown)) == 0


def test_a_followed_screen_is_shown_when_it_changes_and_until_it_ends(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(look, "_PERIOD", 0.0)
    screens = iter(["one", "one", "two", "three"])

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        screen = next(screens)
        assert screen == "one" or request["agent"] == "api"
        return {"id": "api", "live": screen != "three", "screen": screen}

    assert look.run(Told(look, "-f", "ap", look=answer)) == 0
    assert capsysbinary.readouterr().out.split() == [b"one", b"two", b"three"]


def _waiting(why: Callable[[dict[str, Any]], Any], *words: str) -> Told:
    return Told(wait, *words, log=lambda _: [], why=why)


def test_who_waits_by_prefix_sees_the_agent_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once `api` has ended, the name is a prefix of another that lives on."""
    states = iter([("api", "running"), ("api", "running"), ("api-2", "running")])

    def why(_: dict[str, Any]) -> dict[str, Any]:
        name, state = next(states)
        return {"id": name, "state": state}

    def follow(_: int) -> Iterator[dict[str, Any]]:
        yield {"kind": "agent.ended"}

    monkeypatch.setattr(calls, "follow", follow)
    call = _waiting(why, "ap")
    assert wait.run(call) == 0
    assert [request["agent"] for verb, request in call.asked if verb == "why"] == [
        "ap",
        "api",
        "api",
    ]


def _no_news(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def follow(_: int) -> Iterator[dict[str, Any]]:
        yield {"kind": "other", "data": {}}
        raise error

    monkeypatch.setattr(calls, "follow", follow)


def test_waiting_ends_with_what_ended_its_news(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_news(monkeypatch, RuntimeError("no more news"))
    with pytest.raises(RuntimeError, match="no more news"):
        wait.run(_waiting(lambda _: {"id": "api", "state": "running"}, "api"))


def test_the_demo_ends_with_commands_that_any_shell_runs_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program is named by its path, and the lines have words that need quotes."""
    folder = tmp_path / "it's here"
    repo = project.make(str(folder))
    program = folder / "wl"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$WINDLASS_HOME" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("WINDLASS_HOME", str(folder / "state"))
    facts = {"seconds": 1, "commits": []}
    demo._sum_up(Told(demo), facts, repo)  # noqa: SLF001 - the end without what comes before it
    lines = [line for line in capsys.readouterr().out.splitlines() if "WINDLASS_HOME=" in line]
    said = [
        subprocess.run(["sh", "-c", line], env={}, capture_output=True, text=True, check=True)
        for line in lines
    ]
    asked = [str(folder / "state"), "-C", repo]
    assert [done.stdout.splitlines() for done in said] == [
        [*asked, "queue", "--all"],
        [*asked, "log"],
    ]


@pytest.mark.parametrize("name", ["pytest", "unittest"])
def test_the_demos_project_is_green_by_its_gates_own_commands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is copied of pytest alone, and where there is none."""
    if name == "unittest":
        monkeypatch.setattr(project, "has_pytest", lambda: False)
    repo = project.make(str(tmp_path / "it is here"))
    gate = tomllib.loads((Path(repo) / ".windlass" / "config.toml").read_text())["gate"]
    (check,) = gate["check"]
    assert name in check["run"]
    shell = {"PATH": f"{project.own_python(str(tmp_path))}{os.pathsep}{os.defpath}"}
    for line in (gate.get("setup", "true"), check["run"]):
        subprocess.run(["sh", "-c", line], cwd=repo, env=shell, capture_output=True, check=True)


def test_setup_ends_with_lines_that_make_wl_a_command() -> None:
    setup = Path(__file__).parents[2] / "scripts" / "setup"
    done = subprocess.run([setup, "next"], capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("setup:")]
    (export,) = (line for line in lines if "PATH" in line)
    (first,) = (line for line in lines if line.endswith(" demo"))
    for line in (f"{export}\nwl --version", f"{first} --help"):
        shell = {"PATH": os.defpath}
        subprocess.run(["sh", "-c", line], env=shell, capture_output=True, check=True)


def test_a_demo_that_loses_sight_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_news(monkeypatch, Unavailable("the daemon went away"))
    watching = Progress(Told(demo, log=lambda _: []), lambda _: [])
    with pytest.raises(Unavailable, match="went away"):
        watching.until_landed(["gull"])


def test_a_demo_whose_change_is_held_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    what = {"change": "c1", "branch": "agent/gull", "state": "held", "why": "no room"}

    def follow(_: int) -> Iterator[dict[str, Any]]:
        for kind in ("change.queued", "change.stopped"):
            yield {"kind": kind, "agent": None, "at": 0.0, "data": what}

    monkeypatch.setattr(calls, "follow", follow)
    watching = Progress(Told(demo, log=lambda _: []), lambda _: [])
    with pytest.raises(Internal, match="gull is held"):
        watching.until_landed(["gull"])


@pytest.mark.parametrize(
    ("words", "command", "json"),
    [
        (["a", "--", "ls", "-l"], ["ls", "-l"], False),
        (["a", "--json", "--", "ls", "--json"], ["ls", "--json"], True),
        (["--json", "a", "--", "git", "log", "--", "x"], ["git", "log", "--", "x"], True),
        (["a", "ls", "-l", "--", "x"], ["ls", "-l", "--", "x"], False),
        (["a", "--json"], [], True),
    ],
)
def test_options_before_the_dashes_are_ours(
    words: list[str], command: list[str], *, json: bool
) -> None:
    call = Told(exec_, *words)
    assert (call.args.command, call.json) == (command, json)


def test_an_option_that_is_not_ours_is_no_command() -> None:
    with pytest.raises(UserError, match="--colour"):
        Told(exec_, "a", "--colour", "--", "ls")
