"""What the daemon's sockets take from who is on the other side: words, and no open files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from windlass.api import doors

_SINCE = (6, 16)


@pytest.mark.skipif(
    tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) < _SINCE
    or os.uname().sysname != "Linux",
    reason="before Linux 6.16 whoever is sent an open file has it",
)
def test_who_sends_an_open_file_along_is_refused_and_heard_without_one(tmp_path: Path) -> None:
    door = doors.bound(tmp_path / "door")
    door.listen()
    with door, socket.socket(socket.AF_UNIX) as asking, (tmp_path / "file").open("w") as file:
        asking.connect(str(tmp_path / "door"))
        taken, _ = door.accept()
        with taken:
            with pytest.raises(PermissionError):
                socket.send_fds(asking, [b"with a file"], [file.fileno()])
            asking.send(b"without")
            assert taken.recv(100) == b"without"
