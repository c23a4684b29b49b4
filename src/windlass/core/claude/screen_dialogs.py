"""Dialogs on a captured screen: where one is, and what it asks. Pure.

A dialog takes the place of the prompt box. It is a panel at the bottom of the screen with numbered
options of which one is marked, or a panel that ends with a line about keys. What kind it is, its
opening, its question and its options say; the command or the file that it shows does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from windlass.core.claude.screen_ends import is_end
from windlass.core.claude.screen_layout import BULLETS, Layout, is_edge

_OPTION = re.compile(
    r"(?:(?P<mark>[\u276f>\u203a▶_\ufffd])\s*)?(?:[↑↓]\s*)?(?:[☐☒✔◯◉]\s)?"
    r"(?P<number>\d{1,2})[.)]\s+(?P<text>\S.*)"
)
_KEYS = re.compile(
    r"(?:press )?(?:esc(?:ape)?|enter|tab|space|any key|↑/↓|y|ctrl[+-]\w)(?:/\w+)?"
    r" (?:to|again to|for) \w|paste code here|press any key|press enter",
    re.IGNORECASE,
)
_DRAWN = " ╌┄┈─"
_MOST_BELOW = 10
_REACH = 80


class Dialog(msgspec.Struct, frozen=True):
    """An open dialog in parts, each as one line."""

    kind: str
    opening: str
    question: str
    options: tuple[str, ...]

    @property
    def evidence(self) -> str:
        """The question and its first option, or whatever else it opens with."""
        asked = self.question if self.question.endswith("?") else self.opening or self.question
        parts = [asked, *self.options[:1]]
        return " / ".join(part for part in parts if part)


def find(layout: Layout) -> Dialog | None:
    """The dialog that is open on a screen: it stands below everything else."""
    lines = [_unframed(line) for line in layout.lines]
    floor = layout.box.bottom + 1 if layout.box else 0
    numbers = [n for n in range(floor, len(lines)) if _option_in(lines[n])]
    if numbers and _is_bottom(layout.lines, numbers[-1]):
        dialog = _of_options(layout, lines, numbers, floor)
        if dialog is not None:
            return dialog
    return None if layout.settled else _of_keys(layout, lines)


def _unframed(line: str) -> str:
    return line.strip("│").rstrip() if line.startswith("│") else line


def _is_bottom(lines: Sequence[str], last: int) -> bool:
    rest = [line for line in lines[last + 1 :] if line.strip()]
    return len(rest) <= _MOST_BELOW and not any(
        line[:1] in BULLETS or is_end(line) for line in rest
    )


def _of_options(
    layout: Layout, lines: Sequence[str], numbers: Sequence[int], floor: int
) -> Dialog | None:
    taken = _last_run(lines, numbers)
    if not any(_marked(lines[n]) for n in taken):
        return None
    first = taken[0]
    top = _top(layout.lines, first, floor)
    paragraphs = _paragraphs(
        lines[top + 1 : first] if top is not None else lines[floor:first][-15:]
    )
    options = tuple(_option(lines, n, taken) for n in taken)
    opening = paragraphs[0] if paragraphs else ""
    question = paragraphs[-1] if paragraphs else ""
    keys = any(_KEYS.match(line.strip()) for line in lines[taken[-1] + 1 :])
    if top is None and not keys and not question.endswith("?"):
        return None
    kind = _kind(opening, question, options)
    return Dialog(kind=kind, opening=opening, question=question, options=options)


def _option_in(line: str) -> re.Match[str] | None:
    return _OPTION.match(line.strip())


def _marked(line: str) -> bool:
    option = _option_in(line)
    return option is not None and option["mark"] is not None


def _last_run(lines: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """The options that belong together: upwards from the last, counting down."""
    taken: list[int] = []
    due: int | None = None
    for n in reversed(numbers):
        option = _option_in(lines[n])
        number = int(option["number"]) if option else 0
        if due is not None and number != due:
            if taken and not _marked(lines[n]) and number > 0:
                continue  # a number inside an option's description
            break
        taken.append(n)
        due = number - 1
        if due == 0:
            break
    return taken[::-1]


def _top(lines: Sequence[str], first: int, floor: int) -> int | None:
    """Where the panel begins: at its upper edge, unless the conversation comes first."""
    for n in range(first - 1, max(floor, first - _REACH) - 1, -1):
        if is_edge(lines[n]):
            return n
        if lines[n][:1] in BULLETS:
            return None
    return None


def _paragraphs(lines: Sequence[str]) -> list[str]:
    joined: list[list[str]] = [[]]
    for line in lines:
        if line.strip(_DRAWN):
            joined[-1].append(line.strip())
        elif joined[-1]:
            joined.append([])
    return [" ".join(paragraph) for paragraph in joined if paragraph]


def _option(lines: Sequence[str], n: int, taken: Sequence[int]) -> str:
    option = _option_in(lines[n])
    parts = [option["text"].strip()] if option else []
    for line in lines[n + 1 : n + 4]:
        if not line.strip() or _option_in(line) or is_edge(line) or _KEYS.match(line.strip()):
            break
        parts.append(line.strip())
    return f"{taken.index(n) + 1}. {' '.join(parts)}"


def _of_keys(layout: Layout, lines: Sequence[str]) -> Dialog | None:
    """A panel without options that says at its end which keys it takes."""
    last = [n for n in range(len(lines)) if lines[n].strip()][-3:]
    at = next((n for n in last if _KEYS.match(lines[n].strip())), None)
    if at is None or not _is_bottom(layout.lines, at):
        return None
    top = _top(layout.lines, at, 0)
    paragraphs = _paragraphs(lines[top + 1 : at] if top is not None else lines[:at][-15:])
    opening = paragraphs[0] if top is not None and paragraphs else ""
    question = next(
        (paragraph for paragraph in reversed(paragraphs) if paragraph.endswith("?")), ""
    )
    kind = _kind(opening, question or lines[at], ())
    if top is None and not _KEYS.match(lines[last[-1]].strip()):
        return None
    return Dialog(kind=kind, opening=opening or lines[at].strip(), question=question, options=())


_KINDS: tuple[tuple[str, str], ...] = (
    ("trust", r"accessing workspace|do you trust the (?:files|folder)|yes, i trust"),
    ("api_key", r"custom api key|use this api key"),
    ("bypass", r"running in bypass permissions mode|yes, i accept"),
    ("mcp", r"new mcp servers? found|\d+ new mcp servers|use this mcp server|future mcp servers"),
    ("login", r"(?:select |choose )?login method|paste code here|^login|sign in"),
    ("plan", r"exit plan mode|enter plan mode|ready to code|written up a plan"),
    ("question", r"^[←☐☒☑✔]|type something|chat about this|submit answers|ready to submit"),
    (
        "folder_access",
        r"(?:add|allow|grant|access|trust)\b.{0,60}\b(?:director|folder)|external .*imports",
    ),
)
KINDS = (*(kind for kind, _ in _KINDS), "permission", "other")
_PERMISSION = re.compile(r"\b(?:Do you want|Would you like) to\b|\b[Aa]llow |wants to")


def _kind(opening: str, question: str, options: Sequence[str]) -> str:
    """What a dialog is about, by its opening, its question, then its first option."""
    first = options[0].partition(". ")[2] if options else ""
    others = " ".join(option.partition(". ")[2] for option in options[-2:]) if options else ""
    for kind, sign in _KINDS:
        places = [opening, question, first]
        if kind in ("question", "bypass"):  # their telling option is one of the last
            places += [option.partition(". ")[2] for option in options[-2:]]
        if any(re.search(sign, place, re.IGNORECASE) for place in places):
            return kind
    if _PERMISSION.search(question) or (first.startswith("Yes") and "No" in others):
        return "permission"
    return "other"
