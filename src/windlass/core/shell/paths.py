"""Where the commands of a shell line reach: every word that may name a path, and whether it may.

Words are resolved against the folder that the shell is in by then: `cd` is followed through `&&`,
`||`, subshells and loops, with every folder it may be in. Absolute words, words with `/` or `..`
and plain names have to be inside of what the agent may touch; texts (messages, programs of sed, the
bodies of here-documents) are searched for places that are closed to it. What changes a folder has
to leave alone one that holds such a place. Whether a path is inside is for the caller to say, who
can follow links.
"""

from __future__ import annotations

import posixpath
import re
import string
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from windlass.core.shell import reader, runs
from windlass.core.shell.options import Options
from windlass.core.shell.reach import Reach, legible, outside
from windlass.core.shell.runs import Words
from windlass.core.shell.steps import COMMAND, LOOKUP, NODE, WORD, Steps, TooLong
from windlass.core.shell.texts import texts_of
from windlass.core.shell.tree import Broken, Command, Node, Word, words
from windlass.core.shell.values import MOST, UNKNOWN, Values

_DEVICES = re.compile(r"/dev/(?:null|zero|full|random|urandom|tty|std(?:in|out|err)|fd/[0-9]+)")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FILE = re.compile(r"file:(?://[^/]*)?(?=/)", re.IGNORECASE)
_PART = re.compile(r"[=:,@]")
_ALPHANUMERIC = string.ascii_letters + string.digits
_WILD = re.compile(r"[*?\[\0]")
_READERS = frozenset(
    (
        *("cat", "head", "tail", "tac", "nl", "wc", "ls", "stat", "file", "cmp", "diff", "od"),
        *("grep", "egrep", "fgrep", "cut", "strings", "hexdump", "readlink", "realpath", "test"),
        *("[", "md5sum", "sha1sum", "sha256sum", "cksum", "du", "df", "jq", "find"),
    )
)
"""Commands that only ever read what their words name."""
_CHANGING = re.compile("-(?:delete|exec|ok|fprint|fls)")
"""Unless find is told to."""
_GOING = ("cd", "pushd")
_LINKING = {
    "ln": Options(("--symbolic",), "s", valued="tS"),
    "cp": Options(("--symbolic-link",), "s", valued="tS"),
}
"""Which of their options make a link that says where it leads."""
_JOINED = {
    **dict.fromkeys(("cp", "mv", "ln"), "t"),
    **dict.fromkeys(("grep", "egrep", "fgrep"), "f"),
    "sort": "oT",
    "touch": "r",
    "mktemp": "p",
    "tree": "o",
    "date": "rf",
    "file": "fm",
    "time": "o",
}
"""Letters of options to which a path may be joined, behind other letters too."""
_INTO = Options(("--target-directory",), "t")
_ROOTED = re.compile(r"[/~]|\.\.(?:/|$)|\0/")
_MENTION = re.compile(r"[^\s'\"`()<>|;&=,:@\\\[\]{}!]+")

LONGEST = 4096
"""Of a path that any system opens."""

Folders = frozenset[str]
"""Where the shell may be; UNKNOWN is anywhere."""


class _Outside(Exception):
    """A line would go where the agent may not; says where and why."""


def refusal(
    line: str, cwd: str, reach: Reach, *, spelled: Callable[[Words], int] = bool
) -> str | None:
    """Why a line may not go where it goes; None if it may.

    `spelled` says how many of a command's words a person has spelled out; at least its name is
    never looked at.
    """
    if reach.boxed:
        return None
    try:
        _Walk(reach, cwd, spelled).line(line, frozenset((cwd,)))
    except _Outside as why:
        return str(why)
    except TooLong as reason:
        return f"the line cannot be followed: {reason}"
    except RecursionError:
        return "the line is nested too deeply"
    return None


class _Walk:
    def __init__(self, reach: Reach, cwd: str, spelled: Callable[[Words], int]) -> None:
        self._reach = reach
        self._spelled = spelled
        self._known = {"HOME": reach.home, "TMPDIR": reach.temp, **reach.variables}
        self._values = Values(Node("list"), self._known)
        self._steps = Steps()
        self._fine: set[str] = set()
        self._left: set[str] = set()
        """Paths that were looked at before, and hold nothing that is to be left alone."""
        self._joined = ""
        """Letters of the present command's options to which a path may be joined."""
        self._reading = False
        """Whether the words that are looked at belong to a command that only reads."""
        self._changing = False
        """Whether they belong to one that may change what they name, with all that is in it."""
        self._require(cwd)

    def line(self, line: str, folders: Folders) -> None:
        """Walks a line; one that cannot be read is searched like a text."""
        try:
            node = reader.read(line, self._steps).node
        except Broken:
            self._text(line)
            return
        before, self._values = self._values, Values(node, self._known, self._steps)
        self._node(node, folders)
        self._values = before

    def _node(self, node: Node | Command, folders: Folders) -> tuple[Folders, Folders]:
        """Where the shell may be behind it: if it succeeds, and if it fails."""
        if len(folders) > MOST:
            folders = frozenset((UNKNOWN,))
        self._around(node, folders)
        if isinstance(node, Command):
            return self._command(node, folders)
        if node.kind in ("for", "test"):
            for word in node.words:
                self._word(word, folders)
        if node.kind in ("for", "loop", "branches"):
            return self._repeated(node, folders)
        if node.kind in ("apart", "pipe"):
            for part in node.parts:
                self._node(part, folders)
            return folders, folders
        return self._sequence(node, folders)

    def _around(self, node: Node | Command, folders: Folders) -> None:
        """Looks at what runs in a node's words, and at where it redirects to."""
        self._steps.take(NODE)
        for word in words(node):
            for piece in word.pieces:
                if piece.inside is not None:
                    self._node(piece.inside, folders)
        for redirect in node.redirects:
            if redirect.operator in ("<<", "<<<"):
                self._word_as_text(redirect.target, folders)
            elif not re.fullmatch(r"[0-9]+-?|-", redirect.target.text):
                self._word(redirect.target, folders)

    def _sequence(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        if node.kind == "not":
            good, bad = self._node(node.parts[0], folders)
            return bad, good
        if node.kind in ("and", "or"):
            return self._chain(node, folders)
        good = bad = folders
        for part in node.parts:
            good, bad = self._node(part, good | bad)
        return good, bad

    def _chain(self, node: Node | Command, folders: Folders) -> tuple[Folders, Folders]:
        """`a && b || c`, whose first part is deepest inside."""
        links: list[Node] = []
        while isinstance(node, Node) and node.kind in ("and", "or"):
            links.append(node)
            node = node.parts[0]
        good, bad = self._node(node, folders)
        for link in reversed(links):
            if link.kind == "and":
                good, failed = self._node(link.parts[1], good)
                bad |= failed
            else:
                then, bad = self._node(link.parts[1], bad)
                good |= then
        return good, bad

    def _repeated(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        seen = folders
        for _ in range(3):
            more = seen
            for part in node.parts:
                good, bad = self._node(part, more)
                more |= good | bad
            if more == seen:
                return seen, seen
            seen = more
        return seen | {UNKNOWN}, seen | {UNKNOWN}

    def _command(self, command: Command, folders: Folders) -> tuple[Folders, Folders]:
        for setting in command.settings:
            for word in setting.values:
                self._word(word, folders)
        if not command.words:
            return folders, folders
        name = command.words[0].literal or ""
        self._steps.take(COMMAND // 4)
        texts = texts_of(name, command.words)
        spelled = max(self._spelled(command.words), 1)
        self._reading = _only_reads(name, command.words)
        self._changing = not self._reading and name not in _GOING
        self._joined = _JOINED.get(name, "")
        for at, word in enumerate(command.words[spelled:], spelled):
            if at in texts:
                self._word_as_text(word, folders)
            else:
                self._word(word, folders)
        self._reading, self._changing, self._joined = False, False, ""
        self._links(name, command.words, folders)
        for line in self._lines(command.words):
            self.line(line, folders)
        if name == "cd":
            return self._changed(command.words, folders), folders
        if name in ("pushd", "popd", "eval", "source", ".") or not name:
            return folders | {UNKNOWN}, folders | {UNKNOWN}
        return folders, folders

    def _links(self, name: str, said: tuple[Word, ...], folders: Folders) -> None:
        """Refuses links that lead upwards from where they are: moved, they lead elsewhere."""
        options = [word.text for word in said[1:] if word.text.startswith("-")]
        if name not in _LINKING or not any(map(_LINKING[name].has, options)):
            return
        names = [word for word in said[1:] if not word.text.startswith("-")]
        into = any(map(_INTO.has, options)) or len(names) == 1
        for word in names if into else names[:-1]:
            for text in self._values.of(word, folders - {UNKNOWN}):
                if ".." in text.split("/") and not text.startswith("/"):
                    raise _Outside(
                        f"a link to {_shown(text)} leads elsewhere once it is moved; write where it"
                        " leads without .., or from the root on"
                    )

    def _lines(self, said: tuple[Word, ...]) -> Iterator[str]:
        """The lines that a command gives to another shell."""
        try:
            waiting = [said]
            while waiting:
                command = waiting.pop()
                self._steps.take(WORD * len(command))
                for inner in runs.started(command):
                    if isinstance(inner, str):
                        yield inner
                    else:
                        waiting.append(inner)
        except runs.Doubt:
            return

    def _changed(self, said: tuple[Word, ...], folders: Folders) -> Folders:
        rest = [word for word in said[1:] if word.literal not in ("-P", "-L", "-e", "--")]
        if any(setting == "CDPATH" for setting in self._values.names()):
            return frozenset((UNKNOWN,))
        if not rest:
            self._require(self._reach.home or "/")
            return frozenset((self._reach.home or UNKNOWN,))
        changed_to: set[str] = set()
        for text in self._values.of(rest[0], folders - {UNKNOWN}):
            if _WILD.search(text) or text == "-":
                changed_to.add(UNKNOWN)
                continue
            for folder in folders:
                # The word was looked at as every word is; the shell itself takes .. by name.
                joined = posixpath.normpath(posixpath.join(folder, text))
                known = joined.startswith("/")
                if known:
                    self._require(joined)
                changed_to.add(joined if known else UNKNOWN)
        return frozenset(changed_to)

    def _word(self, word: Word, folders: Folders) -> None:
        for text in self._values.of(word, folders - {UNKNOWN}):
            self._check(text, folders)

    def _word_as_text(self, word: Word, folders: Folders) -> None:
        for text in self._values.of(word, folders - {UNKNOWN}):
            self._text(text)

    def _check(self, text: str, folders: Folders) -> None:
        self._text(text)
        if not text or text == "=~" or len(text) > LONGEST:
            return
        if re.search(r"\s", text) and not re.match(r"/|~|\.\./|file:", text):
            self._blank_path(text, folders)
            return
        for path in _paths_in(text, self._joined):
            self._path(path, folders)

    def _blank_path(self, text: str, folders: Folders) -> None:
        """With blanks in it, it is a text more often than a name; what it says is no pattern."""
        for folder in folders if UNKNOWN not in text else ():
            if folder != UNKNOWN:
                self._require(posixpath.join(folder, text))

    def _path(self, path: str, folders: Folders) -> None:
        self._steps.take(WORD + len(path))
        if not path:
            return
        if path[:1] == "~":
            path = (
                f"{self._reach.home or UNKNOWN}{path[1:]}"
                if path[1:2] in ("", "/")
                else UNKNOWN + "/"
            )
        wild = _WILD.search(path)
        parts = path.split("/")
        if wild is not None:
            sure = path[: wild.start()].rpartition("/")[0] if "/" in path[: wild.start()] else ""
            if path.startswith("/") and not sure:
                sure = "/"
            if ".." in path[len(sure) :].split("/") or (path[0] == UNKNOWN and "/" in path):
                raise _Outside(f"{_shown(path)} could be anywhere; write the path out")
            if any(_may_go_up(part) for part in parts):
                raise _Outside(f"{_shown(path)} could lead upwards; write the path out")
            self._leave_alone(_shown(path), sure, folders)
            path = sure
        if path.startswith("/"):
            self._require(path)
            return
        for folder in folders:
            if folder != UNKNOWN:
                self._require(posixpath.join(folder, path))
            elif "/" in path or ".." in parts:
                raise _Outside(f"{_shown(path)} could be anywhere after that cd; write it out")

    def _leave_alone(self, shown: str, path: str, folders: Folders) -> None:
        """Refuses a folder in which not everything is the agent's."""
        self._steps.take(LOOKUP)
        for folder in folders - {UNKNOWN}:
            if self._reach.holds(posixpath.join(folder, path)):
                raise _Outside(f"{shown} holds what is not the agent's; name what is")

    def _require(self, path: str) -> None:
        if self._changing and path not in self._left:
            self._leave_alone(_shown(path), path, frozenset(("/",)))
            self._left.add(path)
        if path in self._fine or _DEVICES.fullmatch(path):
            return
        self._steps.take(LOOKUP + len(path))
        if self._reading and legible(path, self._reach):
            return
        if not self._reach.inside(path):
            raise _Outside(outside(_shown(path), self._reach))
        self._fine.add(path)

    def _text(self, text: str) -> None:
        """Refuses a text that names a place which is closed."""
        self._steps.take(1 + len(text))
        home = self._reach.home
        for name in ("${HOME}", "$HOME"):
            text = text.replace(name, home or name)
        for mention in dict.fromkeys(_MENTION.findall(_FILE.sub(" ", text))):
            said = mention.partition(UNKNOWN)[0]
            if home and (said == "~" or said.startswith("~/")):
                said = home + said[1:]
            # What is relative is too often part of a program or of a message.
            if not said.startswith("/"):
                continue
            self._steps.take(LOOKUP)
            if any(map(self._reach.closed, {said, unquote(said)})):
                raise _Outside(outside(said, self._reach))


def _paths_in(text: str, joined: str) -> Iterator[str]:
    """A word and the parts of it that may be paths of their own: behind =, :, and options."""
    if _FILE.match(text):
        yield unquote(_FILE.sub("", text, count=1))
        return
    if not text.startswith("-"):
        yield text
    elif not text.startswith("--"):
        # -I/usr/include, -C../x, -vt../x, but -Isrc/x
        letters = len(text) - len(text[1:].lstrip(_ALPHANUMERIC))
        yield from (text[at:] for at in range(2, max(3, min(letters, 20))))
        if text[letters - 1] in joined or text.startswith("..", letters):
            yield text[letters:]
    else:
        yield text.partition("=")[2]
    if _ADDRESS.match(text):
        return
    for sign in _PART.finditer(text):
        if _FILE.match(text, sign.end()):
            yield unquote(_FILE.sub("", text[sign.end() :], count=1))
        elif _ROOTED.match(text, sign.end()) and text[sign.end() : sign.end() + 2] != "//":
            yield text[sign.end() :]


def _only_reads(name: str, said: tuple[Word, ...]) -> bool:
    return name in _READERS and not any(_CHANGING.match(word.text) for word in said[1:])


def _may_go_up(part: str) -> bool:
    """Whether `..` is among what a pattern finds."""
    if not part.startswith(".") or not _WILD.search(part):
        return False
    return (
        part in (".*", ".?") or part[1:2] in ("[", UNKNOWN) or bool(re.match(r"\.\*|\.\?$", part))
    )


def _shown(path: str) -> str:
    return path.replace(UNKNOWN, "…")
