# ruff: noqa: PTH110, PTH111, PTH112, PTH113, PTH115, PTH118, PTH119, PTH120, PTH123
# (paths are text here: they come from a PATH and go to a program)
"""Toolchains: which folders outside the system's own a box has to show so that programs run.

Found from a PATH and from programs, through their links, by what lies in the file system. Shows the
installation of a program, never a home, a project or a place of keys as a whole. A tool that it
does not recognise, or that is part of a repository, gets its folder of programs alone; people name
the rest in `box.toolchains`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator

from windlass.box.bwrap import SYSTEM

_MOST_ENTRIES = 2000
_MOST_HOPS = 20
_DEPTH = 2
_MOST_LOOKED_AT = 20_000
"""Entries of a folder, and of those in it, in which a repository is looked for."""
_WHOLE = (
    ".pyenv .nvm .rustup .asdf .volta .sdkman .rbenv .nodenv .goenv .jenv .fnm .linuxbrew .proto"
    " .local/share/mise .local/share/rtx .local/share/fnm .local/share/uv/python .local/share/pnpm"
    " .local/share/virtualenvs .local/share/hatch .local/pipx .local/share/claude .bun .deno"
    " .config/nvm .claude/local .juliaup .ghcup .swiftly .poetry .local/share/pypoetry .miniconda3"
    " miniconda3 anaconda3 miniforge3 mambaforge micromamba"
).split()
"""Below a home: folders that hold nothing but tools."""
_EACH = (".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs", ".virtualenvs")
"""Below a home: folders of which each child is one tool."""
_SECRET = (
    ".ssh .gnupg .aws .azure .kube .docker .password-store .mozilla .netrc .npmrc .claude .codex"
    " .gemini"
).split()
"""Below a home: not shown, not even in part."""
_BROAD = ".config .local .local/share .local/state .cache Documents Desktop Downloads".split()
"""Below a home: not shown as a whole."""
_GOES_WITH = {".cargo/bin": ".rustup", ".local/bin": ".local/lib"}
"""Below a home: programs whose other half lies elsewhere."""
_VARIABLES = {
    "RUSTUP_HOME": ".rustup",
    "PYENV_ROOT": ".pyenv",
    "NVM_DIR": ".nvm",
    "ASDF_DATA_DIR": ".asdf",
    "VOLTA_HOME": ".volta",
    "RBENV_ROOT": ".rbenv",
    "NODENV_ROOT": ".nodenv",
    "MISE_DATA_DIR": ".local/share/mise",
    "SDKMAN_DIR": ".sdkman",
    "JULIAUP_DEPOT_PATH": ".juliaup",
    "PYTHONUSERBASE": ".local",
}


def find(
    path: str,
    *,
    programs: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    tree: str | None = None,
    home: str | None = None,
) -> tuple[str, ...]:
    """Lists what to show, read-only, for the programs of that PATH and those named to run.

    Nothing in it is `never`, holds it, or lies in it; nor in the main `tree`, but for the virtual
    environments and node modules in there. Nothing holds a repository, and of what lies in one
    folders of programs alone are shown. What the system's folders hold is left out: every box shows
    them.
    """
    search = _Search(path, never, tree, home or os.path.expanduser("~"))
    for entry in path.split(os.pathsep):
        if entry.startswith("/"):
            search.folder(os.path.normpath(entry))
    for program in programs:
        executable = shutil.which(program, path=path) if "/" not in program else program
        if executable is not None and executable.startswith("/"):
            search.program(os.path.normpath(executable))
    return search.result()


def alone(path: str, *, home: str | None = None) -> tuple[str, ...]:
    """Lists the folders of a PATH that are part of a repository: shown without what is around."""
    search = _Search(path, (), None, home or os.path.expanduser("~"))
    entries = (os.path.normpath(entry) for entry in path.split(os.pathsep) if entry[:1] == "/")
    return tuple(filter(search.is_alone, dict.fromkeys(entries)))


def variables(path: str, *, home: str | None = None) -> dict[str, str]:
    """What tells version managers where they are, for a session whose HOME is another one."""
    home = home or os.path.expanduser("~")
    entries = path.split(os.pathsep)
    used = {}
    for name, below in _VARIABLES.items():
        folder = f"{home}/{below}"
        # Programs of rustup lie in cargo's folder.
        place = f"{home}/.cargo/bin" if below == ".rustup" else folder
        if os.path.isdir(folder) and any(_within(entry, place) for entry in entries):
            used[name] = folder
    return used


class _Search:
    """One search: what was found so far, and what was looked at."""

    def __init__(self, path: str, never: tuple[str, ...], tree: str | None, home: str) -> None:
        self.found: set[str] = set()
        self._path = path
        self._homes = {home, os.path.realpath(home)}
        self._never = _both(never)
        self._tree = _both((tree,) if tree else ())
        self._seen: set[str] = set()

    def result(self) -> tuple[str, ...]:
        """What was found, without what lies in something else that was."""
        return tuple(sorted(place for place in self.found if not self._covered(place)))

    def _covered(self, place: str) -> bool:
        parts = place.split("/")
        return any("/".join(parts[:at]) in self.found for at in range(2, len(parts)))

    def folder(self, folder: str) -> None:
        """Takes a folder of programs: itself, its installation, and where its links lead."""
        if folder in self._seen or not os.path.isdir(folder):
            return
        self._seen.add(folder)
        real = os.path.realpath(folder)
        for place in (folder, real):
            self._show(place)
        if _within(real, *SYSTEM):
            return
        for entry in self._links(real):
            self.program(entry)

    def program(self, program: str) -> None:
        """Takes a program: each link on the way to it, itself, and what has to run it."""
        for place in _hops(program):
            if place in self._seen:
                return
            self._seen.add(place)
            self._show(place)
        self._interpreter(os.path.realpath(program))

    def _interpreter(self, program: str) -> None:
        words = _shebang(program)
        if not words:
            return
        name = words[0]
        if os.path.basename(name) == "env":
            named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            name = shutil.which(named[0], path=self._path) or "" if named else ""
        if name.startswith("/"):
            self.program(name)

    def is_alone(self, folder: str) -> bool:
        """Whether a folder of programs is part of a repository, so that it is shown alone."""
        if not os.path.isdir(folder) or _within(folder, *SYSTEM):
            return False
        installed = self._installation(folder) or folder
        return not (self._known(folder) or _is_tool_folder(installed)) and self._in_repository(
            os.path.realpath(folder)
        )

    def _known(self, place: str) -> str | None:
        """The folder that holds nothing but tools, by its name, in which a place is."""
        for home in self._homes:
            for below in _WHOLE:
                if _within(place, f"{home}/{below}"):
                    return f"{home}/{below}"
            for below in _EACH:
                if _within(place, f"{home}/{below}") and place != f"{home}/{below}":
                    return "/".join(place.split("/")[: f"{home}/{below}".count("/") + 2])
        brew = "/home/linuxbrew/.linuxbrew"
        return brew if _within(place, brew) else None

    def _in_repository(self, place: str) -> bool:
        """Whether a place is a repository's, or one. A home that is one does not count."""
        parts = place.split("/")
        for at in range(len(parts), 1, -1):
            folder = "/".join(parts[:at])
            if folder in self._homes:
                return False
            if _is_repository(folder):
                return True
        return False

    def _installation(self, place: str) -> str | None:
        """The folder that a tool was installed to; None where it cannot be told."""
        if known := self._known(place):
            return known
        parts = place.split("/")
        if parts[1] in {"opt", "snap"} and len(parts) > 2:
            return "/".join(parts[:3])
        if "node_modules" in parts:
            return "/".join(parts[: parts.index("node_modules") + 1])
        return _prefix(place)

    def _show(self, place: str) -> None:
        """Takes a place's installation, or else the place alone."""
        if _within(place, *SYSTEM):
            return
        installed = self._installation(place)
        if installed is None or not self._is_apart(installed) or not self._take(installed):
            self._take(place)
        for home in self._homes:
            for programs, other in _GOES_WITH.items():
                if place == f"{home}/{programs}":
                    self._take(f"{home}/{other}")

    def _is_apart(self, installed: str) -> bool:
        """Whether an installation is no part of a repository, or a folder of tools in one."""
        if self._known(installed):
            return True
        if _is_tool_folder(installed):
            return not _is_repository(installed)
        return not self._in_repository(os.path.realpath(installed))

    def _take(self, place: str) -> bool:
        if place in self.found:
            return True
        if not os.path.exists(place) or not self._may(place):
            return False
        self.found.add(place)
        if _is_environment(place):
            for name in ("python", "python3"):
                self.program(f"{place}/bin/{name}")
        if place.endswith("/node_modules"):
            self.folder(f"{place}/.bin")
        return True

    def _may(self, place: str) -> bool:
        real = os.path.realpath(place)
        return self._is_open(place) and self._is_open(real)

    def _is_open(self, place: str) -> bool:
        if place.count("/") < 2:
            return False
        for home in self._homes:
            tools = (f"{home}/{below}" for below in _WHOLE)
            secret = tuple(f"{home}/{below}" for below in _SECRET)
            if _within(place, *secret) and not _within(place, *tools):
                return False
            closed = (home, *secret, *(f"{home}/{below}" for below in _BROAD))
            if any(_within(barred, place) for barred in closed):
                return False
        if any(_within(barred, place) for barred in (*self._never, *self._tree)):
            return False
        if _within(place, *self._never):
            return False
        if _is_tool_folder(place):
            return not _is_repository(place)
        return not _within(place, *self._tree) and (
            self._known(place) is not None or not _holds_repository(place)
        )

    def _links(self, folder: str) -> Iterator[str]:
        """The programs of a folder that lie elsewhere."""
        try:
            with os.scandir(folder) as entries:
                for entry, _ in zip(entries, range(_MOST_ENTRIES), strict=False):
                    if entry.is_symlink():
                        yield entry.path
        except OSError:
            return


def _hops(program: str) -> Iterable[str]:
    """The names that a program has, from the first to the last, which is no link."""
    places = [program]
    for _ in range(_MOST_HOPS):
        try:
            target = os.readlink(places[-1])
        except OSError:
            break
        places.append(os.path.normpath(os.path.join(os.path.dirname(places[-1]), target)))
    real = os.path.realpath(program)
    return [*places, real] if os.path.exists(real) else []


def _prefix(place: str) -> str | None:
    """The folder above `bin` where it looks like one that something was installed to."""
    parts = place.split("/")
    for at in range(len(parts) - 1, 1, -1):
        above = "/".join(parts[:at])
        if _is_environment(above):
            return above
        if parts[at] not in {"bin", "sbin", "libexec"}:
            continue
        has = {name for name in ("lib", "lib64", "libexec") if os.path.isdir(f"{above}/{name}")}
        if has - {parts[at]}:
            return above
    return None


def _is_repository(folder: str) -> bool:
    """Whether there is a work tree, or a repository without one."""
    if os.path.lexists(f"{folder}/.git"):
        return True
    return os.path.isfile(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects")


def _holds_repository(folder: str) -> bool:
    """Whether a folder is a repository, or one lies in it or one below; so do too many entries."""
    looked_at = 0
    waiting = [(folder, 0)]
    while waiting:
        place, depth = waiting.pop()
        if _is_repository(place):
            return True
        if depth == _DEPTH:
            continue
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    looked_at += 1
                    if looked_at > _MOST_LOOKED_AT:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
        except OSError:
            continue
    return False


def _both(places: tuple[str, ...]) -> set[str]:
    """These places, each under the name that it has without links as well."""
    return {name for place in places for name in (place, os.path.realpath(place))}


def _is_environment(folder: str) -> bool:
    return os.path.isfile(f"{folder}/pyvenv.cfg")


def _is_tool_folder(place: str) -> bool:
    return _is_environment(place) or place.endswith("/node_modules")


def _shebang(program: str) -> list[str]:
    try:
        with open(program, "rb") as file:
            line = file.readline(512)
    except OSError:
        return []
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []


def _within(place: str, *folders: str) -> bool:
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)
