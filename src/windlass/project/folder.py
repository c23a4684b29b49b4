"""Where a repository's `.windlass` folder is, and what plain files in it hold."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from windlass.core.errors import ConfigError, NotFound, UserError
from windlass.core.printable import printable_line

NAME = ".windlass"
_PLANS = "plans"
LARGEST = 32 << 20
_NO_SUCH = "that is no such file"
_HANDED = ("/dev/fd/", "/dev/stdin")
_KEEP = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def upward(start: str) -> Iterator[str]:
    """A folder, and every one above it."""
    folder = os.path.abspath(start)
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def find(start: str = ".") -> str:
    """The `.windlass` folder of the repository that a folder is in; it may be yet to be made."""
    for folder in upward(start):
        path = os.path.join(folder, NAME)
        if os.path.isdir(path):
            return path
        if os.path.exists(os.path.join(folder, ".git")):
            return path
    return os.path.join(os.path.abspath(start), NAME)


def beside(file: str) -> str:
    """The `.windlass` folder that a file belongs to: around it, beside or above it, or here."""
    folder = os.path.dirname(os.path.abspath(file))
    if os.path.basename(folder) == NAME:
        return folder
    near = find(folder)
    return near if os.path.isdir(near) else find()


def plan(folder: str, task: str) -> str:
    """The file of a task's plan."""
    return os.path.join(folder, _PLANS, f"{task}.md")


def plans(folder: str) -> frozenset[str]:
    """The tasks that have a plan."""
    place = os.path.join(folder, _PLANS)
    if not is_within(place, os.path.dirname(folder)):
        return frozenset()
    try:
        with os.scandir(place) as entries:
            return frozenset(
                entry.name.removesuffix(".md")
                for entry in entries
                if entry.name.endswith(".md") and entry.is_file(follow_symlinks=False)
            )
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    except OSError as error:
        raise ConfigError(
            f"cannot list the plans in {printable_line(folder)}: {error.strerror}", "mend that"
        ) from None


def is_within(path: str, top: str) -> bool:
    """Whether a path leads to what is in a folder, whatever links are on the way."""
    inside = os.path.realpath(top)
    return os.path.commonpath([os.path.realpath(path), inside]) == inside


def read(path: str, *, most: int = LARGEST, remedy: str = _NO_SUCH) -> bytes:
    """All of a file that a person named; a device or a pipe is none, and has no end.

    What their shell hands over, as in `<(…)`, is read to its end nevertheless. What lies in a
    `.windlass` folder may have come with somebody's change: it leads to nothing elsewhere.
    """
    _refuse_leading_out(path)
    handed = path.startswith(_HANDED)
    try:
        descriptor = os.open(path, _KEEP & ~os.O_NONBLOCK if handed else _KEEP)
    except FileNotFoundError:
        raise NotFound(f"no file {printable_line(path)}", "name one that there is") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"cannot read {printable_line(path)}: {reason}", "name a file of text"
        ) from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not (handed and stat.S_ISFIFO(mode)):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise UserError(f"{printable_line(path)} is a folder", "name a file")
        raise UserError(f"{printable_line(path)} is no plain file", "name a file, or - for stdin")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1)
    return short(data, path, most=most, remedy=remedy)


def _refuse_leading_out(path: str) -> None:
    repository, is_in_ours, _ = os.path.abspath(path).rpartition(f"{os.sep}{NAME}{os.sep}")
    try:
        leads_out = bool(is_in_ours) and not is_within(path, repository or os.sep)
    except ValueError:
        return  # no path can be called that, which is said where it is opened
    if leads_out:
        raise UserError(
            f"{printable_line(path)} leads out of its repository",
            "put the file itself there, in place of the link",
        )


def short(data: bytes, name: str, *, most: int = LARGEST, remedy: str = _NO_SUCH) -> bytes:
    """What was read, or an error where it is more than any such file has."""
    if len(data) > most:
        size = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise UserError(f"{printable_line(name)} has more than {size}", remedy)
    return data
