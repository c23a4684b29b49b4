"""The command line without a daemon: help, completion, parsing, what it imports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from windlass.api import client
from windlass.cli import completion_words
from windlass.cli.commands import completion, new
from windlass.cli.index import ALL, NAMES, SHORT
from windlass.cli.main import main, parser_of

WANTED = {
    "start": "init new run",
    "see": "status look diff why log watch",
    "steer": "send answer attach",
    "end": "merge approve kill undo",
}
"""What `wl help` is to show, once it is there."""


def test_the_short_help_shows_the_verbs_of_every_day(capsys: pytest.CaptureFixture[str]) -> None:
    """In their order, those of them that there are."""
    assert main(["help"]) == 0
    shown = capsys.readouterr().out
    for purpose, names in WANTED.items():
        there = [name for name in names.split() if name in NAMES]
        assert [entry.name for entry in SHORT[purpose]] == there
        assert all(f"  {name} " in shown for name in there)


def test_all_of_the_help_shows_at_most_45_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Users count words: what few need is elsewhere, and other names are in no list."""
    assert main(["help", "--all"]) == 0
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    assert len(shown) <= 45
    assert {"show", "drop", "retry", "dev"} <= {*shown}
    for entry in ALL:
        assert not {*entry.aliases} & {*shown}, entry
    assert not {"submit", "work", "explain", "model", "jobs"} & {*shown}


@pytest.mark.parametrize("name", ["explain", "model", "jobs"])
def test_what_is_for_experts_is_below_dev_and_works_by_its_old_name(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options that every command takes may stand anywhere before it."""
    assert main(["dev"]) == 0
    assert f"  {name} " in capsys.readouterr().out
    for words in (["dev", name, "--help"], ["-q", "dev", "-q", name, "--help"], [name, "--help"]):
        assert main(words) == 0
        assert capsys.readouterr().out.startswith(f"usage: wl dev {name}")
    assert main(["dev", "nope"]) == 2
    assert "no command 'dev nope'" in capsys.readouterr().err


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
def test_every_command_explains_itself(entry: object) -> None:
    module = import_module(entry.module)  # type: ignore[attr-defined]
    text = parser_of(entry, module).format_help()  # type: ignore[arg-type]
    assert "--json" in text
    assert (module.__doc__ or "").splitlines()[0] in text.replace("\n", " ")


def test_no_two_commands_share_a_name() -> None:
    assert len(NAMES) == sum(1 + len(entry.aliases) for entry in ALL)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["me"], ["merge", "merge-check", "message"]),
        (["trash", "re"], ["restore"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["drivers", ""], ["list", "trust"]),
        (["drivers", "trust", "--f"], ["--force"]),
        (["drivers", "--j"], ["--json"]),
        (["trust", "--re"], ["--revoke"]),
        (["dev", ""], ["explain", "jobs", "lifecycle", "model"]),
        (["dev", "model", ""], ["serve"]),
        (["model", "serve", "--p"], ["--port"]),
        (["dev", "explain", ""], ["screen", "tool"]),
        (["explain", ""], ["screen", "tool"]),
        (["explain", "screen", ""], []),
        (["costs", "--by", "m"], ["mode", "model"]),
        (["costs", ""], []),
        (["config", "s"], ["set"]),
        (["config", "set", "claude.config", ""], ["inherit", "own"]),
        (["config", "set", "--global", "claude.config", "o"], ["own"]),
        (["config", "nonsense", ""], []),
        (["exec", "fox", "--", ""], []),
        (["nope", ""], []),
        (["help", "trash"], ["trash"]),
        (["merge", "--in"], ["--into"]),
    ],
)
def test_a_shell_is_offered_what_fits(typed: list[str], offered: list[str]) -> None:
    assert completion_words.offers(typed) == offered


_KNOWN = {
    "agents": [{"id": "fox", "branch": "agent/fox"}, {"id": "owl", "branch": None}],
    "candidates": {
        "candidates": [
            {"branch": "mine", "agent": None},
            {"branch": "agent/fox", "agent": "fox"},
        ]
    },
    "landings": {
        "landings": [
            {"changes": []},
            {"changes": [{"id": "c5", "undone_by": "c6"}, {"id": "c4", "undone_by": None}]},
        ]
    },
    "archives": [{"id": "old"}],
    "config": {
        "settings": {
            "driver": {"value": "claude"},
            "permissions.worker.allow": {"value": ["Read"]},
        },
    },
    "drivers": [{"name": "claude"}, {"name": "standin"}],
    "repos": [{"id": "here"}],
    "trash": [{"id": "fox-1"}],
    "unfinished": {"changes": [{"id": "c7"}], "last": {"id": "c6"}},
    "trust": {"waiting": [{"key": "isolation"}], "accepted": [{"key": "model"}]},
}


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["look", ""], ["fox", "owl"]),
        (["look", "-n", "5", "f"], ["fox"]),
        (["show", ""], ["fox", "owl", "c7", "c6", "mine"]),
        (["diff", "c"], ["c7", "c6"]),
        (["why", "c"], ["c7", "c6"]),
        (["merge", "m"], ["mine"]),
        (["merge", "x", "--needs", ""], ["c7", "c6"]),
        (["undo", ""], ["c4"]),
        (["gate", "run", ""], ["HEAD", "mine", "agent/fox"]),
        (["kill", "fox", ""], ["owl"]),
        (["kill", "--", ""], ["fox", "owl"]),
        (["reassign", "fox", ""], ["owl"]),
        (["new", ""], []),
        (["new", "--fork", ""], ["fox", "owl"]),
        (["new", "--fork", "fox", ""], []),
        (["new", "--parent", "o"], ["owl"]),
        (["new", "--driver", ""], ["claude", "standin"]),
        (["new", "--manager", ""], ["fox", "owl"]),
        (["list", "--manager", ""], ["fox", "owl"]),
        (["drivers", "trust", ""], ["claude", "standin"]),
        (["drivers", "trust", "claude", ""], []),
        (["trash", "restore", ""], ["fox-1"]),
        (["archive", "show", ""], ["old"]),
        (["trust", ""], ["isolation", "model"]),
        (["trust", "isolation", "m"], ["model"]),
        (["repo", "remove", ""], ["here"]),
        (["config", "get", ""], ["driver", "permissions.worker.allow"]),
        (["config", "get", "driver", ""], []),
        (["config", "set", "driver", "s"], ["standin"]),
        (["config", "remove", "permissions.worker.allow", ""], ["Read"]),
    ],
)
def test_a_shell_is_offered_what_the_daemon_knows(
    typed: list[str], offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(verb: str, _: object, *, timeout: float) -> object:
        del timeout
        return _KNOWN[verb]

    monkeypatch.setattr(client, "ask", ask)
    assert completion_words.offers(typed) == offered


def test_a_shell_is_offered_the_tasks_of_the_board_and_the_pipelines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where there is no board there are none, and nobody complains."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert completion_words.offers(["board", "show", ""]) == []
    (tmp_path / ".windlass").mkdir()
    board = "# Board\n\n## TASKS\n\n- [ ] **[FIX-1]** mend it\n  - Priority: HIGH\n"
    (tmp_path / ".windlass/kanban.md").write_text(board)
    assert completion_words.offers(["board", "show", ""]) == ["FIX-1"]
    assert completion_words.offers(["merge", "mine", "--task", "F"]) == ["FIX-1"]
    assert "fast" in completion_words.offers(["pipeline", "show", ""])


def _mail(id: str, at: float, **more: object) -> dict[str, object]:  # noqa: A002 - as on the wire
    to = {"from": "fox", "to": "user", "kind": "status", "state": "queued"}
    return {"id": id, "created_at": at, **to, **more}


_RECEIVED = [
    _mail("msg-0", 0.5, **{"from": "gone"}),
    _mail("msg-1", 1.0, kind="question"),
    _mail("msg-4", 4.0, **{"from": "owl"}),
    _mail("msg-5", 5.0, **{"from": "owl"}, kind="question"),
    _mail("msg-6", 6.0, **{"from": "owl"}, kind="question"),
]
"""What waits for the person; who sent the first has ended meanwhile."""
_ROLES = ("gone", "manager", "reviewer", "worker")
_SENT = [
    _mail("msg-2", 2.0, **{"from": "user"}, to="fox", state="acked"),
    _mail("msg-7", 7.0, **{"from": "user"}, to="fox"),
]


@pytest.fixture
def _mailboxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon with mail, which nobody who only completes a word may be said to have seen."""

    def ask(verb: str, request: dict[str, object], *, timeout: float) -> object:
        del timeout
        if verb == "agents":
            return [{"id": "fox", "role": "manager"}, {"id": "owl", "role": "gone"}]
        if verb == "roles":
            return [{"name": name} for name in ("manager", "worker", "reviewer")]
        if verb == "unfinished":
            return {"changes": [{"id": "c7"}]}
        if verb == "candidates":
            return {"candidates": []}
        assert verb == "inbox"
        assert "agent" not in request, "one request is enough, however many agents there are"
        if request.get("sent"):
            return list(_SENT)
        assert request["peek"], "asking for the person's own inbox changes its receipts"
        if os.environ.get("WINDLASS_SOCKET"):
            return [_mail("msg-3", 3.0, to="owl"), _mail("msg-8", 8.0, to="owl", kind="question")]
        return list(_RECEIVED)

    monkeypatch.delenv("WINDLASS_SOCKET", raising=False)
    monkeypatch.setattr(client, "ask", ask)


@pytest.mark.usefixtures("_mailboxes")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["send", ""], ["fox", "owl", "all", "children", "user", *_ROLES]),
        (["send", "fox,"], [f"fox,{n}" for n in ("owl", "all", "children", "user", *_ROLES)]),
        (["new", "--role", ""], ["manager", "worker", "reviewer"]),
        (["explain", "tool", "--role", "r"], ["reviewer"]),
        (["send", "fox,o"], ["fox,owl"]),
        (["send", "fox", ""], []),
        (["send", "fox", "--reply-to", "msg-"], ["msg-6", "msg-5", "msg-4", "msg-1", "msg-0"]),
        (["message", "show", ""], ["msg-7", "msg-6", "msg-5", "msg-4", "msg-1", "msg-0"]),
        (["message", "ack", "msg-6", ""], ["msg-5", "msg-4", "msg-1", "msg-0"]),
        (["acknowledge", ""], ["msg-6", "msg-5", "msg-4", "msg-1", "msg-0"]),
        (["ack", "msg-6", "msg-4", ""], ["msg-5", "msg-1", "msg-0"]),
        (["answer", ""], ["msg-6", "msg-5", "msg-1", "fox"]),
        (["answer", "fox", ""], []),
        (["why", ""], ["fox", "owl", "c7"]),
        (["approve", ""], ["fox", "owl", "c7"]),
        (["why", "msg-"], ["msg-7", "msg-6", "msg-5", "msg-4", "msg-1", "msg-0"]),
    ],
    ids=" ".join,
)
def test_the_person_is_offered_its_mail_roles_and_whom_to_write_to(
    typed: list[str], offered: list[str]
) -> None:
    assert completion_words.offers(typed) == offered


@pytest.mark.usefixtures("_mailboxes")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["send", "p"], ["parent"]),
        (["acknowledge", ""], ["msg-8", "msg-3"]),
        (["answer", ""], ["msg-8", "fox"]),
    ],
    ids=" ".join,
)
def test_an_agent_is_offered_its_own_mail(
    typed: list[str], offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_SOCKET", "somewhere")
    assert completion_words.offers(typed) == offered


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["send", ""], ["all", "children", "user"]),
        (["answer", ""], []),
        (["acknowledge", ""], []),
        (["why", ""], []),
    ],
    ids=" ".join,
)
def test_without_a_daemon_only_words_are_offered(
    typed: list[str], offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: object, **__: object) -> object:
        raise client.Gone

    monkeypatch.delenv("WINDLASS_SOCKET", raising=False)
    monkeypatch.setattr(client, "ask", ask)
    assert completion_words.offers(typed) == offered


def test_what_bash_is_offered_means_itself_alone_in_its_line(tmp_path: Path) -> None:
    """A line of a repository's configuration may say anything, and bash quotes nothing itself."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    hostile = ["a-b_c.d:e,f/g=h", "$(touch ran)", "`touch ran`", ";touch ran", "*", "a b", "'", "#"]
    (tmp_path / "offers").write_text("\n".join(hostile) + "\n")
    (tmp_path / "wl").write_text("#!/bin/sh\ncat offers\n")
    (tmp_path / "wl").chmod(0o755)
    script = tmp_path / "script"
    script.write_text(
        completion._BASH  # noqa: SLF001 - what `wl completion bash` prints
        + "COMP_WORDS=(./wl config remove '') COMP_CWORD=3; _windlass\n"
        + 'printf "%s\\n" "${COMPREPLY[0]}"\n'
        + 'for word in "${COMPREPLY[@]}"; do eval "printf \'%s\\n\' $word"; done\n'
    )
    done = subprocess.run(
        [bash, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [hostile[0], *hostile], done.stderr
    assert not (tmp_path / "ran").exists()


def test_options_that_every_command_takes_may_stand_before_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--json", "version"]) == 0
    assert '"version"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Read,Write", ["Read", "Write"]),
        ("Bash(git log:*), Read", ["Bash(git log:*)", "Read"]),
        ("Bash(a,b),C", ["Bash(a,b)", "C"]),
        ("", []),
    ],
)
def test_a_list_of_tools_is_split_outside_of_parentheses(text: str, parts: list[str]) -> None:
    assert new._listed(text) == parts  # noqa: SLF001 - a small rule worth its own table


def test_the_path_that_every_command_takes_imports_nothing_heavy() -> None:
    """Every one of these costs more than a whole `wl list` may."""
    heavy = {
        "msgspec",
        "sqlalchemy",
        "starlette",
        "uvicorn",
        "asyncio",
        "http",
        "psutil",
        "pathlib",
        "shutil",
        "subprocess",
        "unicodedata",
    }
    code = (
        "import sys, windlass.cli.main\n"
        "from windlass.cli.commands import home, list\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())


def test_the_reference_pages_say_what_the_code_says() -> None:
    """Mend with `make reference`."""
    script = Path(__file__).parents[2] / "scripts" / "reference"
    assert subprocess.run([sys.executable, str(script), "--check"], check=False).returncode == 0
