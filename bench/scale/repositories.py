"""Big repositories, made and not fetched: the same bytes each time, and plain git's own times."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

_MIB = 1 << 20
_STAMP = "Tester <tester@example.invalid> 1700000000 +0000"
_FOLDER = 60
"""Files of one folder."""


class Shape(NamedTuple):
    """How big a repository is."""

    name: str
    files: int
    file_bytes: int
    history_mib: int
    """What earlier commits hold, and no checkout does."""


SEVEN = Shape("7k", files=7_085, file_bytes=4_000, history_mib=590)
FIFTY = Shape("51k", files=51_425, file_bytes=14_500, history_mib=0)


def lend(path: Path, shape: Shape, env: dict[str, str]) -> None:
    """Makes a repository of that shape, on the branch main, everything in one pack.

    It is made once for each run; git links the files of its objects.
    """
    made = _folder() / shape.name
    if not made.exists():
        _make(made, shape, env)
    subprocess.run(["git", "clone", "-q", str(made), str(path)], env=env, check=True)
    subprocess.run(["git", "remote", "remove", "origin"], cwd=path, env=env, check=True)


@cache
def _folder() -> Path:
    """Where the repositories of this run lie, until it ends."""
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _make(path: Path, shape: Shape, env: dict[str, str]) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], env=env, check=True)
    plain = ("-c", "core.compression=0", "-c", "fastimport.unpackLimit=0")
    argv = ["git", *plain, "fast-import", "--quiet"]
    with subprocess.Popen(argv, cwd=path, env=env, stdin=subprocess.PIPE) as importer:
        if importer.stdin is None:
            raise AssertionError("git reads nothing")
        for piece in _stream(shape):
            importer.stdin.write(piece)
        importer.stdin.close()
    if importer.returncode:
        raise AssertionError(f"git fast-import ended {importer.returncode}")
    subprocess.run(["git", "reset", "-q", "--hard", "main"], cwd=path, env=env, check=True)


def _stream(shape: Shape) -> Iterator[bytes]:
    """A history of big files that come and go, and then the files of today."""
    dice = Random(shape.files)  # noqa: S311 - the same bytes each time
    for number in range(shape.history_mib):
        yield _commit(f"big file {number}")
        yield _file(b"assets/big.bin", dice.randbytes(_MIB))
    yield _commit("what there is today")
    if shape.history_mib:
        yield b"D assets/big.bin\n"
    for number in range(shape.files):
        yield _file(name(number).encode(), _text(dice, shape.file_bytes))


def _commit(message: str) -> bytes:
    said = message.encode()
    return b"commit refs/heads/main\ncommitter %s\ndata %d\n%s\n" % (
        _STAMP.encode(),
        len(said),
        said,
    )


def _file(path: bytes, content: bytes) -> bytes:
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(content), content)


def _text(dice: Random, size: int) -> bytes:
    """Lines of a file: as much of it is alike as in files that people write."""
    line = b"%016x %s\n" % (dice.getrandbits(64), b"some words that are in every line")
    return (line * (size // len(line) + 1))[:size]


def name(number: int) -> str:
    """The path of a file of today."""
    return f"src/part{number // (_FOLDER * _FOLDER)}/room{number // _FOLDER}/file{number}.txt"


def change(workspace: Path, numbers: range) -> None:
    """Changes these files of today."""
    for number in numbers:
        with (workspace / name(number)).open("a") as file:
            file.write("one line more\n")


def plain(cwd: Path, env: dict[str, str], *words: str) -> Callable[[], float]:
    """Milliseconds of one run of plain git, its output thrown away."""

    def run() -> float:
        began = time.perf_counter()
        argv = ["git", *words]
        subprocess.run(argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, check=True)
        return (time.perf_counter() - began) * 1000

    return run
