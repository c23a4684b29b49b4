"""What sessions promise, asked of the real ones in tmux and of the fake ones that tests use."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sessions.conftest import until
from tests.sessions.told_programs import House
from tests.support.fake_sessions import FakeSessions

from windlass.api import peers
from windlass.core.errors import Conflict, NotFound, Unavailable
from windlass.core.sessions import OUTPUT, SCREEN, SPEC, Peer
from windlass.daemon.kernel.clock import SystemClock
from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux


@pytest.fixture(params=["tmux", "fake"])
def house(request: pytest.FixtureRequest, place: Path) -> Iterator[House]:
    """Sessions of either kind, all ended afterwards."""
    if request.param == "fake":
        yield House(FakeSessions(SystemClock()), place)
        return
    tmux: Tmux = request.getfixturevalue("tmux")
    made = House(TmuxSessions(tmux), place)
    yield made
    made.close()


def test_a_session_is_begun_and_lives_from_its_start_on(house: House) -> None:
    program = house.program()
    assert not house.sessions.begun(program.folder, program.name)
    assert house.sessions.facts(program.folder, program.name).exit_code is None
    assert not house.alive(program)
    assert house.start(program)
    assert house.sessions.begun(program.folder, program.name)
    assert house.alive(program)
    assert (program.folder / SPEC).exists()


def test_one_folder_is_one_session_ever(house: House) -> None:
    program = house.program()
    assert house.start(program)
    assert not house.start(program)
    house.ended(program)
    assert not house.start(program)
    assert not house.alive(program)
    assert house.sessions.begun(program.folder, program.name)


def test_a_name_is_taken_while_its_session_lives_and_no_longer(house: House) -> None:
    first, second = house.program(), house.program("b2")
    house.start(first)
    second.name = first.name
    with pytest.raises(Conflict):
        house.start(second)
    house.ended(first)
    assert house.start(second)
    assert house.alive(second)


@pytest.mark.parametrize(("code", "reason"), [(0, ""), (3, "no such model")])
def test_how_a_program_ended_is_known_with_the_last_words_of_one_that_failed(
    house: House, code: int, reason: str
) -> None:
    program = house.program()
    house.start(program, "headless")
    program.say("hello\nno such model\n")
    until(lambda: (program.folder / OUTPUT).exists() and (program.folder / OUTPUT).stat().st_size)
    house.ended(program, code)
    facts = house.sessions.facts(program.folder, program.name)
    assert (facts.exit_code, facts.reason) == (code, reason)
    assert facts.exited_at is not None


def test_an_end_pokes_whoever_is_to_be_woken(house: House) -> None:
    program = house.program()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wake:
        wake.bind(str(house.place / "wake"))
        wake.settimeout(10)
        house.start(program, wake=house.place / "wake")
        program.end(0)
        assert wake.recv(100) == b"session"
    assert house.sessions.facts(program.folder, program.name).exit_code == 0


def test_a_stop_leaves_nothing_and_may_come_too_early_or_twice(house: House) -> None:
    program = house.program()
    assert house.stop(program) == ()
    assert house.start(program), "a stop before the start is no start"
    program.show("here")
    until(lambda: "here" in house.terminal.capture(program.name))
    assert house.stop(program) == ()
    facts = house.sessions.facts(program.folder, program.name)
    assert (facts.alive, facts.exit_code, facts.reason) == (False, 143, "")
    assert house.stop(program) == ()


def test_a_tool_that_the_program_runs_is_seen_until_the_session_ends(house: House) -> None:
    program = house.program()
    assert house.sessions.newest_tool(program.folder) is None
    house.start(program)
    assert house.sessions.newest_tool(program.folder) is None
    program.run_sleep("1000")
    until(lambda: "sleep 1000" in (house.sessions.newest_tool(program.folder) or ""))
    house.stop(program)
    assert house.sessions.newest_tool(program.folder) is None


def test_what_a_session_holds_open_and_has_deleted_is_counted_until_it_ends(house: House) -> None:
    program = house.program()
    assert house.sessions.nameless(program.folder, on=[house.place]) == 0
    house.start(program, "headless")
    until(lambda: house.sessions.is_open(program.folder))
    assert house.sessions.nameless(program.folder, on=[house.place]) == 0
    program.hold(3 << 20)
    until(lambda: house.sessions.nameless(program.folder, on=[house.place]) == 3 << 20)
    house.stop(program)
    assert house.sessions.nameless(program.folder, on=[house.place]) == 0


def test_a_session_of_which_a_process_was_stopped_by_a_signal_is_seen_to_be(house: House) -> None:
    program = house.program()
    assert not house.sessions.is_suspended(program.folder)
    house.start(program, "headless")
    assert not house.sessions.is_suspended(program.folder)
    program.run_sleep("1000")
    until(lambda: house.sessions.newest_tool(program.folder) is not None)
    assert not house.sessions.is_suspended(program.folder)
    program.suspend()
    until(lambda: house.sessions.is_suspended(program.folder))
    house.stop(program)
    assert not house.sessions.is_suspended(program.folder)


def test_a_process_of_a_session_bears_its_mark_and_no_other_process_does(house: House) -> None:
    program, other = house.program(), house.program("b2")
    for each in (program, other):
        house.start(each, "headless")
        until(lambda each=each: house.sessions.is_open(each.folder))  # type: ignore[misc]
    assert list(house.sessions.marks(Peer(os.getpid()))) == []
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(house.place / "door"))
        door.listen()
        door.settimeout(10)
        program.connect(house.place / "door")
        connection, _ = door.accept()
        with connection:
            caller = Peer(peers.number(connection) or 0)
            assert {mark.marker for mark in house.sessions.marks(caller)} == {house.marker(program)}


def test_a_process_that_is_gone_bears_no_mark_and_is_not_taken_for_one_without(
    house: House,
) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    with pytest.raises(Unavailable, match="gone"):
        list(house.sessions.marks(Peer(gone.pid)))


def test_a_screen_shows_what_the_program_draws_and_the_log_keeps_it(house: House) -> None:
    program = house.program()
    house.start(program)
    program.show("first words")
    until(lambda: "first words" in house.terminal.capture(program.name))
    program.show("second words")
    until(lambda: "second words" in house.terminal.capture(program.name))
    assert "first words" not in house.terminal.capture(program.name)
    until(lambda: b"second words" in (program.folder / SCREEN).read_bytes())
    assert b"first words" in (program.folder / SCREEN).read_bytes()


def test_what_is_typed_is_read_and_enter_ends_a_line(house: House) -> None:
    program = house.program()
    house.start(program)
    program.show("ready")
    until(lambda: "ready" in house.terminal.capture(program.name))
    house.terminal.paste(program.name, "one", submit=True)
    until(lambda: program.received() == b"one\n")
    house.terminal.paste(program.name, "two é", submit=False)
    house.terminal.keys(program.name, "Enter")
    until(lambda: program.received() == "one\ntwo é\n".encode())


def test_a_session_that_has_ended_or_never_was_has_no_terminal(house: House) -> None:
    gone, there = house.program("gone"), house.program("there")
    house.start(there)
    house.start(gone)
    house.ended(gone)

    def is_missing(name: str) -> bool:
        try:
            house.terminal.capture(name)
        except NotFound:
            return True
        return False

    until(lambda: is_missing("gone"))
    assert is_missing("never")
    with pytest.raises(NotFound):
        house.terminal.paste("gone", "x", submit=True)
    with pytest.raises(NotFound):
        house.terminal.keys("gone", "Enter")
    assert house.terminal.alive()


def test_a_terminal_says_its_version_and_how_to_join_a_session(house: House) -> None:
    house.terminal.require_version()
    assert house.terminal.version()
    assert "a1" in " ".join(house.terminal.attach_argv("a1"))
    assert "a1" in " ".join(house.terminal.window_argv("a1"))


def test_a_headless_session_reads_its_first_words_and_then_what_is_written(house: House) -> None:
    program = house.program()
    assert not house.sessions.is_open(program.folder)
    house.start(program, "headless", stdin="first\n")
    until(lambda: house.sessions.is_open(program.folder))
    house.sessions.write(program.folder, b"second\n")
    house.sessions.write(program.folder, b"third\n")
    until(lambda: program.received() == b"first\nsecond\nthird\n")


def test_nobody_reads_what_is_written_before_the_start_or_after_the_end(house: House) -> None:
    program = house.program()
    with pytest.raises(Conflict, match="no headless session"):
        house.sessions.write(program.folder, b"x\n")
    house.start(program, "headless")
    until(lambda: house.sessions.is_open(program.folder))
    house.ended(program)
    until(lambda: not house.sessions.is_open(program.folder))
    with pytest.raises(Conflict, match="no headless session"):
        house.sessions.write(program.folder, b"x\n")


def test_a_live_session_has_a_terminal_and_no_input_to_write_to(house: House) -> None:
    program = house.program()
    house.start(program)
    assert not house.sessions.is_open(program.folder)
    with pytest.raises(Conflict):
        house.sessions.write(program.folder, b"x\n")


def test_what_a_headless_session_prints_is_appended_to_its_output(house: House) -> None:
    program = house.program()
    house.start(program, "headless")
    program.say("one\ntwo\nthr")
    path = program.folder / OUTPUT
    until(lambda: path.exists() and path.read_bytes() == b"one\ntwo\nthr")
    program.say("ee\n")
    until(lambda: path.read_bytes() == b"one\ntwo\nthree\n")


def test_what_no_signal_ends_is_named_and_lives_on_without_a_terminal(house: House) -> None:
    program = house.program()
    house.start(program)
    program.show("here")
    until(lambda: "here" in house.terminal.capture(program.name))
    with house.unkillable(program):
        assert len(house.stop(program)) > 0
        assert house.alive(program)
        assert house.sessions.facts(program.folder, program.name).exit_code is None
        with pytest.raises(NotFound):
            house.terminal.capture(program.name)
        assert len(house.stop(program)) > 0, "and so it is the next time"
    assert house.stop(program) == ()
    assert not house.alive(program)
