"""`wl run`: on a terminal lines that move and above them what happens, and how it ends."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.cli.told import Terminal, Told

from windlass.cli import run_progress, task_view
from windlass.cli.commands import drop, run

ENDED = {"kind": "run.ended", "task": "API-1", "outcome": "landed", "commit": "c" * 40}
SEEN: dict[str, Any] = {
    "is_over": False, "tasks": [], "problem": "", "held": "", "paused": False, "events": [],
    "at": 7, "left": 0,
}  # fmt: skip


def test_what_happens_stands_above_the_line_that_moves(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """And nothing of the line stays; each look begins where the last one ended."""
    terminal, asked = Terminal(), []
    monkeypatch.setattr("sys.stderr", terminal)
    numbers = itertools.count(8)

    def wait(request: dict[str, Any]) -> dict[str, Any]:
        asked.append((request["after"], request["seconds"]))
        if len(asked) == 1:
            return {**SEEN, "at": next(numbers)}
        return {**SEEN, "at": next(numbers), "events": [ENDED], "is_over": True}

    call = Told(run, **{"runs.wait": wait})
    seen = run_progress.follow(call, SEEN)
    assert (seen["at"], asked) == (9, [(7, 1.0), (8, 1.0)])
    shown = terminal.getvalue()
    assert shown.count("0 of 0 finished") == 2
    assert shown.endswith("\r\x1b[J")
    assert "API-1     landed as cccccccccc" in shown + capsysbinary.readouterr().out.decode()


def test_no_look_is_so_long_that_several_daemons_could_die_under_it(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Also where there is no terminal: who follows a board for hours sees many daemons come."""

    def wait(request: dict[str, Any]) -> dict[str, Any]:
        assert request["seconds"] == 1.0
        return {**SEEN, "events": [ENDED], "is_over": True}

    run_progress.follow(Told(run, **{"runs.wait": wait}), SEEN)
    said = capsysbinary.readouterr()
    assert b"API-1     landed as cccccccccc" in said.out + said.err
    assert b"0 of 0" not in said.err


PREVIEW = {"target": "main", "pays": "login", "tasks": 1, "sessions": 2}


def ended(state: str, *, exhausted: bool, exit_code: int | None = None) -> dict[str, Any]:
    """Work on a board that is over, and where its only task stands."""
    visit = {"step": "execution", "result": "UNKNOWN", "iterations": 3, "exhausted": exhausted}
    visit["exit_code"] = exit_code
    task = {"task": "API-1", "state": state, "visits": [visit], "change": "", "commit": ""}
    seen = {**task, "is_over": state == "failed"}
    money = {"usd": 0.0, "notional_usd": 0.0}
    return {
        **SEEN,
        "is_over": True,
        "blocked": [],
        "failed": [],
        "tasks": [{**seen, **money, "why": "no"}],
    }


@pytest.mark.parametrize(
    ("state", "exhausted", "said", "code"),
    [
        ("failed", True, None, 12),
        ("failed", False, None, 10),
        ("failed", False, 0, 10),
        ("failed", False, 33, 33),
        ("waits", False, 33, 10),
    ],
)
def test_used_up_iterations_have_an_exit_code_of_their_own(
    state: str, exhausted: bool, said: int | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the environment says of roles goes with the request."""
    monkeypatch.setenv("WINDLASS_WORKER_MAX_TURNS", "7")
    seen = ended(state, exhausted=exhausted, exit_code=said)
    begun = {"job": "job-1", "joined": False, **PREVIEW}
    call = Told(run, runs=lambda _: seen, run=lambda _: begun)
    assert run.run(call) == code
    assert dict(call.asked)["run"]["overrides"] == ["WINDLASS_WORKER_MAX_TURNS=7"]


@pytest.mark.parametrize(
    ("failed", "said", "code"),
    [
        ([], "nothing is left to do on the board", 0),
        (["API-7"], "API-7  failed before: wl retry API-7", 10),
    ],
)
def test_a_board_without_anything_to_begin_is_done_only_where_nothing_has_failed(
    failed: list[str], said: str, code: int, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    seen = {**SEEN, "is_over": True, "blocked": [], "failed": failed, "tasks": []}
    begun = {"job": "job-1", "joined": False, **PREVIEW}
    call = Told(run, runs=lambda _: seen, run=lambda _: begun)
    assert run.run(call) == code
    shown = capsysbinary.readouterr().out.decode()
    assert said in shown
    assert "outcome" not in shown


def test_a_dry_run_says_what_it_takes_and_begins_nothing(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    call = Told(run, "--dry-run", "--tasks", "API-1", **{"run.preview": lambda _: PREVIEW})
    assert run.run(call) == 0
    assert [verb for verb, _ in call.asked] == ["run.preview"]
    said = capsysbinary.readouterr().out.decode()
    assert said == "1 task to begin, 2 sessions at least, paid by: login; it lands on main\n"


@pytest.mark.parametrize(("why", "said"), [("", "Add more"), ("c1 is held: no", "c1 is held: no")])
def test_a_task_that_waits_to_land_says_what_holds_it(
    why: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a target that is red looks like one that is slow."""
    waits = ended("waits to land", exhausted=False)["tasks"][0]
    task = {**waits, "why": why, "title": "Add more", "began_at": 0.0}
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    over = {**SEEN, "is_over": True}
    run_progress.follow(Told(run, **{"runs.wait": lambda _: over}), {**SEEN, "tasks": [task]})
    assert f"  {said}" in terminal.getvalue()


def test_a_drop_of_what_is_at_work_says_that_it_is_being_stopped(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    at_work = {**ended("works", exhausted=False)["tasks"][0], "agent": "api-1", "why": ""}
    shown = {"task": "API-1", "title": "x", "marker": "=", "waits": "", "edited": []}
    call = Told(drop, "API-1", **{"task.drop": lambda _: {**shown, "run": at_work}})
    assert drop.run(call) == 0
    assert b"it is being stopped, and marked [N] then" in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("at", "first", "later"),
    [
        ((1, 1, "work"), " (visit 1)", ""),
        ((2, 3, "work"), " (visit 2, iteration 3)", " (visit 2, iteration 3)"),
        ((1, 2, "supervisor"), " (visit 1, iteration 2, supervisor)", " (iteration 2, supervisor)"),
    ],
)
def test_a_step_that_goes_round_says_where_it_is(
    at: tuple[int, int, str], first: str, later: str
) -> None:
    doing = dict(zip(("visit", "iteration", "duty"), at, strict=True))
    assert task_view.round_of(doing) == first
    assert task_view.round_of(doing, first=False) == later
