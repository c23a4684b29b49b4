"""Ctrl-C, without a daemon: what is said of each verb, and what is not said."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest
from tests.support.replies import ROUTES

from windlass.cli import interrupted

_LOOKS = frozenset(
    (
        *("agents", "archives", "attachment", "config", "costs", "denials", "diff", "doctor"),
        *("drivers", "drivers.trusted", "explain.tool", "hooks.status", "inbox", "info", "listen"),
        *("candidates", "change", "change.diff", "changes", "commit", "landings", "unfinished"),
        *("gate", "init.look", "jobs", "login.offer", "uninstall.look"),
        *("log", "look", "merge-check", "message", "place", "primary", "prompt", "questions"),
        *("receipts", "repos", "roles", "set-aside", "status", "trash", "trash.show", "trust"),
        *("whoami", "why", "taken", "foreign-work", "run.preview", "runs", "task"),
    )
)
"""Nothing is told of these; `taken` says that something was read, which is asked again."""


def test_of_every_verb_that_changes_something_it_is_said_what_takes_it_back() -> None:
    asked_by_the_person = {verb for verb, route in ROUTES.items() if route.callers != "agent"}
    told = {verb for verb in asked_by_the_person if interrupted.told(verb) is not None}
    assert asked_by_the_person - told - _LOOKS == set()
    assert told & _LOOKS == set()


@pytest.mark.parametrize(
    ("verb", "request_", "said"),
    [
        ("spawn", {"name": "a1", "goal": "g"}, "`wl kill a1` takes it back"),
        ("spawn", {"name": None, "goal": "g"}, "`wl kill` takes it back"),
        ("pause", {"agent": "a1"}, "`wl resume a1` takes it back"),
        ("resume", {"agent": "a1"}, "`wl pause a1` takes it back"),
        ("note", {"agent": "a1", "text": "x"}, "`wl log a1` shows it"),
        ("pause", {"agent": "a\x1b[2J{of}"}, "`wl resume a\\x1b[2J{of}` takes it back"),
    ],
)
def test_the_agent_is_named_where_it_is_known(
    verb: str, request_: dict[str, Any], said: str
) -> None:
    assert (interrupted.told(verb, request_) or "").endswith(said)


_INTERRUPTED_AS_IT_LOADS = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "windlass.core.errors":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from windlass.__main__ import main
sys.exit(main())
"""


def test_who_interrupts_a_command_before_it_has_loaded_sees_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_AS_IT_LOADS, "version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
