"""What texts mention: places that are closed, secrets of the system's, and paths in programs.

A word that may be a path goes to the ground; one that is a text or a program is searched, however
what it says is put together or encoded there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from windlass.core.shell import text_programs
from windlass.core.shell.ground import FILE, LOOK, Folders, Ground
from windlass.core.shell.reach import Reach, outside
from windlass.core.shell.refusals import Refused, identity
from windlass.core.shell.steps import Steps
from windlass.core.shell.values import UNKNOWN

_IDENTITY = re.compile(r"\b(?:WINDLASS_\w+|XDG_RUNTIME_DIR|XDG_STATE_HOME)\b")
_PARENTS = re.compile(r"getppid|\bppid\b", re.IGNORECASE)
_CALLING = re.compile(r"['\"](?:wl|windlass)['\" ]")
_AS_ANOTHER = re.compile(r"\benv\s*[=:]|setsid|start_new_session|detached|fork|environ|unsetenv")
"""What gives a program that is started another name, or another parent."""
_PART = re.compile(r"[=:,@{]")
_MENTION = re.compile(
    r"(?<![\w.$)\]}*<-])(?<!\w/)(?:~|\.\.?)?/(?!/)[^\s'\"`()<>|;&,\\\[\]{}!^$#%*?:=]*"
)
_PARENT = re.compile(
    r"(?<![\w./])\.\./[\w./@+-]*|(?<=['\"])\.\.(?=['\"])|(?<=(?:cd|ls|-C) )\.\.(?![\w.])"
)
"""The folder above; alone and without quotes, two dots are an operator of many languages."""
_ADDRESS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s'\"]*+")
_CHR = re.compile(r"(?i)\b(?:chr|fromCharCode|fromCodePoint)\((?:0x)?([0-9]{2,3})\)")
_JOIN = str.maketrans(dict.fromkeys("'\"+, \t\n\\$(){}[]`.&^;", None))
_PLAIN_JOIN = str.maketrans(dict.fromkeys("'\"\\", None))
_ENCODED = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_DECODING = re.compile(r"(?i)b(?:ase)?64|base32|atob|xxd|hex|openssl|Buffer\.from|pack\(|\b-d\b")
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


class Mentions:
    """Searches texts."""

    def __init__(self, line: str, ground: Ground, reach: Reach, steps: Steps) -> None:
        self._ground = ground
        self._reach = reach
        self._steps = steps
        self._decodes = _DECODING.search(line) is not None

    def any(self, text: str, folders: Folders, *, writes: bool = False) -> None:
        """A word that may be a path, hold one, or be a text."""
        if len(text) > 4096 or re.search(r"\s", text):
            self.text(text)
            if re.match(r"/|~|\.\./", text) and len(text) < 512:
                self._ground.path(text.split(maxsplit=1)[0], folders, writes=writes)
            return
        for path in _paths_in(text):
            self._ground.path(path, folders, writes=writes)

    def closed(self, text: str, folders: Folders) -> None:
        """Refuses a word that is a place which is closed, whatever else may be reached."""
        for path in _paths_in(text):
            for folder in folders:
                whole = posixpath.join(folder, path)
                if UNKNOWN not in whole and "/" in path and self._reach.closed(whole):
                    raise Refused(outside(path, self._reach))

    def text(self, text: str) -> None:
        """Refuses a text that names a place which is closed, or a secret of the system's."""
        self._steps.take(1 + len(text) // 500)
        for form in (text, text.translate(_PLAIN_JOIN)):
            self._needles(form, _SECRETS)
            self.places(form)
        squeezed = text_programs.unescaped(text).translate(_JOIN)
        self._needles(squeezed, _SQUEEZED)
        for other in text_programs.turned(squeezed):
            self._needles(other, _SQUEEZED[:1])

    def _needles(self, text: str, needles: tuple[str, ...]) -> None:
        for needle in needles:
            if needle in text:
                raise Refused(outside(needle, self._reach))

    def places(self, text: str) -> None:
        """Refuses a text that names a place which is closed."""
        for place in self._reach.shut:
            at = text.find(place)
            while at >= 0:
                self._steps.take(LOOK // 5)
                mention = re.match(r"[^\s'\"`()<>|;&=,:@\\\[\]{}!]*", text[at : at + 4096])
                path = mention[0] if mention else place
                if self._reach.closed(path) and not self._reach.holds(path):
                    raise Refused(outside(path, self._reach), path=path)
                at = text.find(place, at + len(place))

    def code(self, text: str, folders: Folders) -> None:
        """Refuses a program that names a path outside, however it is put together."""
        self._steps.take(5 + len(text) // 14)
        if _IDENTITY.search(text):
            raise Refused("variables of Windlass's own say where others' things are", "others")
        if _PARENTS.search(text) and "kill" in text:
            raise Refused("what started this is not yours to end", "others")
        if _CALLING.search(text) and _AS_ANOTHER.search(text):
            raise identity("the environment of wl")
        said = _CHR.sub(lambda number: f"'{chr(int(number[1]) & 0x7F)}'", text)
        said = re.sub(r"['\"]\s*[+.,]\s*['\"]", "", text_programs.unescaped(said))
        slashed = re.sub(r"['\"]\s*[,/]\s*['\"]", "/", text_programs.unescaped(text))
        bare = _ADDRESS.sub(" ", FILE.sub(" ", said))
        self._needles(said, _SECRETS)
        self._needles(slashed, _SECRETS)
        self.text(said)
        if _HOMELY.search(text) and _PRIVATE.search(text):
            raise Refused("what lies in a person's home is not for agents")
        written = _MENTION.findall(_ADDRESS.sub(" ", text)) if said != text else ()
        for mention in dict.fromkeys((*_MENTION.findall(bare), *_PARENT.findall(bare), *written)):
            if not re.fullmatch(r"/[^/]*/?", mention) or mention in ("/etc", "/root", "/home"):
                self._ground.path(mention, folders)
        for mention in dict.fromkeys(_MENTION.findall(slashed) if slashed != text else ()):
            if len(mention) > 1:
                self._ground.path(mention, folders)
        if self._decodes:
            for word in _ENCODED.findall(text)[:64]:
                self._steps.take(5)
                hidden = text_programs.decoded(word[:4096])
                if hidden:
                    self.code(hidden, folders)


def _paths_in(text: str) -> Iterator[str]:
    """A word and the parts of it that may be paths of their own: behind =, :, and options."""
    if _ADDRESS.match(text) and not FILE.match(text):
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
        if FILE.match(rest) or re.match(r"~|/(?!/)|\.\.(?:/|$)|\0/", rest):
            yield re.split(r"[:,}]", rest, maxsplit=1)[0] if not FILE.match(rest) else rest
