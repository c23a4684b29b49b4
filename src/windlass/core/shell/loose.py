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
from collections.abc import Iterable, Mapping
from typing import Protocol

from windlass.core.shell import text_programs
from windlass.core.shell.expansions import LONGEST
from windlass.core.shell.loose_words import DEEPEST, Words
from windlass.core.shell.said import NOTHING, Run, Said, Texts
from windlass.core.shell.shell_builtins import BUILTINS, DECLARING
from windlass.core.shell.steps import Steps, TooLong
from windlass.core.shell.values import UNKNOWN

_MANY = 12
_CALLS = 16
_SPACE = re.compile(r"(?:[ \t\r]|\\\n)*")
_SIGN = re.compile(
    r"(?P<redirect>(?:[0-9]+|\{\w+\})?(?:<<<|<<-|<<|<>|<&|<(?!\()|>&|>>|>\||>(?!\())|&>>|&>)"
    r"|(?P<other>\|\||&&|;;&|;;|;&|\|&|[\n|&;()])"
)
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]=]*\])?\+?=", re.DOTALL)
_KEYWORDS = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"),
        *("time", "coproc", "function", "esac"),
    )
)
_COUNTING = frozenset("?#$!-")


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
        if self.depth > DEEPEST:
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
        fresh = [text for text in texts if len(text) <= LONGEST]
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


class _Line(Words):
    """One text on its way through a shell."""

    def __init__(self, shell: Shell, text: str, *, goes_on: bool) -> None:
        super().__init__(shell, text)
        self.shell: Shell = shell
        self.goes_on = goes_on
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
            words = [NOTHING, *words[1:]] if len(words) > 1 else []
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
        word = self.word()
        bare = self.text[start : self.at]
        if not taken.words and bare in _KEYWORDS:
            if bare == "{":
                self._defined(start)
        elif not taken.words and bare in ("for", "select", "case"):
            taken.looping = bare
            self._gap()
            taken.words.append(self.word())
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
        builtin = BUILTINS.get(run.name)
        if builtin is not None:
            builtin(shell, run)
        if run.name in shell.functions:
            return shell.call(run)
        return text_programs.printed(run, shell)

    def _defined(self, at: int) -> None:
        """Remembers a function by its name, if what begins here is the body of one."""
        head = self.text[max(0, at - 80) : at].rstrip()
        before = head.removesuffix(")").rstrip().removesuffix("(").rstrip()
        called = re.split(r"[^\w.:-]", before)[-1]
        if not called or not (head.endswith(")") or "function" in head):
            return
        end = self.close(at + 1, "}")
        self.shell.functions[called] = body = self.text[at + 1 : end]
        self.shell.apart(body)
        self.at = min(end + 1, len(self.text))

    def _array(self) -> Texts:
        end = self.close(self.at + 1, ")")
        inside, self.at = self.text[self.at + 1 : end], min(end + 1, len(self.text))
        reader = _Line(self.shell, inside, goes_on=True)
        texts: list[str] = []
        while reader.at < len(inside):
            before = reader.at
            reader._gap()
            word = reader.word()
            texts += word.texts
            texts += [text.partition("]=")[2] for text in word.texts if text.startswith("[")]
            if reader.at == before:
                reader.at += 1
        return tuple(texts[:64])

    def _redirect(self, sign: str, taken: _Taken) -> None:
        self._gap()
        start = self.at
        if sign.startswith("<<") and sign != "<<<":
            end = self.word().text
            plain = not re.search(r"['\"\\]", self.text[start : self.at])
            taken.documents.append(self._document(end, plain=plain))
            return
        word = self.word()
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
        stop, self.resume = self.document_end(begin, end)
        body = self.text[begin:stop]
        if plain and re.search(r"[$`]", body):
            return Said(tuple(_Line(self.shell, body, goes_on=True).rest()), (), self.at)
        return Said((body,), (), self.at)
