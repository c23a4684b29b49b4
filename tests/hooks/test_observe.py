from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.hooks.conftest import HOOKS, hook, raw_lines

OBSERVE = str(HOOKS / "observe.py")


def observe(
    place: Path, body: bytes, *, wake: str = "nobody"
) -> subprocess.CompletedProcess[bytes]:
    return hook("observe", str(place / "events"), str(place / wake), body=body)


def lines(place: Path) -> list[bytes]:
    return raw_lines(place / "events")


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_an_event_becomes_one_line_with_its_time_and_pokes(place: Path) -> None:
    event = {"hook_event_name": "Stop", "text": "one\ntwo ✅"}
    begun = time.time()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wake:
        wake.bind(str(place / "wake"))
        wake.settimeout(10)
        done = observe(place, json.dumps(event, indent=2).encode() + b"\r\n", wake="wake")
        assert wake.recv(100) == b"hook"
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = lines(place)
    kept = json.loads(line)
    assert kept["event"] == event
    assert begun - 1 <= kept["at"] <= time.time() + 1
    assert (place / "events").stat().st_mode & 0o777 == 0o600


def test_nobody_listening_does_not_matter(place: Path) -> None:
    assert observe(place, b"{}").returncode == 0
    assert json.loads(lines(place)[0])["event"] == {}


def test_a_daemon_that_does_not_read_delays_nothing(place: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wake:
        wake.bind(str(place / "wake"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
            filler.setblocking(False)  # noqa: FBT003 its only parameter
            with contextlib.suppress(BlockingIOError):
                while True:
                    filler.sendto(b"x" * 1000, str(place / "wake"))
        assert observe(place, b"{}", wake="wake").returncode == 0
    assert len(lines(place)) == 1


@pytest.mark.parametrize(
    "garbage", [b"not json", b'{"cut', b"\xff\xfe\x00", b'"}\n{"at": 1, "event": 2}\n']
)
def test_garbage_stays_in_its_own_line(place: Path, garbage: bytes) -> None:
    observe(place, b'{"a": 1}')
    assert observe(place, garbage).returncode == 0
    observe(place, b'{"a": 2}')
    first, odd, last = lines(place)
    assert (json.loads(first)["event"], json.loads(last)["event"]) == ({"a": 1}, {"a": 2})
    assert not is_json(odd)


def test_a_line_that_a_full_disk_cut_off_swallows_no_other(place: Path) -> None:
    (place / "events").write_bytes(b'{"at": 1.0, "event": {"hook_ev')
    observe(place, b"1")
    observe(place, b"2")
    cut, *whole = lines(place)
    assert not is_json(cut)
    assert [json.loads(line)["event"] for line in whole] == [1, 2]


def test_an_empty_event_is_null(place: Path) -> None:
    observe(place, b" \n")
    assert json.loads(lines(place)[0])["event"] is None


@pytest.mark.slow
def test_too_large_an_event_is_counted_not_kept(place: Path) -> None:
    size = (8 << 20) + 1
    assert observe(place, b"x" * size).returncode == 0
    assert json.loads(lines(place)[0])["cut"] == size
    observe(place, b'"' + b"x" * (size - 3) + b'"')
    assert len(json.loads(lines(place)[1])["event"]) == size - 3


@pytest.mark.parametrize("arguments", [[], ["/no/such/folder/events", "x"], ["/", "x"]])
def test_nothing_that_goes_wrong_fails_the_agent(arguments: list[str]) -> None:
    argv = [sys.executable, "-I", "-S", OBSERVE, *arguments]
    done = subprocess.run(argv, input=b"{}", capture_output=True, check=False, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_closed_standard_input_does_not_fail_the_agent(place: Path) -> None:
    argv = [sys.executable, "-I", "-S", OBSERVE, str(place / "events"), "x"]
    shell = ["sh", "-c", '"$@" <&-', "sh", *argv]
    assert subprocess.run(shell, check=False, timeout=20).returncode == 0


@pytest.mark.slow
def test_large_events_of_sixteen_hooks_at_once_stay_whole(place: Path) -> None:
    rounds, size = 6, 100_000
    script = 'i=0; while [ $i -lt "$1" ]; do "$2" -I -S "$3" "$4" "$5" < "$6"; i=$((i+1)); done'
    running = []
    for number in range(16):
        body = place / f"body{number}"
        body.write_text(json.dumps({"n": number, "text": chr(97 + number) * size}))
        words = [str(rounds), sys.executable, OBSERVE, str(place / "events"), "x", str(body)]
        running.append(subprocess.Popen(["sh", "-c", script, "sh", *words]))
    assert [one.wait(30) for one in running] == [0] * 16
    kept = [json.loads(line)["event"] for line in lines(place)]
    assert len(kept) == 16 * rounds
    assert all(event["text"] == chr(97 + event["n"]) * size for event in kept)


def test_only_built_in_modules_are_loaded() -> None:
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]);"
        "import observe; print(*sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(Path(OBSERVE).parent)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_socket", "errno", "event_record", "observe"]
