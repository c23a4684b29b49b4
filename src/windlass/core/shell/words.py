"""Words of a shell line: quotes, escapes, expansions, substitutions; as bash reads them.

Strict: what bash would read but is rarely meant, or what runs commands in disguise (`${!x}`,
`${x@P}`), is `Broken`.
"""

from __future__ import annotations

import re
from itertools import groupby

from windlass.core.shell.steps import READ_PIECE, READ_WORD, Steps
from windlass.core.shell.tree import Broken, Node, Piece, Word

META = frozenset(" \t\n|&;()<>")
_UNQUOTED = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`\n]+")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[?#$!@*-]")
_BRACED = re.compile(
    r"(?P<length>#)?(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?#$!@*-])"
    r"(?P<index>\[(?:[0-9]+|@|\*)\])?"
)
_CUT = re.compile(r":[0-9]+(?::[0-9]+)?(?=\})|: ?-[0-9]+(?=\})")
_OPERATOR = re.compile(r":[-+?]|[-+?]|##?|%%?|//?|\^\^?|,,?")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_SUM = re.compile(r"[0-9A-Za-z_+\-*/%<>=!&|^~?:, \t()$#]")
_IN_SUM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACES = re.compile(r"\{([^{},]*+)\}")
_RANGE = re.compile(r"(?:-?[0-9]+\.\.-?[0-9]+|[a-z]\.\.[a-z]|[A-Z]\.\.[A-Z])(?:\.\.-?[0-9]+)?")
DEEPEST = 40


class Words:
    """A place in a text, and the words that are read from there on."""

    def __init__(self, text: str, *, depth: int = 0, steps: Steps | None = None) -> None:
        if depth > DEEPEST:
            raise Broken("it is nested too deeply")
        self.text = text
        self.at = 0
        self.depth = depth
        self.steps = steps or Steps()
        self.sums: set[str] = set()
        """Variables that are calculated with; their values may hold commands."""
        self.here: int | None = None
        """Where the line ends behind which here-documents are; the next line break ends it."""

    def substitution(self) -> Node:
        """The commands up to a closing parenthesis; the grammar knows them."""
        raise NotImplementedError

    def inner(self, text: str) -> Words:
        """A reader of another text, which stands inside this one."""
        raise NotImplementedError

    def require_no_document(self) -> None:
        """Refuses what would make it hard to tell where a here-document begins."""
        if self.here is not None:
            raise Broken("a line that goes on where its here-document begins")

    def peek(self, length: int = 1) -> str:
        """The next characters, without taking them."""
        self.steps.take(1)
        return self.text[self.at : self.at + length]

    def word(self) -> Word | None:
        """Reads a word; None when there is none here."""
        pieces: list[Piece] = []
        plain = True
        while self.at < len(self.text):
            char = self.peek()
            if char in "<>" and self.peek(2)[1:] == "(":
                if pieces:
                    raise Broken("a process substitution in the middle of a word")
                self.at += 2
                pieces.append(self._run(quoted=True))
            elif char in META:
                break
            elif char in "'\"\\":
                self.steps.take(READ_PIECE)
                quoted = self._quoted()
                plain = plain and not quoted
                pieces += quoted
            elif char in "$`":
                pieces += self._expansion(quoted=False)
            else:
                pieces.append(Piece("text", self._run_of(_UNQUOTED), quoted=False))
        joined = _joined(pieces)
        _require_plain_braces("".join(p.text for p in joined if p.kind == "text" and not p.quoted))
        if plain and not joined:
            return None
        self.steps.take(READ_WORD)
        return Word(tuple(joined), plain)

    def rest(self) -> Word:
        """Reads all of the text as the body of a here-document."""
        return Word(tuple(_joined(self._double(end=""))), plain=False)

    def sum_until(self, end: str) -> None:
        """Skips arithmetic up to `))`; what looks like commands in it is Broken."""
        open_ = 0
        names: list[str] = []
        while True:
            char = self.peek()
            if not char or not _SUM.match(char):
                raise Broken("arithmetic with more than numbers and variables in it")
            if char == ")" and open_ == 0:
                if self.peek(len(end)) != end:
                    raise Broken("parentheses that could be arithmetic or commands")
                break
            open_ += (char == "(") - (char == ")")
            if char == "$" and not re.match(r"\$[A-Za-z_#?]", self.peek(2)):
                raise Broken("arithmetic with more than numbers and variables in it")
            names.append(char)
            self.at += 1
        self.at += len(end)
        # 0x1f and 16#ff are numbers.
        said = re.sub(r"\b[0-9][0-9A-Za-z_]*+(?:#[0-9A-Za-z_]+)?", " ", "".join(names))
        self.sums.update(_IN_SUM.findall(said))

    def _quoted(self) -> list[Piece]:
        """What a quote or a backslash begins; nothing for the end of a continued line."""
        char = self.peek()
        if char == "\\":
            if self.at + 1 >= len(self.text):
                raise Broken("it ends with a backslash")
            escaped = self.text[self.at + 1]
            self.at += 2
            if escaped != "\n":
                return [Piece("text", escaped, quoted=True)]
            self.require_no_document()
            return []
        self.at += 1
        if char == "'":
            return [Piece("text", self._until("'"), quoted=True)]
        pieces = self._double(end='"')
        self.at += 1
        return [Piece("text", "", quoted=True), *pieces]

    def _run_of(self, plain: re.Pattern[str]) -> str:
        """Takes characters that mean nothing here but themselves."""
        run = plain.match(self.text, self.at)
        if run is None:
            return ""
        self.steps.take(len(run[0]))
        self.at = run.end()
        return run[0]

    def _next(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def _until(self, end: str) -> str:
        at_end = self.text.find(end, self.at)
        if at_end < 0:
            raise Broken(f"a {end} without its other half")
        inside = self.text[self.at : at_end]
        if "\n" in inside:
            self.require_no_document()
        self.at = at_end + 1
        self.steps.take(len(inside))
        return inside

    def _double(self, *, end: str) -> list[Piece]:
        """What is inside of double quotes, or of a here-document when nothing ends it."""
        pieces: list[Piece] = []
        while True:
            char = self.peek()
            if not char:
                if end:
                    raise Broken('a " without its other half')
                return pieces
            if char == end:
                return pieces
            if char == "\n" or self.peek(2) == "\\\n":
                self.require_no_document()
            if char == "\\":
                escaped = self.peek(2)[1:]
                if not escaped:
                    raise Broken("it ends with a backslash")
                self.at += 2
                if escaped not in f"$`\\\n{end}":
                    pieces.append(Piece("text", f"\\{escaped}", quoted=True))
                elif escaped != "\n":
                    pieces.append(Piece("text", escaped, quoted=True))
            elif char in "$`":
                pieces += self._expansion(quoted=True)
            else:
                pieces.append(Piece("text", self._run_of(_IN_DOUBLE) or self._next(), quoted=True))

    def _expansion(self, *, quoted: bool) -> list[Piece]:
        self.steps.take(READ_PIECE)
        if self.peek() == "`":
            return [self._backquoted(quoted=quoted)]
        behind = self.peek(3)[1:]
        if behind == "((":
            self.at += 3
            self.sum_until("))")
            return [Piece("sum", "", quoted)]
        if behind[:1] == "(":
            self.at += 2
            return [self._run(quoted=quoted)]
        if behind[:1] == "{":
            self.at += 2
            return self._braced(quoted=quoted)
        if behind[:1] == "[" or behind == "\\\n" or (behind[:1] in ('"', "\\") and not quoted):
            raise Broken(f"${behind[:1]} means different things to different shells")
        if behind[:1] == "'" and not quoted:
            self.at += 2
            return [Piece("text", self._ansi(), quoted=True)]
        self.at += 1
        parameter = _PARAMETER.match(self.text, self.at)
        if parameter is None:
            return [Piece("text", "$", quoted)]
        self.at = parameter.end()
        return [Piece("variable", parameter[0], quoted)]

    def _run(self, *, quoted: bool) -> Piece:
        start = self.at
        inside = self.substitution()
        self.steps.take(self.at - start)
        return Piece("run", self.text[start : self.at - 1], quoted, inside)

    def _backquoted(self, *, quoted: bool) -> Piece:
        self.at += 1
        inside = self._until("`")
        if "\\" in inside:
            raise Broken("backslashes in `…`; write $(…)")
        reader = self.inner(f"{inside})")
        node = reader.substitution()
        if reader.at != len(reader.text):
            raise Broken("parentheses in `…`; write $(…)")
        self.sums |= reader.sums
        return Piece("run", inside, quoted, node)

    def _ansi(self) -> str:
        said = ""
        while (char := self.peek()) != "'":
            if not char:
                raise Broken("a $' without its other half")
            self.at += 1
            if char == "\\":
                char = _ESCAPES.get(self.peek(), "")
                self.at += 1
                if not char:
                    raise Broken("$'…' with other escapes than \\n, \\t and quotes")
            said += char
        self.at += 1
        return said

    def _braced(self, *, quoted: bool) -> list[Piece]:
        """`${name}` and what can be done to its value on the way."""
        parameter = _BRACED.match(self.text, self.at)
        if parameter is None:
            raise Broken("${…} that is more than a name and what to do to its value")
        self.at = parameter.end()
        name = parameter["name"]
        pieces = [Piece("variable", name if not parameter["length"] else "#", quoted)]
        if parameter["index"]:
            pieces = [Piece("variable", f"{name}[]", quoted)]
        if self.peek() == "}":
            self.at += 1
            return pieces
        if parameter["length"]:
            raise Broken("${#…} with more than a name")
        change = _CUT.match(self.text, self.at)
        if change is None and (change := _OPERATOR.match(self.text, self.at)) is None:
            raise Broken("${…} that sets, calculates or looks further")
        self.at = change.end()
        # What remains of the value is as unknown as what is put in its place.
        return [Piece("variable", f"{name}{change[0]}", quoted), *self._operand(quoted=quoted)]

    def _operand(self, *, quoted: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while (char := self.peek()) != "}":
            if not char or char in "{<>\n" or (quoted and char in "'\""):
                raise Broken(f"{char or 'an end'!r} in ${{…}}")
            if char in "'\"\\":
                pieces += self._quoted()
            elif char in "$`":
                pieces += self._expansion(quoted=quoted)
            else:
                self.at += 1
                pieces.append(Piece("text", char, quoted))
        self.at += 1
        return pieces


def _require_plain_braces(bare: str) -> None:
    """Braces are written out before all else: `{$,x}{X@P}` and `{Z..a..6}`, a backquote, run."""
    if "{" not in bare:
        return
    if "$" in bare:
        raise Broken("braces with a $ that they may put before something")
    for inside in _BRACES.findall(bare):
        if ".." in inside and not _RANGE.fullmatch(inside):
            raise Broken("{a..b} of something else than numbers, or letters of one case")


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Joins neighbouring pieces of the same kind into one."""
    joined: list[Piece] = []
    for (kind, quoted), alike in groupby(pieces, key=lambda piece: (piece.kind, piece.quoted)):
        if kind == "text":
            joined.append(Piece("text", "".join(piece.text for piece in alike), quoted))
        else:
            joined += alike
    return joined
