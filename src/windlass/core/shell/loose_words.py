"""Words read loosely: quotes, braces, variables and substitutions, and what they may become.

Nothing is refused here for its form. What cannot be known is `UNKNOWN` in a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from windlass.core.shell import text_programs
from windlass.core.shell.expansions import changed
from windlass.core.shell.said import Said, Texts
from windlass.core.shell.steps import Steps
from windlass.core.shell.values import UNKNOWN, braced

DEEPEST = 8
_PLAIN = re.compile(r"[^ \t\r\n|&;()<>'\"\\$`]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_NESTING = re.compile(r"['\"\\`(){}]|\$'|(?<!<)<<-?(?!<)[ \t]*['\"\\]?(\w+)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*?#$!-]")
_PARAMETER = re.compile(
    r"(?P<how>[!#])?(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9@*?$!-])(?:\[[^]]*\])?(?P<rest>.*)",
    re.DOTALL,
)


class Knowledge(Protocol):
    """What a shell knows where a word stands."""

    steps: Steps
    depth: int

    def value(self, name: str) -> Texts:
        """The values that a variable may have."""

    def apart(self, text: str) -> Texts:
        """Runs a text in a shell of its own; returns what it prints."""


class Words:
    """A text from which words are taken, one after the other."""

    def __init__(self, shell: Knowledge, text: str) -> None:
        self.shell = shell
        self.text = text
        self.at = 0
        self.fed: Texts = ()
        """What the process substitutions of the present command print."""

    def word(self) -> Said:
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
            return (text_programs.unescaped(said),)
        if behind[:1] == '"':
            return ()
        name = NAME.match(self.text, self.at)
        if name is None:
            return ("$",)
        self.at = name.end()
        return shell.value(name[0])

    def _inside(self, end: str) -> str:
        """What stands between brackets, which are taken."""
        start = self.at + 1
        stop = self.close(start, end)
        self.at = min(stop + 1, len(self.text))
        return self.text[start:stop]

    def close(self, at: int, end: str) -> int:
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
                at = self.document_end(line + 1, sign[1])[1] if line >= 0 else at
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
            elif self.shell.depth < DEEPEST:
                self.shell.depth += 1
                try:
                    at = self.close(at, ")") + 1
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
            other = Words(self.shell, rest.lstrip(":")[1:])
            return (*(t for t in texts if t != UNKNOWN), *other.rest())
        self.shell.steps.take(sum(10 + len(text) // 10 for text in texts))
        return tuple(changed(text, rest) for text in texts)

    def document_end(self, begin: int, end: str) -> tuple[int, int]:
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
