"""Fixtures of the API's tests: folders of their own, and daemons that say what they are told to."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from windlass.api import places


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder with a state folder and a runtime folder, named by the environment."""
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    (folder / "rt").mkdir(mode=0o700)
    monkeypatch.setenv("WINDLASS_HOME", str(folder / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "rt"))
    for name in ("WINDLASS_SOCKET", "WINDLASS_SESSION"):
        monkeypatch.delenv(name, raising=False)
    places.settle()
    yield folder
    shutil.rmtree(folder)


class Fake:
    """Answers each connection with the bytes that it is told to, then closes it."""

    def __init__(self, answers: list[bytes]) -> None:
        self._answers = answers
        self._path = Path(places.person_socket())
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self._path))
        self._socket.listen()
        self.asked: list[bytes] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # the test is over
                return
            with connection:
                self.asked.append(connection.recv(1 << 16))
                connection.sendall(answer)

    def join(self) -> None:
        """Waits until every answer was given."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "nobody came for the rest of the answers"

    def stop(self) -> None:
        """Ends as a daemon in good order does."""
        self._path.unlink()
        self.die()

    def die(self) -> None:
        """Ends as a killed daemon does: its socket stays behind."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(60)


@pytest.fixture
def fake(short: Path) -> Iterator[Callable[..., Fake]]:
    """Makes a daemon that answers with these bytes, one connection each."""
    assert short.exists()
    made: list[Fake] = []

    def make(*answers: bytes) -> Fake:
        made.append(Fake(list(answers)))
        return made[-1]

    yield make
    for server in made:
        server.die()
