"""How a captured screen of an agent CLI is laid out: prompt box, what stands above, what below.

Pure. Finds the parts; what they mean is `core/claude/screen.py`. The structure is what tells the
program's own words from quotes of them: rules, the prompt and the marks of blocks stand in the
first column, and everything that a person, a model or a tool wrote is indented or follows such a
mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from windlass.core.printable import without_escapes
from windlass.core.states import State

Found = tuple[State, str, str]
"""What a rule found: the state, the rule's name, the evidence."""

TAIL = 200_000
"""Characters that are looked at, from the end: far more than any screen holds."""
LINES = 400

POINTERS = frozenset("\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}>")
BULLETS = frozenset("●⏺")
_LOST = "_?\N{REPLACEMENT CHARACTER}"
"""What terminals and decoders put where a character could not be shown."""
_RULE = frozenset("─━═▔▁" + _LOST)
_PROMPT = re.compile(rf"[\u276f>!#&{_LOST}](?:\s|$)")
_OLD_PROMPT = re.compile(r"│\s?[\u276f>!#](?:\s|$)")
_HEAD = re.compile(r"[^\x00-\x7f\w\s“”\u2018\u2019—\u2013…«»¿¡]|[>*_]\s|>$")
_DEEP = 16
"""Lines indented deeper than this are notices at the right edge, not text."""
_CHROME = re.compile(r"\s+(?:[◼◻☐☒☑✔✓■□▪▎※]\s|\d+ tasks \(|… \+\d+ |Thought for \d|\u276f )")
_TRANSCRIPT = re.compile(r"\s+(?:dialog waiting · )?Showing de\S* ?\S* transcript")


_PALETTE = re.compile(r"[345]8;(?:5;\d+|2;\d+;\d+;\d+);?")
"""Numbers of colours, which look like attributes."""


class PromptBox(msgspec.Struct, frozen=True):
    """The prompt box: the lines of its edges, and what stands in it."""

    top: int
    bottom: int
    text: str


class Block(msgspec.Struct, frozen=True):
    """One piece of the conversation: its mark in the first column, and its lines without it."""

    mark: str
    lines: tuple[str, ...]

    @property
    def first(self) -> str:
        """Its first paragraph as one line, whatever the width of the terminal."""
        return " ".join(_until_gap(self.lines))

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool's call or the outcome of something, not words."""
        for before, line in zip(self.lines, self.lines[1:], strict=False):
            if line.startswith("⎿") and before.strip():
                return True
        return bool(re.fullmatch(r"[A-Z][\w .:-]{0,60}\(.*\)", self.first))

    @property
    def words(self) -> tuple[str, ...]:
        """Its lines without what the program shows below them: tasks, queued prompts, notices."""
        kept = list(self.lines)
        while kept and (not kept[-1].strip() or _is_chrome("  " + kept[-1])):
            kept.pop()
        return tuple(kept)


class Layout(msgspec.Struct, frozen=True):
    """A screen in parts. Without a box, everything is above."""

    lines: tuple[str, ...]
    box: PromptBox | None
    above: tuple[str, ...]
    below: tuple[str, ...]
    faint: bool = False
    """Whether what stands in the box is drawn faintly: a suggestion, not a draft."""
    transcript: bool = False

    @property
    def settled(self) -> bool:
        """Whether the program is recognised, so that its parts can be trusted."""
        return self.box is not None or self.transcript

    @property
    def footer(self) -> str:
        """What stands below the box, as one line."""
        return " ".join(line.strip() for line in self.below[:8] if line.strip())

    def blocks(self) -> list[Block]:
        """The pieces above the box, the last one first."""
        return blocks_of(self.above)


def layout(text: str) -> Layout:
    """Takes a captured screen apart."""
    raw = _tail(text)
    lines = tuple(_clean(raw))
    edge = next((n for n in range(len(lines) - 1, -1, -1) if is_rule(lines[n])), None)
    if edge is not None and any(map(_TRANSCRIPT.match, lines[edge + 1 : edge + 2])):
        above, below = lines[:edge], lines[edge + 1 :]
        return Layout(lines=lines, box=None, above=above, below=below, transcript=True)
    box = _find_box(lines)
    if box is not None:
        above, below = lines[: box.top], lines[box.bottom + 1 :]
        faint = _is_faint(raw, box)
        return Layout(lines=lines, box=box, above=above, below=below, faint=faint)
    return Layout(lines=lines, box=None, above=lines, below=())


_LINE_END = re.compile(r"\r((?:\r|\x1b\[[0-9;:]*m)*)\n|\r+")
"""A carriage return and a line feed are one end of a line, whatever colours stand between."""


def _tail(text: str) -> list[str]:
    """The last lines with their escapes; blank ones at the end do not count."""
    end = text[-TAIL:] if len(text) <= TAIL else text.rstrip()[-TAIL:]
    lines = _LINE_END.sub(lambda match: (match[1] or "").replace("\r", "") + "\n", end).split("\n")
    while lines and not without_escapes(lines[-1]).strip():
        lines.pop()
    return lines[-LINES:]


def _clean(lines: Sequence[str]) -> list[str]:
    plain = (without_escapes(line).replace("\N{NO-BREAK SPACE}", " ") for line in lines)
    return [line.expandtabs().rstrip() for line in plain]


def is_rule(line: str) -> bool:
    """Whether a line is drawn across the screen, perhaps with a name in it."""
    drawn = sum(char in _RULE for char in line)
    if line[:1] not in _RULE or line[-1:] not in _RULE:
        return False
    if line[0] in _LOST:
        return drawn == len(line) >= 12
    return drawn == len(line) >= 3 or (len(line) >= 8 and drawn * 2 >= len(line))


def is_edge(line: str) -> bool:
    """Whether a box or a panel begins or ends with this line."""
    return is_rule(line) or line[:1] in ("╭", "╰", "┌", "└")


def _find_box(lines: Sequence[str]) -> PromptBox | None:
    """The lowest prompt between two rules, or in a frame as older versions draw it."""
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if _PROMPT.match(line) and (number == 0 or is_rule(lines[number - 1])):
            bottom = next((n for n in range(number + 1, len(lines)) if is_rule(lines[n])), None)
            framed = False
        elif _OLD_PROMPT.match(line) and (number == 0 or lines[number - 1].startswith("╭")):
            bottom = next((n for n in range(number + 1, len(lines)) if lines[n][:1] == "╰"), None)
            framed = True
        else:
            continue
        written = lines[number + 1 : bottom] if bottom is not None else ()
        if bottom is not None and (framed or all(line[:1] in ("", " ") for line in written)):
            text = _inside(lines[number:bottom], framed=framed)
            return PromptBox(top=max(number - 1, 0), bottom=bottom, text=text)
    return None


def _inside(lines: Sequence[str], *, framed: bool) -> str:
    if framed:
        lines = [line.removeprefix("│").removesuffix("│")[1:].rstrip() for line in lines]
    first, *rest = lines
    return "\n".join([first[1:].strip(), *(line.removeprefix("  ") for line in rest)]).strip()


def _is_faint(raw: Sequence[str], box: PromptBox) -> bool:
    """Whether all but the character under the cursor is drawn faintly."""
    drawn = raw[box.top : box.bottom]
    line = next((candidate for candidate in drawn if _PROMPT.match(without_escapes(candidate))), "")
    if "\x1b[" not in line:
        return False
    faint, seen, shown = False, 0, 0
    pieces = re.split(r"\x1b\[([0-9;]*)m", line)
    for number, piece in enumerate(pieces):
        if number % 2:
            codes = _PALETTE.sub("", piece).split(";")
            faint = "2" in codes or (faint and not {"0", "22"} & set(codes) and piece != "")
        else:
            letters = sum(not char.isspace() for char in without_escapes(piece))
            seen += letters
            shown += 0 if faint else letters
    return seen > 2 and shown <= 2  # the pointer, and the character under the cursor


def blocks_of(lines: Sequence[str]) -> list[Block]:
    """Cuts a conversation into its blocks, the last one first.

    A line in the first column that begins with a letter goes on with the block above it: a
    terminal that was made narrower breaks lines there.
    """
    blocks: list[Block] = []
    end = len(lines)
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if not _HEAD.match(line) and number:
            continue
        body = lines[number:end]
        mark = line[:1] if _HEAD.match(line) else ""
        first = body[0][1:].strip() if mark else body[0].strip()
        blocks.append(Block(mark=mark, lines=(first, *(_undented(line) for line in body[1:]))))
        end = number
    return blocks


def _undented(line: str) -> str:
    """A line without the indent of its block; a notice at the right edge keeps all of its own."""
    return line if line.startswith(" " * _DEEP) else line.removeprefix("  ")


def _until_gap(lines: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith("⎿"):
            break
        taken.append(line.strip())
    return taken


def _is_chrome(line: str) -> bool:
    return line.startswith(" " * _DEEP) or bool(_CHROME.match(line))
