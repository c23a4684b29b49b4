from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.sessions.conftest import PYTHON, Stage, marked, until

from windlass.core.errors import Conflict
from windlass.core.printable import keep_colour, without_escapes
from windlass.core.sessions import OUTPUT
from windlass.sessions import census, record, streams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from windlass.sessions.tmux import Tmux


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_the_exit_code_is_kept(stage: Stage, script: str, code: int) -> None:
    stage.start("sh", "-c", script)
    facts = stage.ended()
    assert facts.exit_code == code
    assert facts.exited_at is not None


def test_the_child_sees_exactly_its_environment_its_marker_and_the_terminal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CODE_CHILD_SESSION", "ANTHROPIC_X", "TMUX", "TMUX_PANE"):
        monkeypatch.setenv(name, "leak")
    stage.start("sleep", "100", env={"A": "1", "ODD": "a=b;\n'é\udcff", "TERM": "xterm-kitty"})
    stage.holder()
    until(lambda: psutil.Process(stage.facts.child_pid).name() == "sleep")
    assert psutil.Process(stage.facts.child_pid).environ() == {
        "PATH": os.environ["PATH"],
        "A": "1",
        "ODD": "a=b;\n'é\udcff",
        "TERM": "tmux-256color",
        "WINDLASS_SESSION": stage.marker,
    }
    holder = psutil.Process(stage.holder()).environ()
    assert not [name for name in holder if name.startswith(("CLAUDE", "ANTHROPIC"))]


def test_the_child_has_default_signals_and_no_file_but_the_terminal(
    stages: Callable[[str], Stage],
) -> None:
    one, two = stages("one"), stages("two")
    seen = one.file("seen")
    one.start("cp", "/proc/self/status", str(seen))
    two.start("sh", "-c", "ls /proc/self/fd > $0", str(seen) + ".fds")
    one.ended()
    two.ended()
    status = dict(line.split(":", 1) for line in seen.read_text().splitlines() if ":" in line)
    # 32 and 33 are the C library's own: nobody can set them, and they are inherited as they are.
    theirs = 1 << 31 | 1 << 32
    masks = [int(status[name], 16) & ~theirs for name in ("SigBlk", "SigIgn", "SigCgt")]
    assert masks == [0, 0, 0]
    # The fourth is the folder that ls itself reads.
    assert seen.with_name(seen.name + ".fds").read_text().split() == ["0", "1", "2", "3"]


def test_nothing_of_the_session_is_readable_for_others(stage: Stage) -> None:
    stage.start("sleep", "100", env={"SECRET": "x"}, mode="headless")
    stage.holder()
    assert stat.S_IMODE(stage.folder.stat().st_mode) == 0o700
    for path in stage.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_control_c_reaches_the_child_and_leaves_the_holder(stage: Stage) -> None:
    seen = stage.file("seen")
    stage.python(
        "import signal, sys\n"
        "def tell(*_): open(sys.argv[1], 'w').close()\n"
        "signal.signal(signal.SIGINT, tell)\n"
        "print('ready', flush=True)\n"
        "while True: signal.pause()\n",
        str(seen),
    )
    until(lambda: "ready" in stage.screen())
    stage.sessions.tmux.keys(stage.name, "C-c")
    until(seen.exists)
    assert stage.facts.alive


def test_a_program_that_control_c_ends_says_130(stage: Stage) -> None:
    stage.start("sleep", "100")
    until(lambda: psutil.Process(stage.holder()).children())
    until(lambda: psutil.Process(stage.facts.child_pid).name() == "sleep")
    stage.sessions.tmux.keys(stage.name, "C-c")
    assert stage.ended().exit_code == 130


def test_a_suspended_program_is_brought_back(stage: Stage) -> None:
    stage.start("sh", "-c", "echo before; kill -STOP $$; echo after; sleep 100")
    until(lambda: "after" in stage.screen())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_holder_passes_signals_on(stage: Stage, number: signal.Signals) -> None:
    stage.start("sleep", "100")
    os.kill(stage.holder(), number)
    assert stage.ended().exit_code == 128 + number


def test_a_program_that_is_missing_says_why(stage: Stage) -> None:
    stage.start("no-such-program-anywhere", "x")
    facts = stage.ended()
    assert facts.exit_code == 127
    assert "no-such-program-anywhere" in facts.reason
    assert "No such file" in facts.reason


def test_a_working_folder_that_is_missing_says_why(stage: Stage) -> None:
    stage.start("true", cwd="/no/such/folder")
    facts = stage.ended()
    assert facts.exit_code == 127
    assert "/no/such/folder" in facts.reason


def test_the_end_pokes_the_wake_socket(stage: Stage, place: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wake:
        wake.bind(str(place / "wake"))
        wake.settimeout(10)
        stage.start("true", wake=place / "wake")
        assert wake.recv(100) == b"session"
    assert stage.facts.exit_code == 0


def test_a_wake_socket_that_nobody_reads_does_not_matter(stage: Stage, place: Path) -> None:
    stage.start("true", wake=place / "nobody")
    assert stage.ended().exit_code == 0


def test_starting_twice_starts_once_even_after_the_end(stage: Stage) -> None:
    count = stage.file("count")
    script = f"echo x >> {count}; read x"
    assert stage.start("sh", "-c", script)
    assert not stage.start("sh", "-c", script)
    stage.holder()
    assert not stage.start("sh", "-c", script)
    until(count.exists)
    stage.sessions.tmux.keys(stage.name, "Enter")
    stage.ended()
    assert not stage.start("sh", "-c", script)
    assert count.read_text() == "x\n"


def test_sixteen_threads_that_start_one_session_start_it_once(stage: Stage) -> None:
    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda _: stage.start("sleep", "100"), range(16)))
    assert said.count(True) == 1


def test_the_name_of_another_session_is_a_conflict(
    stages: Callable[[str], Stage], place: Path
) -> None:
    first, second = stages("a"), stages("b")
    first.start("sleep", "100")
    second.name = "a"
    with pytest.raises(Conflict):
        second.start("sleep", "100")
    second.name = "b"
    assert place.is_dir()


def test_the_next_session_may_take_the_name_at_once(stages: Callable[[str], Stage]) -> None:
    for number in range(10):
        one = stages(f"n{number}")
        one.name = "same"
        assert one.start("true")
        one.ended()


@pytest.mark.slow
def test_sixteen_threads_start_sessions_at_once(stages: Callable[[str], Stage], tmux: Tmux) -> None:
    crew = [stages(f"a{number}") for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda one: one.start("sh", "-c", "echo up; sleep 100"), crew))
    assert sorted(tmux.sessions()) == sorted(one.name for one in crew)
    for one in crew:
        until(lambda one=one: "up" in one.screen())  # type: ignore[misc]
    with ThreadPoolExecutor(16) as pool:
        reports = list(pool.map(Stage.stop, crew))
    assert all(report.survivors == () for report in reports)
    assert tmux.sessions() == []


def test_facts_before_the_start_say_that_nothing_lives(stage: Stage) -> None:
    facts = stage.facts
    assert (facts.alive, facts.exit_code, facts.holder_pid) == (False, None, None)


def test_a_holder_killed_hard_leaves_no_exit_code_and_stop_finds_the_strays(
    stage: Stage,
) -> None:
    stage.start("sleep", "100", mode="headless")
    os.kill(stage.holder(), signal.SIGKILL)
    facts = stage.ended()
    assert (facts.alive, facts.exit_code) == (False, None)
    assert marked(stage.marker) == [facts.child_pid]
    assert stage.stop().terminated == 1
    assert marked(stage.marker) == []


def test_a_reused_process_number_is_not_taken_for_the_holder(stage: Stage) -> None:
    stage.start("sleep", "100")
    stage.holder()
    holder = json.loads((stage.folder / record.HOLDER).read_text())
    other = stage.folder.parent / "other"
    other.mkdir()
    for change in ({"pid": 1}, {"start": holder["start"] + 1}, {"boot": "another boot"}):
        (other / record.HOLDER).write_text(json.dumps({**holder, **change}))
        assert not stage.sessions.facts(other, "other").alive, change


def test_the_death_of_the_tmux_server_ends_its_sessions(stage: Stage, tmux: Tmux) -> None:
    stage.start("sleep", "100")
    stage.holder()
    os.kill(tmux.server_pid(), signal.SIGKILL)
    assert stage.ended().exit_code == 128 + signal.SIGHUP


def test_headless_input_and_output(stage: Stage) -> None:
    code = "import sys\nfor line in sys.stdin: print('got', line, end='', flush=True)"
    stage.python(code, mode="headless")
    stage.holder()
    streams.write(stage.folder, b"one\n")
    streams.write(stage.folder, b"two\nthr")
    output = stage.folder / OUTPUT
    until(lambda: output.read_bytes() == b"got one\ngot two\n")
    streams.write(stage.folder, b"ee\n")
    until(lambda: output.read_bytes().endswith(b"got three\n"))
    until(lambda: "headless session of a1" in stage.screen())
    assert stage.facts.alive


def test_headless_errors_go_to_their_own_file(stage: Stage) -> None:
    stage.start("sh", "-c", "echo out; echo err >&2; test -t 0 || test -e /dev/tty && "
                "(: < /dev/tty) 2>/dev/null && echo tty", mode="headless")  # fmt: skip
    stage.ended()
    assert (stage.folder / OUTPUT).read_bytes() == b"out\n"
    assert (stage.folder / record.STDERR).read_bytes() == b"err\n"


def test_a_large_input_arrives_whole_and_many_writers_do_not_mix(stage: Stage) -> None:
    stage.start("cat", mode="headless")
    stage.holder()
    lines = [bytes([65 + number]) * 300_000 + b"\n" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: streams.write(stage.folder, line), lines))
    until(lambda: (stage.folder / OUTPUT).stat().st_size == sum(map(len, lines)))
    got = (stage.folder / OUTPUT).read_bytes()
    assert sorted(got.splitlines(keepends=True)) == lines


def test_input_that_is_not_read_is_kept_in_order_and_never_torn(stage: Stage) -> None:
    code = (
        "import os, sys\n"
        "os.read(0, 1)\n"
        "while not os.path.exists(sys.argv[1]): pass\n"
        "while True: os.write(1, os.read(0, 65536))"
    )
    go = stage.file("go")
    stage.python(code, str(go), mode="headless")
    stage.holder()
    first, second = b"x" + b"1" * 3_000_000 + b"\n", b"2\n"
    with pytest.raises(Conflict, match="not read"):
        streams.write(stage.folder, first, timeout=0.05)
    go.touch()
    streams.write(stage.folder, second)
    expected = (first + second)[1:]
    until(lambda: (stage.folder / OUTPUT).stat().st_size >= len(expected))
    assert (stage.folder / OUTPUT).read_bytes() == expected


def test_writing_to_a_session_that_ended_is_a_conflict(stage: Stage) -> None:
    with pytest.raises(Conflict, match="no headless session"):
        streams.write(stage.folder, b"x\n")
    stage.start("true", mode="headless")
    holder = stage.ended().holder_pid
    until(lambda: census.look(holder or 0) is None)
    with pytest.raises(Conflict, match="no headless session"):
        streams.write(stage.folder, b"x\n")


def test_weird_output_neither_breaks_the_session_nor_reaches_people(stage: Stage) -> None:
    junk = (
        "import os; os.write(1, b'\\x1b]52;c;aGk=\\x07\\x1b]0;title\\x07\\x1b[31mred\\x1b[0m'"
        " + bytes(range(128, 256)) + b'\\x1b[5;1Hplaced\\x1bPq#1~\\x1b\\\\\\x1b[?1049h end');"
        "import signal; signal.pause()"
    )
    stage.python(junk)
    until(lambda: "end" in stage.screen())
    tmux = stage.sessions.tmux
    text = without_escapes(tmux.capture(stage.name, scrollback=None, colour=True))
    assert not [char for char in text if char != "\n" and ord(char) < 32]
    assert "\x1b]" not in keep_colour(tmux.capture(stage.name, colour=True))


def test_the_person_at_the_pane_of_a_headless_session_cannot_end_it(stage: Stage) -> None:
    stage.start("sleep", "100", mode="headless")
    stage.holder()
    stage.sessions.tmux.keys(stage.name, "C-c", "C-z", "C-\\", "C-d")
    until(lambda: "^\\" in stage.screen())
    assert stage.facts.alive


def test_the_holder_starts_light(stage: Stage) -> None:
    heavy = {"json", "re", "enum", "signal", "socket", "subprocess", "pathlib", "typing"}
    code = (
        "import sys; sys.argv = ['x']; sys.path.insert(0, sys.path[0]);"
        "import importlib.machinery as m; l = m.SourceFileLoader('holder', sys.orig_argv[-1]);"
        "l.load_module(); print(*sys.modules)"
    )
    from windlass.sessions.session import HOLDER_PROGRAM  # noqa: PLC0415 only its path is used

    done = subprocess.run(
        [*PYTHON, code, str(HOLDER_PROGRAM)], capture_output=True, text=True, check=True
    )
    assert heavy & set(done.stdout.split()) == set()
    assert stage.folder.name == "a1"
