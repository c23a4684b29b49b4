"""The skill `kanban` in the person's own folder of skills, beside the hooks: put in, taken out.

What somebody else wrote there, or changed, is left alone, and so is what a link leads to.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import resources
from pathlib import Path

from windlass.core.errors import WindlassError
from windlass.core.person import own_skill
from windlass.daemon.kernel import person_files

NAME = "kanban"


def path_beside(settings: Path) -> Path:
    """Where the skill lies that goes with a settings file."""
    return settings.parent / "skills" / NAME / "SKILL.md"


def shipped() -> str:
    """What is put there."""
    place = resources.files("windlass.data") / "claude" / "skills" / NAME / "SKILL.md"
    return own_skill.sealed(place.read_text("utf-8"))


def install(settings: Path) -> tuple[bool, str]:
    """Puts it in; says whether that changed anything, and why it could not be."""
    path = path_beside(settings)
    if why := _not_ours(path):
        return False, f"{path} is not written: {why}"
    made = [folder for folder in (path.parent.parent, path.parent) if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return person_files.change(path, lambda _: shipped().encode()), ""
    except (OSError, WindlassError) as error:
        _take_back(made)
        reason = error.message if isinstance(error, WindlassError) else error.strerror
        return False, f"{path} is not written: {reason}"


def uninstall(settings: Path) -> bool:
    """Takes it out, where it is as we wrote it, with the folders that are empty then."""
    path = path_beside(settings)
    if _not_ours(path) or not path.is_file():
        return False
    path.unlink()
    _take_back([path.parent.parent, path.parent])
    return True


def is_old(settings: Path) -> bool:
    """Whether one of ours is there that is not of this version."""
    path = path_beside(settings)
    return path.is_file() and not _not_ours(path) and path.read_text("utf-8") != shipped()


def _take_back(folders: list[Path]) -> None:
    for folder in reversed(folders):
        with suppress(OSError):  # something else is in it
            folder.rmdir()


def _not_ours(path: Path) -> str:
    """Why nothing is done to it; nothing where it is not there yet, or is ours."""
    for above in (path.parent.parent, path.parent):
        if above.is_symlink():
            return f"{above} is a symbolic link, and links are not followed"
    try:
        held = person_files.read(path)
        text = "" if held is None else held.decode()
    except WindlassError as error:
        return error.message
    except (OSError, UnicodeDecodeError):
        return "it is no file of text"
    return "" if held is None or own_skill.is_ours(text) else "it is there already, and your own"
