"""The grammar of shell lines: which commands a line is made of, and how they hang together.

As bash reads them, and only what bash reads without extensions of its own turned on. Functions,
coprocesses, `select`, extended globs and loops in C's manner are `Broken`: nothing that an agent
needs, and each of them can rename a command.
"""

from __future__ import annotations

import re

from windlass.core.shell.steps import COMMAND
from windlass.core.shell.tokens import Tokens
from windlass.core.shell.tree import SETTING, Broken, Command, Node, Piece, Redirect, Setting, Word
from windlass.core.shell.words import DEEPEST

_RESERVED = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case"),
        *("esac", "in", "{", "}", "!", "[[", "]]", "time", "function", "select", "coproc"),
    )
)


class Grammar(Tokens):
    """A place in a line, and the commands that are read from there on."""

    def inner(self, text: str) -> Grammar:
        """A reader of another text, one level down."""
        return Grammar(text, depth=self.depth + 1, steps=self.steps)

    def substitution(self) -> Node:
        """The commands up to a closing parenthesis, which is taken."""
        self.require_no_document()
        self._deeper()
        node = self.list(until=(")",))
        self.depth -= 1
        self.require_no_document()
        self.expect(")")
        return Node("apart", (node,))

    def list(self, *, until: tuple[str, ...]) -> Node:
        """Commands up to one of these words or signs, which is not taken."""
        parts: list[Node | Command] = []
        while True:
            self.gap(lines=True)
            if self.at >= len(self.text) or self.ahead() in until:
                return Node("list", tuple(parts))
            part = self._and_or()
            self.gap()
            sign = self.peek()
            if sign == "&" and self.peek(2) != "&&":
                part = Node("apart", (part,))
                self.at += 1
            elif sign == ";" and self.peek(2) not in (";;", ";&"):
                self.at += 1
            elif sign not in ("", "\n") and self.ahead() not in until:
                raise Broken(f"{sign!r} behind a command")
            parts.append(part)

    def _and_or(self) -> Node | Command:
        node = self._pipeline()
        while True:
            self.gap()
            sign = self.peek(2)
            if sign not in ("&&", "||"):
                return node
            self.at += 2
            self.gap(lines=True)
            node = Node("and" if sign == "&&" else "or", (node, self._pipeline()))

    def _pipeline(self) -> Node | Command:
        self.gap()
        ahead = self.ahead()
        if ahead in ("!", "time"):
            self.take(ahead)
            self.gap()
            if ahead == "time":
                for option in ("-p", "--"):
                    if self.ahead() == option:
                        self.take(option)
                        self.gap()
            inside = self._pipeline()
            return Node("not" if ahead == "!" else "list", (inside,))
        parts = [self._command()]
        while True:
            self.gap()
            if self.peek() != "|" or self.peek(2) == "||":
                break
            self.at += 2 if self.peek(2) == "|&" else 1
            self.gap(lines=True)
            parts.append(self._command())
        return parts[0] if len(parts) == 1 else Node("pipe", tuple(parts))

    def _command(self) -> Node | Command:
        ahead = self.ahead()
        compound = {
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "case": self._case,
            "{": self._group,
            "(": self._subshell,
            "[[": self._test,
        }.get(ahead)
        if compound is None:
            return self._simple()
        self._deeper()
        node = compound()
        self.depth -= 1
        return node._replace(redirects=tuple(self.redirects()))

    def _subshell(self) -> Node:
        if self.peek(2) == "((":
            self.at += 2
            self.sum_until("))")
            return Node("list")
        self.expect("(")
        node = self.list(until=(")",))
        self.expect(")")
        self._require(node)
        return Node("apart", (node,))

    def _group(self) -> Node:
        self.take("{")
        node = self.list(until=("}",))
        self.take("}")
        return Node("list", (self._require(node),))

    def _if(self) -> Node:
        self.take("if")
        parts = [self._body("then")]
        self.take("then")
        while True:
            parts.append(self._body("elif", "else", "fi"))
            ahead = self.take("elif", "else", "fi")
            if ahead == "fi":
                return Node("branches", tuple(parts))
            if ahead == "elif":
                parts.append(self._body("then"))
                self.take("then")

    def _while(self) -> Node:
        self.take("while", "until")
        condition = self._body("do")
        return Node("loop", (condition, self._do()))

    def _do(self) -> Node:
        self.gap(lines=True)
        self.take("do")
        body = self._body("done")
        self.take("done")
        return body

    def _for(self) -> Node:
        self.take("for")
        self.gap()
        name = self.plain_word()
        if SETTING.fullmatch(f"{name}=") is None:
            raise Broken("a loop over something else than a variable")
        self.gap(lines=True)
        words: list[Word] = []
        if self.ahead() == "in":
            self.take("in")
            words = self.words()
            if self.peek() not in (";", "\n"):
                raise Broken(f"{self.peek()!r} in the list of a loop")
        if self.peek() == ";":
            self.at += 1
        return Node("for", (self._do(),), tuple(words), name=name)

    def _case(self) -> Node:
        self.take("case")
        self.gap()
        words = [self.some_word()]
        self.gap(lines=True)
        self.take("in")
        parts: list[Node] = []
        while True:
            self.gap(lines=True)
            if self.ahead() == "esac":
                self.take("esac")
                return Node("branches", tuple(parts), tuple(words))
            if self.peek() == "(":
                self.at += 1
            while True:
                self.gap()
                words.append(self.some_word())
                self.gap()
                if self.peek() != "|":
                    break
                self.at += 1
            self.expect(")")
            parts.append(self.list(until=(";;", ";&", "esac")))
            if self.ahead() != "esac":
                sign = next((s for s in (";;&", ";;", ";&") if self.peek(len(s)) == s), None)
                if sign is None:
                    raise Broken("a case that does not end")
                self.at += len(sign)

    def _test(self) -> Node:
        """`[[ … ]]`: its words, with the operators between them as words of their own."""
        self.take("[[")
        words: list[Word] = []
        while True:
            self.gap(lines=True)
            if self.ahead() == "]]":
                self.take("]]")
                return Node("test", words=tuple(words))
            sign = next((s for s in ("&&", "||", "(", ")", "<", ">") if self.peek(len(s)) == s), "")
            if sign and self.peek(2) not in ("<(", ">("):
                self.at += len(sign)
                words.append(Word((Piece("text", sign, quoted=False),), plain=True))
            else:
                words.append(self.some_word())

    def _simple(self) -> Command:
        settings: list[Setting] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        self.steps.take(COMMAND)
        if self.ahead() in _RESERVED:
            raise Broken(f"{self.ahead()} where a command should be")
        while True:
            self.gap()
            redirects += self.redirects()
            word = self.word()
            if word is None:
                break
            if self.peek() in ("<", ">") and _before_redirect(word):
                if not word.text.isdigit():
                    raise Broken("a redirection that names its descriptor")
                continue
            setting = None if words else self._setting(word)
            if setting is not None:
                settings.append(setting)
            else:
                words.append(word)
        if self.peek() == "(":
            raise Broken("functions, and ( in the middle of a command")
        if not (words or settings or redirects):
            raise Broken(f"{self.peek() or 'an end'!r} where a command should be")
        return Command(tuple(words), tuple(settings), tuple(redirects))

    def _setting(self, word: Word) -> Setting | None:
        first = word.pieces[0] if word.pieces else None
        if first is None or first.kind != "text" or first.quoted:
            return None
        setting = SETTING.match(first.text)
        if setting is None:
            return None
        if setting[2] and not re.fullmatch(r"\[[0-9]+\]", setting[2]):
            raise Broken("a setting whose index is no number")
        rest = first._replace(text=first.text[setting.end() :])
        values = [Word((*([rest] if rest.text else []), *word.pieces[1:]), word.plain)]
        if self.peek() == "(":
            if values[0].pieces or setting[2]:
                raise Broken("( in the middle of a word")
            self.at += 1
            values = self.words(lines=True)
            self.expect(")")
            if any(value.pieces and value.pieces[0].text[:1] == "[" for value in values):
                raise Broken("an array whose indices are calculated")
        more = setting[0].endswith("+=")
        return Setting(setting[1], tuple(values), indexed=bool(setting[2]), more=more)

    def _body(self, *until: str) -> Node:
        return self._require(self.list(until=until))

    def _require(self, node: Node) -> Node:
        if not node.parts:
            raise Broken("nothing where a command should be")
        return node

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Broken("it is nested too deeply")


def _before_redirect(word: Word) -> bool:
    """Whether what stands directly before < or > is no word but which descriptor is meant."""
    return word.plain and not word.dynamic and bool(re.fullmatch(r"[0-9]+|\{.*\}", word.text))
