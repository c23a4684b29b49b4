"""What a tree of git cannot say of a workspace's files and folders, and a salvage keeps beside it.

Owns permissions, names that are one file, and extended attributes. The rights that a program has by
whoever owns its file (setuid, setgid) are not kept: files come back as those of the user that runs
Windlass, and an agent in a box could have everybody here act as that one.
"""

from __future__ import annotations

import collections
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from windlass.git import attributes
from windlass.git.attributes import Attributes
from windlass.git.descent import Descent, is_exchanged, opened_before, permissions
from windlass.git.manifest import Dropped, Manifest, few
from windlass.git.shared_files import SharedNames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windlass.git.survey import Survey
    from windlass.git.walk import WalkEntry

FILES = "files"
"""The part of a salvage that is a tree."""
_OTHERS_RIGHTS = stat.S_ISUID | stat.S_ISGID
FILE_RIGHTS = 0o7777 & ~_OTHERS_RIGHTS
"""The permissions of a file that it gets again."""
FOLDER_RIGHTS = 0o7777
"""Those of a folder: nobody runs it, and what is new in it is at most its group's."""


class Properties:
    """Those of one workspace, gathered while its files are kept."""

    def __init__(self) -> None:
        self.names = SharedNames()
        self._attributes = Attributes()
        self._unkept: list[Dropped] = []

    def take(self, handle: int, path: bytes) -> None:
        """Keeps the attributes of an open file or folder."""
        if listed := attributes.names(handle):
            shown = os.fsdecode(path)
            if why := self._attributes.take(handle, shown, listed):
                self._unkept.append(Dropped(path=shown, reason=why))

    def take_folders(self, descent: Descent, folders: Iterable[WalkEntry]) -> None:
        """Keeps the attributes of folders, and of the one that they are in."""
        self.take(descent.open(()), b"")
        for entry in folders:
            try:
                self.take(descent.open(entry.path.split(b"/")), entry.path)
            except OSError as error:
                if not is_exchanged(error):
                    raise

    def add(self, entry: WalkEntry) -> None:
        """Takes notice of a file or link that is kept in the tree."""
        if entry.info.st_nlink < 2 and not entry.info.st_mode & _OTHERS_RIGHTS:
            return
        shown = os.fsdecode(entry.path)
        self.names.add(entry.info, shown, part=FILES)
        if entry.kind == "file" and (why := not_kept(entry.info.st_mode)):
            self._unkept.append(Dropped(path=shown, reason=why))

    def dropped(self) -> list[Dropped]:
        """Lists what is not kept, once all is there."""
        return few(self._unkept) + self.names.dropped()

    def written(self, about: Manifest, survey: Survey) -> Manifest:
        """Writes down what is kept."""
        files = [entry for entry in survey.files if entry.kind == "file"]
        plain = [entry for entry in files if not entry.info.st_mode & 0o100]
        executable = [entry for entry in files if entry.info.st_mode & 0o100]
        usual, odd = _usual(plain, 0o644)
        usual_exec, odd_exec = _usual(executable, 0o755)
        usual_folder, odd_folders = _usual(survey.folders, 0o755)
        return msgspec.structs.replace(
            about,
            file_mode=usual,
            exec_mode=usual_exec,
            modes=odd | odd_exec,
            subfolder_mode=usual_folder,
            subfolder_modes=odd_folders,
            links=self.names.groups(FILES),
            attributes=self._attributes.kept,
        )


def not_kept(mode: int) -> str:
    """Says which rights of a file are not kept; "" where there are none such."""
    bits = {stat.S_ISUID: "setuid", stat.S_ISGID: "setgid"}
    found = [name for bit, name in bits.items() if mode & bit]
    return f"the bit alone is not kept: {' and '.join(found)}" if found else ""


def in_a_tar(handle: int, mode: int) -> str:
    """Says what a tar of ours does not keep of an open file or folder, which is in it."""
    listed = [not_kept(mode) if stat.S_ISREG(mode) else ""]
    listed.append(attributes.not_kept(attributes.names(handle)))
    return "; ".join(filter(None, listed))


def _usual(entries: list[WalkEntry], otherwise: int) -> tuple[int, dict[str, int]]:
    """Finds the commonest permissions, so that only the odd ones need to be written down."""
    known = opened_before()
    modes = [permissions(entry.info, known) for entry in entries]
    counted = collections.Counter(modes)
    usual = counted.most_common(1)[0][0] if counted else otherwise
    if len(counted) < 2:
        return usual, {}
    pairs = zip(entries, modes, strict=True)
    return usual, {os.fsdecode(entry.path): mode for entry, mode in pairs if mode != usual}
