"""Whatever goes wrong is said in words, safely, with an exit code."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from windlass.cli import main as entry
from windlass.cli.commands import version
from windlass.cli.index import CommandEntry
from windlass.cli.main import main
from windlass.core.errors import WindlassError

WL = (sys.executable, "-m", "windlass")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line, *WL], capture_output=True, text=True, check=False, timeout=30
    )


class Tty(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self) -> bool:
        """It is."""
        return True


def _failing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        raise error

    monkeypatch.setattr(version, "run", run)


def test_an_error_cannot_carry_escapes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(WindlassError("odd\x1b]0;owned\x07\nname", "see\x1b[2J"), monkeypatch)
    assert main(["version"]) == 1
    assert capsys.readouterr().err == "wl: odd\\x1b]0;owned\\x07\nname\n    see\\x1b[2J\n"


@pytest.mark.parametrize(("value", "red"), [(None, True), ("", True), ("1", False)])
def test_errors_are_red_unless_nobody_wants_colours(
    value: str | None, *, red: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    stream = Tty()
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["nonsense"]) == 2
    assert ("\x1b[31m" in stream.getvalue()) is red


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), KeyError("x"), ValueError("a\nb")]
)
def test_what_nobody_foresaw_is_one_line_and_a_hint(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(error, monkeypatch)
    assert main(["version"]) == 1
    line, hint = capsys.readouterr().err.splitlines()
    assert line.startswith(f"wl: {type(error).__name__}: ")
    assert "report" in hint
    assert main(["version", "-v"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert main(["version", "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "internal"


@pytest.mark.parametrize("command", ["version", "help new", "new --help", "completion bash"])
def test_a_full_disk_is_said_once(command: str) -> None:
    done = shell(f'"$0" "$@" {command} >/dev/full')
    assert done.returncode == 1
    assert done.stderr.startswith("wl: cannot write the output: No space left")
    assert done.stderr.count("\n") == 2
    assert shell(f'"$0" "$@" {command} >/dev/full 2>/dev/full').returncode == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(closed: str) -> None:
    done = shell(f'"$0" "$@" version {closed}')
    assert done.returncode == 0
    assert done.stderr == ""
    assert shell(f'"$0" "$@" nonsense {closed}').returncode == 2


def test_without_stdin_nobody_is_asked_and_nothing_is_a_goal() -> None:
    done = shell('"$0" "$@" new <&-')
    assert done.returncode == 2
    assert done.stderr.startswith("wl: an agent needs a goal")
    done = shell('"$0" "$@" trash empty <&-')
    assert done.returncode == 2
    assert "no terminal to ask on" in done.stderr


def test_a_misspelt_command_is_guessed_also_by_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge-chek"]) == 2
    assert "did you mean `wl merge-check`?" in capsys.readouterr().err
    assert main(["help", "merge-chek"]) == 8
    assert "did you mean `wl merge-check`?" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_news() -> None:
    done = shell('"$0" "$@" help --all | true; exit ${PIPESTATUS[0]}')
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_help_for_a_command_is_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "new", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "new"
    assert "--prompt-file" in told["help"]


@pytest.mark.parametrize("words", [[], ["-q"], ["-v"], ["--json"], ["-C", ".", "-q"]])
def test_options_alone_run_the_home_screen(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def command(found: CommandEntry, rest: list[str]) -> int:
        ran.append((found.name, rest))
        return 0

    monkeypatch.setattr(entry, "_command", command)
    assert main(words) == 0
    assert ran == [("home", words)]


@pytest.mark.parametrize("verb", ["list", "get"])
def test_reading_configuration_takes_no_place(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", verb, *(["driver"] if verb == "get" else []), "--global"]) == 2
    assert "--global" in capsys.readouterr().err
