"""The board as a file: `.windlass/kanban.md` of a repository, or any file that is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from windlass.core.board import FILE, parser
from windlass.core.board import board as boards
from windlass.core.board import edits as board_edits
from windlass.core.board.board import Board
from windlass.core.errors import NotFound, UserError
from windlass.core.printable import printable_line
from windlass.project import edits, folder
from windlass.project.folder_lock import Remark

LARGEST = 2 << 20
"""Room for thousands of tasks. The daemon reads all of it at each round of a run."""
_SHORTER = "take out tasks that are done, and name them in `<!-- done: ID, ID -->`"
_STDIN = "-"


class BoardFile(NamedTuple):
    """A board, where it lies, and the folder with what belongs to it."""

    path: str
    board: Board
    folder: str

    @property
    def plans(self) -> frozenset[str]:
        """The tasks that have a plan."""
        return folder.plans(self.folder)


def path_of(named: str | None) -> str:
    """The file that is meant: the one that is named, or this repository's."""
    return named or os.path.join(folder.find(), FILE)


def read(named: str | None = None) -> BoardFile:
    """Reads a board; `-` is stdin."""
    if named == _STDIN:
        data = sys.stdin.buffer.read(LARGEST + 1)
        return BoardFile("stdin", _parsed(data, "stdin"), folder.find())
    path = path_of(named)
    if named is None and not os.path.lexists(path):
        raise NotFound(
            f"there is no board {printable_line(path)}",
            "`wl board add` makes one, with its first task",
        )
    data = folder.read(path, most=LARGEST, remedy=_SHORTER)
    return BoardFile(path, _parsed(data, path), folder.beside(path))


def change(
    named: str | None,
    edit: Callable[[Board], str],
    *,
    make: bool = False,
    remark: Remark | None = None,
) -> bool:
    """Changes a board as it is now; says whether there was anything to change."""
    if named == _STDIN:
        raise UserError("stdin cannot be written", "name a file")
    path = path_of(named)

    def changed(was: bytes | None) -> bytes:
        if was is None:
            if not make:
                raise NotFound(
                    f"there is no board {printable_line(path)}", "`wl board add` makes one"
                )
            was = board_edits.EMPTY.encode()
        return boards.bytes_of(edit(_parsed(was, path)))

    return edits.change(os.path.abspath(path), changed, remark=remark)


def _parsed(data: bytes, name: str) -> Board:
    short = folder.short(data, name, most=LARGEST, remedy=_SHORTER)
    return parser.parse(boards.text_of(short))
