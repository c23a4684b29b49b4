from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.sessions.conftest import PYTHON, until

from windlass.core.errors import ConfigError, Conflict, Internal, NotFound, Unavailable
from windlass.sessions.tmux import Tmux

if TYPE_CHECKING:
    from tests.sessions.conftest import Stage

# Puts the terminal in raw mode, asks for bracketed paste, and keeps every byte it reads.
RECORDER = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"\\x1b[?2004h")
kept = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(1, b"ready")
while True:
    os.write(kept, os.read(0, 65536))
"""

AWKWARD = {
    "semicolon": "a; b;",
    "only a semicolon": ";",
    "tmux format": "#{pane_id} #(date) #S %H",
    "quotes": "'single' \"double\" `back` $HOME \\n",
    "newlines": "one\ntwo\n\nthree\n",
    "carriage return": "one\rtwo",
    "key name": "C-c",
    "another key name": "Enter",
    "dashes": "--help",
    "emoji": "done ✅ 👩‍👩‍👧 naïve Ω 漢字",
    "control characters": "\x01\x03\x04\x1a\x1b[A\x7f\t",
    "nul": "a\x00b",
    "blanks": "  \t ",
}


def recorder(stage: Stage) -> Path:
    kept = stage.file("kept")
    stage.python(RECORDER, str(kept))
    until(lambda: "ready" in stage.screen())
    return kept


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
def test_pasted_text_arrives_byte_for_byte_inside_the_bracket(stage: Stage, text: str) -> None:
    kept = recorder(stage)
    stage.sessions.tmux.paste(stage.name, text, submit=True)
    expected = b"\x1b[200~" + text.encode() + b"\x1b[201~\r"
    until(lambda: len(kept.read_bytes()) >= len(expected))
    assert kept.read_bytes() == expected


@pytest.mark.parametrize(
    "text", ["a\x1b[201~b", "a\x1b[20\x1b[201~1~b", "a\x9b201~b", "\x1b[200~ab"]
)
def test_text_cannot_end_its_own_bracket(stage: Stage, text: str) -> None:
    kept = recorder(stage)
    stage.sessions.tmux.paste(stage.name, text, submit=False)
    until(lambda: kept.read_bytes().endswith(b"\x1b[201~"))
    assert kept.read_bytes() == b"\x1b[200~ab\x1b[201~"


def test_a_long_paste_arrives_whole_and_leaves_no_buffer(stage: Stage) -> None:
    kept = recorder(stage)
    text = "".join(f"line {number} of a long text\n" for number in range(1000))
    assert len(text) > 20_000
    stage.sessions.tmux.paste(stage.name, text, submit=False)
    until(lambda: kept.read_bytes().endswith(b"\x1b[201~"))
    assert kept.read_bytes() == b"\x1b[200~" + text.encode() + b"\x1b[201~"
    assert ask(stage.sessions.tmux, "list-buffers") == ""


def test_pasting_works_while_somebody_reads_the_history(stage: Stage) -> None:
    kept = recorder(stage)
    tmux = stage.sessions.tmux
    ask(tmux, "copy-mode", "-t", f"={stage.name}:0.0")
    tmux.paste(stage.name, "x", submit=True)
    tmux.keys(stage.name, "C-c")
    until(lambda: kept.read_bytes().endswith(b"\x03"))
    assert kept.read_bytes() == b"\x1b[200~x\x1b[201~\r\x03"


def test_pasting_into_a_session_that_is_gone_says_so_and_leaves_no_buffer(stage: Stage) -> None:
    tmux = stage.sessions.tmux
    tmux.ensure()
    with pytest.raises(NotFound):
        tmux.paste("nobody", "x", submit=True)
    assert ask(tmux, "list-buffers") == ""


def test_names_are_matched_exactly_never_by_prefix(tmux: Tmux, place: Path) -> None:
    tmux.ensure()
    tmux.new("a12", ["sleep", "100"], cwd=place, columns=80, lines=24)
    with pytest.raises(NotFound):
        tmux.capture("a1")
    tmux.kill("a1")
    assert tmux.sessions() == ["a12"]


@pytest.mark.parametrize("name", ["", "a.b", "a:b", "=a", "a b", "-a", "a\n"])
def test_names_that_tmux_would_change_are_refused(tmux: Tmux, name: str) -> None:
    with pytest.raises(Internal):
        tmux.kill(name)


def test_a_taken_name_is_a_conflict(tmux: Tmux, place: Path) -> None:
    tmux.ensure()
    tmux.new("a", ["sleep", "100"], cwd=place, columns=80, lines=24)
    with pytest.raises(Conflict):
        tmux.new("a", ["sleep", "100"], cwd=place, columns=80, lines=24)


def test_neither_server_nor_pane_inherits_from_the_caller(
    tmux: Tmux, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ["CLAUDE_CODE_CHILD_SESSION", "ANTHROPIC_X", "TMUX", "TMUX_PANE", "WINDLASS_HOME"]
    for name in secrets:
        monkeypatch.setenv(name, "leak,1,2")
    tmux.ensure()
    seen = place / "seen"
    tmux.new("a", ["sh", "-c", f"env > {seen}.new; mv {seen}.new {seen}; sleep 100"],
             cwd=place, columns=80, lines=24)  # fmt: skip
    until(seen.exists)
    server = psutil.Process(tmux.server_pid()).environ()
    allowed = {"PATH", "HOME", "LANG", "SHELL", "USER", "TERM"}
    assert server.keys() <= allowed | {"PWD", "OLDPWD", "SHLVL", "_"}
    assert "leak,1,2" not in seen.read_text()


def test_the_users_configuration_is_not_read(
    tmux: Tmux, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / ".tmux.conf").write_text("set -g @theirs yes\n")
    monkeypatch.setenv("HOME", str(place))
    tmux.ensure()
    assert ask(tmux, "show-options", "-gqv", "@theirs") == ""
    assert ask(tmux, "show-options", "-gqv", "status-right") == ""


def test_a_server_without_sessions_stays(tmux: Tmux) -> None:
    tmux.ensure()
    assert tmux.sessions() == []
    assert tmux.alive()


def test_everything_says_unavailable_without_a_server(tmux: Tmux) -> None:
    assert not tmux.alive()
    for call in (tmux.sessions, lambda: tmux.capture("a"), lambda: tmux.keys("a", "Enter")):
        with pytest.raises(Unavailable):
            call()
    tmux.kill("a")
    assert not tmux.alive()


def test_the_server_starts_again_over_the_socket_of_a_killed_one(tmux: Tmux) -> None:
    tmux.ensure()
    os.kill(tmux.server_pid(), signal.SIGKILL)
    until(lambda: not tmux.alive())
    assert tmux.socket.exists()
    tmux.ensure()
    assert tmux.sessions() == []


def test_racing_starts_make_one_server(tmux: Tmux) -> None:
    code = (
        "import sys; from pathlib import Path; from windlass.sessions.tmux import Tmux;"
        "t = Tmux(Path(sys.argv[1])); t.ensure(); print(t.server_pid())"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmux.socket)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: tmux.ensure(), range(32)))
    said = [racer.communicate(timeout=20)[0].strip() for racer in racers]
    assert set(said) == {str(tmux.server_pid())}


def test_capture_shows_the_screen_the_history_and_the_colours(stage: Stage) -> None:
    stage.start("sh", "-c", "seq 100; printf '\\033[31mred\\033[0m'; sleep 100", lines=20)
    until(lambda: "red" in stage.screen())
    tmux = stage.sessions.tmux
    rows = tmux.capture(stage.name).splitlines()
    assert (rows[0], rows[-1], len(rows)) == ("82", "red", 20)
    assert tmux.capture(stage.name, scrollback=5).splitlines()[0] == "77"
    everything = tmux.capture(stage.name, scrollback=None).splitlines()
    assert everything[:2] == ["1", "2"]
    assert len(everything) == 101
    assert "\x1b[31mred" in tmux.capture(stage.name, colour=True)


def test_the_server_keeps_no_more_rows_than_it_has_memory_for(stage: Stage) -> None:
    stage.start("sh", "-c", "seq 20000; printf over; sleep 100", lines=20)
    until(lambda: "over" in stage.screen())
    assert len(stage.sessions.tmux.capture(stage.name, scrollback=None).splitlines()) <= 5020


def test_a_small_terminal_wraps_and_stays_as_it_is_seen(stage: Stage) -> None:
    stage.start("sh", "-c", f"stty size; echo {'x' * 70}; sleep 100", columns=60, lines=20)
    until(lambda: "x\n" in stage.screen())
    rows = stage.screen().splitlines()
    assert rows[:3] == ["20 60", "x" * 60, "x" * 10]


def test_attaching_gives_the_session_the_size_of_the_terminal(stage: Stage, place: Path) -> None:
    stage.start("sleep", "100")
    until(lambda: stage.facts.alive)
    tmux = stage.sessions.tmux
    user = Tmux(place / "user")
    try:
        user.ensure()
        user.new("shell", tmux.attach_argv(stage.name), cwd=place, columns=70, lines=30)
        until(lambda: ask(tmux, "display", "-p", "-t", f"={stage.name}:0.0",
                          "#{window_width} #{window_height}") == "70 29")  # fmt: skip
    finally:
        user.shutdown()


def test_a_window_of_the_users_own_tmux_attaches_though_nested(stage: Stage, place: Path) -> None:
    stage.start("sh", "-c", "echo inner; sleep 100")
    until(lambda: "inner" in stage.screen())
    user = Tmux(place / "user")
    try:
        user.ensure()
        words = " ".join(f"'{word}'" for word in stage.sessions.tmux.window_argv(stage.name))
        user.new("shell", ["sh", "-c", f"{words}; sleep 100"], cwd=place, columns=80, lines=24)
        until(lambda: "inner" in ask(user, "capture-pane", "-p", "-t", "=shell:1"))
        *_, last = ask(user, "capture-pane", "-p", "-t", "=shell:1").splitlines()
        assert f" {stage.name}   leave: C-b C-b d" in last
    finally:
        user.shutdown()


def test_the_status_line_has_the_agent_s_name_and_the_way_out(tmux: Tmux) -> None:
    """Without a tmux around it, where a C-b reaches the session at once."""
    tmux.ensure()
    tmux.new("wl-0123abcd-fox-2", ["sleep", "100"], cwd=Path("/"), columns=80, lines=24)
    line = ask(tmux, "show-options", "-gqv", "status-left")
    said = ask(tmux, "display-message", "-p", "-t", "=wl-0123abcd-fox-2:0.0", line)
    assert said.split() == ["fox-2", "leave:", "C-b", "d"]
    size = ask(tmux, "display-message", "-p", "-t", "=wl-0123abcd-fox-2:0.0", "#{pane_height}")
    assert size == "24", "who is not attached has no room taken"


def test_no_key_splits_the_window_of_an_agent(tmux: Tmux) -> None:
    tmux.ensure()
    keys = ask(tmux, "list-keys")
    assert "detach-client" in keys
    for word in ("split-window", "new-window", "swap-pane", "kill-pane", "command-prompt"):
        assert word not in "\n".join(
            line for line in keys.splitlines() if "copy-mode" not in line.split("-T")[1][:12]
        )


def test_a_socket_path_too_long_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="too long"):
        Tmux(Path("/tmp") / ("x" * 120))


@pytest.mark.parametrize(
    ("said", "fine"),
    [
        ("tmux 3.1c", False),
        ("tmux 2.9", False),
        ("tmux 3.2", True),
        ("tmux 3.2-rc3", True),
        ("tmux next-3.6", True),
        ("tmux master", True),
        ("tmux openbsd-7.1", True),
    ],
)
def test_an_old_tmux_is_refused_with_the_line_that_installs_a_new_one(
    place: Path, monkeypatch: pytest.MonkeyPatch, said: str, *, fine: bool
) -> None:
    program = place / "tmux"
    program.write_text(f"#!/bin/sh\necho {said}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(place))
    tmux = Tmux(place / "t")
    if fine:
        tmux.require_version()
        return
    with pytest.raises(ConfigError, match="too old") as caught:
        tmux.require_version()
    assert "Install tmux 3.2" in caught.value.hint


def test_a_missing_tmux_is_a_configuration_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    for call in (Tmux(place / "t").require_version, Tmux(place / "t").ensure):
        with pytest.raises(ConfigError, match="not installed"):
            call()


def test_awkward_paths_and_arguments_stay_literal(tmux: Tmux, place: Path) -> None:
    folder = place / "a;b #{pane_id} %H '"
    folder.mkdir()
    log = folder / "log;"
    tmux.ensure()
    code = "import os, sys; print(os.getcwd(), sys.argv[1:]); sys.stdin.read()"
    words = [";", "#{pane_id}", "a;", "$HOME", "'"]
    tmux.new("a", [*PYTHON, code, *words], cwd=folder, columns=200, lines=24, log=log)
    expected = f"{folder} {words}"
    until(lambda: expected in tmux.capture("a"))
    until(lambda: log.exists() and expected in log.read_text())


def test_the_log_has_the_very_first_byte(tmux: Tmux, place: Path) -> None:
    tmux.ensure()
    for number in range(20):
        log = place / f"log{number}"
        tmux.new(f"a{number}", ["sh", "-c", "echo first; cat"], cwd=place, columns=80, lines=24,
                 log=log)  # fmt: skip
    logs = [place / f"log{number}" for number in range(20)]
    until(lambda: all(log.exists() and log.read_bytes() == b"first\r\n" for log in logs))


def ask(tmux: Tmux, *words: str) -> str:
    done = subprocess.run(
        ["tmux", "-N", "-S", str(tmux.socket), *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
