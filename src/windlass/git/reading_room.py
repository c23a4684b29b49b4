"""How much of a workspace's files git is given to read for one look at them.

An agent makes files of terabytes out of nothing but holes, and whoever asks what it has changed
would wait for all of them to be read.
"""

from __future__ import annotations

import os

from windlass.git import gitfiles, holes

MOST = 256 << 20
"""Bytes that are read for one look: some seconds, if git has to pack them too."""


class ReadingRoom:
    """What is left to be read in one look, and what there was no room for."""

    def __init__(self) -> None:
        self._left = MOST
        self.unread: list[bytes] = []

    def takes(self, top: bytes, name: bytes, info: os.stat_result, *, is_new: bool) -> bool:
        """Says whether a file may be read; of one that is not new, only its holes count.

        The rest of that was once committed, and git mostly knows it without reading.
        """
        size = info.st_size if is_new else 0
        if not is_new and holes.may_be_in(info):
            size = gitfiles.size_of_holes(os.fsdecode(top + b"/" + name))
        if size > self._left:
            self.unread.append(name)
            return False
        self._left -= size
        return True
