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
            name = f"s{place}i{number}"
            lines.append(f'  {name}("{_quoted(inline.id)}<br/>{_quoted(inline.agent)}")')
            lines.append(f"  s{place} -->|{result}| {name}")
            lines.append(f"  {name} -.-> s{place}")
    lines.append(f"  e(({_END}))")
    found = [*edges(pipeline)]
    if any(edge.to is None for edge in found):
        lines.append(f"  x(({_ABORT}))")
    for edge in found:
        to = "x" if edge.to is None else "e" if edge.to == len(pipeline.steps) else f"s{edge.to}"
        if edge.said:
            lines.append(f"  s{edge.start} -->|{edge.said}| {to}")
    return "\n".join(lines) + "\n"


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
    width = _LEFT + _WIDTH + _INLINE
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
    """The inline steps of a step, in one box each row of which is one."""
    found = _inlines(step)
    if not found:
        return []
    x, y = _LEFT + _WIDTH, _top(place) + _HEIGHT // 2
    said = "; ".join(f"{result}: {inline.id} ({inline.agent})" for result, inline in found)
    return [
        f'<path d="M{x} {y}h40" stroke="black" fill="none" marker-end="url(#a)"/>',
        f'<text x="{x + 46}" y="{y + 4}">{_text(said)}</text>',
    ]


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
