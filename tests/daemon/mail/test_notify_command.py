"""`[notify] command`, run for real: once for each notice, few at a time, and never for ever."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

import pytest
from tests.daemon.mail.news import post
from tests.support.contexts import REPO, Turned
from tests.support.ground import until

from windlass.core.ids import Uid
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notify_command
from windlass.daemon.mail.listeners import Listeners
from windlass.store import noticeboard, rows
from windlass.store.store import Event


def configure(context: Context, command: str) -> None:
    path = context.folders.home / "config.toml"
    path.write_text(f"[notify]\ncommand = {json.dumps(command)}\n")


def failures(context: Context) -> list[Event]:
    return context.store.read(lambda c: rows.events(c, kind="notify.failed"))


class Runs:
    """Of a command that notes its begin and its end, and does not end before it may."""

    def __init__(self, context: Context) -> None:
        home = context.folders.home
        self._notes, self._go = home / "notes", home / "go"
        self._notes.touch()
        wait = f"while [ ! -e '{self._go}' ]; do sleep 0.05; done"
        configure(context, f"echo begun >>'{self._notes}'; {wait}; echo ended >>'{self._notes}'")

    def let_end(self) -> None:
        """Has those that run end, and those to come at once."""
        self._go.touch()

    def count(self, word: str) -> int:
        """How many have noted that."""
        return self._notes.read_text().split().count(word)

    def most_at_once(self) -> int:
        """How many there were at any time: what ends has noted so before the next begins."""
        steps = {"begun": 1, "ended": -1}
        return max(accumulate(steps[word] for word in self._notes.read_text().split()))


@pytest.mark.usefixtures("board")
def test_the_command_gets_each_notice_once_in_words_and_as_json(context: Context) -> None:
    got = context.folders.home / "got"
    got.mkdir()
    variables = '"$WINDLASS_NOTICE_TYPE|$WINDLASS_NOTICE_FROM|$WINDLASS_NOTICE_TEXT|$WINDLASS_REPO"'
    configure(
        context, f'f=$(mktemp "{got}/XXXXXX"); cat >"$f"; echo {variables} >>"$f"; mv "$f" "$f.ok"'
    )
    post(context, 'it\'s \0 "done"')
    post(context, "x" * 30_000)
    until(lambda: len(list(got.glob("*.ok"))) == 2, what="two runs")
    read = sorted((path.read_text() for path in got.glob("*.ok")), key=len)
    line, words = read[0].splitlines()
    assert json.loads(line)["msg"] == 'it\'s \0 "done"'
    assert words == f'complete|fox|it\'s  "done"|{context.folders.home / "shop"}'
    assert json.loads(read[1].splitlines()[0])["msg"] == "x" * 30_000
    assert failures(context) == []


@pytest.mark.usefixtures("board")
def test_a_command_that_fails_is_on_record_with_its_last_words(context: Context) -> None:
    configure(context, "seq 20; echo no bell >&2; exit 3")
    number = post(context, "news")
    until(lambda: bool(failures(context)), what="the record")
    (one,) = failures(context)
    assert (one.data["notice"], one.data["code"], one.data["how"]) == (number, 3, "ended with 3")
    assert one.data["tail"].splitlines() == [*map(str, range(14, 21)), "no bell"]


def test_a_command_that_hangs_is_ended_with_what_it_started(context: Context) -> None:
    bell = notify_command.NotifyCommand(context, limit=0.3)

    def ring(events: list[Event]) -> None:
        for event in events:
            if event.kind == "notice.posted":
                bell.ring(event)

    context.store.listen(ring)
    pids = context.folders.home / "pids"
    configure(context, f"sleep 600 & echo $! $$ >'{pids}'; wait")
    post(context, "news")
    until(lambda: bool(failures(context)), what="the record")
    assert failures(context)[0].data["how"] == "took longer than 0.3 s"
    left = [Path("/proc", pid) for pid in pids.read_text().split()]
    until(lambda: not any(path.exists() for path in left), what="the end of both")
    bell.close()


@pytest.mark.usefixtures("board")
def test_at_most_four_run_at_once_and_nobody_waits_for_them(context: Context) -> None:
    runs = Runs(context)
    for number in range(7):
        post(context, str(number))
    until(lambda: runs.count("begun") >= 4, what="four")
    assert context.store.read(lambda c: noticeboard.count_waiting(c, REPO)) == 7
    runs.let_end()
    until(lambda: runs.count("ended") == 7, what="all")
    assert runs.most_at_once() == 4


def test_a_flood_runs_no_flood_of_commands(
    context: Context, board: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify_command, "MOST_WAITING", 5)
    runs = Runs(context)
    for number in range(9):
        post(context, str(number))
    runs.let_end()
    until(lambda: runs.count("ended") + len(failures(context)) == 9, what="all")
    assert len(failures(context)) == 4
    assert "left out" in failures(context)[0].data["how"]
    board.close()
    post(context, "after the end nothing is run, and nothing breaks")


def rung(context: Context) -> list[str]:
    """What the command was told, in any order, with as many as run at once."""
    path = context.folders.home / "rung"
    return path.read_text().splitlines() if path.exists() else []


def test_an_agent_whose_state_wavers_rings_ever_more_rarely_and_what_was_left_out_is_said(
    clock: Turned, context: Context, board: Listeners
) -> None:
    configure(context, f'echo "$WINDLASS_NOTICE_TEXT" >>"{context.folders.home}/rung"')
    for number in range(200):
        post(context, f"asks {number}", agent=Uid("fox"))
    post(context, "another", agent=Uid("ann"))
    until(lambda: len(rung(context)) == 6, what="the first few, and of another agent")
    for number in range(60):
        clock.time += 60.0
        board.pulse()
        post(context, f"again {number}", agent=Uid("fox"))
    said = "asks 199 (and 194 more before it: wl log fox)"
    until(lambda: len(rung(context)) == 11, what="after 1, 3, 7, 15 and 31 minutes")
    assert said in rung(context)
    assert "again 29 (and 15 more before it: wl log fox)" in rung(context)
    until(lambda: len(failures(context)) == 5, what="the record")
    assert "194 of the same agent" in str([event.data["how"] for event in failures(context)])


def test_who_has_calmed_down_is_rung_for_at_once_again(
    clock: Turned, context: Context, board: Listeners
) -> None:
    configure(context, f'echo "$WINDLASS_NOTICE_TEXT" >>"{context.folders.home}/rung"')
    for number in range(6):
        post(context, f"asks {number}", agent=Uid("fox"))
    clock.time += 60.0
    board.pulse()
    until(lambda: len(rung(context)) == 6, what="the last, at the end of a pause")
    assert "asks 5" in rung(context)
    post(context, "later", agent=Uid("fox"))
    until(lambda: "later" in rung(context), what="a ring at once")
    assert failures(context) == []


@pytest.mark.usefixtures("board")
def test_a_repository_names_no_command(context: Context) -> None:
    project = context.folders.home / "shop" / ".windlass" / "config.toml"
    project.parent.mkdir()
    made = context.folders.home / "made"
    project.write_text(f"[notify]\ncommand = \"touch '{made}.theirs'\"\n")
    configure(context, f"touch '{made}.ours'")
    post(context, "news")
    until(lambda: Path(f"{made}.ours").exists(), what="ours")
    assert not Path(f"{made}.theirs").exists()
