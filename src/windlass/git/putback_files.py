# ruff: noqa: PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Puts a salvage's files and folders into an empty folder, with rights, names and attributes.

What is below a name that is no name of a file stays in the saved work, and is noted.
"""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING

from windlass.core.printable import few, printable_line
from windlass.git import attributes, beneath, gitfiles, names, properties
from windlass.git.descent import Descent, is_exchanged
from windlass.git.holes import HoleWriter

if TYPE_CHECKING:
    from windlass.git.blobs import Blobs
    from windlass.git.contents import Tree
    from windlass.git.manifest import Manifest

_FILES = b"files/"


class FilePutBack:
    """The files of one restore, as far as they are in the salvage's tree."""

    def __init__(self, about: Manifest, *, saved: Tree, path: str) -> None:
        self._about = about
        self._path = path
        self._saved = {
            name.removeprefix(_FILES): what
            for name, what in saved.items()
            if name.startswith(_FILES) and what[0] != b"160000"
        }
        self._groups = {
            os.fsencode(name): number for number, group in enumerate(about.links) for name in group
        }
        self._first: dict[int, bytes] = {}
        """By group, the name that was put back first."""
        self._attributes = about.attributes | {
            name: about.attributes[known]
            for group in about.links
            for known in group
            if known in about.attributes
            for name in group
        }
        """They were read by one name of a file, whichever is put back first."""
        self._bare: list[str] = []
        self.notes: list[str] = []

    def put(self, blobs: Blobs) -> None:
        """Puts back files and links, and folders that nothing is in."""
        for name, (mode, oid) in self._saved.items():
            if self._is_path(name) and not self._is_linked(name):
                self._put_file(blobs, name, mode=mode, oid=oid)
        for folder in map(os.fsencode, self._about.empty):
            if self._is_path(folder):
                beneath.new_folder(self._path, folder)

    def finish(self) -> None:
        """Gives folders their rights and attributes again: the last thing, as they may close them.

        The workspace itself stays open to its owner.
        """
        with gitfiles.opened(self._path) as top, Descent(top) as descent:
            # What is in a folder comes before it.
            for path in sorted(self._folders(), key=lambda path: path.split(b"/"), reverse=True):
                try:
                    handle = descent.open(path.split(b"/"))
                except OSError as error:
                    if not is_exchanged(error):
                        raise
                    continue  # a nested repository or a tar has something else there
                self._put_attributes(handle, path)
                usual, odd = self._about.subfolder_mode, self._about.subfolder_modes
                _change(handle, odd.get(os.fsdecode(path), usual))
            self._put_attributes(top, b"")
            self._put_top_mode(top)
        if self._bare:
            self.notes.append(f"extended attributes cannot be set here: {few(self._bare)}")

    def _is_path(self, name: bytes) -> bool:
        if names.is_path(name):
            return True
        shown = printable_line(os.fsdecode(name))
        self.notes.append(f"{shown} is no name of a file: it is in the saved work alone")
        return False

    def _is_linked(self, name: bytes) -> bool:
        """Makes a file another name of one that is there, if it was one; says whether it did."""
        group = self._groups.get(name)
        if group is None:
            return False
        first = self._first.setdefault(group, name)
        if first == name or self._saved[first] != self._saved[name]:
            return False
        if not beneath.new_name(self._path, name, of=first):
            self._first[group] = name
            return False
        return True

    def _put_file(self, blobs: Blobs, path: bytes, *, mode: bytes, oid: str) -> None:
        if mode == b"120000":
            text = io.BytesIO()
            blobs.copy(oid, text)
            beneath.new_link(self._path, path, text.getvalue())
            return
        with beneath.new_file(self._path, path) as file:
            writer = HoleWriter(file)
            blobs.copy(oid, writer)
            writer.finish()
            file.flush()
            self._put_attributes(file.fileno(), path)
            usual = self._about.exec_mode if mode == b"100755" else self._about.file_mode
            rights = self._about.modes.get(os.fsdecode(path), usual)
            os.fchmod(file.fileno(), rights & properties.FILE_RIGHTS)

    def _put_attributes(self, handle: int, path: bytes) -> None:
        shown = os.fsdecode(path)
        if attributes.put(handle, self._attributes.get(shown, {})):
            self._bare.append(shown or ".")

    def _put_top_mode(self, top: int) -> None:
        mode = self._about.folder_mode
        if mode is None:
            return
        _change(top, mode | 0o700)
        if mode & 0o700 != 0o700:
            self.notes.append(
                f"the workspace folder was closed to its owner ({mode:03o}), and is open again"
            )

    def _folders(self) -> set[bytes]:
        """The folders that were kept; what is in a tar has its rights from there."""
        if self._about.subfolder_mode is None:
            return set()
        folders = set(map(os.fsencode, self._about.empty))
        others = [*self._about.hollow, *(nested.path for nested in self._about.nested)]
        for path in (*self._saved, *map(os.fsencode, others)):
            above = os.path.dirname(path)
            while above and above not in folders:
                folders.add(above)
                above = os.path.dirname(above)
        return set(filter(names.is_path, folders))


def _change(handle: int, mode: int | None) -> None:
    if mode is None:
        return
    wanted = mode & properties.FOLDER_RIGHTS
    if stat.S_IMODE(os.fstat(handle).st_mode) != wanted:
        os.fchmod(handle, wanted)
