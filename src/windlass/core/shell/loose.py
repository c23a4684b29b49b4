"""Shell lines read loosely: the commands they come to, with what their words may become.

Nothing is refused here for its form: what cannot be read is passed over, and what cannot be known
is `UNKNOWN` in a text. A line is run through once, from left to right, whatever its conditions say:
variables keep every value that the line gave them, `cd` is followed, loops go round once. So that
tricks of spelling come to nothing, small programs that only make texts of texts (`echo`, `printf`,
`base64 -d`, `rev`, `dirname`) are known too. Every word takes steps, and TooLong ends it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import NamedTuple, Protocol

from windlass.core.shell import printing
from windlass.core.shell.steps import Steps, TooLong
from windlass.core.shell.values import UNKNOWN, braced

_MANY = 12
_DEEPEST = 8
_LONGEST = 4096
_CALLS = 16
_SPACE = re.compile(r"(?:[ \t\r]|\\\n)*")
_SIGN = re.compile(
    r"(?P<redirect>(?:[0-9]+|\{\w+\})?(?:<<<|<<-|<<|<>|<&|<(?!\()|>&|>>|>\||>(?!\())|&>>|&>)"
    r"|(?P<other>\|\||&&|;;&|;;|;&|\|&|[\n|&;()])"
)
_PLAIN = re.compile(r"[^ \t\r\n|&;()<>'\"\\$`]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_NESTING = re.compile(r"['\"\\`(){}]|\$'|(?<!<)<<-?(?!<)[ \t]*['\"\\]?(\w+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*?#$!-]")
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]=]*\])?\+?=", re.DOTALL)
_PARAMETER = re.compile(
    r"(?P<how>[!#])?(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9@*?$!-])(?:\[[^]]*\])?(?P<rest>.*)",
    re.DOTALL,
)
_REPLACING = re.compile(r"((?:[^/\\]|\\.)*+)(?:/(.*))?", re.DOTALL)
_SLICE = re.compile(r": *(-?[0-9]+)(?::(-?[0-9]+))?$")
_KEYWORDS = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"),
        *("time", "coproc", "function", "esac"),
    )
)
DECLARING = frozenset(("export", "declare", "typeset", "local", "readonly", "alias"))
_COUNTING = frozenset("?#$!-")

Texts = tuple[str, ...]
"""What a word may become."""


class Said(NamedTuple):
    """A word of a command."""

    texts: Texts
    parts: Texts
    """The words that the shell may split it into, where it may."""
    end: int
    """Where it ends in the text that was read."""

    @property
    def text(self) -> str:
        """What it most likely becomes."""
        return self.texts[-1]


class Run(NamedTuple):
    """A command that a line comes to."""

    words: tuple[Said, ...]
    settings: dict[str, Texts]
    redirects: tuple[tuple[str, Said], ...]
    given: Texts
    """What it reads from its input, as far as that is known."""
    documents: Texts
    """Its here-documents and here-strings; they are part of what is given."""
    goes_on: bool
    """Whether what it prints goes into another command, or into a word."""
    folders: frozenset[str]
    outermost: bool
    """Whether it stands in the line itself, so that the line can be changed there."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""


_NOTHING = Said((":",), (), 0)


class Judge(Protocol):
    """Whoever looks at commands as they are found."""

    def command(self, run: Run, shell: Shell) -> None:
        """Looks at one; raises to end it."""


class Shell:
    """What a shell would know while it runs a line."""

    def __init__(
        self, judge: Judge, folders: Iterable[str], known: Mapping[str, str], steps: Steps
    ) -> None:
        self.judge = judge
        self.folders = frozenset(folders)
        self.before = self.folders
        self.known = {name: (value,) for name, value in known.items() if value}
        self.variables: dict[str, Texts] = {}
        self.functions: dict[str, str] = {}
        self.steps = steps
        self.depth = 0
        self.calls = 0

    def line(self, text: str, given: Texts = (), *, goes_on: bool = False) -> Texts:
        """Runs a text through; returns what its last command prints, where that is known."""
        if self.depth > _DEEPEST:
            raise TooLong
        self.depth += 1
        self.steps.take(10)
        try:
            return _Line(self, text, goes_on=goes_on).run(given)
        finally:
            self.depth -= 1

    def apart(self, text: str) -> Texts:
        """Runs a text in a shell of its own, whose output becomes part of a word."""
        folders, before, variables = self.folders, self.before, dict(self.variables)
        printed = self.line(text, goes_on=True)
        self.folders, self.before, self.variables = folders, before, variables
        return tuple(text.rstrip("\n") for text in printed)

    def value(self, name: str) -> Texts:
        """The values that a variable may have."""
        if name in _COUNTING:
            return ("0",)
        if name == "PWD":
            return tuple(self.folders)
        if name == "OLDPWD":
            return tuple(self.before)
        return (*self.known.get(name, ()), *self.variables.get(name, ())) or (UNKNOWN,)

    def set(self, name: str, texts: Texts) -> None:
        """Gives a variable one more value; it keeps those that it had."""
        fresh = [text for text in texts if len(text) <= _LONGEST]
        self.variables[name] = tuple(
            dict.fromkeys((*self.variables.get(name, ())[-_MANY:], *fresh))
        )[-_MANY:]

    def call(self, run: Run) -> Texts:
        """Runs a function that the line itself defined."""
        self.calls += 1
        if self.calls > _CALLS:
            raise TooLong
        for at, word in enumerate(run.words[1:], 1):
            self.variables[str(at)] = word.texts
        every = tuple(text for word in run.words[1:] for text in word.texts)
        self.variables["@"] = self.variables["*"] = (
            *every,
            " ".join(word.text for word in run.words[1:]),
        )
        return self.line(self.functions[run.name], run.given)

    def go(self, run: Run) -> None:
        """Follows `cd` and `pushd`."""
        wanted = [word for word in run.words[1:] if word.text not in ("-P", "-L", "-e", "--", "-n")]
        texts = wanted[0].texts if wanted else self.value("HOME")
        if run.settings.get("CDPATH") or "CDPATH" in self.variables:
            texts = (*texts, UNKNOWN)
        folders: set[str] = set()
        for text in texts:
            if text in ("-", "~-"):
                folders |= self.before
            elif text.startswith("~"):
                home, rest = self.value("HOME")[0], text[1:].lstrip("+/")
                folders |= {home} if not rest else {UNKNOWN}
            elif UNKNOWN in text and not text.startswith("/"):
                folders.add(UNKNOWN)
            else:
                folders |= {posixpath.normpath(posixpath.join(f, text)) for f in self.folders}
        self.before, self.folders = self.folders, frozenset(sorted(folders)[:_MANY])


class _Taken:
    """What was taken so far of a command."""

    def __init__(self) -> None:
        self.words: list[Said] = []
        self.settings: dict[str, Texts] = {}
        self.redirects: list[tuple[str, Said]] = []
        self.documents: list[Said] = []
        self.looping = ""
        self.testing = False
        """Whether this is inside of `[[ … ]]`, where signs compare and join."""


class _Line:
    """One text on its way through a shell."""

    def __init__(self, shell: Shell, text: str, *, goes_on: bool) -> None:
        self.shell = shell
        self.text = text
        self.at = 0
        self.goes_on = goes_on
        self.fed: Texts = ()
        """What the process substitutions of the present command print."""
        self.here, self.resume = -1, -1
        """Where a line ends behind which here-documents are, and where it goes on."""

    def run(self, given: Texts) -> Texts:
        """Takes commands until the text ends."""
        printed: Texts = ()
        outer: list[frozenset[str]] = []
        piped, first = given, given
        while True:
            self.shell.steps.take(2)
            start = self.at
            known = self._command(piped, first)
            sign = self._sign()
            if known is not None:
                printed = known
            if sign == "(":
                outer.append(self.shell.folders)
            elif sign == ")" and outer:
                self.shell.folders = outer.pop()
            if sign in ("|", "|&"):
                piped = printed if known is not None else ()
                first = piped or first
            elif sign != "(":
                piped = () if sign else piped
            if not sign and self.at >= len(self.text):
                return printed
            if self.at == start:  # what no rule takes
                self.at += 1

    def _sign(self) -> str:
        self._gap()
        sign = _SIGN.match(self.text, self.at)
        if sign is None or sign["redirect"]:
            return ""
        self.at = self.resume if self.here == self.at else sign.end()
        return sign[0]

    def _gap(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        if self.text[self.at : self.at + 1] == "#":
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)

    def _command(self, given: Texts, around: Texts) -> Texts | None:
        """Takes a simple command, and what stands before it; None where there is none."""
        taken = _Taken()
        self.fed = ()
        while True:
            self._gap()
            sign = _SIGN.match(self.text, self.at)
            if taken.testing and sign is not None and sign[0] not in (";", "\n", "&"):
                self.at = sign.end()
            elif sign is not None and sign["redirect"]:
                self.at = sign.end()
                self._redirect(sign[0].lstrip("0123456789"), taken)
            elif sign is not None or self.at >= len(self.text):
                break
            else:
                self._part(taken)
        words = taken.words
        if taken.looping:
            looped = tuple(t for word in words[1:] for t in (*word.texts, *word.parts))
            if words and taken.looping != "case":
                self.shell.set(words[0].text, looped)
            words = [_NOTHING, *words[1:]] if len(words) > 1 else []
        if not (words or taken.settings or taken.redirects or taken.documents):
            return None
        said = (*(text for word in taken.documents for text in word.texts), *self.fed)
        reads = not words or words[0].text == "read"
        run = Run(
            tuple(words),
            taken.settings,
            tuple(taken.redirects),
            (*given, *said, *(around if reads else ())),
            said,
            self.goes_on or self._pipes(),
            self.shell.folders,
            self.shell.depth == 1,
        )
        return self._done(run)

    def _part(self, taken: _Taken) -> None:
        """Takes a word of the grammar, a setting or a word of the command."""
        start = self.at
        word = self._word()
        bare = self.text[start : self.at]
        if not taken.words and bare in _KEYWORDS:
            if bare == "{":
                self._defined(start)
        elif not taken.words and bare in ("for", "select", "case"):
            taken.looping = bare
            self._gap()
            taken.words.append(self._word())
        elif taken.looping and len(taken.words) == 1 and bare == "in":
            pass
        elif not taken.words and (setting := _SETTING.match(bare)) is not None:
            taken.settings[setting[1]] = self._setting(setting[0], bare, word)
        else:
            first = not (taken.words or taken.settings)
            taken.testing = bare == "[[" if first else taken.testing and bare != "]]"
            taken.words.append(word)

    def _setting(self, head: str, bare: str, word: Said) -> Texts:
        if self.text[self.at : self.at + 1] == "(" and bare == head:
            return self._array()
        return tuple(text.partition("=")[2] for text in word.texts)

    def _pipes(self) -> bool:
        return self.text[self.at : self.at + 1] == "|" and self.text[self.at : self.at + 2] != "||"

    def _done(self, run: Run) -> Texts:
        """Has a command looked at, and does what it does to the shell."""
        shell = self.shell
        shell.steps.take(10 + 2 * len(run.words))
        if not run.words or run.name in DECLARING:
            for name, texts in run.settings.items():
                shell.set(name, texts)
        shell.judge.command(run, shell)
        if not run.words:
            return ()
        first = run.words[0]
        for text in first.texts if len(first.parts) > 1 else ():
            split = tuple(Said((part,), (), first.end) for part in text.split())
            if len(split) > 1:
                shell.steps.take(10 + len(split))
                shell.judge.command(
                    run._replace(words=(*split, *run.words[1:]), outermost=False), shell
                )
        builtin = _BUILTINS.get(run.name)
        if builtin is not None:
            builtin(shell, run)
        if run.name in shell.functions:
            return shell.call(run)
        return printing.printed(run, shell)

    def _defined(self, at: int) -> None:
        """Remembers a function by its name, if what begins here is the body of one."""
        head = self.text[max(0, at - 80) : at].rstrip()
        before = head.removesuffix(")").rstrip().removesuffix("(").rstrip()
        called = re.split(r"[^\w.:-]", before)[-1]
        if not called or not (head.endswith(")") or "function" in head):
            return
        end = self._close(at + 1, "}")
        self.shell.functions[called] = body = self.text[at + 1 : end]
        self.shell.apart(body)
        self.at = min(end + 1, len(self.text))

    def _array(self) -> Texts:
        end = self._close(self.at + 1, ")")
        inside, self.at = self.text[self.at + 1 : end], min(end + 1, len(self.text))
        reader = _Line(self.shell, inside, goes_on=True)
        texts: list[str] = []
        while reader.at < len(inside):
            before = reader.at
            reader._gap()
            word = reader._word()
            texts += word.texts
            texts += [text.partition("]=")[2] for text in word.texts if text.startswith("[")]
            if reader.at == before:
                reader.at += 1
        return tuple(texts[:64])

    def _redirect(self, sign: str, taken: _Taken) -> None:
        self._gap()
        start = self.at
        if sign.startswith("<<") and sign != "<<<":
            end = self._word().text
            plain = not re.search(r"['\"\\]", self.text[start : self.at])
            taken.documents.append(self._document(end, plain=plain))
            return
        word = self._word()
        if sign == "<<<":
            taken.documents.append(word)
        elif not re.fullmatch(r"[0-9]+-?|-", word.text):
            taken.redirects.append((sign, word))

    def _document(self, end: str, *, plain: bool) -> Said:
        """The here-document that was just asked for; it is passed over where this line ends."""
        if self.here < self.at:
            self.here = self.resume = self.text.find("\n", self.at)
        if self.here < 0:
            return Said(("",), (), self.at)
        begin = self.resume + 1
        stop, self.resume = self._document_end(begin, end)
        body = self.text[begin:stop]
        if plain and re.search(r"[$`]", body):
            return Said(tuple(_Line(self.shell, body, goes_on=True).rest()), (), self.at)
        return Said((body,), (), self.at)

    def _document_end(self, begin: int, end: str) -> tuple[int, int]:
        """Where a here-document ends, and where the line goes on behind its last word."""
        at = begin
        while True:
            self.shell.steps.take(2)
            found = self.text.find(end, at)
            if found < 0 or not end:
                return len(self.text), len(self.text)
            first = self.text.rfind("\n", begin - 1, found) + 1
            self.shell.steps.take((found - first) // 500)
            at = found + len(end)
            if not self.text[first:found].strip("\t") and self.text[at : at + 1] in ("\n", ""):
                return first, at

    def _word(self) -> Said:
        """Takes a word; an empty one where there is none."""
        shell, text = self.shell, self.text
        texts: list[str] = [""]
        splits = braces = False
        start = self.at
        while self.at < len(text):
            shell.steps.take(1)
            char = text[self.at]
            run = _PLAIN.match(text, self.at)
            if run is not None:
                self.at = run.end()
                more: Iterable[str] = (run[0],)
                braces = braces or "{" in run[0]
            elif char == "\\":
                more = (text[self.at + 1 : self.at + 2].replace("\n", ""),)
                self.at += 2
            elif char == "'":
                more = (self._until("'"),)
            elif char == '"':
                self.at += 1
                opened = self.at
                more = self._quoted('"')
                splits = splits or "@" in text[opened : self.at]
                self.at += 1
            elif char in "$`":
                more = self._expansion()
                splits = True
            elif char in "<>" and text[self.at + 1 : self.at + 2] == "(":
                self.at += 1
                self.fed += shell.apart(self._inside(")"))
                more = ("/dev/fd/63",)
            elif char == "(" and self.at > start and text[self.at - 1] in "?*+@!":
                self._inside(")")
                more = ("*",)
            else:
                break
            texts = self._joined(texts, more)
        if braces:
            texts = list(dict.fromkeys(b for t in texts for b in sorted(braced(t, shell.steps))))
        texts = texts[:64]
        parts = tuple(p for t in texts for p in t.split()) if splits else ()
        return Said(tuple(texts), parts[:64], self.at)

    def _joined(self, texts: list[str], more: Iterable[str]) -> list[str]:
        """Every text with every end."""
        ends = list(more)[:64]
        if len(ends) == 1:
            self.shell.steps.take(len(texts) * len(texts[0]) // 1000)
            return [text + ends[0] for text in texts]
        longest = max(map(len, texts)) + max(map(len, ends), default=0)
        self.shell.steps.take(len(texts) * len(ends) * (1 + longest // 500))
        return [text + end for text in texts for end in ends][:64] if ends else texts

    def _until(self, end: str) -> str:
        """What stands up to the other half of a quote, or to the end."""
        start = self.at + 1
        stop = self.text.find(end, start)
        stop = stop if stop >= 0 else len(self.text)
        self.at = stop + 1
        return self.text[start:stop]

    def _quoted(self, end: str) -> list[str]:
        texts = [""]
        while self.at < len(self.text) and self.text[self.at] != (end or None):
            self.shell.steps.take(1)
            char = self.text[self.at]
            run = _IN_QUOTES.match(self.text, self.at)
            if run is not None:
                self.at = run.end()
                more: Iterable[str] = (run[0],)
            elif char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                more = (escaped if escaped in '$`"\\' else "\\" + escaped,)
                self.at += 2
            elif char in "$`":
                more = self._expansion()
            else:
                self.at += 1
                more = (char,)
            texts = self._joined(texts, more)
        return texts

    def _expansion(self) -> Texts:
        shell, behind = self.shell, self.text[self.at + 1 : self.at + 3]
        if self.text[self.at] == "`":
            return shell.apart(self._until("`").replace("\\", "")) or (UNKNOWN,)
        self.at += 1
        if behind == "((":
            self._inside(")")
            return ("0",)
        if behind[:1] == "(":
            return shell.apart(self._inside(")")) or (UNKNOWN,)
        if behind[:1] == "{":
            return self._parameter(self._inside("}"))
        if behind[:1] == "'":
            end = re.compile(r"(?:[^'\\]|\\.)*+", re.DOTALL).match(self.text, self.at + 1)
            said = end[0] if end else ""
            self.at += len(said) + 2
            return (printing.unescaped(said),)
        if behind[:1] == '"':
            return ()
        name = _NAME.match(self.text, self.at)
        if name is None:
            return ("$",)
        self.at = name.end()
        return shell.value(name[0])

    def _inside(self, end: str) -> str:
        """What stands between brackets, which are taken."""
        start = self.at + 1
        stop = self._close(start, end)
        self.at = min(stop + 1, len(self.text))
        return self.text[start:stop]

    def _close(self, at: int, end: str) -> int:
        """Where the bracket closes that was opened before a place; the end where it never does."""
        begin = "(" if end == ")" else "{"
        depth = 1
        while (sign := _NESTING.search(self.text, at)) is not None:
            self.shell.steps.take(1)
            at = sign.end()
            if sign[0] == "\\":
                at += 1
            elif sign[0] in ("'", "$'"):
                at = (self.text.find("'", at) + 1) or len(self.text)
            elif sign[0] == '"':
                at = self._quote_end(at)
            elif sign[1]:
                line = self.text.find("\n", at)
                at = self._document_end(line + 1, sign[1])[1] if line >= 0 else at
            elif sign[0] == begin:
                depth += 1
            elif sign[0] == end:
                depth -= 1
                if not depth:
                    return sign.start()
        return len(self.text)

    def _quote_end(self, at: int) -> int:
        while (sign := re.compile(r'["\\]|\$\(').search(self.text, at)) is not None:
            self.shell.steps.take(1)
            at = sign.end()
            if sign[0] == '"':
                return at
            if sign[0] == "\\":
                at += 1
            elif self.shell.depth < _DEEPEST:
                self.shell.depth += 1
                try:
                    at = self._close(at, ")") + 1
                finally:
                    self.shell.depth -= 1
        return len(self.text)

    def rest(self) -> list[str]:
        """All of the text as it is inside of double quotes."""
        return self._quoted("")

    def _parameter(self, inside: str) -> Texts:
        """`${…}`: a variable, and what is done to its value."""
        parts = _PARAMETER.fullmatch(inside)
        if parts is None:
            return (UNKNOWN,)
        if parts["how"] == "#":
            return ("0",)
        texts, rest = self.shell.value(parts["name"]), parts["rest"]
        if parts["how"]:
            texts = tuple(t for name in texts for t in self.shell.value(name)) or (UNKNOWN,)
        if not rest:
            return texts
        if re.match(r":?[-=+?]", rest):
            other = _Line(self.shell, rest.lstrip(":")[1:], goes_on=True)
            return (*(t for t in texts if t != UNKNOWN), *other.rest())
        self.shell.steps.take(sum(10 + len(text) // 10 for text in texts))
        return tuple(_changed(text, rest) for text in texts)


def _declare(shell: Shell, run: Run) -> None:
    named = any(word.text == "-n" for word in run.words)
    for word in run.words[1:]:
        for text in word.texts:
            name, equals, value = text.partition("=")
            if equals:
                shell.set(name, (value,))
                shell.set(name, tuple(t for t in shell.value(value) if named and t != UNKNOWN))


def _set(shell: Shell, run: Run) -> None:
    said = [word.text for word in run.words]
    for at, word in enumerate(run.words[said.index("--") + 1 :] if "--" in said else (), 1):
        for name in (str(at), "@", "*"):
            shell.set(name, word.texts)


def _read(shell: Shell, run: Run) -> None:
    lines = tuple(line for text in run.given for line in text.splitlines()[:_MANY])
    signs = "".join(run.settings.get("IFS", ()))
    between = re.compile(f"[\\s{re.escape(signs)}]")
    lines += tuple(part for line in lines for part in between.split(line)[:_MANY] if part != line)
    for word in run.words[1:]:
        if _NAME.fullmatch(word.text):
            shell.set(word.text, lines or (UNKNOWN,))


def _printf(shell: Shell, run: Run) -> None:
    if len(run.words) > 3 and run.words[1].text == "-v":
        said = [word.text for word in run.words[3:]]
        shell.set(run.words[2].text, printing.formatted(said))


def _back(shell: Shell, _run: Run) -> None:
    shell.folders, shell.before = shell.before, shell.folders


_BUILTINS: dict[str, Callable[[Shell, Run], None]] = {
    **dict.fromkeys(DECLARING - {"alias"}, _declare),
    **dict.fromkeys(("cd", "pushd"), Shell.go),
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    "popd": _back,
    "set": _set,
    "printf": _printf,
}
"""What changes what a shell knows."""


def _changed(text: str, how: str) -> str:
    """What `${x%…}`, `${x/a/b}`, `${x:1}` and their kin make of a value."""
    if len(text) > _LONGEST or len(how) > 200:
        return UNKNOWN
    cut = _SLICE.fullmatch(how)
    if cut is not None:
        start = int(cut[1])
        end = None if cut[2] is None else int(cut[2])
        return text[start:] if end is None else text[start:][:end]
    if how[0] in "^,":
        change: Callable[[str], str] = str.upper if how[0] == "^" else str.lower
        return change(text) if how[1:2] == how[0] else change(text[:1]) + text[1:]
    if how[0] == "/":
        said = _REPLACING.fullmatch(how.lstrip("/#%"))
        old, new = said.groups("") if said else ("", "")
        if re.search(r"[*?\[$`]", old + new) or not old:
            return UNKNOWN
        new = new.replace("\\", "").strip("'\"")
        return text.replace(old.replace("\\", ""), new, -1 if how[:2] == "//" else 1)
    if how[0] in "#%" and how.count("*") < 3:
        return _cut_off(text, how)
    return text if how[0] == "@" else UNKNOWN


def _cut_off(text: str, how: str) -> str:
    greedy = how[:2] in ("##", "%%")
    pattern = re.compile(translate(how.lstrip("#%").strip("'\"")))
    ends = range(len(text) + 1)
    if how[0] == "#":
        wanted = reversed(ends) if greedy else ends
        return next((text[at:] for at in wanted if pattern.match(text[:at])), text)
    wanted = ends if greedy else reversed(ends)
    return next((text[:at] for at in wanted if pattern.match(text[at:])), text)
