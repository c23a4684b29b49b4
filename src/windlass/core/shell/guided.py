"""Where a shell line reaches, judged without asking what its programs are: the guided way.

Programs that nobody knows pass, and so does what cannot be read. What is refused is reach: words,
settings and redirections that are paths outside, shared refs, `wl` in another's name, and places
that are closed, anywhere in the text and however they are spelled there.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import NamedTuple

from windlass.core.shell import (
    git_lines,
    git_reach,
    line_policy,
    others,
    programs,
    refs,
    text_programs,
)
from windlass.core.shell.alternatives import alternatives, together
from windlass.core.shell.ground import Folders, Ground
from windlass.core.shell.loose import Shell
from windlass.core.shell.mentions import Mentions
from windlass.core.shell.reach import Reach, known
from windlass.core.shell.refusals import Refusal, Refused, identity
from windlass.core.shell.said import Run, Said
from windlass.core.shell.shell_builtins import DECLARING
from windlass.core.shell.steps import Steps, TooLong
from windlass.core.shell.values import UNKNOWN

MOST = 6_000
"""Steps for one line: some 20 ms. A line of a hundred words takes less than a thousand."""
OWN_CONFIG = "WINDLASS_GIT_CONFIG"
"""The variable that names a file of git's configuration which only the agent's git reads."""
_TELLING = (
    *("GIT_", "PAGER", "EDITOR", "LESS", "BASH_ENV", "ENV", "PROMPT", "CDPATH", "LD_", "NODE_"),
    *("PYTHONSTARTUP", "PYTHONPATH", "RUBYOPT", "RUBYLIB", "PERL5", "JAVA_TOOL", "JDK_JAVA"),
)
"""Settings that make programs open and run what they name."""
_SETTING = re.compile(r"[A-Za-z_]\w*=")
_HIDING = re.compile(r"\b(?:base64|base32|xxd|openssl|uudecode|rev)\b")
_INTO_SHELL = re.compile(r"\|[ \t]{0,9}(?:sudo )?\w{0,4}sh\b")
"""What comes out of a decoder and is run."""


class Judged(NamedTuple):
    """What is to become of a line."""

    refusal: Refusal | None
    line: str
    """The line to run: what it would set for all is set for the agent alone."""


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
        guide.begin(cwd)
        Shell(guide, (cwd,), known(reach), steps).line(line)
    except Refused as refused:
        return Judged(refused.refusal, line)
    except (TooLong, RecursionError):
        return Judged(Refusal(f"this line cannot be judged: {TooLong()}", "unclear"), line)
    return Judged(None, guide.changed())


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
        self._hides = bool(_HIDING.search(line) and _INTO_SHELL.search(line))
        self._written: dict[str, tuple[str, ...]] = {}
        """What the line itself writes into files, which it may run."""
        self._others = others.Others(line)
        self._ground = Ground(reach, steps)
        self._mentions = Mentions(line, self._ground, reach, steps)

    def whole(self) -> None:
        """Looks at the line as a text."""
        self._mentions.places(self._line)
        for part in re.split(r"[\n;|]", self._line) if "WINDLASS" in self._line else ():
            if re.search(r"\b(?:unset|compgen|env|exec)\b", part) and others.RENAMED.search(part):
                raise identity("WINDLASS_…")

    def begin(self, folder: str) -> None:
        """Refuses to begin in a folder that is outside."""
        self._ground.require(folder)

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
                self._ground.path(text, run.folders, writes=sign[:1] != "<")
        for sign, word in run.redirects if run.name in ("echo", "printf", "cat", "tee") else ():
            if sign.startswith(">"):
                said = text_programs.printed(run, shell)
                place = posixpath.normpath(word.text)
                self._written[place] = (*self._written.get(place, ()), *said)[:16]
        if not run.words:
            # Behind the end of a loop stands what its `read` reads.
            for part in (part for text in run.given for part in text.split()[:64]):
                self._mentions.any(part, run.folders)
            return
        for pattern in self._deny:
            self._steps.take(5)
            if run.words[0].text != UNKNOWN and any(
                line_policy.may_mean(words, pattern) for words in alternatives(run.words)
            ):
                raise Refused(f"Bash({pattern}) is denied by policy", f"Bash({pattern})")
        spelled = self._spelled(run)
        self._named(run, shell, spelled)
        self._words(run, spelled)
        for text in run.documents:
            self._document(text, run)
        if run.name in programs.SHELLS or run.name in ("source", "."):
            self._fed(run, shell)
        for text in self._written.get(posixpath.normpath(run.words[0].text), ()):
            shell.line(text)

    def _document(self, text: str, run: Run) -> None:
        if programs.CODE.fullmatch(run.name):
            self._mentions.code(text, run.folders)
        else:
            self._mentions.text(text)

    def _fed(self, run: Run, shell: Shell) -> None:
        """What a shell is given to read is run; what it is given by a decoder is not known."""
        for word in run.words[1:2]:
            for text in self._written.get(posixpath.normpath(word.text), ()):
                shell.line(text)
        takes = not any(word.text == "-c" for word in run.words)
        for text in run.given if takes else ():
            shell.line(text)
        if takes and not run.given and self._hides:
            raise Refused(f"what {run.name} would run is hidden; write it out", "unclear")

    def _settings(self, run: Run) -> None:
        for name, texts in run.settings.items():
            if others.OURS.match(name) or (
                self._others.called and name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME")
            ):
                raise identity(name)
            for text in texts:
                if name.startswith(_TELLING):
                    for part in text.split()[:64]:
                        self._mentions.any(part, run.folders)
                    self._mentions.code(text, run.folders)
                else:
                    self._mentions.closed(text, run.folders)

    def _named(self, run: Run, shell: Shell, spelled: int) -> None:
        """What a program is known to do by its name; and what it starts."""
        name, rest = run.name, [word.text for word in run.words[1:]]
        if not spelled:
            self._others.require_staying(name, rest)
        if name == "unset" or name in DECLARING:
            for text in filter(others.OURS.match, rest):
                raise identity(text.partition("=")[0])
        elif name in ("wl", "windlass"):
            others.require_own_verb(rest)
        elif name == "env":
            self._environment(rest)
        elif name == "git":
            self._git(run, spelled, shell)
        if name in ("eval", "trap", "alias", *programs.SHELLS):
            self._lines(run, shell)
        if name in programs.RUNNERS or (name in programs.CONTAINERS and rest[:1] == ["unshare"]):
            self._started(run, shell)

    def _environment(self, rest: list[str]) -> None:
        self._others.require_own_name(rest)
        for at, text in enumerate(rest):
            if text.startswith(("-S", "--split-string")):
                self._mentions.code(" ".join(rest[at:]), frozenset(("/",)))

    def _lines(self, run: Run, shell: Shell) -> None:
        """Lines that are given to a shell as words."""
        wanted = run.words[1:]
        for setting, texts in run.settings.items():
            shell.set(setting, texts)
        if run.name == "eval":
            for text in together(wanted):
                shell.line(text, run.given)
            return
        if run.name in programs.SHELLS:
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
        for setting, texts in settings.items():
            shell.set(setting, texts)
        for at, word in enumerate(run.words[1:], 1):
            name = word.text.rpartition("/")[2]
            if run.name == "env" and (equals := re.match(r"(\w+)=", word.text)):
                settings[equals[1]] = tuple(text.partition("=")[2] for text in word.texts)
                shell.set(equals[1], settings[equals[1]])
            if _is_known(name):
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
                        self._mentions.any(word.text.replace("{}", text), run.folders)
                self._mentions.any(text, run.folders)

    def _git(self, run: Run, spelled: int, shell: Shell) -> None:
        """Shared refs and configuration; other agents' branches."""
        for words in alternatives(run.words):
            if git_lines.sets_own(words) and run.outermost:
                said = [word.text for word in run.words]
                self._set.add(run.words[said.index("config")].end)
                continue
            change = refs.shared_change(words, own=self._own)
            if change is not None and spelled <= change.at:
                raise Refused(change.reason, "shared", change.patterns)
            if spelled < 2:
                git_reach.require_own_branch([word.text for word in words], self._own)
        for inner in git_reach.started(run):
            if isinstance(inner, str):
                shell.line(inner)
            else:
                self.command(inner, shell)
        messages = programs.text_positions("git", run.words)
        for at, word in enumerate(run.words):
            if at not in messages and re.search(r"!|\s/|=", word.text):
                self._mentions.code(word.text, run.folders)

    def _words(self, run: Run, spelled: int) -> None:
        name, folders = run.name, run.folders
        self._mentions.closed(run.words[0].text, folders)
        self._mentions.text(run.words[0].text)
        if name in ("df", "source", ".") and all(
            map(programs.STARTING.fullmatch, (w.text for w in run.words[1:]))
        ):
            return
        said = programs.text_positions(name, run.words)
        start = max(spelled, 1)
        started = _started_at(run) if name in programs.RUNNERS else 0
        for at, word in enumerate(run.words[start:], start):
            for text in dict.fromkeys((*word.texts, *word.parts)):
                self._steps.take(2)
                if at == started:
                    # A program may lie anywhere; what it is given is judged with it.
                    self._mentions.closed(text, folders)
                    self._mentions.text(text)
                elif at in said or name in programs.PRINTING:
                    (self._mentions.places if name in programs.SEARCHING else self._mentions.text)(
                        text
                    )
                elif name in programs.CONTAINERS:
                    self._mounted(text, at, run)
                elif programs.CODE.fullmatch(name) and re.search(r"[\s(;'\"]", text):
                    self._mentions.code(text, folders)
                else:
                    self._argument(text, run, at)
        if name in ("cd", "pushd") and all(re.match("-.", w.text) for w in run.words[1:]):
            self._ground.path(self._reach.home or "/", folders)
        if name in ("cd", "pushd"):
            self._entered(run, folders)

    def _argument(self, text: str, run: Run, at: int) -> None:
        """A word that may be a path; of what is written to it is known where."""
        name, folders, before = run.name, run.folders, run.words[at - 1].text
        if "=" in text and (name in DECLARING or (name == "env" and _SETTING.match(text))):
            self._mentions.closed(text, folders)
        elif name in programs.REMOTE and (far := re.match(r"((?:[\w.-]+@)?[\w.-]{2,}):", text)):
            if others.HOST.fullmatch(far[1]):
                self._ground.path(text[far.end() :] or "~", frozenset((self._reach.home or "/",)))
        elif name == "ssh" and at > 1 and not text.startswith(("-", "~", "/")):
            self._mentions.text(text)
        elif name == "ln" and at < len(run.words) - 1 and not text.startswith("-"):
            self._link(text, run, folders)
        elif programs.OUTPUT.fullmatch(before):
            self._mentions.any(text, folders, writes=text.startswith(("/", "~")))
        else:
            last = at == len(run.words) - 1 and not text.startswith("-")
            into = name in programs.INTO or (
                name in ("sed", "perl", "ruby") and programs.in_place(run.words)
            )
            self._mentions.any(text, folders, writes=name in programs.WRITING or (into and last))

    def _link(self, text: str, run: Run, folders: Folders) -> None:
        """What a symbolic link says is read from where the link lies."""
        soft = any(re.match(r"-\w*s|--symbolic", word.text) for word in run.words[1:])
        place = run.words[-1].text
        if soft and not text.startswith(("/", "~")) and UNKNOWN not in place:
            lies = place if place.endswith("/") or place == "." else posixpath.dirname(place)
            folders = frozenset(posixpath.join(folder, lies) for folder in folders)
        self._mentions.any(text, folders)

    def _entered(self, run: Run, folders: Folders) -> None:
        for text in run.words[-1].texts if len(run.words) > 1 else ():
            for folder in folders:
                if UNKNOWN not in folder + text and not text.startswith(("-", "~")):
                    self._ground.path(posixpath.normpath(posixpath.join(folder, text)), folders)
            if run.settings.get("CDPATH"):
                for base in run.settings["CDPATH"]:
                    self._ground.path(posixpath.join(base, text), folders)

    def _mounted(self, text: str, at: int, run: Run) -> None:
        """Of what a container is given, only what it mounts is of this machine."""
        before, folders = run.words[at - 1].text, run.folders
        joined = re.match(r"(?:-v|--volume=|--mount=?|--env-file=)(.+)", text)
        volume = joined[1] if joined else text
        copied = run.words[1].text == "cp" and text != "cp" and text[:1] in "/~."
        if copied:
            self._ground.path(text, folders)
        elif text in ("--privileged", "--pid=host") or (before, text) == ("--pid", "host"):
            raise Refused(f"a container with {text} has no limits")
        elif joined or before in ("-v", "--volume", "--mount", "--env-file", "-f", "--file"):
            source = re.search(r"(?:source|src)=([^,]*)", volume)
            self._ground.path(source[1] if source else volume.partition(":")[0], folders)
        else:
            self._mentions.closed(text, folders)


def _is_known(name: str) -> bool:
    """Whether a word that stands behind a runner is taken for the program that it starts."""
    return (
        name in programs.SHELLS
        or name in others.LEAVING
        or name in programs.RUNNERS
        or programs.CODE.fullmatch(name) is not None
        or name in ("git", "wl", "windlass", "cat", *programs.WRITING, *programs.INTO)
    )


def _started_at(run: Run) -> int:
    """The place of the program that a runner starts; 0 where none is known."""
    names = (word.text.rpartition("/")[2] for word in run.words[1:])
    return next((at for at, name in enumerate(names, 1) if _is_known(name)), 0)
