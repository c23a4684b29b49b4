"""A pipeline as a drawing: Mermaid text for pages that render it, or an SVG by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from windlass.core.pipeline.steps import ABORT, NEXT, PREV, SELF, Inline, Pipeline, Step
from windlass.core.printable import printable_line

_END, _ABORT = "success", "abort"
_WIDTH, _HEIGHT, _GAP, _INLINE = 240, 46, 34, 330
_LEFT, _TOP = 150, 20
_BESIDE, _LETTER, _ROW = 46, 8, 15


class Edge(NamedTuple):
    """An arrow: from the place of a step to another one; one past the last is the end."""

    start: int
    to: int | None
    """None is where a run aborts."""
    said: str


def edges(pipeline: Pipeline) -> Iterator[Edge]:
    """What leads from where to where, but for what every pipeline does by default."""
    for place, step in enumerate(pipeline.steps):
        yield Edge(place, place + 1, "PASS" if "PASS" not in step.on_result else "")
        for result, handler in step.on_result.items():
            if isinstance(handler, str):
                yield Edge(place, _place(pipeline, place, handler), result)
        if step.on_max != NEXT:
            yield Edge(place, _place(pipeline, place, step.on_max), f"after {step.max}")


def _place(pipeline: Pipeline, place: int, jump: str) -> int | None:
    near = {SELF: place, PREV: max(place - 1, 0), NEXT: place + 1, ABORT: None}
    return near[jump] if jump in near else pipeline.places[jump]


def mermaid(pipeline: Pipeline) -> str:
    """The pipeline as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for place, step in enumerate(pipeline.steps):
        lines.append(f'  s{place}["{_quoted(step.id)}<br/>{_quoted(_about(step))}"]')
        for number, (result, inline) in enumerate(_inlines(step)):
            name, about = f"s{place}i{number}", f"{inline.agent}, at most {inline.max}"
            lines.append(f'  {name}("{_quoted(inline.id)}<br/>{_quoted(about)}")')
            lines.append(f"  s{place} -->|{result}| {name}")
            lines.append(f"  {name} -.-> s{place}")
    lines.append(f"  e(({_END}))")
    found = [(f"s{edge.start}", edge) for edge in edges(pipeline) if edge.said]
    found += _inline_edges(pipeline)
    if any(edge.to is None for _, edge in found):
        lines.append(f"  x(({_ABORT}))")
    for name, edge in found:
        to = "x" if edge.to is None else "e" if edge.to == len(pipeline.steps) else f"s{edge.to}"
        lines.append(f"  {name} -->|{edge.said}| {to}")
    return "\n".join(lines) + "\n"


def _inline_edges(pipeline: Pipeline) -> Iterator[tuple[str, Edge]]:
    """What leads out of inline steps, each with the name of its node: seen from the parent."""
    for place, step in enumerate(pipeline.steps):
        for number, (_, inline) in enumerate(_inlines(step)):
            for said, jump in inline_jumps(inline):
                yield f"s{place}i{number}", Edge(place, _place(pipeline, place, jump), said)


def inline_jumps(inline: Inline) -> list[tuple[str, str]]:
    """What an inline step says of its results and its bound, but for what each does by default."""
    jumps = [*inline.on_result.items()]
    return jumps if inline.on_max == NEXT else [*jumps, (f"after {inline.max}", inline.on_max)]


def _inlines(step: Step) -> list[tuple[str, Inline]]:
    return [(name, found) for name, found in step.on_result.items() if isinstance(found, Inline)]


def _about(step: Step) -> str:
    said = [step.agent, f"at most {step.max}"]
    said += ["looks only"] if step.readonly else []
    said += [f"if {step.enabled_by}"] if step.enabled_by else []
    return ", ".join(said)


def _quoted(text: str) -> str:
    return escape(printable_line(text), {'"': "#quot;"})


def svg(pipeline: Pipeline) -> str:
    """The pipeline as an SVG: steps from top to bottom, jumps on the left, inline steps right."""
    steps = len(pipeline.steps)
    longest = max((len(line) for step in pipeline.steps for line in _rows(step)), default=0)
    width = _LEFT + _WIDTH + max(_INLINE, _BESIDE + longest * _LETTER)
    height = _TOP + (steps + 1) * (_HEIGHT + _GAP)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
        ),
        f"<title>{_text(pipeline.name)}</title>",
        (
            '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
        ),
    ]
    for place, step in enumerate(pipeline.steps):
        parts += _box(_LEFT, place, step.id, _about(step), dashed=bool(step.enabled_by))
        parts += _beside(place, step)
    parts += _box(_LEFT, steps, _END, "")
    for number, edge in enumerate(edges(pipeline)):
        parts += _arrow(edge, number)
    return "\n".join([*parts, "</svg>", ""])


def _text(text: str) -> str:
    return escape(printable_line(text))


def _top(place: int) -> int:
    return _TOP + place * (_HEIGHT + _GAP)


def _box(x: int, place: int, title: str, about: str, *, dashed: bool = False) -> list[str]:
    top = _top(place)
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    box = (
        f'<rect x="{x}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="white" stroke="black"{dash}/>'
    )
    middle = x + _WIDTH // 2
    lines = [box, _words(middle, top + (19 if about else 28), title, bold=True)]
    return [*lines, _words(middle, top + 37, about)] if about else lines


def _words(x: int, y: int, text: str, *, bold: bool = False, end: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    anchor = "end" if end else "middle"
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight}>{_text(text)}</text>'


def _beside(place: int, step: Step) -> list[str]:
    """The inline steps of a step, a row for each."""
    rows = _rows(step)
    if not rows:
        return []
    x, y = _LEFT + _WIDTH, _top(place) + _HEIGHT // 2
    first = y + 4 - _ROW * (len(rows) - 1) // 2
    return [
        f'<path d="M{x} {y}h40" stroke="black" fill="none" marker-end="url(#a)"/>',
        *(
            f'<text x="{x + _BESIDE}" y="{first + _ROW * number}">{_text(row)}</text>'
            for number, row in enumerate(rows)
        ),
    ]


def _rows(step: Step) -> list[str]:
    rows = []
    for result, inline in _inlines(step):
        jumps = "".join(f"; {said}: {jump}" for said, jump in inline_jumps(inline))
        rows.append(f"{result}: {inline.id} ({inline.agent}, at most {inline.max}){jumps}")
    return rows


def _arrow(edge: Edge, number: int) -> list[str]:
    if edge.to == edge.start + 1:
        x, y = _LEFT + _WIDTH // 2, _top(edge.start) + _HEIGHT
        line = f'<path d="M{x} {y}v{_GAP}" stroke="black" fill="none" marker-end="url(#a)"/>'
        return [line, _words(x + 40, y + 21, edge.said)] if edge.said else []
    y = _top(edge.start) + _HEIGHT // 2
    out = _LEFT - 24 - 10 * (number % 8)
    if edge.to is None:
        line = f'<path d="M{_LEFT} {y}H{out}" stroke="#a00" fill="none" marker-end="url(#a)"/>'
        return [line, _words(out - 4, y + 4, f"{edge.said}: {_ABORT}", end=True)]
    to = _top(edge.to) + _HEIGHT // 2 + 8
    line = f'<path d="M{_LEFT} {y}H{out}V{to}H{_LEFT}" stroke="black" fill="none" '
    return [line + 'marker-end="url(#a)"/>', _words(out - 4, y + 4, edge.said, end=True)]
