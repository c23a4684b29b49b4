"""The board as a file: `.windlass/kanban.md` of a repository, or any file that is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from windlass.core.board import board as boards
from windlass.core.board import edits as board_edits
from windlass.core.board import parser
from windlass.core.board.board import Board
from windlass.core.errors import NotFound, UserError
from windlass.core.printable import printable_line
from windlass.project import edits, folder
from windlass.project.folder_lock import Remark

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
    return named or os.path.join(folder.find(), boards.FILE)


def read(named: str | None = None) -> BoardFile:
    """Reads a board; `-` is stdin."""
    if named == _STDIN:
        data = folder.short(sys.stdin.buffer.read(folder.LARGEST + 1), "stdin")
        return BoardFile("stdin", parser.parse(boards.text_of(data)), folder.find())
    path = path_of(named)
    if named is None and not os.path.lexists(path):
        raise NotFound(
            f"there is no board {printable_line(path)}",
            "`wl board add` makes one, with its first task",
        )
    return BoardFile(path, parser.parse(boards.text_of(folder.read(path))), folder.beside(path))


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
        return boards.bytes_of(edit(parser.parse(boards.text_of(was))))

    return edits.change(os.path.abspath(path), changed, remark=remark)
