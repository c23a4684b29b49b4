from __future__ import annotations

import http.client
import json
import re
import stat
from typing import TYPE_CHECKING

import pytest
from tests.sessions.conftest import Stage, until

from windlass.core.session_launch import HOOK_PORT, ReceiverSpec
from windlass.core.sessions import SPEC

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def receiver(place: Path) -> ReceiverSpec:
    """One whose port goes into two files."""
    for name in ("one", "two"):
        (place / name).write_text(f"{HOOK_PORT} and {HOOK_PORT}")
    files = tuple(str(place / name) for name in ("one", "two"))
    return ReceiverSpec(token="a-token", events=str(place / "events"), files=files)  # noqa: S106


def post(port: int, body: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/hook", body, {"Authorization": "Bearer a-token"})
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("mode", ["live", "headless"])
def test_a_session_receives_hooks_until_it_ends(
    stage: Stage, place: Path, receiver: ReceiverSpec, mode: str
) -> None:
    stage.start("sleep", "100", mode="live" if mode == "live" else "headless", receiver=receiver)
    stage.holder()
    found = re.fullmatch(r"(\d+) and \1", (place / "one").read_text())
    assert found
    assert (place / "two").read_text() == found[0]
    assert post(int(found[1]), '{"a": 1}') == b"{}"
    assert json.loads((place / "events").read_text())["event"] == {"a": 1}
    stage.stop(grace=0.2)
    with pytest.raises(ConnectionRefusedError):
        post(int(found[1]), "{}")


def test_signals_and_keys_still_reach_the_program_beside_a_receiver(
    stage: Stage, receiver: ReceiverSpec
) -> None:
    looping = "trap 'exit 9' INT; echo ready; while :; do sleep 1; done"
    stage.start("sh", "-c", looping, receiver=receiver)
    until(lambda: "ready" in stage.screen())
    stage.sessions.tmux.keys(stage.name, "C-c")
    assert stage.ended().exit_code == 9


def test_a_secret_is_in_the_programs_environment_and_in_no_file_of_ours(
    stage: Stage, place: Path
) -> None:
    (place / "key").write_text("s3cret\n\n")
    stage.start(
        *("sh", "-c", 'test "$KEY" = "s3""cret\n" && test "$A" = 1 && exit 5'),
        env={"KEY": "overridden", "A": "1"},
        secrets={"KEY": str(place / "key")},
    )
    assert stage.ended().exit_code == 5
    for path in stage.folder.iterdir():
        if stat.S_ISREG(path.lstat().st_mode):
            assert "s3cret" not in path.read_text(), path.name


def test_a_secret_that_is_missing_says_why(stage: Stage, place: Path) -> None:
    stage.start("true", secrets={"KEY": str(place / "none")})
    facts = stage.ended()
    assert facts.exit_code == 127
    assert "the value of KEY cannot be read" in facts.reason
    assert str(place / "none") in facts.reason


def test_a_secret_with_a_nul_says_why(stage: Stage, place: Path) -> None:
    (place / "key").write_bytes(b"a\0b")
    stage.start("true", secrets={"KEY": str(place / "key")})
    assert "null" in stage.ended().reason


def test_a_spec_names_the_receiver_for_the_holder(stage: Stage, receiver: ReceiverSpec) -> None:
    stage.start("true", receiver=receiver)
    stage.ended()
    spec = json.loads((stage.folder / SPEC).read_text())
    assert spec["receiver"]["program"].endswith("/hooks/receive.py")
    assert stat.S_IMODE((stage.folder / SPEC).stat().st_mode) == 0o600
