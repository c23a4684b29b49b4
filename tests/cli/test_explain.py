"""`wl explain screen`: judged here, without a daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCREENS = Path(__file__).parents[1] / "core" / "claude" / "screens" / "captures"


def wl(*words: str, stdin: bytes = b"", folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Runs the command with a state folder that no daemon may appear in."""
    env = {**os.environ, "WINDLASS_HOME": str(folder / "state"), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "windlass", *words],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env=env,
    )


def test_people_get_one_line_with_state_rule_and_evidence(tmp_path: Path) -> None:
    done = wl("explain", "screen", str(SCREENS / "20-permission-bash.txt"), folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.decode() == "asking  dialog-permission  Do you want to proceed? / 1. Yes\n"


def test_programs_get_an_object(tmp_path: Path) -> None:
    file = str(SCREENS / "43-rate-limited-429-retrying.txt")
    seen = json.loads(wl("explain", "screen", file, "--json", folder=tmp_path).stdout)
    assert (seen["state"], seen["rule"]) == ("rate_limited", "api-retrying")
    assert "Retrying in 18s" in seen["evidence"]
    assert seen["retry_after"] == 18


def test_a_dash_reads_stdin_and_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    data = b"\xff\xfe\x00 odd \x80\n" + (SCREENS / "22-complete-goal.txt").read_bytes()
    done = wl("explain", "screen", "-", "--json", stdin=data, folder=tmp_path)
    assert json.loads(done.stdout)["state"] == "complete"


def test_no_daemon_is_started(tmp_path: Path) -> None:
    assert wl("explain", "screen", "-", folder=tmp_path).stdout.startswith(b"creating  ")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("file", "code", "words"),
    [("missing.txt", 8, "no file"), (".", 2, "is a folder"), ("loop", 2, "cannot read")],
)
def test_what_cannot_be_read_is_said_clearly(
    file: str, code: int, words: str, tmp_path: Path
) -> None:
    if file == "loop":  # a link to itself can be read by nobody, not even by root
        (tmp_path / "loop").symlink_to("loop")
    done = wl("explain", "screen", str(tmp_path / file), folder=tmp_path)
    assert done.returncode == code
    assert words in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_what_to_explain_must_be_said(tmp_path: Path) -> None:
    done = wl("explain", folder=tmp_path)
    assert done.returncode == 2
    assert b"screen" in done.stderr
