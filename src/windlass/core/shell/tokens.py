"""Signs and gaps of a shell line: what stands between words, and here-documents."""

from __future__ import annotations

import re

from windlass.core.shell.steps import Steps
from windlass.core.shell.tree import Broken, Piece, Redirect, Word
from windlass.core.shell.words import META, Words

_GRAMMAR = re.compile(r"(?:[A-Za-z{}!\[\]-]|\\\n)++")
_REDIRECT = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<|>")
_BOUNDARY = re.compile(r"[A-Za-z0-9_.-]+")


class Tokens(Words):
    """Words with what stands between them."""

    def __init__(self, text: str, *, depth: int = 0, steps: Steps | None = None) -> None:
        super().__init__(text, depth=depth, steps=steps)
        self.cut: list[tuple[int, int]] = []
        """Where here-documents are, and where it says that they follow."""
        self.resume = 0

    def redirects(self) -> list[Redirect]:
        """Reads redirections, as many as there are."""
        redirects: list[Redirect] = []
        while True:
            self.gap()
            start = self.at
            digits = re.match(r"[0-9]+(?=[<>])", self.text[self.at : self.at + 8])
            if digits:
                self.at += digits.end()
            sign = _REDIRECT.match(self.text, self.at)
            if sign is None or self.peek(2) in ("<(", ">("):
                self.at = start
                return redirects
            self.at = sign.end()
            self.gap()
            if sign[0] in ("<<", "<<-"):
                redirects.append(self.here_document(start, tabs=sign[0] == "<<-"))
            else:
                redirects.append(Redirect(sign[0], self.some_word()))

    def here_document(self, start: int, *, tabs: bool) -> Redirect:
        """Reads what follows `<<`, and the lines that it means, which are then passed over."""
        word = self.some_word()
        if not _BOUNDARY.fullmatch(word.text) or word.dynamic or self.text[start].isdigit():
            raise Broken("a here-document whose end is no plain word")
        self.cut.append((start, self.at))
        if self.here is None:
            self.here = self.resume = self.text.find("\n", self.at)
        if self.here < 0:
            raise Broken("a here-document that does not begin")
        begin = at = self.resume + 1
        while True:
            end = self.text.find("\n", at)
            line = self.text[at : end if end >= 0 else len(self.text)]
            self.steps.take(len(line) + 1)
            if (line.lstrip("\t") if tabs else line) == word.text:
                break
            if end < 0 or (word.plain and line.endswith("\\")):
                raise Broken("a here-document that does not end")
            at = end + 1
        self.resume = end if end >= 0 else len(self.text)
        self.cut.append((begin - 1, self.resume))
        body = self.text[begin:at]
        if not word.plain:
            return Redirect("<<", Word((Piece("text", body, quoted=True),), plain=False))
        reader = self.inner(body)
        said = reader.rest()
        self.sums |= reader.sums
        return Redirect("<<", said)

    def gap(self, *, lines: bool = False) -> None:
        """Skips blanks, continued lines and comments, and where lines may end, their ends."""
        while (char := self.peek()) and (char in " \t\\#" or (lines and char == "\n")):
            if char == "\\":
                if self.peek(2) != "\\\n":
                    return
                self.require_no_document()
                self.at += 2
            elif char == "#":
                if self.at and self.text[self.at - 1] not in " \t\n;":
                    # A comment to bash behind & | ( too, but too easily something else elsewhere.
                    raise Broken("a comment that follows something closely")
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
            elif char == "\n" and self.here == self.at:
                self.at, self.here = self.resume, None
                if self.peek() == "\n":
                    self.at += 1
            else:
                self.at += 1

    def ahead(self) -> str:
        """The sign or the word of the grammar that comes next, if it is one."""
        if self.peek() in ("(", ")"):
            return self.peek()
        if self.peek(2) in (";;", ";&"):
            return self.peek(2)
        sign = _GRAMMAR.match(self.text, self.at)
        if sign is None:
            return ""
        self.steps.take(len(sign[0]))
        ends = sign.end() == len(self.text) or self.text[sign.end()] in META
        return sign[0].replace("\\\n", "") if ends else ""

    def take(self, *wanted: str) -> str:
        """Takes one of these words of the grammar."""
        ahead = self.ahead()
        if ahead not in wanted:
            raise Broken(f"{' or '.join(wanted)} is missing")
        self.word()
        return ahead

    def expect(self, sign: str) -> None:
        """Takes this sign, or raises Broken."""
        self.gap()
        if self.peek() != sign:
            raise Broken(f"{sign} is missing")
        self.at += 1

    def some_word(self) -> Word:
        """Reads a word that has to be there."""
        word = self.word()
        if word is None:
            raise Broken(f"{self.peek() or 'an end'!r} where a word should be")
        return word

    def plain_word(self) -> str:
        """Reads a word without quotes, variables or the like, as a name is."""
        word = self.some_word()
        if not word.plain or word.dynamic:
            raise Broken("a name that is not plain")
        return word.text

    def words(self, *, lines: bool = False) -> list[Word]:
        """Reads words, as many as there are."""
        words: list[Word] = []
        while True:
            self.gap(lines=lines)
            word = self.word()
            if word is None:
                return words
            words.append(word)
