"""All time of the daemon comes through its clock, which a scale makes faster."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import windlass.daemon
from windlass.core.errors import ConfigError
from windlass.core.leaks import without_leaks
from windlass.daemon.kernel import clock
from windlass.daemon.kernel.clock import SystemClock, from_variable

DAEMON = Path(windlass.daemon.__file__).parent
FORMATS = {"strftime", "strptime", "gmtime", "localtime"}
"""Functions of `time` that turn one spelling of a moment into another, where one is given."""


def calls_for_time(source: str) -> Iterator[str]:
    """The calls by which a module asks the machine for the time, or sleeps."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield f"line {node.lineno}: from time import"
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, name = ast.unparse(node.func.value), node.func.attr
        if owner == "time" and (name not in FORMATS or len(node.args) < 1 + (name == "strftime")):
            yield f"line {node.lineno}: time.{name}"
        if name == "time" and owner.endswith("loop"):
            yield f"line {node.lineno}: {owner}.time"


def test_nothing_in_the_daemon_asks_for_the_time_but_its_clock() -> None:
    found = {
        str(path.relative_to(DAEMON)): calls
        for path in DAEMON.rglob("*.py")
        if (calls := list(calls_for_time(path.read_text())))
    }
    assert set(found) == {"kernel/clock.py"}, found


@pytest.mark.parametrize(
    "line",
    ["time.time()", "time.sleep(1)", "time.localtime()", "time.strftime('%Y')", "a.loop.time()"],
)
def test_a_call_for_the_time_is_found_where_there_is_one(line: str) -> None:
    assert list(calls_for_time(f"import time\n{line}\n"))


def test_a_scale_makes_waits_shorter_and_leaves_the_wall_clock_alone() -> None:
    fast = SystemClock(1000.0)
    assert abs(fast.now() - time.time()) < 5
    began, really = fast.monotonic(), time.monotonic()
    fast.sleep(100.0)
    assert fast.monotonic() - began >= 100.0
    assert time.monotonic() - really < 50.0
    assert not threading.Event().wait(fast.real(10.0))
    assert fast.unscaled.real(10.0) == 10.0


def test_the_variable_is_a_number_from_one_on() -> None:
    assert from_variable(None).real(10.0) == 10.0
    assert from_variable("20").real(10.0) == 0.5


@pytest.mark.parametrize("text", ["fast", "0", "-3", "0.5", "nan", "inf", "1e9", "20x"])
def test_a_variable_that_is_no_scale_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ConfigError, match=r"WINDLASS_CLOCK_SCALE is .* no number from 1 to 1000"):
        from_variable(text)


def test_the_command_that_starts_the_daemon_passes_the_scale_on() -> None:
    assert without_leaks({clock.VARIABLE: "20"}) == {clock.VARIABLE: "20"}
