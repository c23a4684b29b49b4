"""The ground that an agent may reach, path by path, when lines are judged by where they reach.

Its own places, temporary ones, what the system shows everybody, and what toolchains keep in a
home. What a pattern or a variable leaves open is judged by the part that is sure.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from windlass.core.shell.reach import Reach, outside
from windlass.core.shell.refusals import Refused
from windlass.core.shell.steps import Steps
from windlass.core.shell.values import UNKNOWN

LOOK = 25
"""Steps for one look at where a path leads."""
FILE = re.compile(r"file:(?://[^/\s'\"]*)?(?=/)", re.IGNORECASE)
_WILD = re.compile(r"[*?\[\0]")
_LEGIBLE = re.compile(
    r"/(?:usr|bin|sbin|lib|lib32|lib64|libx32|opt|nix|snap|sys|System|Library|Applications)(?:/|$)"
    r"|/dev/(?:null|zero|full|random|urandom|tty\w*|std(?:in|out|err)|fd/\d+|shm|ptmx|pts|kvm|dri"
    r"|snd|video\d+|tcp/.*|udp/.*)(?:/|$)"
    r"|/proc/(?:\d+|self)/(?:status|stat|limits|cmdline|io|maps|smaps|cgroup|mounts|mountinfo)$"
    r"|/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|stat|filesystems|mounts|modules|sys|net"
    r"|self/(?:exe|fd)|cmdline|swaps|vmstat)(?:/|$)"
    r"|/etc/(?:os-release|lsb-release|debian_version|redhat-release|fedora-release|alpine-release"
    r"|hosts|hostname|resolv\.conf|timezone|localtime|issue|machine-info|services|protocols"
    r"|mime\.types|nsswitch\.conf|ld\.so\.\w+|alternatives|apt|ssl/certs|ca-certificates\w*|pki"
    r"|profile|environment|locale\.\w+|java[\w.-]*|maven|fonts|python[\w.]*|inputrc|shells"
    r"|nginx|docker|systemd|default|init\.d|mysql|postgresql|redis|php|xdg|bash\.bashrc)(?:/|$)"
)
"""What is the system's and no secret."""
_TOOLS = re.compile(
    r"\.(?:cargo/(?:bin|registry|env|git)|rustup|m2/repository|gradle/(?:caches|wrapper)|nvm|npm(?!rc)[\w-]*|pnpm[\w-]*"
    r"|yarn|pyenv|rbenv|sdkman|asdf|volta|bun|deno|cache|local/(?:bin|lib|share/(?:pnpm|uv|mise|fnm"
    r"|virtualenvs|jupyter))|nuget/packages|ivy2|sbt|conda|cpan|gem|opam|ghcup|stack|pub-cache"
    r"|venvs?|virtualenvs)(?:/|$)"
    r"|go(?:/|$)|miniconda3?(?:/|$)|anaconda3?(?:/|$)|\.nvmrc$"
)
"""What toolchains keep in a home: to read and to run."""
_STREAMS = re.compile(r"/dev/(?:fd/\d+|std(?:in|out|err)|tty)")
"""What a program has open itself: where these links lead is another matter in each process."""
_TEMPORARY = re.compile(r"/(?:private/)?(?:tmp|var/tmp|var/folders)(?:/|$)")

Folders = frozenset[str]
"""Where the shell may be."""


class Ground:
    """Judges paths."""

    def __init__(self, reach: Reach, steps: Steps) -> None:
        self._reach = reach
        self._steps = steps
        self._fine: set[tuple[str, bool]] = set()

    def path(self, path: str, folders: Folders, *, writes: bool = False) -> None:
        """Refuses a path outside; one that nobody can know passes."""
        if not path or len(path) > 4096:
            return
        shown = path
        path = unquote(FILE.sub("", path, count=1)) if FILE.match(path) else path
        if path[0] == "~":
            path = self._home(path, folders)
        wild = _WILD.search(path)
        sure = path if wild is None else path[: wild.start()].rpartition("/")[0]
        if wild is not None and path[:1] == "/" and not sure:
            sure = "/"
        behind = path[len(sure) :].split("/") if wild is not None else []
        up = sum(part == ".." for part in behind) > sum(
            part not in ("", ".", "..") for part in behind
        )
        # A pattern such as .* finds .. as well.
        up = up or any(re.match(r"\.[*?\[]", part) for part in behind[:-1]) or behind[-1:] == [".?"]
        if up:
            sure = posixpath.join(sure, "..")
        if sure.startswith("/"):
            self._require(sure, shown, writes=writes, wild=wild is not None)
            return
        for folder in folders:
            if UNKNOWN in folder:
                if ".." in sure.split("/"):
                    continue
            elif sure or folder not in (self._reach.workspace, ""):
                joined = posixpath.join(folder, sure)
                self._require(joined, shown, writes=writes, wild=wild is not None)

    def _home(self, path: str, folders: Folders) -> str:
        whose, slash, rest = path[1:].partition("/")
        home = self._reach.home or "/"
        if whose in ("+", "-"):
            home = next(iter(folders))
        elif whose and whose != posixpath.basename(home):
            home = "/root" if whose == "root" else posixpath.join(posixpath.dirname(home), whose)
            return f"{home}/{rest}"
        return home + slash + rest

    def require(self, folder: str) -> None:
        """Refuses to begin in a folder that is outside."""
        self._require(folder, folder, writes=False, wild=False)

    def _require(self, path: str, shown: str, *, writes: bool, wild: bool) -> None:
        if (path, writes) in self._fine or _STREAMS.fullmatch(path):
            return
        self._steps.take(LOOK)
        real = self._reach.real(path)
        plain = posixpath.normpath(path)
        plain = "/" + plain.lstrip("/")
        for each in {plain, real or plain}:
            if not self._open(each, writes=writes, wild=wild):
                said = outside(path.replace(UNKNOWN, "…"), self._reach)
                raise Refused(said, path=shown, writes=writes)
        self._fine.add((path, writes))

    def _open(self, path: str, *, writes: bool, wild: bool) -> bool:
        reach = self._reach
        if reach.inside(path):
            return not (wild and reach.holds(path) and path != reach.workspace)
        if reach.closed(path):
            return False
        if _TEMPORARY.match(path):
            return True
        if path == "/":
            return False
        home = reach.home.rstrip("/")
        if home and path.startswith(f"{home}/"):
            return not writes and _TOOLS.match(path[len(home) + 1 :]) is not None
        if _LEGIBLE.match(path):
            return not writes or path.startswith("/dev/")
        top = "/" + path.split("/")[1]
        return not writes and not reach.there(top) and not home.startswith(f"{top}/")
