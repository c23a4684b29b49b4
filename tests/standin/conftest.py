from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.standin.rig import Pipes, Rig, Terminal


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.fixture
def terminal(rig: Rig) -> Iterator[Callable[..., Terminal]]:
    """Starts live sessions, and ends what is left of them."""
    started: list[Terminal] = []

    def start(*args: str, columns: int = 100, lines: int = 30) -> Terminal:
        started.append(Terminal(rig, *args, columns=columns, lines=lines))
        return started[-1]

    yield start
    for session in started:
        session.end()


@pytest.fixture
def pipes(rig: Rig) -> Iterator[Callable[..., Pipes]]:
    """Starts headless sessions that take messages, and ends what is left of them."""
    started: list[Pipes] = []

    def start(*args: str) -> Pipes:
        started.append(Pipes(rig, *args))
        return started[-1]

    yield start
    for session in started:
        if session.process.poll() is None:
            session.process.kill()
        session.process.wait()
        for pipe in (session.process.stdin, session.process.stdout):
            if pipe:
                pipe.close()
