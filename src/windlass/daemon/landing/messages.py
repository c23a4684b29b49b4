"""The messages of commits that land: what each merge is, with trailers for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windlass.core.landing.changes import Change
from windlass.core.printable import few, printable_line

_SUBJECT = 60


def of_change(change: Change, author: str | None) -> str:
    """The merge of one change into a stack."""
    return f"{_subject(change)}\n\n{_trailers(_of(change, author))}"


def of_landing(changes: Sequence[Change], authors: Sequence[str | None], *, verdict: str) -> str:
    """The commit that the target moves to: of one change, or of several at once."""
    return _landing(_subject(changes[0]), changes, authors, verdict=verdict)


def of_squash(changes: Sequence[Change], authors: Sequence[str | None], *, verdict: str) -> str:
    """The same where it is no merge, and stands in the place of all commits of the change."""
    return _landing(printable_line(changes[0].title), changes, authors, verdict=verdict)


def _landing(
    subject: str, changes: Sequence[Change], authors: Sequence[str | None], *, verdict: str
) -> str:
    trailers: list[tuple[str, str]] = []
    for change, author in zip(changes, authors, strict=True):
        trailers += _of(change, author)
    trailers.append(("Verdict", verdict))
    if len(changes) == 1:
        return f"{subject}\n\n{_trailers(trailers)}"
    titles = "".join(f"* {change.id}: {printable_line(change.title)}\n" for change in changes)
    return f"Land {_names(changes)}\n\n{titles}\n{_trailers(trailers)}"


def of_request(
    known: Sequence[tuple[Change, str | None]],
    commits: Sequence[str],
    *,
    tree: str,
    checks: Sequence[str],
) -> tuple[str, str]:
    """Title and text of a pull request: what it is, its commits, and how it is known to be good."""
    changes = [change for change, _ in known]
    title = printable_line(changes[0].title) if len(changes) == 1 else f"Land {_names(changes)}"
    lines = [f"* {change.id}: {printable_line(change.title)}" for change in changes]
    if commits:
        lines += ["", "Commits:", "", *(f"* {printable_line(subject)}" for subject in commits)]
    lines += ["", f"The gate passed for the tree {tree}, which this branch has:", ""]
    lines += [f"    {printable_line(check)}" for check in checks]
    trailers = [pair for change, author in known for pair in _of(change, author)]
    return title, "\n".join(lines) + f"\n\n{_trailers(trailers)}"


def _names(changes: Sequence[Change]) -> str:
    return few([change.id for change in changes], 8)


def _subject(change: Change) -> str:
    title = printable_line(change.title)
    return f"Merge {printable_line(change.branch)}: {title[:_SUBJECT]}"


def _of(change: Change, author: str | None) -> list[tuple[str, str]]:
    found = [("Change", str(change.id))]
    if change.task:
        found.append(("Task", change.task))
    if change.reverts:
        found.append(("Reverts", change.reverts))
    if author is not None:
        found.append(("Agent", author))
    return found


def _trailers(trailers: Iterable[tuple[str, str]]) -> str:
    return "".join(f"Windlass-{name}: {printable_line(value)}\n" for name, value in trailers)
