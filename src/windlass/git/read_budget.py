"""How much of a workspace's files git is given to read for one look at them.

An agent makes files of terabytes out of nothing but holes, and whoever asks what it has changed
would wait for all of them to be read.
"""

from __future__ import annotations

import os
import stat

from windlass.git import gitfiles, holes, shared_files

MOST = 256 << 20
"""Bytes that are read for one look: some seconds, if git has to pack them too."""
MOST_NEW = 5_000
"""New files that are read for one look: git makes an object of each, a second for so many."""


class ReadingRoom:
    """What is left to be read in one look, and what there was no room for."""

    def __init__(self) -> None:
        self._left = MOST
        self._new_left = MOST_NEW
        self._holes: dict[shared_files.Key, int] = {}
        self.unread: list[bytes] = []

    def takes(self, top: bytes, name: bytes, info: os.stat_result, *, is_new: bool) -> bool:
        """Says whether a file may be read; of one that is not new, only its holes count.

        The rest of that was once committed, and git mostly knows it without reading.
        """
        size = info.st_size if is_new else self._size_of_holes(top, name, info)
        if size > self._left or (is_new and not self._new_left):
            self.unread.append(name)
            return False
        self._left -= size
        self._new_left -= is_new
        return True

    def _size_of_holes(self, top: bytes, name: bytes, info: os.stat_result) -> int:
        if not stat.S_ISREG(info.st_mode) or not holes.may_be_in(info):
            return 0
        if not self._left:
            return info.st_size  # whatever is in it, there is no room
        key = shared_files.key(info)
        if key in self._holes:
            return self._holes[key]
        size = gitfiles.size_of_holes(os.fsdecode(top + b"/" + name))
        if key:
            self._holes[key] = size
        return size
