"""News between agents as they work: managers are woken by it, and people who leave are told."""

from __future__ import annotations

import itertools
import os
import pty
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import WL, Ground, grounded, until

pytestmark = pytest.mark.slow
STAY = {"text": "WAITING"}
DONE = {"text": "All is there.\n\nI HAVE COMPLETED THE GOAL"}
_names = itertools.count()


@pytest.fixture(scope="module")
def shared() -> Iterator[Ground]:
    """One daemon for all of them."""
    with grounded() as made:
        made.unbox()
        made.wl("config", "set", "nudges.uncommitted", "true", "--global").ok()
        yield made


def bash(command: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}}


def name(word: str) -> str:
    """A name that no other test has."""
    return f"{word}{next(_names)}"


def lead_of(shared: Ground, lead: str, *turns: Any, on: list[Any]) -> Path:
    """Starts a manager that plays these, and waits until it waits."""
    script = shared.script(lead, *turns, on=on)
    made = shared.wl(
        *("new", "--manager", "--driver", "standin", "--name", lead, "--script", script),
        *("--json", "lead them"),
    )
    shared.wait(lead, states="waiting")
    return Path(made.ok().json()["workspace"])


def test_a_manager_is_woken_by_its_worker_s_completion_and_merges_it(shared: Ground) -> None:
    lead, hand = name("lead"), name("hand")
    merge = {"match": "has completed its goal", "turns": [bash(f"wl merge {hand} --force"), DONE]}
    place = lead_of(shared, lead, STAY, on=[merge])
    work = bash("echo x >made.txt && git add . && git commit -qm made")
    shared.new(hand, work, DONE, flags=["--parent", lead])
    shared.wait(lead, states="complete")
    assert (place / "made.txt").exists()
    (told,) = shared.ask("inbox", agent=lead, all=True)
    assert (told["from"], told["state"]) == ("windlass", "read")
    assert f"{hand} has completed its goal.\nIts last words:\n> All is there." in told["text"]
    assert hand not in {one["id"] for one in shared.agents()}


def test_a_manager_that_calls_it_done_too_early_is_told_who_is_at_work(shared: Ground) -> None:
    lead, hand = name("lead"), name("hand")
    heard = {"match": f"but {hand} is running", "turns": [bash("touch heard"), STAY]}
    turns = (bash("true"), STAY, {"await": "message"}, DONE)
    place = lead_of(shared, lead, *turns, on=[heard])
    go = bash("until [ -e go ]; do sleep 0.1; done")
    below = shared.new(hand, go, DONE, flags=["--parent", lead])
    shared.wait(hand, states="running")
    shared.wl("send", lead, "how far are you?").ok()
    until((place / "heard").exists, within=40, what="what the manager was told")
    said = f"Manager {lead} has completed its goal, but {hand} is"

    def is_noticed() -> bool:
        found = shared.ask("listen", route="listen", listener="test", timeout=0)["notices"]
        return any(said in notice["line"] for notice in found)

    # While it is so: of a manager whose workers are done there is nothing of the kind to tell.
    until(is_noticed, what="the notice of it")
    (below / "go").touch()
    shared.wait(hand, states="complete")


def test_who_leaves_a_session_in_its_terminal_is_told_what_is_not_committed(
    shared: Ground,
) -> None:
    fox = name("fox")
    shared.new(fox, bash("echo x >precious.txt"), STAY)
    shared.wait(fox, states="waiting")
    ours, theirs = pty.openpty()
    joined = subprocess.Popen(
        [WL, "attach", fox],
        cwd=shared.folder / "repo",
        env={**shared.env, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen = Screen(ours)
    screen.shows("WAITING")
    os.write(ours, b"/exit\r")
    screen.shows(f"{fox} was ended with 1 uncommitted file: wl resume {fox}, or wl kill {fox}")
    assert joined.wait(20) == 0
    os.close(ours)
    until(lambda: shared.state_of(fox) == "stopped", what="its end")
    kinds = [event["kind"] for event in shared.events(fox)]
    assert {"work.uncommitted", "notice.posted"} <= set(kinds)


class Screen:
    """The other end of a terminal, read so that nobody who writes there is held up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = ""

    def shows(self, text: str) -> None:
        """Returns when that was written there."""
        until(lambda: text in self._read(), within=30, what=repr(text))

    def _read(self) -> str:
        if select.select([self._descriptor], [], [], 0.2)[0]:
            try:
                self._seen += os.read(self._descriptor, 65536).decode(errors="replace")
            except OSError:  # who wrote there is gone
                return self._seen
        return self._seen
