"""`wl hooks`: what makes the person's own agent session a part of the crew, put in and taken out.

Hooks go into a settings file of the agent CLI, the project's or the person's own; for CLIs without
hooks, which nothing wakes, instructions go into a marked block of CLAUDE.md or AGENTS.md. What is
done to the texts is `core.claude.hook_settings`' and `core.person.marked_block`'s.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

from windlass.api import places
from windlass.api.verbs import Caller
from windlass.api.wire.person import ChangedFile, HooksPlace, HooksReply, HooksRequest
from windlass.core.claude import hook_settings
from windlass.core.claude.hook_settings import HookProgram
from windlass.core.errors import ConfigError, UserError, WindlassError
from windlass.core.person import briefing, marked_block
from windlass.daemon.kernel import lookup, person_files, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.person import primary_skill

PROJECT_FILE = ".claude/settings.local.json"
"""The person's own in this clone: what is shared with others is not ours to decide."""
USER_FILE = "settings.json"
INSTRUCTIONS = {"claude-md": "CLAUDE.md", "agents-md": "AGENTS.md"}


class PrimaryHooks:
    """Puts hooks and instructions into files and takes them out; says what is installed where."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._changing = threading.Lock()

    def install(self, caller: Caller, request: HooksRequest) -> HooksReply:
        """Puts hooks into a settings file, or instructions into a file of the repository, or both.

        The repository becomes known: in one that is not, hooks have nothing to say.
        """
        where, instructions = request.get("where"), request.get("instructions")
        if instructions is None:
            where = where or "project"
        if where != "user" or instructions is not None:
            repos.require(self._context, str(self._top(caller, request)))
        files: list[ChangedFile] = []
        notes: list[str] = []
        with self._changing:
            if where is not None:
                settings = self._settings(caller, request, where)
                files.append(_install_hooks(settings))
                changed, why = primary_skill.install(settings)
                if changed:
                    files.append(_changed_file(primary_skill.path_beside(settings), changed))
                notes += [why] if why else []
            if instructions is not None:
                path = self._top(caller, request) / INSTRUCTIONS[instructions]
                files.append(_install_block(path))
        return {"files": files, "notes": notes} if notes else {"files": files}

    def uninstall(self, caller: Caller, request: HooksRequest) -> HooksReply:
        """Takes hooks out of a settings file; with the project's go the blocks of instructions.

        What cannot be taken out keeps nothing else in, and is an error in the end.
        """
        where = request.get("where") or "project"
        settings = self._settings(caller, request, where)
        blocks: list[Path] = []
        if where == "project":
            top = self._top(caller, request)
            # Nothing was ever written through a link, and one of them is often the other's.
            paths = [top / name for name in INSTRUCTIONS.values()]
            blocks = [path for path in paths if not path.is_symlink()]
        with self._changing:
            skill = primary_skill.uninstall(settings)
            results = [_file_or_error(_uninstall_hooks, settings)]
            results += [_changed_file(primary_skill.path_beside(settings), changed=skill)]
            results += [_file_or_error(_uninstall_block, path) for path in blocks]
        files = [result for result in results if not isinstance(result, WindlassError)]
        errors = [result for result in results if isinstance(result, WindlassError)]
        _raise_together(errors, files)
        return {"files": [files[0], *(file for file in files[1:] if file["changed"])]}

    def status(self, caller: Caller, request: HooksRequest) -> list[HooksPlace]:
        """Every place where something of ours may be, and what is there."""
        views = []
        top = self._known_top(caller, request)
        if top is not None:
            views.append(_hooks_in("project", top / PROJECT_FILE))
        views.append(_hooks_in("user", self._settings(caller, request, "user")))
        if top is not None:
            views += [_block_in(name, top / file) for name, file in INSTRUCTIONS.items()]
        return views

    def _settings(self, caller: Caller, request: HooksRequest, where: str) -> Path:
        if where == "project":
            return self._top(caller, request) / PROJECT_FILE
        folder = Path(request.get("config_folder", ""))
        if not folder.is_absolute():
            raise UserError("where your agent CLI has its settings is not said", "set HOME")
        return folder / USER_FILE

    def _top(self, caller: Caller, request: HooksRequest) -> Path:
        top = self._known_top(caller, request)
        if top is None:
            raise UserError("not in a git repository", "cd into one, or use --user")
        return top

    def _known_top(self, caller: Caller, request: HooksRequest) -> Path | None:
        repo = lookup.scope(self._context, caller, request).repo
        root = repo.root if repo else repos.root_of(request.get("cwd", ""))
        return Path(root) if root else None


def instructions() -> str:
    """What the person's own agent is told about the crew and its commands, where it has hooks."""
    return _shipped("primary.md")


def instructions_without_hooks() -> str:
    """The same for a CLI without hooks: there it has to wait for notices by itself."""
    return briefing.with_section(instructions(), _shipped("primary_listening.md"))


def _shipped(name: str) -> str:
    return (resources.files("windlass.data") / name).read_text("utf-8")


def hook() -> HookProgram:
    """The hook of this version, on this machine."""
    program = str(resources.files("windlass.hooks") / hook_settings.PROGRAM)
    texts = str(resources.files("windlass.data") / "primary.md")
    return HookProgram((sys.executable, "-I", "-S", program), (places.person_socket(), texts))


def _install_hooks(path: Path) -> ChangedFile:
    with _folder(path) as made:

        def edit(was: bytes | None) -> bytes:
            text = None if was is None else _text(path, was)
            with _explained(path):
                return hook_settings.install(text, hook(), folder=made).encode()

        return _changed_file(path, person_files.change(path, edit))


def _uninstall_hooks(path: Path) -> ChangedFile:
    bare = hook_settings.Bare(None, folder=False)

    def edit(was: bytes | None) -> bytes | None:
        nonlocal bare
        if was is None:
            return None
        with _explained(path):
            bare = hook_settings.take_out(_text(path, was))
        return None if bare.text is None else bare.text.encode()

    changed = person_files.change(path, edit)
    if changed and bare.text is None and bare.folder:
        with contextlib.suppress(OSError):  # something else is in it by now
            path.parent.rmdir()
    return _changed_file(path, changed)


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[bool]:
    """Makes the folder of a settings file, and says whether it did; takes it back on failure."""
    folder = path.parent
    if path.match(PROJECT_FILE) and folder.is_symlink():
        raise ConfigError(
            f"{folder} is a symbolic link, and links are not followed",
            "put a folder in its place, or use --user",
        )
    try:
        folder.mkdir()
        made = True
    except FileExistsError:
        made = False
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}", "mend that") from None
    try:
        yield made
    except BaseException:
        if made:
            with contextlib.suppress(OSError):  # something else is in it by now
                folder.rmdir()
        raise


def _install_block(path: Path) -> ChangedFile:
    body = f"<windlass>\n{instructions_without_hooks().strip()}\n</windlass>"

    def edit(was: bytes | None) -> bytes:
        with _explained(path):
            return marked_block.put(None if was is None else _text(path, was), body).encode()

    return _changed_file(path, person_files.change(path, edit))


def _uninstall_block(path: Path) -> ChangedFile:
    def edit(was: bytes | None) -> bytes | None:
        if was is None:
            return None
        with _explained(path):
            left = marked_block.take(_text(path, was))
        return None if left is None else left.encode()

    return _changed_file(path, person_files.change(path, edit))


def _hooks_in(name: str, path: Path) -> HooksPlace:
    def look(seen: HooksPlace, text: str) -> HooksPlace:
        installed = hook_settings.installed_commands(text)
        current = installed == hook_settings.expected(hook())
        why = hook_settings.refusal(text, hook())
        problem = None if why is None else _unusable(path, why)
        return {
            **seen,
            "installed": bool(installed),
            "current": current and not primary_skill.is_old(path),
            "events": list(installed),
            "problem": problem,
        }

    return _looked_at(name, path, look)


def _block_in(name: str, path: Path) -> HooksPlace:
    def look(seen: HooksPlace, text: str) -> HooksPlace:
        current = marked_block.says(text, instructions_without_hooks())
        return {**seen, "installed": marked_block.block(text) is not None, "current": current}

    return _looked_at(name, path, look)


def _looked_at(name: str, path: Path, look: Callable[[HooksPlace, str], HooksPlace]) -> HooksPlace:
    """What is in a file; that it cannot be used is told, and keeps nobody from seeing the rest."""
    seen: HooksPlace = {
        "where": name,
        "path": str(path),
        "installed": False,
        "current": False,
        "problem": None,
    }
    if name in ("project", "user"):
        seen["events"] = []
    try:
        content = person_files.read(path)
        with _explained(path):
            return seen if content is None else look(seen, _text(path, content))
    except WindlassError as error:
        return {**seen, "problem": error.message}


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (hook_settings.Unusable, marked_block.Unending) as why:
        raise ConfigError(_unusable(path, why), "mend it; nothing was touched") from None


def _unusable(path: Path, why: object) -> str:
    return f"{path} cannot be used: {why}"


def _file_or_error(
    take_out: Callable[[Path], ChangedFile], path: Path
) -> ChangedFile | WindlassError:
    try:
        return take_out(path)
    except WindlassError as error:
        return error


def _raise_together(problems: list[WindlassError], files: list[ChangedFile]) -> None:
    """Raises what went wrong, as one; it says what was done all the same."""
    if not problems:
        return
    changed = [file["path"] for file in files if file["changed"]]
    if len(problems) == 1 and not changed:
        raise problems[0]
    done = f"; out of {' and '.join(changed)} it was taken" if changed else ""
    messages = "; ".join(problem.message for problem in problems)
    raise type(problems[0])(f"{messages}{done}", "mend that, then wl hooks uninstall again")


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text", "mend it; nothing was touched") from None


def _changed_file(path: Path, changed: bool) -> ChangedFile:
    return {"path": str(path), "changed": changed}
