"""Where a shell line reaches, judged without asking what its programs are: the guided way.

Programs that nobody knows pass, and so does what cannot be read. What is refused is reach: words,
settings and redirections that are paths outside, shared refs, `wl` in another's name, and places
that are closed, anywhere in the text and however they are spelled there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from windlass.core.shell import git_lines, line_policy, printing, refs
from windlass.core.shell.loose import DECLARING, Run, Said, Shell
from windlass.core.shell.reach import Reach, outside
from windlass.core.shell.steps import Steps, TooLong
from windlass.core.shell.texts import texts_of
from windlass.core.shell.tree import Piece, Word
from windlass.core.shell.values import UNKNOWN

MOST = 8_000
"""Steps for one line: some 20 ms. A line of a hundred words takes less than a thousand."""
OWN_CONFIG = "WINDLASS_GIT_CONFIG"
"""The variable that names a file of git's configuration which only the agent's git reads."""
_LOOK = 25
"""Steps for one look at where a path leads."""
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))
_RUNNERS = frozenset(
    (
        *("env", "xargs", "find", "fd", "sudo", "doas", "nohup", "nice", "ionice", "timeout"),
        *("time", "command", "builtin", "exec", "stdbuf", "setsid", "busybox", "watch", "parallel"),
        *("script", "strace", "ltrace", "flock", "chronic", "unbuffer", "npx", "uv"),
        *("poetry", "pipenv", "hatch", "bundle", "nix-shell", "entr", "su", "systemd-run"),
        *("unshare", "bwrap", "firejail", "direnv"),
    )
)
"""Programs that start what their words name."""
_CODE = re.compile(
    r"(?:python|pypy|node|deno|bun|perl|ruby|php|lua|tclsh|guile|awk|gawk|mawk|nawk|sed|ed|ex|vim?"
    r"|nvim|emacs|gdb|lldb|sqlite3|psql|mysql|R|Rscript|jshell|groovy|osascript|expect|make)[0-9.]*"
)
"""Programs whose words may be programs that open files."""
_WRITING = frozenset(
    (
        *("mv", "rm", "rmdir", "mkdir", "touch", "tee", "chmod", "chown", "truncate", "shred"),
        *("unlink", "mkfifo", "mknod", "chgrp", "setfacl"),
    )
)
_INTO = frozenset(("cp", "ln", "rsync", "install", "dd"))
"""Programs that write to the last of their words."""
_OUTPUT = re.compile(r"-o|-O|--out(?:put(?:-\w+)?)?|-d|-P")
_PRINTING = frozenset(("echo", "printf", ":", "true", "false", "logger", "wl", "windlass", "gh", "http", "xh"))
_SEARCHING = frozenset(("git", "grep", "egrep", "fgrep", "rg", "ag", "ack"))
"""Programs whose texts are only compared, and may say anything but a closed place."""
_REMOTE = frozenset(("scp", "rsync", "sftp", "ssh-copy-id"))
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "docker-compose", "oc"))
_LEAVING = {
    "tmux": "the terminals of all agents are its sessions",
    "screen": "it reaches terminals of others",
    "at": "what it runs later is nobody's any more",
    "batch": "what it runs later is nobody's any more",
    "crontab": "what it runs later is nobody's any more",
    "systemd-run": "what it starts is nobody's any more",
    "machinectl": "it reaches sessions of others",
    "nsenter": "it reaches processes of others",
    "chroot": "paths mean something else in it",
    "su": "it acts as another user",
    "runuser": "it acts as another user",
}
_SERVICES = frozenset(
    (
        *("enable", "disable", "start", "stop", "restart", "reload", "link", "edit", "mask", "kill"),
        *("load", "bootstrap", "submit", "set-property", "set-environment", "import-environment"),
    )
)
"""What changes services."""
_HOST = re.compile(r"(?:[\w.-]+@)?(?:localhost|127(?:\.\d+){1,3}|::1|0\.0\.0\.0|\0)")
_TELLING = (
    *("GIT_", "PAGER", "EDITOR", "LESS", "BASH_ENV", "ENV", "PROMPT", "CDPATH", "LD_", "NODE_"),
    *("PYTHONSTARTUP", "PYTHONPATH", "RUBYOPT", "RUBYLIB", "PERL5", "JAVA_TOOL", "JDK_JAVA"),
)
"""Settings that make programs open and run what they name."""
_OURS = re.compile(r"WINDLASS\w*")
_RENAMED = re.compile(r"(?<![$\w{\"])WINDLASS|\{!WINDLASS")
_IDENTITY = re.compile(r"\b(?:WINDLASS_\w+|XDG_RUNTIME_DIR|XDG_STATE_HOME)\b")
_CREW = re.compile(r"windlass|\bwl\b|claude|tmux", re.IGNORECASE)
_INTERPRETER = re.compile(r"node|bun|python[0-9.]*|(?:ba|da|z)?sh|git")
"""What agents, and what keeps them, run on."""
_APART = ("setsid", "daemonize", "start-stop-daemon", "disown")
_FINDING = ("pgrep", "pidof")
_ENDING = re.compile(r"\bkill\b|\b(?:gdb|lldb|strace|ltrace|reptyr)\b")
"""What does something to processes that were found by their names."""
_PERSONS = frozenset(
    (
        *("exec", "daemon", "model", "demo", "attach", "drivers", "completion", "trust", "allow"),
        *("estop", "nuke", "gc", "repair", "hooks", "notify", "init"),
    )
)
_CHANGING = frozenset(("set", "add", "remove", "unset", "edit"))
_SETTING = re.compile(r"[A-Za-z_]\w*=")
_OTHER_USER = re.compile(r"(?:-\w*[is]|su)(?: |$)|-u ?\S+ .*\b(?:wl|windlass)\b")
_PARENTS = re.compile(r"getppid|\bppid\b", re.IGNORECASE)
_CALLING = re.compile(r"['\"](?:wl|windlass)['\" ]")
_AS_ANOTHER = re.compile(r"\benv\s*[=:]|setsid|start_new_session|detached|fork|environ|unsetenv")
"""What gives a program that is started another name, or another parent."""
_PART = re.compile(r"[=:,@{]")
_MENTION = re.compile(r"(?<![\w.$)\]}*<-])(?<!\w/)(?:~|\.\.?)?/(?!/)[^\s'\"`()<>|;&,\\\[\]{}!^$#%*?:=]*")
_PARENT = re.compile(
    r"(?<![\w./])\.\./[\w./@+-]*|(?<=['\"])\.\.(?=['\"])|(?<=(?:cd|ls|-C) )\.\.(?![\w.])"
)
"""The folder above; alone and without quotes, two dots are an operator of many languages."""
_ADDRESS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s'\"]*+")
_FILE = re.compile(r"file:(?://[^/\s'\"]*)?(?=/)", re.IGNORECASE)
_WILD = re.compile(r"[*?\[\0]")
_CHR = re.compile(r"(?i)\b(?:chr|fromCharCode|fromCodePoint)\((?:0x)?([0-9]{2,3})\)")
_JOIN = str.maketrans(dict.fromkeys("'\"+, \t\n\\$(){}[]`.&^;", None))
_PLAIN_JOIN = str.maketrans(dict.fromkeys("'\"\\", None))
_ENCODED = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_DECODING = re.compile(r"(?i)b(?:ase)?64|base32|atob|xxd|hex|openssl|Buffer\.from|pack\(|\b-d\b")
_HIDING = re.compile(r"\b(?:base64|base32|xxd|openssl|uudecode|rev)\b")
_INTO_SHELL = re.compile(r"\|[ \t]{0,9}(?:sudo )?\w{0,4}sh\b")
"""What comes out of a decoder and is run."""
_SECRETS = (
    *("/etc/shadow", "/etc/gshadow", "/etc/passwd", "/etc/sudoers", "/etc/master.passwd"),
    *("/etc/ssl/private", "/etc/ssh/ssh_host", "/.ssh/", ".ssh/id_", "/.aws/credentials"),
    *("/.gnupg", "/.netrc", "/.git-credentials", "/.kube/config", "/.docker/config.json"),
    *("/.claude/.credentials", "/.config/gh/", "/.bash_history", "/.zsh_history", "/root/."),
)
_SQUEEZED = tuple(needle.translate(_JOIN) for needle in _SECRETS[:5])
_HOMELY = re.compile(
    r"expanduser|Path\.home\(|homedir\(|Dir\.home|(?:environ|getenv|env|ENV)\W{1,6}HOME\b|\$HOME|~/"
)
_PRIVATE = re.compile(
    r"\.(?:ssh|aws|gnupg|kube|docker|claude|config|profile|git-credentials|pgpass|password-store"
    r"|bash\w*|zsh\w*|\w+rc\b|\w+_history|mozilla|local\b(?!/(?:bin|lib)))"
)
_TEXT_BEHIND = {
    **dict.fromkeys(
        ("git", "gh", "hg"),
        re.compile(r"-[a-zA-Z]*m|--(?:message|title|body|grep|author|format|pretty)"),
    ),
    "curl": re.compile(r"-[dHAXubw]|--(?:data\S*|header|json|user-agent|request)"),
    **dict.fromkeys(("rg", "ag", "ack"), re.compile(r"-[a-zA-Z]*[eg]|--(?:glob|regexp)")),
}
"""Options before a text."""
_SED_FILES = re.compile(r"[;{}\n0-9$/][ \t]?(?:[rRwW][ \t]?[/~.]|e[ \t]\S)")
"""Commands of sed that read and write files, or run others."""
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
_STARTING = re.compile(
    r"-\w+|/|(?:~|\0|/home/[^/]+|/root)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)"
)
_TEMPORARY = re.compile(r"/(?:private/)?(?:tmp|var/tmp|var/folders)(?:/|$)")


class Refusal(NamedTuple):
    """Why a line is not run, and what decided so."""

    reason: str
    rule: str
    patterns: tuple[str, ...] = ()
    """What a person would allow to have it nevertheless."""
    path: str = ""
    """What of the line leads outside, where that is it."""
    writes: bool = False
    """Whether it would be written there."""


class Judged(NamedTuple):
    """What is to become of a line."""

    refusal: Refusal | None
    line: str
    """The line to run: what it would set for all is set for the agent alone."""


class _Refused(Exception):
    def __init__(
        self,
        reason: str,
        rule: str = "paths",
        patterns: Iterable[str] = (),
        path: str = "",
        *,
        writes: bool = False,
    ) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, rule, tuple(patterns), path, writes)


def judge(
    line: str,
    cwd: str,
    reach: Reach,
    *,
    allow: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
) -> Judged:
    """Judges a line; `allow` and `deny` are the commands that patterns spell out."""
    steps = Steps(MOST)
    guide = _Guide(line, reach, allow, deny, steps)
    try:
        guide.whole()
        guide.require(cwd)
        Shell(guide, (cwd,), _known(reach), steps).line(line)
    except _Refused as refused:
        return Judged(refused.refusal, line)
    except (TooLong, RecursionError):
        return Judged(Refusal(f"this line cannot be judged: {TooLong()}", "unclear"), line)
    return Judged(None, guide.changed())


def _known(reach: Reach) -> dict[str, str]:
    """What a shell of the agent's knows; what begins with # is printed by programs of ours."""
    user = posixpath.basename(reach.home)
    repo = reach.variables.get("WINDLASS_REPO", "")
    return {
        "HOME": reach.home,
        "TMPDIR": reach.temp,
        "USER": user,
        "LOGNAME": user,
        "PATH": "/usr/bin",
        "PPID": "1",
        "SHELL": "/bin/sh",
        "#top": reach.workspace,
        "#git": repo and f"{repo}/.git",
        "#others": posixpath.dirname(reach.workspace),
        **reach.variables,
    }


@lru_cache(maxsize=64)
def _spelled_out(contents: tuple[str, ...]) -> dict[str, list[tuple[list[str], bool]]]:
    """The commands of patterns by their first word: all words, and whether more may follow."""
    found: dict[str, list[tuple[list[str], bool]]] = {}
    for content in contents:
        bare = content.strip().removesuffix("*").removesuffix(":")
        words = bare.split()
        if words:
            found.setdefault(words[0], []).append((words, bare != content.strip()))
    return found


class _Guide:
    """Looks at every command of a line."""

    def __init__(
        self,
        line: str,
        reach: Reach,
        allow: tuple[str, ...],
        deny: tuple[str, ...],
        steps: Steps,
    ) -> None:
        self._line = line
        self._reach = reach
        self._own = f"agent/{posixpath.basename(reach.workspace)}"
        self._allow = _spelled_out(allow)
        self._deny = deny
        self._steps = steps
        self._set: set[int] = set()
        """Where the line sets a configuration of git that is to be the agent's own."""
        self._decodes = _DECODING.search(line) is not None
        self._hides = bool(_HIDING.search(line) and _INTO_SHELL.search(line))
        self._parent = "PPID" in line
        self._written: dict[str, tuple[str, ...]] = {}
        """What the line itself writes into files, which it may run."""
        self._fine: set[tuple[str, bool]] = set()
        self._ours = bool(re.search(r"\bwl\b|windlass\b", line))

    def whole(self) -> None:
        """Looks at the line as a text."""
        self.places(self._line)
        for part in re.split(r"[\n;|]", self._line) if "WINDLASS" in self._line else ():
            if re.search(r"\b(?:unset|compgen|env|exec)\b", part) and _RENAMED.search(part):
                raise _identity("WINDLASS_…")

    def changed(self) -> str:
        """The line as it is to be run."""
        line = self._line
        for at in sorted(self._set, reverse=True):
            line = f'{line[:at]} --file "${OWN_CONFIG}"{line[at:]}'
        return line

    def _spelled(self, run: Run) -> int:
        """How many words of a command a person has spelled out."""
        said = [word.text for word in run.words]
        lengths = [
            len(words)
            for words, more in self._allow.get(said[0], ())
            if said[: len(words)] == words and (more or len(words) == len(said))
        ]
        return max(lengths, default=0)

    def command(self, run: Run, shell: Shell) -> None:
        """Looks at one command, its settings, its redirections and what it is given."""
        self._settings(run)
        for sign, word in run.redirects:
            for text in word.texts:
                self._path(text, run.folders, writes=sign[:1] != "<")
        for sign, word in run.redirects if run.name in ("echo", "printf", "cat", "tee") else ():
            if sign.startswith(">"):
                said = printing.printed(run, shell)
                place = posixpath.normpath(word.text)
                self._written[place] = (*self._written.get(place, ()), *said)[:16]
        if not run.words:
            # Behind the end of a loop stands what its `read` reads.
            for part in (part for text in run.given for part in text.split()[:64]):
                self._any(part, run.folders)
            return
        for pattern in self._deny:
            self._steps.take(5)
            if run.words[0].text != UNKNOWN and any(
                line_policy.may_mean(words, pattern) for words in _alternatives(run.words)
            ):
                raise _Refused(f"Bash({pattern}) is denied by policy", f"Bash({pattern})")
        spelled = self._spelled(run)
        self._named(run, shell, spelled)
        self._words(run, spelled)
        for text in run.documents:
            self._document(text, run)
        if run.name in _SHELLS or run.name in ("source", "."):
            self._fed(run, shell)
        for text in self._written.get(posixpath.normpath(run.words[0].text), ()):
            shell.line(text)

    def _document(self, text: str, run: Run) -> None:
        if _CODE.fullmatch(run.name):
            self.code(text, run.folders)
        else:
            self.text(text)

    def _fed(self, run: Run, shell: Shell) -> None:
        """What a shell is given to read is run; what it is given by a decoder is not known."""
        for word in run.words[1:2]:
            for text in self._written.get(posixpath.normpath(word.text), ()):
                shell.line(text)
        takes = not any(word.text == "-c" for word in run.words)
        for text in run.given if takes else ():
            shell.line(text)
        if takes and not run.given and self._hides:
            raise _Refused(f"what {run.name} would run is hidden; write it out", "unclear")

    def _settings(self, run: Run) -> None:
        for name, texts in run.settings.items():
            if _OURS.match(name) or (self._ours and name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME")):
                raise _identity(name)
            for text in texts:
                if name.startswith(_TELLING):
                    for part in text.split()[:64]:
                        self._any(part, run.folders)
                    self.code(text, run.folders)
                else:
                    self._closed(text, run.folders)

    def _named(self, run: Run, shell: Shell, spelled: int) -> None:
        """What a program is known to do by its name; and what it starts."""
        name, rest = run.name, [word.text for word in run.words[1:]]
        if not spelled:
            _require_staying(name, rest)
            if self._ours and name in _APART:
                raise _identity(f"{name} with wl")
            finds = name in _FINDING and _ENDING.search(self._line) is not None
            if finds or name in ("pkill", "killall", "kill"):
                self._killing(name, rest)
        if name == "unset" or name in DECLARING:
            for text in filter(_OURS.match, rest):
                raise _identity(text.partition("=")[0])
        elif name in ("wl", "windlass"):
            _require_own_verb(rest)
        elif name == "env":
            self._environment(rest)
        elif name == "git":
            self._git(run, spelled, shell)
        if name in _SHELLS or name in _RUNNERS:
            for setting, texts in run.settings.items():
                shell.set(setting, texts)
        if name == "eval":
            for text in _together(run.words[1:]):
                shell.line(text, run.given)
        if name in ("trap", "alias", *_SHELLS):
            self._lines(run, shell)
        if name in _RUNNERS or (name in _CONTAINERS and rest[:1] == ["unshare"]):
            self._started(run, shell)

    def _lines(self, run: Run, shell: Shell) -> None:
        """Lines that are given to a shell as words."""
        wanted = run.words[1:]
        if run.name in _SHELLS:
            at = [n for n, w in enumerate(run.words) if re.fullmatch(r"-[a-zA-Z]*c", w.text)]
            wanted = run.words[at[0] + 1 :] if at else ()
            for number, word in enumerate(wanted[1:]):
                shell.set(str(number), word.texts)
                shell.set("@", word.texts)
        for word in wanted[:1]:
            for text in word.texts:
                shell.line(text.partition("=")[2] if run.name == "alias" else text, run.given)

    def _started(self, run: Run, shell: Shell) -> None:
        """What `env`, `xargs`, `find -exec` and their kin start."""
        more: tuple[Said, ...] = ()
        if run.name in ("xargs", "parallel"):
            parts = tuple(
                dict.fromkeys(p for text in run.given for p in re.split(r"[\s\0]+", text))
            )
            more = tuple(Said((part,), (), 0) for part in parts[:64] if part) or (
                Said((UNKNOWN,), (), 0),
            )
        settings = dict(run.settings)
        for at, word in enumerate(run.words[1:], 1):
            name = word.text.rpartition("/")[2]
            if run.name == "env" and (equals := re.match(r"(\w+)=", word.text)):
                settings[equals[1]] = tuple(text.partition("=")[2] for text in word.texts)
                shell.set(equals[1], settings[equals[1]])
            known = name in _SHELLS or name in _LEAVING or name in _RUNNERS or _CODE.fullmatch(name)
            if known or name in ("git", "wl", "windlass", "cat", *_WRITING, *_INTO):
                words = (*run.words[at:], *more)
                inner = run._replace(words=words, settings=settings, redirects=(), documents=())
                self.command(inner._replace(outermost=False), shell)
                return
            if re.search(r"\s", word.text) and not run.name.startswith(("npx", "uv")):
                shell.line(word.text)
        for part in more:
            for text in part.texts:
                for word in run.words[1:]:
                    if "{}" in word.text:
                        self._any(word.text.replace("{}", text), run.folders)
                self._any(text, run.folders)

    def _killing(self, name: str, rest: list[str]) -> None:
        wide = (
            "-1" in rest[1:]
            or (self._parent and "1" in rest)
            or (name != "kill" and any(text in ("-u", "-U", "-g") for text in rest))
        )
        named = [text for text in rest if not text.startswith("-")]
        broad = name in ("pkill", "killall") and any(map(_INTERPRETER.fullmatch, named))
        if wide or broad or (name != "kill" and any(map(_CREW.search, rest))):
            raise _Refused(
                f"{name} would end what is not yours; end your own by number or as %1", "others"
            )

    def _environment(self, rest: list[str]) -> None:
        for at, text in enumerate(rest):
            name = rest[at - 1] == "-u" and at > 0
            bare = text.removeprefix("-u").removeprefix("--unset=")
            if _OURS.match(bare) and (name or bare != text or "=" in bare):
                raise _identity(bare.partition("=")[0])
            if self._ours and "WINDLASS" in self._line and UNKNOWN in text:
                raise _identity("every variable")
            if self._ours and text in ("-", "-i", "--ignore-environment"):
                raise _identity("every variable")
            if text in ("-S", "--split-string") or text.startswith(("-S", "--split-string=")):
                self.code(text + " " + " ".join(rest[at + 1 :]), frozenset(("/",)))

    def _git(self, run: Run, spelled: int, shell: Shell) -> None:
        """Shared refs and configuration; other agents' branches."""
        for words in _alternatives(run.words):
            if git_lines.sets_own(words) and run.outermost:
                said = [word.text for word in run.words]
                self._set.add(run.words[said.index("config")].end)
                continue
            change = refs.shared_change(words, own=self._own)
            if change is not None and spelled <= change.at:
                raise _Refused(change.reason, "shared", change.patterns)
            if spelled < 2:
                self._other_branch([word.text for word in words])
        self._git_runs(run, shell)
        messages = _texts_of("git", run.words)
        for at, word in enumerate(run.words):
            if at not in messages and re.search(r"!|\s/|=", word.text):
                self.code(word.text, run.folders)

    def _git_runs(self, run: Run, shell: Shell) -> None:
        """What `rebase -x`, `bisect run`, `submodule foreach` and their kin run."""
        said = [word.text for word in run.words]
        for at, text in enumerate(said[1:], 1):
            if text in ("-x", "--exec", "foreach", "--extcmd") or text.endswith("-filter"):
                for line in run.words[at + 1].texts if at + 1 < len(said) else ():
                    shell.line(line)
            elif text.startswith(("--exec=", "--extcmd=")):
                shell.line(text.partition("=")[2])
            elif text == "run" and "bisect" in said[:at] and at + 1 < len(said):
                inner = run._replace(words=run.words[at + 1 :], redirects=(), documents=())
                self.command(inner._replace(outermost=False), shell)

    def _other_branch(self, said: list[str]) -> None:
        """Refuses to work on the branch of another agent."""
        target = said[2] if len(said) == 3 and said[1] in ("checkout", "switch") else ""
        if target.startswith("agent/") and target != self._own:
            raise _Refused(f"{target} is another agent's; make a branch of your own", "shared")

    def _words(self, run: Run, spelled: int) -> None:
        name, folders = run.name, run.folders
        self._closed(run.words[0].text, folders)
        self.text(run.words[0].text)
        if name in ("df", "source", ".") and all(
            map(_STARTING.fullmatch, (w.text for w in run.words[1:]))
        ):
            return
        said = _texts_of(name, run.words)
        start = max(spelled, 1)
        for at, word in enumerate(run.words[start:], start):
            for text in dict.fromkeys((*word.texts, *word.parts)):
                self._steps.take(2)
                if at in said or name in _PRINTING:
                    (self.places if name in _SEARCHING else self.text)(text)
                elif name in _CONTAINERS:
                    self._mounted(text, at, run)
                elif _CODE.fullmatch(name) and re.search(r"[\s(;'\"]", text):
                    self.code(text, folders)
                else:
                    self._argument(text, run, at)
        if name in ("cd", "pushd") and all(re.match("-.", w.text) for w in run.words[1:]):
            self._path(self._reach.home or "/", folders)
        if name in ("cd", "pushd"):
            self._entered(run, folders)

    def _argument(self, text: str, run: Run, at: int) -> None:
        """A word that may be a path; of what is written to it is known where."""
        name, folders, before = run.name, run.folders, run.words[at - 1].text
        if "=" in text and (name in DECLARING or (name == "env" and _SETTING.match(text))):
            self._closed(text, folders)
        elif name in _REMOTE and (far := re.match(r"((?:[\w.-]+@)?[\w.-]{2,}):", text)):
            if _HOST.fullmatch(far[1]):
                self._path(text[far.end() :] or "~", frozenset((self._reach.home or "/",)))
        elif name == "ssh" and at > 1 and not text.startswith(("-", "~", "/")):
            self.text(text)
        elif name == "ln" and at < len(run.words) - 1 and not text.startswith("-"):
            self._link(text, run, folders)
        elif _OUTPUT.fullmatch(before):
            self._any(text, folders, writes=text.startswith(("/", "~")))
        else:
            last = at == len(run.words) - 1 and not text.startswith("-")
            into = name in _INTO or (name in ("sed", "perl", "ruby") and _in_place(run.words))
            self._any(text, folders, writes=name in _WRITING or (into and last))

    def _link(self, text: str, run: Run, folders: frozenset[str]) -> None:
        """What a symbolic link says is read from where the link lies."""
        soft = any(re.match(r"-\w*s|--symbolic", word.text) for word in run.words[1:])
        place = run.words[-1].text
        if soft and not text.startswith(("/", "~")) and UNKNOWN not in place:
            lies = place if place.endswith("/") or place == "." else posixpath.dirname(place)
            folders = frozenset(posixpath.join(folder, lies) for folder in folders)
        self._any(text, folders)

    def _entered(self, run: Run, folders: frozenset[str]) -> None:
        for text in run.words[-1].texts if len(run.words) > 1 else ():
            for folder in folders:
                if UNKNOWN not in folder + text and not text.startswith(("-", "~")):
                    self._path(posixpath.normpath(posixpath.join(folder, text)), folders)
            if run.settings.get("CDPATH"):
                for base in run.settings["CDPATH"]:
                    self._path(posixpath.join(base, text), folders)

    def _mounted(self, text: str, at: int, run: Run) -> None:
        """Of what a container is given, only what it mounts is of this machine."""
        before, folders = run.words[at - 1].text, run.folders
        joined = re.match(r"(?:-v|--volume=|--mount=?|--env-file=)(.+)", text)
        volume = joined[1] if joined else text
        copied = run.words[1].text == "cp" and text != "cp" and text[:1] in "/~."
        if copied:
            self._path(text, folders)
        elif text in ("--privileged", "--pid=host") or (before, text) == ("--pid", "host"):
            raise _Refused(f"a container with {text} has no limits")
        elif joined or before in ("-v", "--volume", "--mount", "--env-file", "-f", "--file"):
            source = re.search(r"(?:source|src)=([^,]*)", volume)
            self._path(source[1] if source else volume.partition(":")[0], folders)
        else:
            self._closed(text, folders)

    def _any(self, text: str, folders: frozenset[str], *, writes: bool = False) -> None:
        """A word that may be a path, hold one, or be a text."""
        if len(text) > 4096 or re.search(r"\s", text):
            self.text(text)
            if re.match(r"/|~|\.\./", text) and len(text) < 512:
                self._path(text.split(maxsplit=1)[0], folders, writes=writes)
            return
        for path in _paths_in(text):
            self._path(path, folders, writes=writes)

    def _path(self, path: str, folders: frozenset[str], *, writes: bool = False) -> None:
        """Refuses a path outside; one that nobody can know passes."""
        if not path or len(path) > 4096:
            return
        shown = path
        path = unquote(_FILE.sub("", path, count=1)) if _FILE.match(path) else path
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

    def _home(self, path: str, folders: frozenset[str]) -> str:
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
        if (path, writes) in self._fine:
            return
        self._steps.take(_LOOK)
        real = self._reach.real(path)
        plain = posixpath.normpath(path)
        plain = "/" + plain.lstrip("/")
        for each in {plain, real or plain}:
            if not self._open(each, writes=writes, wild=wild):
                said = outside(path.replace(UNKNOWN, "…"), self._reach)
                raise _Refused(said, path=shown, writes=writes)
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

    def _closed(self, text: str, folders: frozenset[str]) -> None:
        """Refuses a word that is a place which is closed, whatever else may be reached."""
        for path in _paths_in(text):
            for folder in folders:
                whole = posixpath.join(folder, path)
                if UNKNOWN not in whole and "/" in path and self._reach.closed(whole):
                    raise _Refused(outside(path, self._reach))

    def text(self, text: str) -> None:
        """Refuses a text that names a place which is closed, or a secret of the system's."""
        self._steps.take(1 + len(text) // 500)
        for form in (text, text.translate(_PLAIN_JOIN)):
            self._needles(form, _SECRETS)
            self.places(form)
        squeezed = printing.unescaped(text).translate(_JOIN)
        self._needles(squeezed, _SQUEEZED)
        for other in printing.turned(squeezed):
            self._needles(other, _SQUEEZED[:1])

    def _needles(self, text: str, needles: tuple[str, ...]) -> None:
        for needle in needles:
            if needle in text:
                raise _Refused(outside(needle, self._reach))

    def places(self, text: str) -> None:
        """Refuses a text that names a place which is closed."""
        for place in self._reach.shut:
            at = text.find(place)
            while at >= 0:
                self._steps.take(_LOOK // 5)
                mention = re.match(r"[^\s'\"`()<>|;&=,:@\\\[\]{}!]*", text[at : at + 4096])
                path = mention[0] if mention else place
                if self._reach.closed(path) and not self._reach.holds(path):
                    raise _Refused(outside(path, self._reach), path=path)
                at = text.find(place, at + len(place))

    def code(self, text: str, folders: frozenset[str]) -> None:
        """Refuses a program that names a path outside, however it is put together."""
        self._steps.take(5 + len(text) // 14)
        if _IDENTITY.search(text):
            raise _Refused("variables of Windlass's own say where others' things are", "others")
        if _PARENTS.search(text) and "kill" in text:
            raise _Refused("what started this is not yours to end", "others")
        if _CALLING.search(text) and _AS_ANOTHER.search(text):
            raise _identity("the environment of wl")
        said = _CHR.sub(lambda number: f"'{chr(int(number[1]) & 0x7F)}'", text)
        said = re.sub(r"['\"]\s*[+.,]\s*['\"]", "", printing.unescaped(said))
        slashed = re.sub(r"['\"]\s*[,/]\s*['\"]", "/", printing.unescaped(text))
        bare = _ADDRESS.sub(" ", _FILE.sub(" ", said))
        self._needles(said, _SECRETS)
        self._needles(slashed, _SECRETS)
        self.text(said)
        if _HOMELY.search(text) and _PRIVATE.search(text):
            raise _Refused("what lies in a person's home is not for agents")
        for mention in dict.fromkeys((*_MENTION.findall(bare), *_PARENT.findall(bare))):
            if not re.fullmatch(r"/[^/]*/?", mention) or mention in ("/etc", "/root", "/home"):
                self._path(mention, folders)
        for mention in dict.fromkeys(_MENTION.findall(slashed) if slashed != text else ()):
            if len(mention) > 1:
                self._path(mention, folders)
        if self._decodes:
            for word in _ENCODED.findall(text)[:64]:
                self._steps.take(5)
                hidden = printing.decoded(word[:4096])
                if hidden:
                    self.code(hidden, folders)


def _require_staying(name: str, rest: list[str]) -> None:
    """Refuses programs by which something leaves the session, or reaches those of others."""
    if name in _LEAVING and rest not in (["-V"], ["-l"], ["--version"]):
        reason = f"{name} is not for agents: {_LEAVING[name]}"
        raise _Refused(reason, "others", (f"Bash({name}:*)",))
    if name == "sudo" and _OTHER_USER.match(" ".join(rest)):
        raise _Refused("sudo that acts as another user is not for agents", "others")
    if name in ("systemctl", "launchctl") and not _SERVICES.isdisjoint(rest[:3]):
        reason = f"{name} is not for agents: what it starts is nobody's any more"
        raise _Refused(reason, "others", (f"Bash({name}:*)",))
    if name == "ssh" and any(map(_HOST.fullmatch, rest[:6])):
        raise _Refused("ssh to this machine leaves the session", "others", ("Bash(ssh:*)",))


def _require_own_verb(rest: list[str]) -> None:
    """Refuses what of `wl` is the person's."""
    plain = [text for text in rest if not text.startswith("-")]
    verb = plain[0] if plain else ""
    changing = verb == "config" and not _CHANGING.isdisjoint(plain)
    if verb in _PERSONS or changing:
        raise _Refused(f"wl {verb} is for people; ask with `wl ask`", "others")


def _in_place(words: tuple[Said, ...]) -> bool:
    return any(re.match(r"-(?!I)[a-zA-Z]*i|--in-place", word.text) for word in words[1:])


def _identity(name: str) -> _Refused:
    return _Refused(
        f"{name} says who you are to Windlass: leave it as it is, and use `wl` as yourself",
        "others",
    )


def _together(words: tuple[Said, ...]) -> list[str]:
    texts = [""]
    for word in words:
        texts = [f"{text} {more}" for text in texts for more in word.texts][:16]
    return texts


def _alternatives(words: tuple[Said, ...]) -> Iterator[tuple[Word, ...]]:
    """A command as the words of one, for each of what its words may become."""
    for at in range(min(max(len(word.texts) for word in words), 4)):
        yield tuple(
            _word(part)
            for word in words
            for part in (
                word.parts if len(word.parts) > 1 else (word.texts[-1 - at % len(word.texts)],)
            )
        )


def _word(text: str) -> Word:
    if text == UNKNOWN:
        return Word((Piece("variable", "?", quoted=True),), plain=False)
    return Word((Piece("text", text.replace(UNKNOWN, ""), quoted=True),), plain=True)


def _texts_of(name: str, words: tuple[Said, ...]) -> set[int]:
    """Which words are texts: messages, patterns, what is compared or sent."""
    said = [word.text for word in words]
    places = texts_of(name, words)
    behind = _TEXT_BEHIND.get(name)
    if behind is not None:
        places |= {at for at in range(2, len(said)) if behind.fullmatch(said[at - 1])}
    if name == "curl":
        places = {at for at in places if not said[at].startswith(("@", "~", "/", "../"))}
    if name in ("[", "test", "[["):
        places |= {at for at in range(1, len(said)) if not re.match(r"-[a-zA-Z]$", said[at - 1])}
    if name == "sed":
        places = {at for at in places if not _SED_FILES.search(f";{said[at]}")}
    if _CODE.fullmatch(name) and name != "sed":
        places = {at for at in places if len(said[at]) < 4}
    return places


def _paths_in(text: str) -> Iterator[str]:
    """A word and the parts of it that may be paths of their own: behind =, :, and options."""
    if _ADDRESS.match(text) and not _FILE.match(text):
        return
    if not text.startswith("-"):
        yield text
    elif not text.startswith("--"):
        # -I/usr/include, -C../x
        at = next((n for n, sign in enumerate(text) if sign in "/~."), 0)
        if at and (text[at] != "." or text.startswith("..", at)):
            yield text[at:]
    for sign in list(_PART.finditer(text))[:64]:
        rest = text[sign.end() :]
        if _FILE.match(rest) or re.match(r"~|/(?!/)|\.\.(?:/|$)|\0/", rest):
            yield re.split(r"[:,}]", rest, maxsplit=1)[0] if not _FILE.match(rest) else rest
