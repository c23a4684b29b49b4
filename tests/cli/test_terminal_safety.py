"""Nothing that an agent wrote acts on the person's terminal, whichever command prints it.

The daemon's answers are made up from the types that the routes declare, with an attack in every
text: names, paths, branches, subjects, goals, messages, errors.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import pytest
from tests.support.replies import ROUTES

from windlass.api import calls, notice_wait
from windlass.cli.index import ALL, HOME
from windlass.cli.main import main
from windlass.core.errors import Conflict, GitError

MARK = "spoken"
ATTACK = (
    f"{MARK}\x1b]52;c;U0VDUkVU\x07\x1b]2;taken\x1b\\\x1bPq\x1b\\\x1b_x\x1b\\\x1b[8mhid\x1b[31m"
    "\x1b[?1049h\x1b[2J\x1b[c\x9b8m\x9d0;t\x9c\x05\x08\r\x7f\u202e\udc9b"
)
PATCH = (
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old\n"
    f"+{ATTACK}\n+++ more\n@@ -9 +9 @@\n-{ATTACK}\n+x\n"
)
LINES: dict[str, list[list[str]]] = {
    "acknowledge": [["m"], ["--all"]],
    "answer": [["q", "yes"]],
    "approve": [["c1"]],
    "archive": [["list"], ["show", "a"]],
    "ask": [["what?"]],
    "block": [["c1", "no"]],
    "board": [["validate", "FILE"], ["list", "FILE"]],
    "config": [["list"], ["get", "driver"]],
    "costs": [[], ["--by", "model"]],
    "denials": [["a"], ["a", "--suggest"]],
    "diff": [["a"], ["a", "--stat"], ["c12"], ["c12", "--stat"]],
    "doctor": [[]],
    "drop": [["c1"]],
    "gate": [[], ["run"]],
    "drivers": [["list"]],
    "explain": [["tool", "FILE"], ["screen", "FILE"]],
    "home": [[]],
    "hooks": [["status"]],
    "inbox": [[], ["--sent"]],
    "info": [["a"], ["a", "--policy"], ["a", "--prompt"]],
    "init": [[], ["--accept"]],
    "interrupt": [["a"]],
    "refresh": [["a"]],
    "jobs": [[], ["--all"]],
    "kill": [["a", "--force"]],
    "lifecycle": [["check", "FILE"]],
    "list": [[], ["--all"]],
    "listen": [[]],
    "log": [[], ["a", "--follow"], ["c12"], ["--landed"]],
    "look": [["a"], ["a", "--no-color"]],
    "merge": [["a", "--force"]],
    "merge-check": [["a"]],
    "message": [["show", "m"], ["ack", "m"]],
    "new": [["goal"]],
    "note": [["text", "--agent", "a"]],
    "notify": [["text"]],
    "nuke": [["a", "--force"]],
    "path": [["a"]],
    "pause": [["a"]],
    "pipeline": [["validate", "FILE"], ["show", "FILE"]],
    "plan": [["T", "--agent"], ["T", "--agent", "--no-wait"], ["T", "--stop"]],
    "queue": [[], ["--all"]],
    "questions": [[]],
    "reassign": [["a", "b"]],
    "allow": [["a", "Read"]],
    "repo": [["list"], ["add", "."]],
    "resume": [["a"]],
    "gc": [[], ["--dry-run"]],
    "repair": [[], ["--dry-run"]],
    "retry": [[MARK], [MARK, "--back"], ["c12"]],
    "run": [[], ["--no-wait"]],
    "send": [["a", "text"]],
    "show": [["c12"], ["a"]],
    "status": [[], ["a"]],
    "submit": [["a"]],
    "trash": [["list"], ["show", "t"], ["restore", "t"], ["empty", "t", "--force"]],
    "tree": [[]],
    "trust": [[], ["--list"], ["--revoke"], ["--yes"]],
    "undo": [[]],
    "wait": [["a", "--for", "complete"]],
    "why": [["a"], ["a", "--history"], ["msg-0123456789"], ["c12"]],
    "work": [["goal"]],
}
"""Every command that prints what came from an agent, as it is called here."""
OTHERS = {
    "attach": "becomes tmux",
    "completion": "prints a text of ours",
    "daemon": "prints its own numbers, and the log, of which this module has a test",
    "dev": "prints texts of ours",
    "demo": "prints its own texts, and names through `render`",
    "estop": "prints numbers",
    "exec": "test_terminal_relay.py",
    "help": "prints texts of ours",
    "import": "test_import.py",
    "model": "is asked by the person's own sessions",
    "uninstall": "prints names through `printable_line`, and deletes: not to be run in here",
    "version": "prints a number",
}
FORGED = "00:00:00 owl agent.ended kill by the person"
WORDS = frozenset(
    ("event", "evidence", "goal", "hook", "model", "reason", "stuck", "subject", "text", "tool")
)
"""Fields that have words of an agent, which may have any number of lines."""
WHOLE = ("diff", "info", "look", "message", "plan")
"""Commands that show such words as a whole, of the one agent or task that is asked about."""
_OURS = re.compile(r"\x1b\[(?:0|1|2|3[1-6])m|\r(?:\x1b\[[0-9]+A)?\x1b\[J")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")


class Screen(io.TextIOWrapper):
    """A terminal that keeps what it was told."""

    def __init__(self) -> None:
        self.told = io.BytesIO()
        super().__init__(self.told, encoding="utf-8", errors="surrogateescape", newline="\n")

    def isatty(self) -> bool:
        """It is one."""
        return True

    def run(self, *words: str) -> int:
        """Runs `wl` on it."""
        with redirect_stdout(self), redirect_stderr(self):
            return main(list(words))

    def text(self) -> str:
        """All of it."""
        self.flush()
        return self.told.getvalue().decode(errors="surrogateescape")


Attack = Callable[[str], str]
"""The text of a field, by the field's name."""


def everywhere(_: str) -> str:
    """The attack, whatever the field is."""
    return ATTACK


def in_words(name: str) -> str:
    """A line of its own in what agents say, where that is shown in a line of ours."""
    return f"{MARK}\n{FORGED}" if name in WORDS else MARK


def filled(kind: Any, attack: Attack = everywhere, name: str = "") -> Any:
    """A value of a type, with the attack wherever there is a text."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Annotated, NotRequired):
        return filled(parts[0], attack, name)
    if origin in (Union, UnionType):
        return filled(next(part for part in parts if part is not NoneType), attack, name)
    if origin is Literal:
        return parts[0]
    if origin is list or kind is list:
        return [filled(parts[0], attack, name)]
    if origin is dict:
        return {attack(name): filled(parts[1], attack, name)}
    if hasattr(kind, "__required_keys__"):
        hints = get_type_hints(kind)
        return {field: filled(hint, attack, field) for field, hint in hints.items()}
    return {int: 1, float: 1.0, bool: True, NoneType: None}.get(kind, attack(name))


def answer(verb: str, *, attack: Attack = everywhere, **request: Any) -> Any:
    """What a daemon says whose every text is an attack."""
    reply = filled(ROUTES[verb].reply, attack)
    match verb:
        case "diff" | "change.diff":
            whole = f" x{ATTACK} | 3 ++-\n" if request.get("stat") else PATCH
            encoded = base64.b64encode(whole.encode(errors="surrogateescape")).decode()
            reply |= {"committed": encoded}
            if verb == "diff":
                reply |= {"uncommitted": encoded if request.get("stat") else ""}
        case "log":
            reply = [{**reply[0], "kind": kind, "data": data(kind, attack)} for kind in KINDS]
            reply += [{**reply[0], "kind": attack("event"), "data": data("x.y", attack)}]
        case "why" if "home" in request or "history" not in request:
            reply |= {"state": "complete"}
        case "plan.wait":
            reply["run"] |= {"state": "planned"}
        case "trash.show":
            reply["contents"] = CONTENTS
        case "inbox" | "receipts":
            reply = [{**message, "state": "delivered"} for message in reply]
    return reply


KINDS = (
    *("change.queued", "change.landed", "change.stopped"),
    *("agent.state", "agent.created", "agent.merged", "agent.ended", "note", "x.y"),
)
CONTENTS = {
    "commits": [{"oid": "0" * 40, "subject": ATTACK}],
    "stashes": [{"oid": "0" * 40, "message": ATTACK}],
    "changes": [{"letter": "M", "path": ATTACK}],
    "nested": [ATTACK],
    "dropped": [{"path": ATTACK, "reason": "size", "size": 1}],
}


def data(kind: str, attack: Attack) -> dict[str, Any]:
    """What an event of a kind carries."""
    names = ("was", "now", "source", "evidence", "parent", "role", "base_from", "goal", "into")
    more = ("commit", "verdict", "how", "by", "text", "sender", "branch", "target", "state", "why")
    if kind != "x.y":
        return {name: attack(name) for name in (*names, *more, "revision")}
    return {"thing": attack("text"), "things": [attack("text")]}


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """The person's terminal, on which everything is printed, and a hostile daemon behind it."""
    made = Screen()
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("WINDLASS_SOCKET", "WINDLASS_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(calls, "ask", answer)
    monkeypatch.setattr(calls, "follow", lambda *_, **__: iter(answer("log")))
    line = json.dumps({"msg": ATTACK}, ensure_ascii=False)
    notices = {"notices": [{"number": 1, "line": line}], "why": ""}
    monkeypatch.setattr(notice_wait, "wait", lambda *_: notices)
    return made


def require_harmless(text: str, *, colours: re.Pattern[str] = _OURS) -> None:
    """Refuses whatever would tell a terminal something that we did not."""
    acting = [line for line in colours.sub("", text).split("\n") if _ACTING.search(line)]
    assert acting == []
    assert not re.search(r"\x1b\[(?:[0-9;]*;)?8m", text)
    assert colours is not _OURS or "hid\x1b" not in text, "a colour that is not ours"


def test_every_command_is_tried_or_is_known_to_print_nothing_of_agents() -> None:
    assert {*LINES, *OTHERS} == {entry.name for entry in (*ALL, HOME)}
    assert not {*LINES} & {*OTHERS}


@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, lines in LINES.items() for words in lines]
)
def test_nothing_of_an_agents_acts_on_the_terminal(
    screen: Screen, tmp_path: Path, name: str, words: list[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(ATTACK.encode(errors="surrogateescape"))
    line = [str(file) if word == "FILE" else word for word in words]
    screen.run(*([name] if name != "home" else []), *line)
    text = screen.text()
    assert text
    require_harmless(text, colours=_COLOUR if name == "look" else _OURS)


@pytest.mark.parametrize(
    ("name", "words"),
    [(name, words) for name, lines in LINES.items() if name not in WHOLE for words in lines],
)
def test_no_agent_adds_a_line_of_its_own_to_what_is_listed(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, words: list[str]
) -> None:
    """It would be read as ours, about somebody else."""
    listed = partial(answer, attack=in_words)
    monkeypatch.setattr(calls, "ask", listed)
    monkeypatch.setattr(calls, "follow", lambda *_, **__: iter(listed("log")))
    file = tmp_path / "file"
    file.write_text("{}")
    line = [str(file) if word == "FILE" else word for word in words]
    screen.run(*([name] if name != "home" else []), *line)
    text = _OURS.sub("", screen.text())
    assert text
    assert [line for line in text.split("\n") if line.startswith(FORGED)] == []


@pytest.mark.parametrize(
    "name", ["status", "diff", "log", "list", "info", "message", "plan", "why"]
)
def test_what_an_agent_wrote_is_shown_all_the_same(screen: Screen, name: str) -> None:
    screen.run(name, *LINES[name][0])
    assert f"{MARK}\\x1b]52;c;" in screen.text()


@pytest.mark.parametrize("option", [[], ["--json"]])
@pytest.mark.parametrize("kind", [Conflict, GitError, RuntimeError])
def test_nothing_in_an_error_acts_on_the_terminal(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, kind: type[Exception], option: list[str]
) -> None:
    def fail(verb: str, **_: Any) -> Any:
        raise kind(f"{verb}: {ATTACK}", ATTACK) if kind is not RuntimeError else kind(ATTACK)

    monkeypatch.setattr(calls, "ask", fail)
    assert screen.run("list", *option) != 0
    assert MARK in screen.text()
    require_harmless(screen.text())


@pytest.mark.parametrize("name", [name for name in LINES if name not in ("listen", "explain")])
def test_json_escapes_what_would_act(screen: Screen, name: str) -> None:
    screen.run(*([name] if name != "home" else []), *LINES[name][0], "--json")
    require_harmless(screen.text())


def test_a_patch_is_coloured_by_us_and_by_what_it_is(screen: Screen) -> None:
    screen.run("diff", "a")
    lines = screen.text().split("\n")
    assert "\x1b[1m--- a/x\x1b[0m" in lines
    assert "\x1b[36m@@ -1 +1,2 @@\x1b[0m" in lines
    assert "\x1b[31m-old\x1b[0m" in lines
    assert "\x1b[32m+++ more\x1b[0m" in lines, "a line of the file, not of the head"


def test_a_patch_for_programs_is_byte_for_byte(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(calls, "ask", answer)
    main(["diff", "a"])
    heading, patch, last = capsysbinary.readouterr().out.partition(b"diff --git")
    assert heading.startswith(b"# committed")
    assert (patch + last).startswith(PATCH.encode(errors="surrogateescape") + b"# not committed")
    main(["path", "a"])
    assert capsysbinary.readouterr().out == f"{ATTACK}\n".encode(errors="surrogateescape")


def test_a_pager_is_given_nothing_that_acts(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LINES", "3")
    monkeypatch.setenv("PAGER", f"cp /dev/stdin {tmp_path}/shown")
    screen.run("diff", "a")
    assert "@@" not in screen.text()
    shown = (tmp_path / "shown").read_bytes().decode(errors="surrogateescape")
    assert MARK in shown
    require_harmless(shown)


def test_the_daemons_log_acts_on_no_terminal(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path))
    (tmp_path / "daemon.log").write_bytes(f"{ATTACK}\n".encode(errors="surrogateescape"))
    screen.run("daemon", "logs")
    assert MARK in screen.text()
    require_harmless(screen.text())
